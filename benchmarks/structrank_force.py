"""StructRank's force on one query of 10,000 preferences: all 10⁸ terms one by one, against interpolation.

Run: python benchmarks/structrank_force.py [--rounds 7]

200 documents of two levels, scores of three spreads, w₁ ≠ w₂, ρ = 0.5 for the gaussian, one thread. Both give the same numbers
to 1e−6 or the program stops. Both are the code of the core. The terms of the sigmoid are added with four lanes a step; where
scores lie so far apart that e^{−wr} overflows, they need an exponential each. The terms of the gaussian, some seconds of them,
are added once, not once per round. Times are those of the processor, so that a busy machine does not lengthen the long ones;
rounds are interleaved and the median is reported. At the end, the topology `winner` on one query of 100,000 documents.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import time
from pathlib import Path

import numpy as np

import podium
from machine import machine, short_repr
from podium.forces import ForceData
from podium.forces.force import ForceOutcome

DOCUMENTS, LONG = 200, 100_000
FUNCTIONS = {"sigmoid": (0.7, 1.6), "gaussian": (0.7, 1.6, 0.5)}
LEAST = {"sigmoid": 50, "gaussian": 20}  # how many times faster interpolation should be
SPREADS = [1.0, 6.0, 1000.0]
ASKED = {"force": {}, "force, curvature, cost": {"curvature": True, "cost": True}}
METHODS = ["exact", "chebyshev"]


def relative_error(found: ForceOutcome, exact: ForceOutcome) -> float:
    """The largest error of cost, force, curvature and slopes in w, each as a share of its largest number."""
    parts = [(getattr(found, name), getattr(exact, name)) for name in ("force", "curvature", "cost", "parameter_force")]
    return max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in parts if b is not None)


def measure(function: str, spread: float, asked: dict[str, bool], rounds: int) -> dict[str, float]:
    labels, scores = np.arange(DOCUMENTS) % 2.0, spread * np.random.default_rng(0).normal(size=DOCUMENTS)
    data = ForceData(podium.RankingData(np.zeros((DOCUMENTS, 1)), labels, np.zeros(DOCUMENTS, int)))
    outcomes, times = {}, {name: [] for name in METHODS}
    for number in range(rounds):
        for name in METHODS:
            if number > 0 and function == "gaussian" and name == "exact":
                continue
            force = podium.force(f"structrank(function='{function}', method='{name}')")
            began = time.thread_time()
            outcomes[name] = force.compute(scores, data, parameters=FUNCTIONS[function], num_threads=1, **asked)
            times[name].append(time.thread_time() - began)
    exact, chebyshev = (statistics.median(times[name]) for name in METHODS)
    error = relative_error(outcomes["chebyshev"], outcomes["exact"])
    if error > 1e-6:
        raise SystemExit(f"the two disagree by {error:.2g} at spread {spread:g}")
    return {"exact": exact, "chebyshev": chebyshev, "ratio": exact / chebyshev, "error": error}


def winner_seconds(rounds: int) -> float:
    """One query of many documents with five levels: force, curvature, cost and the force on w."""
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 5, LONG).astype(float), rng.normal(size=LONG)
    data = ForceData(podium.RankingData(np.zeros((LONG, 1)), labels, np.zeros(LONG, int)))
    times = []
    for _ in range(rounds):
        began = time.thread_time()
        podium.force("structrank(winner)").compute(
            scores, data, parameters=[1.0], num_threads=1, curvature=True, cost=True
        )
        times.append(time.thread_time() - began)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "structrank_force.json")
    options = parser.parse_args()
    on = machine()
    print(f"{DOCUMENTS**2 // 4:,} preferences, one thread, median of {options.rounds}; {short_repr(on)}")
    print(
        f"{'function':<10}{'asked':<26}{'spread':>8}{'exact ms':>11}{'chebyshev ms':>14}{'faster by':>11}{'error':>10}"
    )
    found = []
    for function, words, spread in itertools.product(FUNCTIONS, ASKED, SPREADS):
        row = measure(function, spread, ASKED[words], options.rounds)
        found.append({"function": function, "asked": words, "spread": spread, **row})
        print(
            f"{function:<10}{words:<26}{spread:>8g}{1e3 * row['exact']:>11.1f}{1e3 * row['chebyshev']:>14.2f}"
            f"{row['ratio']:>10.0f}×{row['error']:>10.0e}"
        )
    ratios = {function: min(row["ratio"] for row in found if row["function"] == function) for function in FUNCTIONS}
    for function, wanted in LEAST.items():
        print(
            f"{function}: {'at least' if ratios[function] >= wanted else 'BELOW'} {wanted}× ({ratios[function]:.0f}×)"
        )
    seconds = winner_seconds(options.rounds)
    print(f"winner, one query of {LONG:,} documents: {1e3 * seconds:.1f} ms")
    report = {"task": "structrank, 10,000 preferences in one query", "rounds": options.rounds, "machine": on}
    report |= {"rows": found, "least_ratios": ratios, "winner_documents": LONG, "winner_seconds": seconds}
    options.out.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
