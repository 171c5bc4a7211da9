"""What a cluster costs: the time per tree of workers on this machine, next to one process with as many threads.

    python benchmarks/cluster.py [--queries 6000] [--rounds 30] [--workers 2] [--leaves 31] [--out benchmarks/results/cluster.json]

The time per tree is the median of the rounds after the first few, by the clock of the training log, so that neither starting
processes nor cutting features into bins is in it; the seconds until the first tree are printed apart. Exchanges, bytes and
waiting are those of one worker, per tree.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import podium
from mslr_like import mslr_like
from podium.training.distributed import driver

FIRST_ROUNDS = 4  # that are left out
METRIC = "ndcg(empty='skip')@10"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--queries", type=int, default=6000)
    options.add_argument("--rounds", type=int, default=30)
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--leaves", type=int, default=31)
    options.add_argument("--rows", type=float, default=None, help="row_sampling; by default that of the ranker")
    options.add_argument("--growth", default="leaf")
    options.add_argument("--out", type=Path)
    given = options.parse_args()
    train, test = mslr_like(given.queries), mslr_like(max(2, given.queries // 6), seed=1)
    found: dict[str, Any] = {"documents": train.n_documents, "rounds": given.rounds, "leaves": given.leaves}
    engines = (f"local(threads={given.workers})", f"ray(workers={given.workers})")
    for engine in engines:
        found[engine] = podium_run(given, engine, train, test)
        print(engine, json.dumps(found[engine]), flush=True)
    local, ray = (found[engine]["seconds_per_tree"] for engine in engines)
    found["ratio"] = ray / local
    print(f"{engines[1]} takes {ray / local:.2f} times as long per tree as {engines[0]}")
    if given.out is not None:
        given.out.write_text(json.dumps(found, indent=2) + "\n")


def podium_run(
    given: argparse.Namespace, engine: str, train: podium.RankingData, test: podium.RankingData
) -> dict[str, Any]:
    """Train, and return the seconds per tree, those before the first, NDCG@10, and what was exchanged."""
    ranker = podium.LambdaMART(
        n_estimators=given.rounds,
        num_leaves=given.leaves,
        learning_rate=0.1,
        row_sampling=given.rows,
        growth=given.growth,
    )
    reports: list[driver.ClusterReport] = []
    end = driver.Driver.end

    def keep(self: driver.Driver) -> None:
        reports.append(self.report)
        end(self)

    driver.Driver.end = keep  # type: ignore[method-assign]
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker.fit(train, engine=engine)
    whole = time.perf_counter() - began
    driver.Driver.end = end  # type: ignore[method-assign]
    ends = [row.seconds for row in ranker.log_]
    steps = np.diff(ends)[FIRST_ROUNDS:]
    found: dict[str, Any] = {
        "seconds_per_tree": round(statistics.median(steps.tolist()), 4),
        "seconds_to_first_tree": round(ends[0], 2),
        "seconds": round(whole, 2),
        "ndcg@10": round(podium.evaluate(ranker.predict(test), test, METRIC).mean[METRIC], 4),
    }
    if reports:
        traffic, trees = max(reports[0].traffic, key=lambda each: each.exchanges), reports[0].trees
        found |= {
            "exchanges_per_tree": round(traffic.exchanges / trees, 1),
            "bytes_per_tree": round(traffic.bytes / trees),
            "waiting_per_tree": round(traffic.seconds / trees, 4),
        }
    return found


if __name__ == "__main__":
    main()
