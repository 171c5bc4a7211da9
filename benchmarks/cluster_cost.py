"""What a tree costs on a cluster: seconds, bytes and exchanges as functions of documents, features, leaves and workers.

    python benchmarks/cluster_cost.py [--write | --read]

Trains on continuous features, which fill all bins, with 1 to 5 workers of this machine, fits a model of the cost to some of the
trainings, and compares what the model says about the others with what they took. `--write` keeps the figures in
benchmarks/results/cluster_cost.json, and `--read` fits and extrapolates from them.

Per tree and worker, the model is

    exchanges = a₀ + a₁·levels + a₂·leaves
    bytes     = b₀ + b₁·features·leaves
    seconds   = c₀ + c₁·documents·features·levels/processors + c₂·documents/processors
                + c₃·exchanges + c₄·exchanges·workers + c₅·bytes·workers

where `levels` is log₂(leaves), because each document is counted once per level of a balanced tree, and `processors` is the number of
workers, but at most the cores of this machine. Seconds are the median of the rounds but the first two, over the trees of a round.
Exchanges and bytes are counted without Ray, because they do not depend on it or on the number of workers; the preparation, in which
the bins are chosen, is left out.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import os
import time
import warnings
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

import podium
from podium.cluster import Ray, connect
from podium.exchange import Exchange, Floats, Integers
from podium.training import train

RESULTS = Path(__file__).parent / "results" / "cluster_cost.json"
ROUNDS = 10
QUERY_DOCUMENTS = 100
MOST_WORKERS = 5
CORES = len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Case:
    """One training. Those that are held out play no part in the fit."""

    queries: int
    features: int
    leaves: int
    workers: int
    held_out: bool = False


CASES = (
    Case(200, 96, 31, 1),
    Case(2400, 96, 31, 1),
    Case(2400, 32, 8, 1),
    Case(200, 96, 31, 2),
    Case(2400, 96, 31, 2),
    Case(2400, 32, 63, 2),
    Case(800, 96, 8, 2),
    Case(200, 32, 8, 3),
    Case(800, 96, 31, 3),
    Case(200, 96, 63, 4),
    Case(2400, 32, 16, 4),
    Case(200, 32, 31, 5),
    Case(800, 96, 16, 5),
    Case(1600, 64, 16, 1, held_out=True),
    Case(1600, 64, 31, 2, held_out=True),
    Case(1600, 96, 16, 3, held_out=True),
    Case(400, 64, 31, 4, held_out=True),
    Case(1600, 32, 31, 5, held_out=True),
)


@dataclass(frozen=True)
class Cost:
    """What a tree took."""

    documents: int
    exchanges: float
    bytes: float
    seconds: float


class CountingExchange(Exchange):
    """The exchange of one worker without others, which counts what it would send after the preparation."""

    def __init__(self) -> None:
        self.round = self.exchanges = self.bytes = 0

    def begin(self, round: int) -> None:
        """Note the round; the preparation is round 0."""
        self.round = round

    def _count(self, size: int) -> None:
        if self.round > 0:
            self.exchanges, self.bytes = self.exchanges + 1, self.bytes + size

    def gather(self, own: Any) -> list[Any]:
        """Return what was given."""
        self._count(getattr(own, "nbytes", 0))
        return [own]

    def combine(self, sums: Integers, maxima: Floats) -> None:
        """Leave the numbers as they are."""
        self._count(sums.nbytes + maxima.nbytes)

    def sum(self, numbers: Integers) -> None:
        """Leave the numbers as they are."""
        self._count(numbers.nbytes)

    def max(self, numbers: Floats) -> None:
        """Leave the numbers as they are."""
        self._count(numbers.nbytes)


def make_data(case: Case) -> podium.RankingData:
    """Return queries with continuous features, of which a few decide the label."""
    random = np.random.default_rng(0)
    documents = case.queries * QUERY_DOCUMENTS
    features = random.standard_normal((documents, case.features), np.float32)
    worth = (
        features[:, 0] + np.sin(2 * features[:, 1]) + features[:, 2] * features[:, 3] + random.normal(size=documents)
    )
    labels = np.digitize(worth, [0.5, 1.5, 2.5, 3.5]).astype(float)
    return podium.RankingData(features, labels, np.arange(documents) // QUERY_DOCUMENTS)


def make_ranker(case: Case) -> podium.LambdaMART:
    """Return the ranker of a case."""
    return podium.LambdaMART(
        n_estimators=ROUNDS,
        num_leaves=case.leaves,
        forests=1,
        row_sampling=1.0,
        query_sampling=1.0,
        column_sampling=1.0,
    )


def count(case: Case) -> tuple[int, float, float]:
    """Return the number of trees, and the exchanges and bytes of each."""
    data = make_data(case)
    plan = make_ranker(case)._plan(data)
    exchange = CountingExchange()
    trained = train(replace(plan.schedule.resolve(plan, data), exchange=exchange), data)
    trees = trained.model.n_trees
    return trees, exchange.exchanges / trees, exchange.bytes / trees


def measure_seconds(case: Case) -> float:
    """Return the seconds of a round on the cluster."""
    ended: list[float] = []
    ranker, data = make_ranker(case), make_data(case)
    ranker.fit(data, engine=Ray(workers=case.workers), callbacks=lambda row: ended.append(time.perf_counter()))
    return float(np.median(np.diff(ended)[1:]))


def measure(case: Case, seconds: float) -> Cost:
    """Return what a tree took, given the seconds of a round."""
    trees, exchanges, sent = count(case)
    return Cost(case.queries * QUERY_DOCUMENTS, exchanges, sent, seconds * ROUNDS / trees)


Columns = npt.NDArray[np.float64]


def exchange_terms(case: Case) -> list[float]:
    """Return the terms of the number of exchanges."""
    return [1.0, math.log2(case.leaves), case.leaves]


def byte_terms(case: Case) -> list[float]:
    """Return the terms of the bytes."""
    return [1.0, case.features * case.leaves]


def second_terms(case: Case, documents: int, exchanges: float, sent: float, processors: float) -> list[float]:
    """Return the terms of the seconds."""
    each = documents / processors
    counted = each * case.features * math.log2(case.leaves)
    return [1.0, counted, each, exchanges, exchanges * case.workers, sent * case.workers]


def fit(terms: list[list[float]], values: list[float]) -> Columns:
    """Return the coefficients, none of them negative, with the least relative errors."""
    rows, wanted = np.array(terms), np.array(values)
    scale = np.abs(rows / wanted[:, None]).max(axis=0)
    found, _ = nnls(rows / wanted[:, None] / scale, np.ones(len(wanted)))
    return found / scale


@dataclass(frozen=True)
class CostModel:
    """The fitted coefficients."""

    exchanges: list[float]
    bytes: list[float]
    seconds: list[float]

    @classmethod
    def of(cls, measured: list[tuple[Case, Cost]]) -> CostModel:
        """Fit the model."""
        processors = [min(case.workers, CORES) for case, _ in measured]
        terms = [
            second_terms(case, cost.documents, cost.exchanges, cost.bytes, each)
            for (case, cost), each in zip(measured, processors, strict=True)
        ]
        return cls(
            fit([exchange_terms(case) for case, _ in measured], [cost.exchanges for _, cost in measured]).tolist(),
            fit([byte_terms(case) for case, _ in measured], [cost.bytes for _, cost in measured]).tolist(),
            fit(terms, [cost.seconds for _, cost in measured]).tolist(),
        )

    def predict(self, case: Case, documents: int, processors: float) -> Cost:
        """Return what a tree takes by the model."""
        exchanges = float(np.dot(self.exchanges, exchange_terms(case)))
        sent = float(np.dot(self.bytes, byte_terms(case)))
        seconds = float(np.dot(self.seconds, second_terms(case, documents, exchanges, sent, processors)))
        return Cost(documents, exchanges, sent, seconds)


def show(measured: list[tuple[Case, Cost]], model: CostModel) -> None:
    """Print measured figures and those of the model."""
    print("documents features leaves workers | exchanges (model) | KiB (model) | ms (model)")
    for case, cost in measured:
        found = model.predict(case, cost.documents, min(case.workers, CORES))
        print(
            f"{cost.documents:9,} {case.features:8} {case.leaves:6} {case.workers:7} | {cost.exchanges:6.1f} ({found.exchanges:6.1f}) | "
            f"{cost.bytes / 1024:8,.0f} ({found.bytes / 1024:8,.0f}) | {1000 * cost.seconds:7.1f} ({1000 * found.seconds:7.1f})"
            f"{'  held out' if case.held_out else ''}"
        )


def extrapolate(model: CostModel, cores: int, bandwidth: float) -> None:
    """Print what the model says about larger clusters.

    Args:
        model: The model.
        cores: Cores of each machine, each of which counts as fast as one here.
        bandwidth: Bytes per second of the network card of the machine where the workers meet.
    """
    print(
        f"machines of {cores} cores, {bandwidth / 1e9:.2f} GB/s into and out of the meeting point; 136 features, 31 leaves"
    )
    for machines, documents in ((1, 10**7), (8, 10**8), (16, 10**9), (64, 10**9)):
        case = Case(0, 136, 31, machines)
        cost = model.predict(case, documents, machines * cores)
        wire = 2 * cost.bytes * machines / bandwidth if machines > 1 else 0.0
        print(
            f"{machines:4} machines, {documents:13,} documents: {cost.seconds + wire:7.2f} s per tree, {wire:.2f} s of them for "
            f"{2 * cost.bytes * machines / 1e6:,.0f} MB on the wire, {cost.exchanges:.0f} exchanges"
        )


def main() -> None:
    """Measure, fit, check and extrapolate."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true", help="keep the figures")
    parser.add_argument("--read", action="store_true", help="use the figures that were kept")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.getLogger("podium.cluster").setLevel(logging.ERROR)
    if options.read:
        kept = json.loads(RESULTS.read_text())["measured"]
        measured = [(Case(**row["case"]), Cost(**row["cost"])) for row in kept]
    else:
        with connect(Ray(workers=MOST_WORKERS, address="local")):
            seconds = [measure_seconds(case) for case in CASES]
        measured = [(case, measure(case, took)) for case, took in zip(CASES, seconds, strict=True)]
    model = CostModel.of([(case, cost) for case, cost in measured if not case.held_out])
    show(measured, model)
    print(f"coefficients: {asdict(model)}")
    extrapolate(model, cores=16, bandwidth=1.25e9)
    if options.write:
        rows = [{"case": asdict(case), "cost": asdict(cost)} for case, cost in measured]
        RESULTS.write_text(json.dumps({"cores": CORES, "model": asdict(model), "measured": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
