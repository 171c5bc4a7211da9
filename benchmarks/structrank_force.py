"""StructRank's force on one query of 10,000 preferences: all 10⁸ terms one by one, against interpolation.

Run: python benchmarks/structrank_force.py [--rounds 7]

200 documents of two levels, scores of three spreads, w₁ ≠ w₂, one thread. Both give the same numbers to 1e−6 or the
program stops. Both are the code of the core, the terms one by one with four lanes a step; where scores lie so far apart
that e^{−wr} overflows, those need an exponential each. Times are those of the processor, so that a busy machine does not
lengthen the long ones; rounds are interleaved and the median is reported.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

import numpy as np

import podium
from machine import machine, short_repr
from podium.forces import ForceData
from podium.forces.force import ForceOutcome

DOCUMENTS, W = 200, (0.7, 1.6)
SPREADS = [1.0, 6.0, 1000.0]
ASKED = {"force": {}, "force, curvature, cost": {"curvature": True, "cost": True}}
METHODS = ["exact", "chebyshev"]


def relative_error(found: ForceOutcome, exact: ForceOutcome) -> float:
    """The largest error of cost, force, curvature and slopes in w, each as a share of its largest number."""
    parts = [(getattr(found, name), getattr(exact, name)) for name in ("force", "curvature", "cost", "parameter_force")]
    return max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in parts if b is not None)


def measure(spread: float, asked: dict[str, bool], rounds: int) -> dict[str, float]:
    labels, scores = np.arange(DOCUMENTS) % 2.0, spread * np.random.default_rng(0).normal(size=DOCUMENTS)
    data = ForceData(podium.RankingData(np.zeros((DOCUMENTS, 1)), labels, np.zeros(DOCUMENTS, int)))
    outcomes, times = {}, {name: [] for name in METHODS}
    for _ in range(rounds):
        for name in METHODS:
            force = podium.force(f"structrank(method='{name}')")
            began = time.thread_time()
            outcomes[name] = force.compute(scores, data, parameters=W, num_threads=1, **asked)
            times[name].append(time.thread_time() - began)
    exact, chebyshev = (statistics.median(times[name]) for name in METHODS)
    error = relative_error(outcomes["chebyshev"], outcomes["exact"])
    if error > 1e-6:
        raise SystemExit(f"the two disagree by {error:.2g} at spread {spread:g}")
    return {"exact": exact, "chebyshev": chebyshev, "ratio": exact / chebyshev, "error": error}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "structrank_force.json")
    options = parser.parse_args()
    on = machine()
    print(f"{DOCUMENTS**2 // 4:,} preferences, w₁, w₂ = {W}, one thread, median of {options.rounds}; {short_repr(on)}")
    print(f"{'asked':<26}{'spread':>8}{'exact ms':>11}{'chebyshev ms':>14}{'faster by':>11}{'error':>10}")
    found = []
    for words, asked in ASKED.items():
        for spread in SPREADS:
            row = measure(spread, asked, options.rounds)
            found.append({"asked": words, "spread": spread, **row})
            print(
                f"{words:<26}{spread:>8g}{1e3 * row['exact']:>11.1f}{1e3 * row['chebyshev']:>14.2f}"
                f"{row['ratio']:>10.0f}×{row['error']:>10.0e}"
            )
    least = min(row["ratio"] for row in found)
    print(f"least: {least:.0f}×, {'at least' if least >= 50 else 'BELOW'} 50×")
    report = {"task": "structrank, 10,000 preferences in one query", "rounds": options.rounds, "machine": on}
    options.out.write_text(json.dumps({**report, "rows": found, "least_ratio": least}, indent=2) + "\n")


if __name__ == "__main__":
    main()
