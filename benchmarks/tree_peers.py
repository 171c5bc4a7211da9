"""Boosted trees by Podium and its peers, tree by tree under a clock: one run of one system, in a process of its own.

    python benchmarks/tree_peers.py SYSTEM FOLDER --trees 200 [--most 260 --target 0.62] [--threads 2] [--leaves 63]

FOLDER holds `train.podium-data` and `test.podium-data`. The process prints one line of JSON: seconds of binning, seconds of each
tree, NDCG@10 on test after every few trees, and memory. With a target that `--trees` trees do not reach, it continues to `--most`.
Only binning and growing are under the clock; scoring and judging come after it, and after memory has been measured. Memory
is the peak of the process, and that peak less what the process held when its libraries were imported and the training data
loaded.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np

import podium
from podium import RankingData

RATE, BINS = 0.1, 255
STAGE = 5  # trees between two points of a curve
METRIC = "ndcg(empty='skip')@10"


@dataclass(frozen=True)
class Plan:
    threads: int
    leaves: int


class Growing(ABC):
    """A model as it grows.

    Attributes:
        binning: seconds until the first tree can begin.
        seconds: the time of each tree.
        curve: NDCG@10 on the test data after 1 · STAGE, 2 · STAGE, … trees, as far as it has been judged.
        at_once: whether it cannot continue from the trees it has, so that growing them again takes long.
    """

    at_once: ClassVar[bool] = False

    def __init__(self) -> None:
        self.binning = 0.0
        self.seconds: list[float] = []
        self.curve: list[float] = []

    @abstractmethod
    def grow(self, trees: int) -> None:
        """Under the clock, until there are so many."""

    @abstractmethod
    def judge(self, test: RankingData) -> None:
        """The curve of all trees so far."""


class Staged(Growing):
    """One that can say what some of its trees add to the scores."""

    def judge(self, test: RankingData) -> None:
        total = np.zeros(test.n_documents)
        self.curve = [ndcg(total := total + part, test) for part in self.parts(test)]

    @abstractmethod
    def parts(self, test: RankingData) -> Iterator[np.ndarray]:
        """Return the contribution of each stage."""


def ndcg(scores: np.ndarray, data: RankingData) -> float:
    return podium.evaluate(scores, data, METRIC).mean[METRIC]


def stages(trees: int) -> Iterator[tuple[int, int]]:
    """(first tree, one past the last) of every whole stage."""
    return ((last - STAGE, last) for last in range(STAGE, trees + 1, STAGE))


def clocked(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


# one adapter a library -----------------------------------------------------------------------------------------------


class GrowPodium(Growing):
    """A callback hears when each tree is ready; the seconds before the first that no tree explains are binning.

    The curve is the log of a second training with the test data as validation: the same trees, since nothing stops it early.
    """

    def __init__(self, data: RankingData, plan: Plan, **settings: object) -> None:
        super().__init__()
        self.data, self.given = data, {"metric": "ndcg@10", "num_leaves": plan.leaves, "learning_rate": RATE}
        self.given |= {"num_threads": plan.threads, "seed": 0, "early_stopping_rounds": None}
        self.given |= {"growth": "leaf", "l2": 0.0, "draws": 1, "row_sampling": 0.2} | settings

    def grow(self, trees: int) -> None:
        ranker, ends = podium.LambdaMART(**self.given, n_estimators=trees), []
        began = time.perf_counter()
        ranker.fit(self.data, callbacks=[lambda _: ends.append(time.perf_counter() - began)])
        later = [after - before for before, after in itertools.pairwise(ends)]
        self.binning = max(0.0, ends[0] - statistics.median(later))
        self.seconds = [ends[0] - self.binning, *later]

    def judge(self, test: RankingData) -> None:
        again = podium.LambdaMART(**self.given | {"metric": METRIC}, n_estimators=len(self.seconds))
        log = again.fit(self.data, valid=test).log_
        self.curve = [log[last - 1].valid for _, last in stages(len(log))]


class GrowLightGBM(Staged):
    """Time what LightGBM sets up when its booster is made (including its choice of layout) as binning."""

    def __init__(self, data: RankingData, plan: Plan, **settings: object) -> None:
        import lightgbm

        super().__init__()
        given = {"objective": "lambdarank", "metric": "none", "num_leaves": plan.leaves, "learning_rate": RATE}
        given |= {"max_bin": BINS, "num_threads": plan.threads, "verbosity": -1} | settings
        began = time.perf_counter()
        bins = lightgbm.Dataset(data.features, data.labels, group=data.query_sizes, params=given).construct()
        self.booster, self.threads = lightgbm.Booster(given, bins), plan.threads
        self.binning = time.perf_counter() - began

    def grow(self, trees: int) -> None:
        self.seconds += [clocked(self.booster.update) for _ in range(len(self.seconds), trees)]

    def parts(self, test: RankingData) -> Iterator[np.ndarray]:
        score = partial(self.booster.predict, test.features, raw_score=True, num_threads=self.threads)
        return (score(start_iteration=a, num_iteration=b - a) for a, b in stages(len(self.seconds)))


class GrowXGBoost(Staged):
    def __init__(self, data: RankingData, plan: Plan) -> None:
        import xgboost

        super().__init__()
        given = {"objective": "rank:ndcg", "tree_method": "hist", "grow_policy": "lossguide", "max_leaves": plan.leaves}
        given |= {"max_depth": 0, "eta": RATE, "max_bin": BINS, "nthread": plan.threads, "verbosity": 0}
        queries, self.threads = data.document_queries, plan.threads
        began = time.perf_counter()
        self.bins = xgboost.QuantileDMatrix(data.features, data.labels, qid=queries, max_bin=BINS, nthread=plan.threads)
        self.booster = xgboost.Booster(given, [self.bins])
        self.binning = time.perf_counter() - began

    def grow(self, trees: int) -> None:
        more = range(len(self.seconds), trees)
        self.seconds += [clocked(partial(self.booster.update, self.bins, k)) for k in more]

    def parts(self, test: RankingData) -> Iterator[np.ndarray]:
        import xgboost

        rows = xgboost.DMatrix(test.features, nthread=self.threads)
        score = partial(self.booster.predict, rows, output_margin=True)
        return (score(iteration_range=stage) for stage in stages(len(self.seconds)))


class GrowCatBoost(Growing):
    """Its trees are symmetric: 6 levels are 64 leaves. What it does before its first tree goes to the first tree."""

    at_once: ClassVar[bool] = True

    def __init__(self, data: RankingData, plan: Plan) -> None:
        import catboost

        super().__init__()
        self.plan = plan
        queries = data.document_queries
        began = time.perf_counter()
        self.pool = catboost.Pool(data.features, data.labels, group_id=queries, thread_count=plan.threads)
        self.pool.quantize(border_count=BINS - 1, task_type="CPU")
        self.binning = time.perf_counter() - began

    def grow(self, trees: int) -> None:
        import catboost

        ends = []

        class Clock:
            def after_iteration(self, info: object) -> bool:
                ends.append(time.perf_counter())
                return True

        given = {"loss_function": "YetiRank", "iterations": trees, "learning_rate": RATE, "verbose": False}
        given |= {"depth": max(1, (self.plan.leaves + 1).bit_length() - 1), "allow_writing_files": False}
        self.ranker = catboost.CatBoost(given | {"thread_count": self.plan.threads})
        began = time.perf_counter()
        self.ranker.fit(self.pool, callbacks=[Clock()])
        self.seconds = [after - before for before, after in itertools.pairwise([began, *ends])]

    def judge(self, test: RankingData) -> None:
        staged = self.ranker.staged_predict(test.features, eval_period=STAGE, thread_count=self.plan.threads)
        whole = stages(len(self.seconds))
        self.curve = [ndcg(scores, test) for _, scores in zip(whole, staged, strict=False)]


GOSS = {"data_sample_strategy": "goss"}
SYSTEMS: dict[str, Callable[[RankingData, Plan], Growing]] = {
    "podium": GrowPodium,  # grown from 20 % of the documents
    "podium, exact": partial(GrowPodium, row_sampling=1.0, query_sampling=1.0, column_sampling=1.0, draws=1),
    **{f"podium, {share:.0%}": partial(GrowPodium, row_sampling=share) for share in (0.3, 0.1)},
    "lightgbm": GrowLightGBM,
    "lightgbm, row-wise": partial(GrowLightGBM, force_row_wise=True),
    "lightgbm, column-wise": partial(GrowLightGBM, force_col_wise=True),
    "lightgbm, quantized": partial(GrowLightGBM, use_quantized_grad=True, num_grad_quant_bins=16),
    "lightgbm, goss .2/.1": partial(GrowLightGBM, **GOSS, top_rate=0.2, other_rate=0.1),
    "lightgbm, goss .1/.1": partial(GrowLightGBM, **GOSS, top_rate=0.1, other_rate=0.1),
    "xgboost": GrowXGBoost,
    "catboost": GrowCatBoost,
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
    return data.replace_grouped(features=np.array(data.features))


def imported(system: str) -> None:
    """The library with all it needs to train, so that its code does not count as memory of training."""
    __import__(library(system))
    if library(system) == "podium":
        podium.LambdaMART()


def grown(growing: Growing, options: argparse.Namespace) -> dict:
    """Binning, trees, curve and peak."""
    growing.grow(options.most if growing.at_once else options.trees)
    peak = memory("VmHWM")
    if not options.no_curve:
        test = loaded(options.folder / "test.podium-data")
        growing.judge(test)
        if options.target is not None and max(growing.curve) < options.target and len(growing.seconds) < options.most:
            growing.grow(options.most)
            growing.judge(test)
    return {"binning": growing.binning, "trees": growing.seconds, "curve": growing.curve, "peak": peak}


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("system", choices=SYSTEMS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trees", type=int, required=True)
    parser.add_argument("--most", type=int, help="trees, if these do not reach the target; by default no more")
    parser.add_argument("--target", type=float, help="NDCG@10 on test")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--leaves", type=int, default=63)
    parser.add_argument("--no-curve", action="store_true")
    options = parser.parse_args()
    options.most = options.most or options.trees
    return options


def main() -> None:
    options = parsed()
    imported(options.system)
    train = loaded(options.folder / "train.podium-data")
    held = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    found = grown(SYSTEMS[options.system](train, Plan(options.threads, options.leaves)), options)
    print(json.dumps(found | {"peak_beyond_data": found["peak"] - held}))


if __name__ == "__main__":
    main()
