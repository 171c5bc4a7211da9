"""Boosting over queries: each round adds the weak ranker that is best for the queries that are ranked badly so far.

AdaRank, for any bounded metric Z. Queries start with equal weights P. Each round takes the weak ranker h with the largest
Σ P(q) Z(q, h), adds α·h with α = ½ ln(Σ P(q) (1 + Z(q, h)) / Σ P(q) (1 − Z(q, h))) to the ranker f, and sets
P(q) ∝ exp(−c·Z(q, f)); AdaRank has c = 1. [Xu and Li 2007; L = exp(−NDCG) among the measure-specific listwise losses]
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data import RankingData
from podium.data.canonical import canonical_order
from podium.data.categories import refuse_categories
from podium.errors import DataError, ParameterError
from podium.metrics import Documents, Metric, per_query
from podium.models.weak_rankers import WeakRankers
from podium.parameters import Search, Settings, inherit, setting
from podium.rules import Real
from podium.training.checkpoint import Arrays, Checkpoint
from podium.training.progress import Epoch, Progress
from podium.training.run import Plan, Trained, TrainingRun
from podium.training.schedule import LEARNING_RATE, N_ESTIMATORS, Schedule, early_stopping

Floats = npt.NDArray[np.float64]
CERTAIN = 1e-6  # a perfect weak ranker is weighted as if it missed this share
MOST_TABLE_BYTES = 4 << 30


@dataclass(kw_only=True, eq=False, repr=False)
class ReweightingSettings(Settings):
    """Settings of boosting over queries."""

    n_estimators: int = inherit(
        N_ESTIMATORS, default=500, description="Maximum number of rounds. Every round adds one weak ranker."
    )
    early_stopping_rounds: int | None = early_stopping(100, "rounds")
    learning_rate: float = inherit(
        LEARNING_RATE,
        default=1.0,
        description="Factor by which α, the weight of a weak ranker, is multiplied. 1 gives AdaRank as published.",
    )
    sharpness: float = setting(
        1.0,
        Real(above=0),
        "How much more badly ranked queries count: the weight of a query is e^(−sharpness · metric). 1 gives AdaRank as published; 2 "
        "gives AdaRank with a metric that is rescaled from 0…1 to −1…1.",
        search=Search(0.5, 10.0, log=True),
    )


@dataclass(kw_only=True, eq=False, repr=False)
class Reweighting(ReweightingSettings, Schedule):
    """Boosting of weak rankers over reweighted queries. [Xu and Li 2007]"""

    name = "reweighting"
    undistributed = "compares weak rankers on all queries in one process"
    fits = "`finite_difference` of a bounded metric; `linear` or `trees(num_leaves=2)`"
    summary = "AdaRank's boosting: the weak ranker that is best on reweighted queries: reweighting(rounds=500)."
    unit = "round"

    @property
    def max_epochs(self) -> int:
        """Maximum number of rounds."""
        return self.n_estimators

    def check(self, plan: Plan) -> None:
        """Check that the model is a sum of weak rankers and that the force has a bounded metric."""
        form = plan.model.weak_rankers
        if form is None:
            raise ParameterError(
                "schedule",
                str(self),
                f"cannot fit {plan.model}",
                "use {model='linear'} or {model='trees(num_leaves=2)'}",
            )
        self.check_read(plan.model, form.reads)
        if plan.force.metric is None:
            raise ParameterError(
                "force",
                str(plan.force),
                f"has no metric for {self} to raise",
                "use {force='finite_difference(ndcg@10)'}",
            )
        if not plan.force.definition.slope_of_metric:
            raise ParameterError(
                "force",
                str(plan.force),
                f"is not the slope of its metric, and {self.name} raises the metric itself",
                f"use {{force='finite_difference({plan.force.metric})'}}",
            )
        for name, value in plan.force.given:
            raise ParameterError(
                name, value, f"has no effect on {plan.force.name} with the schedule {self.name}", "leave it out"
            )
        if None in plan.force.metric.bounds:
            raise ParameterError(
                "force",
                str(plan.force),
                f"needs a bounded metric for {self}, and {plan.force.metric} has no bounds",
                "use {force='finite_difference(ndcg@10)'}",
            )
        self.check_start(plan)
        self.check_engine(plan)
        self.check_memory(plan)

    def resolve(self, plan: Plan, data: RankingData) -> Plan:
        """Choose the defaults of those settings of the model that weak rankers depend on; the others play no part."""
        model: Any = plan.model
        assert model.weak_rankers is not None
        chosen = model.resolve(data)
        if chosen.weak_rankers is None:
            refuse_categories(data, "a threshold stump")
        return replace(plan, model=replace(model, **{name: getattr(chosen, name) for name in model.weak_rankers.reads}))

    def make_run(
        self, plan: Plan, data: RankingData, valid: RankingData | None, checkpoint: Checkpoint | None
    ) -> ReweightingRun:
        """Return the training."""
        return ReweightingRun(self, plan, data, valid, checkpoint)


class QueryValues:
    """Z(q, scores) for every query, in an order that depends on the query ids alone; more is better.

    A metric in [−1, 1] for which higher is better is used as it is; others are scaled to [0, 1]. Queries without a value have
    none for any scores, and are ignored.
    """

    def __init__(self, metric: Metric, data: RankingData, num_threads: int) -> None:
        self.metric, self.data, self.num_threads = metric, data, num_threads
        self.order = canonical_order(data)
        low, high = metric.bounds
        assert low is not None
        assert high is not None
        if metric.higher_is_better and low >= -1 and high <= 1:
            self.zero, self.unit = 0.0, 1.0
        else:
            self.zero, self.unit = (low, high - low) if metric.higher_is_better else (high, low - high)

    def of(self, scores: Floats) -> Floats:
        """Return Z of every query; NaN if it has no value."""
        documents = Documents(scores, self.data.labels, self.data.query_offsets, row_order=self.data.row_order)
        values = per_query([self.metric], documents, num_threads=self.num_threads)[0][0][self.order]
        return np.asarray((values - self.zero) / self.unit)

    def table(self, rankers: WeakRankers) -> Floats:
        """Return Z(q, h) for every weak ranker and query; 0 if it has no value."""
        size = len(rankers) * self.data.n_queries * 8
        if size > MOST_TABLE_BYTES:
            raise DataError(
                f"the metric of {len(rankers)} weak rankers on {self.data.n_queries} queries takes {size / 2**30:.1f} GB; train on "
                "fewer queries or features, or use a smaller max_bins"
            )
        rows = [self.of(rankers.scores(number, self.data.features)) for number in range(len(rankers))]
        return np.nan_to_num(np.array(rows, np.float64))


class ReweightingRun(TrainingRun):
    """One run of boosting over queries."""

    def __init__(
        self,
        schedule: Reweighting,
        plan: Plan,
        data: RankingData,
        valid: RankingData | None,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        super().__init__(plan, data, valid, checkpoint)
        assert plan.force.metric is not None
        self.schedule = schedule
        assert plan.model.weak_rankers is not None
        self.rankers = plan.model.weak_rankers.make(data, plan.num_threads)
        if not len(self.rankers):
            raise DataError("no feature takes two values, so there is no weak ranker to choose; give other features")
        self.values = QueryValues(plan.force.metric, data, plan.num_threads)
        self.table = self.values.table(self.rankers)
        weights = np.ones(data.n_queries) if data.query_weights is None else data.query_weights
        none = np.isnan(self.values.of(np.zeros(data.n_documents)))
        self.start = np.where(none, 0.0, np.asarray(weights, np.float64)[self.values.order])
        if not self.start.any():
            raise DataError(
                f"no training query has both a weight above 0 and a value of {plan.force.metric}; check the labels and the query "
                "weights"
            )
        self.weights = self.start / self.start.sum()
        self.train_scores = np.zeros(data.n_documents)
        self.valid_scores = np.zeros(0 if valid is None else valid.n_documents)
        self.numbers: list[int] = []
        self.alphas: list[float] = []
        self.progress = Progress(rate=schedule.learning_rate)
        self._resume()

    def _epoch(self, began: float) -> None:
        """Run one round: choose a weak ranker, weight it, add it, and reweight the queries."""
        before, plan = self.progress, self.plan
        number = before.epoch + 1
        chosen = int(np.argmax((self.table * self.weights).sum(axis=1)))
        self._add(chosen, self.schedule.learning_rate * self._alpha(self.table[chosen]))
        cost = self._reweigh()
        train = self._value(plan.metric, self.data, self.train_scores)
        valid = also = None
        if self.valid is not None:
            valid, also = self._value(plan.metric, self.valid, self.valid_scores), self._also(self.valid_scores)
        judged = float(number) if self.valid is None else valid
        if judged is not None and self.valid is not None and not plan.metric.higher_is_better:
            judged = -judged
        best = judged is not None and (before.best_value is None or judged > before.best_value)
        row = Epoch(
            epoch=number,
            train=train,
            valid=valid,
            cost=cost,
            learning_rate=before.rate,
            restart=0,
            best=best,
            seconds=round(time.perf_counter() - began, 3),
            also=also,
        )
        kept = {"best_value": judged, "best_epoch": number, "best_vector": np.array(self.alphas)} if best else {}
        since = 0 if best else before.since_best + 1
        self.progress = before.moved(epoch=number, log=before.log.appended(row), since_best=since, **kept)

    def _alpha(self, values: Floats) -> float:
        """Return α = ½ ln(Σ P (1 + Z) / Σ P (1 − Z))."""
        right, wrong = (float((self.weights * (1 + sign * values)).sum()) for sign in (1, -1))
        return 0.5 * math.log(max(right, CERTAIN) / max(wrong, CERTAIN))

    def _add(self, number: int, alpha: float) -> None:
        self.numbers.append(number)
        self.alphas.append(alpha)
        self.train_scores = self.train_scores + alpha * self.rankers.scores(number, self.data.features)
        if self.valid is not None:
            self.valid_scores = self.valid_scores + alpha * self.rankers.scores(number, self.valid.features)

    def _reweigh(self) -> float:
        """Set P ∝ exp(−c·Z(q, f)) and return the mean of exp(−c·Z)."""
        losses = -self.schedule.sharpness * np.nan_to_num(self.values.of(self.train_scores))
        _core.exponentiate(losses, 1)  # the last bit of np.exp depends on the processor
        self.weights = self.start * losses
        mean = float(self.weights.sum() / self.start.sum())
        self.weights = self.weights / self.weights.sum()
        return mean

    def _ended(self) -> bool:
        return False

    def _state(self) -> Arrays:
        return {"numbers": np.array(self.numbers, np.int64), "alphas": np.array(self.alphas, np.float64)}

    def _load_state(self, arrays: Arrays) -> None:
        numbers, alphas = arrays["numbers"], arrays["alphas"]
        rounds = self.progress.epoch
        if (
            len(numbers) != rounds
            or len(alphas) != rounds
            or len(self.progress.best_vector) != self.progress.best_epoch
        ):
            raise ValueError("weak rankers of another number of rounds")
        if rounds and not (numbers.min() >= 0 and numbers.max() < len(self.rankers)):
            raise ValueError("there is no such weak ranker")
        if not np.array_equal(self.progress.best_vector, alphas[: self.progress.best_epoch]):
            raise ValueError("best_vector holds other weights than those of the weak rankers")
        for number, alpha in zip(numbers.tolist(), alphas.tolist(), strict=True):
            self._add(number, alpha)
        if rounds:
            self._reweigh()

    def _is_value_of_best(self, row: Epoch) -> bool:
        """Return whether the scores have the values of the last row; those of the best round are no longer there."""
        last, metric = self.progress.log[-1], self.plan.metric
        valid = None if self.valid is None else self._value(metric, self.valid, self.valid_scores)
        train = self._value(metric, self.data, self.train_scores)
        return (train, valid) == (last.train, last.valid)

    def _trained(self, interrupted: bool) -> Trained:
        progress = self.progress
        rounds = progress.best_epoch
        numbers, alphas = self.numbers[:rounds], self.alphas[:rounds]
        taken = [
            {**self.rankers.describe(number), "weight": alpha} for number, alpha in zip(numbers, alphas, strict=True)
        ]
        return Trained(
            plan=self.plan,
            model=self.rankers.model(numbers, alphas),
            thresholds=np.empty(0),
            best_epoch=rounds,
            best_value=progress.log[rounds - 1].valid,
            log=tuple(progress.log),
            interrupted=interrupted,
            chosen={"weak_rankers": taken},
        )
