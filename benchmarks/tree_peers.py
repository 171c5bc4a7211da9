"""Boosted trees by Podium and its peers, tree by tree under a clock: one run of one system, in a process of its own.

    python benchmarks/tree_peers.py SYSTEM FOLDER --trees 200 [--threads 2] [--leaves 63]

FOLDER holds `train.podium-data` and `test.podium-data`. The process prints one line of JSON: seconds of binning, seconds of each
tree, NDCG@10 on test after every few trees, and memory. Only binning and growing are under the clock; scoring and judging come
after it, and after memory has been measured. Memory is the peak of the process, and that peak less what the process held when
its libraries were imported and the training data loaded.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

import podium
from podium import RankingData

RATE, BINS = 0.1, 255
STAGE = 5  # trees between two points of a curve
METRIC = "ndcg(empty='skip')@10"


@dataclass(frozen=True)
class Grown:
    """A model with the seconds it took.

    Attributes:
        binning: until the first tree can begin.
        trees: seconds of each tree.
        curve: NDCG@10 on the test data after 1 · STAGE, 2 · STAGE, … trees; called when the clock has stopped.
    """

    binning: float
    trees: list[float]
    curve: Callable[[RankingData], list[float]]


@dataclass(frozen=True)
class Plan:
    trees: int
    threads: int
    leaves: int


def ndcg(scores: np.ndarray, data: RankingData) -> float:
    return podium.evaluate(scores, data, METRIC).mean[METRIC]


def curve_of(parts: Iterator[np.ndarray], data: RankingData) -> list[float]:
    """NDCG@10 of running sums of what each stage adds."""
    return [ndcg(scores, data) for scores in itertools.accumulate(parts)]


def stages(trees: int) -> Iterator[tuple[int, int]]:
    """(first tree, one past the last) of every whole stage."""
    return ((last - STAGE, last) for last in range(STAGE, trees + 1, STAGE))


# one adapter a library -----------------------------------------------------------------------------------------------


def grow_podium(data: RankingData, plan: Plan, **settings: object) -> Grown:
    """`log_` says when each tree was ready; the seconds before the first that no tree explains are binning.

    The curve is the log of a second training with the test data as validation: the same trees, since nothing stops it early.
    """
    given = {"metric": "ndcg@10", "n_estimators": plan.trees, "num_leaves": plan.leaves, "learning_rate": RATE}
    given |= {"num_threads": plan.threads, "seed": 0, "early_stopping_rounds": None} | settings
    log = podium.LambdaMART(**given).fit(data).log_
    ends = [row.seconds for row in log]
    later = [after - before for before, after in itertools.pairwise(ends)]
    binning = max(0.0, ends[0] - statistics.median(later))

    def curve(test: RankingData) -> list[float]:
        again = podium.LambdaMART(**given | {"metric": METRIC}).fit(data, valid=test)
        return [again.log_[last - 1].valid for _, last in stages(len(again.log_))]

    return Grown(binning, [ends[0] - binning, *later], curve)


def grow_lightgbm(data: RankingData, plan: Plan, **settings: object) -> Grown:
    """What LightGBM sets up when its booster is made (its choice of layout among it) counts as binning."""
    import lightgbm

    given = {"objective": "lambdarank", "metric": "none", "num_leaves": plan.leaves, "learning_rate": RATE}
    given |= {"max_bin": BINS, "num_threads": plan.threads, "verbosity": -1} | settings
    began = time.perf_counter()
    bins = lightgbm.Dataset(data.features, data.labels, group=data.query_sizes, params=given).construct()
    booster = lightgbm.Booster(given, bins)
    binning = time.perf_counter() - began
    seconds = [clocked(booster.update) for _ in range(plan.trees)]

    def curve(test: RankingData) -> list[float]:
        score = partial(booster.predict, test.features, raw_score=True, num_threads=plan.threads)
        return curve_of((score(start_iteration=a, num_iteration=b - a) for a, b in stages(plan.trees)), test)

    return Grown(binning, seconds, curve)


def grow_xgboost(data: RankingData, plan: Plan) -> Grown:
    import xgboost

    given = {"objective": "rank:ndcg", "tree_method": "hist", "grow_policy": "lossguide", "max_leaves": plan.leaves}
    given |= {"max_depth": 0, "eta": RATE, "max_bin": BINS, "nthread": plan.threads, "verbosity": 0}
    queries = data.document_queries
    began = time.perf_counter()
    bins = xgboost.QuantileDMatrix(data.features, data.labels, qid=queries, max_bin=BINS, nthread=plan.threads)
    booster = xgboost.Booster(given, [bins])
    binning = time.perf_counter() - began
    seconds = [clocked(partial(booster.update, bins, k)) for k in range(plan.trees)]

    def curve(test: RankingData) -> list[float]:
        rows = xgboost.DMatrix(test.features, nthread=plan.threads)
        score = partial(booster.predict, rows, output_margin=True)
        return curve_of((score(iteration_range=stage) for stage in stages(plan.trees)), test)

    return Grown(binning, seconds, curve)


def grow_catboost(data: RankingData, plan: Plan) -> Grown:
    """Its trees are symmetric: 6 levels are 64 leaves. What it does before its first tree goes to the first tree."""
    import catboost

    ends: list[float] = []

    class Clock:
        def after_iteration(self, info: object) -> bool:
            ends.append(time.perf_counter())
            return True

    queries = data.document_queries
    began = time.perf_counter()
    pool = catboost.Pool(data.features, data.labels, group_id=queries, thread_count=plan.threads)
    pool.quantize(border_count=BINS - 1, task_type="CPU")
    ready = time.perf_counter()
    given = {"loss_function": "YetiRank", "iterations": plan.trees, "depth": max(1, (plan.leaves + 1).bit_length() - 1)}
    given |= {"learning_rate": RATE, "thread_count": plan.threads, "verbose": False, "allow_writing_files": False}
    ranker = catboost.CatBoost(given)
    ranker.fit(pool, callbacks=[Clock()])

    def curve(test: RankingData) -> list[float]:
        staged = ranker.staged_predict(test.features, eval_period=STAGE, thread_count=plan.threads)
        return [ndcg(scores, test) for _, scores in zip(stages(plan.trees), staged, strict=False)]

    return Grown(ready - began, [after - before for before, after in itertools.pairwise([ready, *ends])], curve)


def clocked(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


GOSS = {"data_sample_strategy": "goss"}
SYSTEMS: dict[str, Callable[[RankingData, Plan], Grown]] = {
    "podium": grow_podium,
    "podium, exact": partial(grow_podium, row_sampling=1.0),
    **{f"podium, {share:.0%}": partial(grow_podium, row_sampling=share) for share in (0.3, 0.2, 0.1)},
    "lightgbm": grow_lightgbm,
    "lightgbm, row-wise": partial(grow_lightgbm, force_row_wise=True),
    "lightgbm, column-wise": partial(grow_lightgbm, force_col_wise=True),
    "lightgbm, quantised": partial(grow_lightgbm, use_quantized_grad=True, num_grad_quant_bins=16),
    "lightgbm, goss .2/.1": partial(grow_lightgbm, **GOSS, top_rate=0.2, other_rate=0.1),
    "lightgbm, goss .1/.1": partial(grow_lightgbm, **GOSS, top_rate=0.1, other_rate=0.1),
    "xgboost": grow_xgboost,
    "catboost": grow_catboost,
}


def library(system: str) -> str:
    return system.partition(",")[0]


# the process ---------------------------------------------------------------------------------------------------------


def memory(field: str) -> int:
    """Bytes, of this process alone: getrusage would count the parent's memory from before the program was started."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status[field].split()[0]) * 1024


def loaded(path: Path) -> RankingData:
    """In memory, not mapped, so that every system has the same data resident from the start."""
    data = podium.read(path)
    return data.replace(features=np.array(data.features))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("system", choices=SYSTEMS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trees", type=int, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--leaves", type=int, default=63)
    parser.add_argument("--no-curve", action="store_true")
    options = parser.parse_args()
    __import__(library(options.system))
    train = loaded(options.folder / "train.podium-data")
    held = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    grown = SYSTEMS[options.system](train, Plan(options.trees, options.threads, options.leaves))
    peak = memory("VmHWM")
    curve = [] if options.no_curve else grown.curve(loaded(options.folder / "test.podium-data"))
    found = {
        "binning": grown.binning,
        "trees": grown.trees,
        "curve": curve,
        "peak": peak,
        "peak_beyond_data": peak - held,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
