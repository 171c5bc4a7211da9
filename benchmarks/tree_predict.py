"""Scores from trees: Podium's predict against LightGBM's, as many trees of as many leaves, on the same two threads.

    python benchmarks/tree_predict.py [--rounds 9] [--trees 500] [--leaves 63] [--threads 2] [--out FILE]

Both are trained on the same MSLR-like queries, and score others: all of them at once, and one query after another, of 100, of 10
and of 1 document, as a search engine asks. The clock is around `ranker.predict` and `booster.predict`, float32 arrays in and one
array out, with all that they check. Rounds are interleaved and the median counts; a small batch is scored many times in a
round.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import podium
from machine import machine, short_repr
from mslr_like import mslr_like

SIZES = (100, 10, 1)  # documents of one query
CALLS = 200  # of a small batch in a round
OUT = Path(__file__).parent / "results" / "tree_predict.json"
Predict = Callable[[np.ndarray], np.ndarray]


def trained(options: argparse.Namespace) -> dict[str, Predict]:
    import lightgbm

    data = mslr_like(options.queries, seed=0)
    settings = {"num_leaves": options.leaves, "learning_rate": 0.1, "min_documents": 20, "num_threads": options.threads}
    settings |= {"query_sampling": 1, "column_sampling": 1}  # of however few queries, one tree per round
    ranker = podium.LambdaMART(n_estimators=options.trees, **settings).fit(data)
    given = {"objective": "lambdarank", "num_leaves": options.leaves, "verbosity": -1, "num_threads": options.threads}
    bins = lightgbm.Dataset(data.features, data.labels, group=data.query_sizes)
    booster = lightgbm.train(given, bins, options.trees)
    leaves = {
        "podium": len(ranker.model_.arrays()["value"]),
        "lightgbm": sum(tree["num_leaves"] for tree in booster.dump_model()["tree_info"]),
    }
    print(f"{options.trees} trees each, leaves in all: {leaves}")
    return {
        "podium": ranker.predict,
        "lightgbm": lambda rows: booster.predict(rows, num_threads=options.threads),
    }


def seconds(predict: Predict, batches: list[np.ndarray]) -> float:
    """Of one batch, on average over these."""
    began = time.perf_counter()
    for rows in batches:
        predict(rows)
    return (time.perf_counter() - began) / len(batches)


def batches_of(size: int | None, rows: np.ndarray) -> list[np.ndarray]:
    """All rows as one batch, or single queries of this size."""
    if size is None:
        return [rows]
    calls = min(CALLS, len(rows) // size)
    return [np.ascontiguousarray(rows[k * size : (k + 1) * size]) for k in range(calls)]


def benchmark(options: argparse.Namespace) -> list[dict]:
    systems = trained(options)
    rows = np.ascontiguousarray(mslr_like(options.test_queries, seed=1).features)
    found = []
    for size in (None, *SIZES):
        batches = batches_of(size, rows)
        times: dict[str, list[float]] = {name: [] for name in systems}
        for predict in systems.values():  # what a first call sets up is not timed
            predict(batches[0])
        for _ in range(options.rounds):
            for name, predict in systems.items():
                times[name].append(seconds(predict, batches))
        documents = len(batches[0])
        row = {"documents": documents, "seconds": {name: statistics.median(each) for name, each in times.items()}}
        row["ratio"] = row["seconds"]["lightgbm"] / row["seconds"]["podium"]
        row["ns"] = {name: 1e9 * value / documents / options.trees for name, value in row["seconds"].items()}
        found.append(row)
        cells = ", ".join(f"{name} {1e3 * value:.3f} ms" for name, value in row["seconds"].items())
        print(f"{documents:>8,} documents: {cells}: podium is faster by {row['ratio']:.2f}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--leaves", type=int, default=63)
    parser.add_argument("--queries", type=int, default=1000, help="to train on")
    parser.add_argument("--test-queries", type=int, default=2000, help="to score")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    where = machine("lightgbm")
    print(short_repr(where))
    asked = {name: getattr(options, name) for name in ("rounds", "trees", "leaves", "threads")} | {"machine": where}
    options.out.write_text(json.dumps(asked | {"found": benchmark(options)}, indent=2) + "\n")
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
