"""Boosted trees on a cluster of two processes on this machine: one run of one system, in a process of its own.

    python benchmarks/cluster_peers.py SYSTEM FOLDER --trees 100 [--curve]

FOLDER holds `train.podium-data` and `test.podium-data`. The cluster is started, and for Dask the data is on its workers, before
the clock starts. What the clock measures is `fit`: for Podium this includes handing out the data. The process prints one line of
JSON: the seconds after which each tree was ready, NDCG@10 on the test queries after every few trees, and what was exchanged.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import podium
from podium.formats.shards import cuts

WORKERS, RATE, BINS = 2, 0.1, 255
STAGE = 5  # trees between two points of a curve
METRIC = "ndcg(empty='skip')@10"
TREES = {
    "symmetric": {"growth": "symmetric", "num_leaves": 64, "row_sampling": 0.3},
    "leaf-wise": {"growth": "leaf", "num_leaves": 63, "row_sampling": 1.0},
}
Found = dict[str, Any]


def ndcg(scores: np.ndarray, data: podium.RankingData) -> float:
    return podium.evaluate(scores, data, METRIC).mean[METRIC]


def curve_of(predict: Callable[[int], np.ndarray], trees: int, test: podium.RankingData) -> list[float]:
    """Return NDCG@10 after STAGE, 2 · STAGE, … trees."""
    return [ndcg(predict(count), test) for count in range(STAGE, trees + 1, STAGE)]


def loopback_bytes() -> int:
    """Return how many bytes the processes of this machine have sent to each other by the network so far."""
    lines = Path("/proc/net/dev").read_text().splitlines()
    return next(int(line.split()[9]) for line in lines if line.strip().startswith("lo:"))


# Podium --------------------------------------------------------------------------------------------------------------


def run_podium(kind: str, engine: str, trees: int, data: podium.RankingData, test: podium.RankingData | None) -> Found:
    """Train on an engine. The seconds outside the log of training come before its first tree."""
    from podium.cluster import Ray, connect
    from podium.training.distributed import driver

    reports: list[driver.ClusterReport] = []
    end = driver.Driver.end

    def keep(self: driver.Driver) -> None:
        reports.append(self.report)
        end(self)

    driver.Driver.end = keep  # type: ignore[method-assign]
    given = {"learning_rate": RATE, "forests": 1, "seed": 0, "early_stopping_rounds": None, **TREES[kind]}
    ranker = podium.LambdaMART(n_estimators=trees, **given)
    with connect(Ray(workers=WORKERS, address="local")):
        sent, began = loopback_bytes(), time.perf_counter()
        ranker.fit(data, engine=engine)
        whole, sent = time.perf_counter() - began, loopback_bytes() - sent
    ends = np.array([row.seconds for row in ranker.log_])
    found: Found = {"ends": (ends + whole - ends[-1]).tolist(), "loopback_bytes_per_tree": sent / trees}
    if reports:
        traffic = max(reports[0].traffic, key=lambda each: each.exchanges)
        found["exchanges_per_tree"] = traffic.exchanges / trees
        found["bytes_per_tree"] = traffic.bytes / trees
        found["waiting_per_tree"] = traffic.seconds / trees
    if test is not None:
        log = podium.LambdaMART(n_estimators=trees, metric=METRIC, **given).fit(data, valid=test).log_
        found["curve"] = [log[last - 1].valid for last in range(STAGE, trees + 1, STAGE)]
    return found


# Dask ----------------------------------------------------------------------------------------------------------------


class DaskCluster:
    """Two workers with one thread each, and the data on them: each has one partition of whole queries."""

    def __init__(self, data: podium.RankingData) -> None:
        import dask.array as da
        from dask.distributed import Client, LocalCluster, wait

        self.cluster = LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, dashboard_address=None, memory_limit=None, silence_logs=40
        )
        self.client = Client(self.cluster)
        addresses = sorted(self.client.scheduler_info()["workers"])
        queries = np.repeat(np.arange(data.n_queries), data.query_sizes)
        columns: dict[str, list[Any]] = {"X": [], "y": [], "qid": [], "group": []}
        for (first, last), address in zip(cuts(data.query_offsets, WORKERS), addresses, strict=True):
            rows = slice(int(data.query_offsets[first]), int(data.query_offsets[last]))
            parts = {
                "X": np.asarray(data.features[rows]),
                "y": data.labels[rows],
                "qid": queries[rows],
                "group": data.query_sizes[first:last],
            }
            for name, part in parts.items():
                future = self.client.scatter(part, workers=[address], hash=False)
                wait(future)
                columns[name].append(da.from_delayed(future, part.shape, part.dtype))
        self.columns = {name: self.client.persist(da.concatenate(parts)) for name, parts in columns.items()}
        wait(list(self.columns.values()))

    def close(self) -> None:
        self.client.close()
        self.cluster.close()


class Clock:
    """Appends a line to a file of its own whenever a worker has grown a tree; sent to the workers with the training."""

    order, before_iteration = 50, False

    def __init__(self, path: str) -> None:
        self.path = path

    def __call__(self, state: Any) -> None:
        with Path(f"{self.path}.{os.getpid()}").open("a") as file:
            file.write(f"{time.time()}\n")

    def ends(self, began: float) -> list[float]:
        """Return the seconds after which all workers had each tree."""
        files = Path(self.path).parent.glob(f"{Path(self.path).name}.*")
        ends: np.ndarray = np.max([np.loadtxt(file, ndmin=1) for file in files], axis=0) - began
        return ends.tolist()


def run_on_dask(
    make: Callable[[Clock], Callable[[DaskCluster], Any]],
    predict: Callable[[Any, np.ndarray, int], np.ndarray],
    trees: int,
    data: podium.RankingData,
    test: podium.RankingData | None,
) -> Found:
    """Train by Dask."""
    with tempfile.TemporaryDirectory() as folder:
        clock = Clock(str(Path(folder) / "ends"))
        cluster = DaskCluster(data)
        sent, began = loopback_bytes(), time.time()
        model = make(clock)(cluster)
        sent = loopback_bytes() - sent
        cluster.close()
        found: Found = {"ends": clock.ends(began), "loopback_bytes_per_tree": sent / trees}
    if test is not None:
        found["curve"] = curve_of(lambda count: predict(model, test.features, count), trees, test)
    return found


def run_lightgbm(trees: int, data: podium.RankingData, test: podium.RankingData | None) -> Found:
    """Grow the trees of LightGBM, whose other settings are its defaults."""
    from lightgbm.dask import DaskLGBMRanker

    def make(clock: Clock) -> Callable[[DaskCluster], Any]:
        def fit(cluster: DaskCluster) -> Any:
            ranker = DaskLGBMRanker(
                client=cluster.client,
                n_estimators=trees,
                num_leaves=63,
                learning_rate=RATE,
                max_bin=BINS,
                tree_learner="data",
                verbosity=-1,
            )
            columns = cluster.columns
            return ranker.fit(columns["X"], columns["y"], group=columns["group"], callbacks=[clock]).booster_

        return fit

    return run_on_dask(make, lambda model, rows, count: model.predict(rows, num_iteration=count), trees, data, test)


def run_xgboost(trees: int, data: podium.RankingData, test: podium.RankingData | None) -> Found:
    """Grow the trees of XGBoost by leaves, as the others do; its other settings are its defaults."""
    import xgboost
    from xgboost.dask import DaskXGBRanker

    class Heard(xgboost.callback.TrainingCallback):  # type: ignore[misc]
        def __init__(self, clock: Clock) -> None:
            super().__init__()
            self.clock = clock

        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            self.clock(None)
            return False

    def make(clock: Clock) -> Callable[[DaskCluster], Any]:
        def fit(cluster: DaskCluster) -> Any:
            ranker = DaskXGBRanker(
                objective="rank:ndcg",
                allow_group_split=True,  # nothing is shuffled: every partition has whole queries already
                n_estimators=trees,
                tree_method="hist",
                grow_policy="lossguide",
                max_leaves=63,
                max_depth=0,
                learning_rate=RATE,
                max_bin=BINS,
                callbacks=[Heard(clock)],
            )
            ranker.client = cluster.client
            columns = cluster.columns
            return ranker.fit(columns["X"], columns["y"], qid=columns["qid"]).get_booster()

        return fit

    def predict(model: Any, rows: np.ndarray, count: int) -> np.ndarray:
        return model.predict(xgboost.DMatrix(rows), iteration_range=(0, count))

    return run_on_dask(make, predict, trees, data, test)


def systems() -> dict[str, Callable[..., Found]]:
    """Return how each system trains, by its name."""
    found: dict[str, Callable[..., Found]] = {}
    for kind in TREES:
        for engine in (f"local(threads={WORKERS})", f"ray(workers={WORKERS})"):
            found[f"podium {kind}, {engine}"] = lambda *given, k=kind, e=engine: run_podium(k, e, *given)
    return {**found, "lightgbm.dask": run_lightgbm, "xgboost.dask": run_xgboost}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("system", choices=list(systems()))
    options.add_argument("folder", type=Path)
    options.add_argument("--trees", type=int, default=100)
    options.add_argument("--curve", action="store_true")
    given = options.parse_args()
    data = podium.read(given.folder / "train.podium-data")
    test = podium.read(given.folder / "test.podium-data") if given.curve else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = systems()[given.system](given.trees, data, test)
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
