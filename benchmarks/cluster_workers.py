"""A training with many workers on this machine, as if on several nodes, next to one process: the bytes, the time and the memory.

    python benchmarks/cluster_workers.py [--workers 64] [--nodes 4]

Every worker is an actor of Ray, and so a process. The workers of a node add their numbers in memory that they share, and nodes meet
at the hub; `--nodes` says among how many nodes the workers of this machine are divided. Memory is what the processes of the
workers have for themselves.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

import podium
from cluster_faults import workers_of
from podium.cluster import engine
from podium.training import Epoch, train
from podium.training.distributed import driver


def make_data(queries: int, first: int) -> podium.RankingData:
    """Return queries of 20 documents with 20 features."""
    random = np.random.default_rng(first)
    features = random.normal(size=(20 * queries, 20)).astype(np.float32)
    noise = random.normal(size=len(features))
    labels = np.digitize(features[:, 0] * features[:, 1] + features[:, 2] + noise, [0, 1, 2]).astype(float)
    return podium.RankingData(features, labels, first + np.arange(len(features)) // 20)


def private_mib(pid: int) -> float:
    """Return the memory that a process shares with no other."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private")) / 1024


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--workers", type=int, default=64)
    options.add_argument("--nodes", type=int, default=4)
    options.add_argument("--rounds", type=int, default=10)
    given = options.parse_args()
    warnings.simplefilter("ignore")
    data, valid = make_data(20 * given.workers, 0), make_data(2 * given.workers, 10**6)
    ranker = podium.LambdaMART(n_estimators=given.rounds, early_stopping_rounds=None, seed=1)
    plan = ranker._plan(data)
    plan = replace(plan.schedule.resolve(plan, data), engine=engine(f"ray(workers={given.workers})"))
    nodes = tuple((str(k * given.nodes // given.workers),) * 2 for k in range(given.workers))
    memory: list[float] = []
    ends: list[float] = []

    def look(row: Epoch) -> None:
        ends.append(time.perf_counter())
        if not memory:
            memory.extend(private_mib(pid) for pid in workers_of(os.getpid()))

    began = time.perf_counter()
    found = driver.train_on_cluster(plan, data, valid=valid, callbacks=(look,), checkpoint=None, nodes=nodes)
    expected = train(replace(plan, engine=engine("local")), data, valid=valid)
    same = all(
        array.tobytes() == found.model.arrays()[name].tobytes() for name, array in expected.model.arrays().items()
    )
    print(
        f"{given.workers} workers on {given.nodes} nodes: {'the same bytes' if same else 'OTHER BYTES'} as one process; "
        f"{len(memory)} processes with {np.median(memory):.0f} MiB each; the first round ended after {ends[0] - began:.0f} s, the others "
        f"took {np.median(np.diff(ends)):.2f} s each"
    )
    if not same:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
