"""The cost of a custom force with trees: LambdaRank for NDCG@10 written in Python against the built-in one.

    python benchmarks/tree_force.py [--rounds 3] [--trees 20] [--queries 6000] [--threads 2] [--out FILE]

The same formula three times: built in, in plain loops that Numba compiles, in NumPy (`own_lambdarank.py`), on the MSLR-like
data of `trees.py`: 63 leaves, rate 0.1, no noise, with the default sampling and without any. The time of a tree is the median
over a training's trees, rounds are interleaved, and the median of the rounds counts. Compiling is timed apart: it is once a
process. Before the clock starts, all three are checked to give the same forces.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import time
import warnings
from pathlib import Path

import numpy as np

import own_lambdarank
import podium
from machine import machine, short_repr
from mslr_like import mslr_like

BUILT_IN = "built in"
MODELS = {
    "as by default": "trees(num_leaves=63)",
    "no sampling": "trees(num_leaves=63, row_sampling=1, query_sampling=1, column_sampling=1)",
}
OUT = Path(__file__).parent / "results" / "tree_force.json"


def forces() -> dict[str, podium.Force]:
    return {
        BUILT_IN: podium.force("lambdarank(ndcg@10)"),
        "own, Numba": podium.custom_force(own_lambdarank.in_loops, compile=True),
        "own, NumPy": podium.custom_force(own_lambdarank.in_arrays, compile=False),
    }


def check(named: dict[str, podium.Force], data: podium.RankingData, threads: int) -> float:
    """Check that all give the same forces, and return the seconds that compiling took."""
    few = data.select(np.arange(min(200, data.n_queries)))
    scores = np.random.default_rng(0).normal(size=few.n_documents)
    seconds, wanted = 0.0, named[BUILT_IN](scores, few, num_threads=threads)
    for name, force in named.items():
        began = time.perf_counter()
        found = force(scores, few, num_threads=threads)
        if name == "own, Numba":
            seconds = time.perf_counter() - began
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    return seconds


def tree_seconds(force: podium.Force, model: str, data: podium.RankingData, trees: int, threads: int) -> list[float]:
    """Seconds of each tree after the first, whose time has binning in it."""
    ends: list[float] = []
    ranker = podium.Ranker(
        force=force, model=model, num_threads=threads, schedule=f"boosting(rate=0.1, rounds={trees})"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker.fit(data, callbacks=[lambda _: ends.append(time.perf_counter())])
    return [after - before for before, after in itertools.pairwise(ends)]


def benchmark(options: argparse.Namespace) -> dict:
    data, named = mslr_like(options.queries, seed=0), forces()
    compiling = check(named, data, options.threads)
    found: dict[str, dict] = {}
    for kind, model in MODELS.items():
        times: dict[str, list[float]] = {name: [] for name in named}
        for _, (name, force) in itertools.product(range(options.rounds), named.items()):
            times[name].append(statistics.median(tree_seconds(force, model, data, options.trees, options.threads)))
        ms = {name: 1e3 * statistics.median(each) for name, each in times.items()}
        found[kind] = {name: {"tree_ms": value, "ratio": value / ms[BUILT_IN]} for name, value in ms.items()}
        for name, row in found[kind].items():
            print(f"{kind}, {name:<12}{row['tree_ms']:>9.1f} ms a tree{row['ratio']:>8.2f} × built in", flush=True)
    return {"documents": data.n_documents, "compiling_seconds": compiling, "found": found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--queries", type=int, default=6000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    where = machine("numba")
    print(short_repr(where))
    asked = {"rounds": options.rounds, "trees": options.trees, "threads": options.threads, "machine": where}
    options.out.write_text(json.dumps(asked | benchmark(options), indent=2) + "\n")
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
