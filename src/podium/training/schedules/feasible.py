"""Feasible steps: parameters that are at least 0 and sum to at most a norm. [StructRank, eq 10 and §5]"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.data.canonical import shuffled_order
from podium.data.hashing import counter_uniform, query_hashes
from podium.errors import DataError, ParameterError
from podium.forces import ForceData
from podium.models import GradientModel
from podium.parameters import Search, Settings, inherit, setting
from podium.rules import Choice, Integer, Real, Tuple
from podium.training.checkpoint import Arrays, Checkpoint
from podium.training.force_parameters import LearnedParameters
from podium.training.judging import labels_choose
from podium.training.progress import Epoch, Progress
from podium.training.run import Plan, Trained, TrainingRun
from podium.training.schedule import BEST_ON_TRAINING, EPOCHS, LEARNING_RATE, Schedule, early_stopping, time_limit

Floats = npt.NDArray[np.float64]
START_STREAM = 1 << 41
CONSTANT_SCORES = (
    -1e9
)  # the value of an epoch with equal scores in every query, so that the order of the file is not rewarded
MOST_CORRELATION = 1 - 1e-6
REACH = 0.1  # share of the norm: limits the length of the first projected steps, because a longer one can end at θ = 0
HALVINGS = 30  # a step that is not feasible after this many halvings is not taken


@dataclass(kw_only=True, eq=False, repr=False)
class FeasibleSettings(Settings):
    """Settings of feasible steps, one update per query over θ ≥ 0 with Σθ ≤ norm."""

    epochs: int = inherit(
        EPOCHS, default=10, description="Number of passes over the data from each start.", budget=False
    )
    starts: int = setting(
        3, Integer(1, 1000), "Number of random starts; those after the first use the norm that was best from the first."
    )
    norm: float | tuple[float, ...] = setting(
        (30.0,),
        Tuple(Real(above=0), "must be a number above 0, or several of them"),
        "Upper bound on the sum of all parameters. If several are given, each is tried from the first start, and the one that "
        "is best on the validation data is kept.",
    )
    learning_rate: float = inherit(
        LEARNING_RATE,
        default=20.0,
        description="Step size of the first pass from a start.",
        search=Search(0.1, 100.0, log=True),
    )
    decay: float = setting(
        0.5**0.5, Real(above=0, most=1), "Factor by which the step size is multiplied after each pass."
    )
    step: str = setting(
        "project",
        Choice("shrink", "project"),
        "'shrink' halves the step size of an update until it is feasible; 'project' takes the nearest feasible point.",
    )
    early_stopping_rounds: int | None = early_stopping(2, "passes", then="a start is given up")
    max_seconds: float | None = time_limit("pass")


@dataclass(kw_only=True, eq=False, repr=False)
class FeasibleSteps(FeasibleSettings, Schedule):
    """One update per query over θ ≥ 0 with Σθ ≤ norm, θ the model's parameters and those that the force learns."""

    name = "feasible"
    undistributed = "moves the parameters after each query, one after the other"
    fits = "any force without thresholds and with one score per document; any model but `trees`"
    summary = "StructRank's feasible steps: parameters at least 0 that sum to at most a norm: feasible(norm=30)."

    def check(self, plan: Plan) -> None:
        """Check that the force takes one score per document, and that its own parameters need not be in order."""
        super().check(plan)
        if plan.force.definition.outputs != "one":
            raise ParameterError(
                "force",
                str(plan.force),
                f"takes several scores per document, and {self.name} fits one",
                "use {schedule='adam'}",
            )
        if plan.force.definition.has_thresholds:
            raise ParameterError(
                "force",
                str(plan.force),
                f"learns thresholds, which {self.name} cannot keep in order",
                "use {schedule='adam'}",
            )

        own, force = plan.force.own_parameters(None).names if plan.force.learns else [], plan.force.acting
        for name, value in force.given:
            if name in own:
                raise ParameterError(
                    name,
                    value,
                    f"is learned, and {self.name} draws its own start",
                    f"leave it out, or keep it fixed: {{learn=False}} in {force.name}",
                )

    @property
    def kept_without_validation(self) -> str:
        """Which epoch is kept if there is no validation data: that of the best start and norm."""
        return BEST_ON_TRAINING

    @property
    def norms(self) -> tuple[float, ...]:
        """The norms that are tried."""
        return self.norm if isinstance(self.norm, tuple) else (self.norm,)

    @property
    def max_epochs(self) -> int:
        """Maximum number of passes of all starts and norms."""
        return self.epochs * self.tries

    @property
    def tries(self) -> int:
        """Every norm from the first start, and every other start."""
        return len(self.norms) + self.starts - 1

    def make_run(
        self, plan: Plan, data: RankingData, valid: RankingData | None, checkpoint: Checkpoint | None
    ) -> FeasibleRun:
        """Return the training."""
        return FeasibleRun(self, plan, data, valid, checkpoint)

    def begin(self, drawn: Floats, norm: float) -> Floats:
        """Return a start from numbers in [0, 1), scaled down to half the norm if its sum is larger, so that it can move."""
        total = float(np.add.reduce(drawn))
        return drawn * min(1.0, 0.5 * norm / total) if total > 0 else drawn

    def moved(self, theta: Floats, push: Floats, rate: float, norm: float) -> Floats:
        """Return θ + rate · push, made feasible."""
        if self.step == "project":
            length, reach = rate * float(np.add.reduce(np.abs(push))), REACH * norm * rate / self.learning_rate
            return nearest_feasible(theta + (rate * min(1.0, reach / length) if length > 0 else 0.0) * push, norm)
        for _ in range(HALVINGS):
            tried = theta + rate * push
            if (tried >= 0).all() and np.add.reduce(tried) <= norm:
                return tried
            rate /= 2
        return theta


class Limits:
    """Which parameters share the norm, and the bounds of the others: correlations lie in [0, 1)."""

    def __init__(self, n_model: int, kinds: Sequence[str]) -> None:
        self.in_norm = np.array([True] * n_model + [kind == "positive" for kind in kinds])
        ends = {"correlation": (0.0, MOST_CORRELATION), "real": (-np.inf, np.inf)}
        self.low, self.high = np.array([ends[kind] for kind in kinds if kind in ends]).reshape(-1, 2).T

    def begin(self, schedule: FeasibleSteps, drawn: Floats, norm: float) -> Floats:
        """Return a start from numbers in [0, 1); parameters that can have either sign start from 0."""
        out = drawn.copy()
        out[self.in_norm] = schedule.begin(drawn[self.in_norm], norm)
        out[~self.in_norm] *= np.isfinite(self.high)
        return out

    def moved(self, schedule: FeasibleSteps, theta: Floats, push: Floats, rate: float, norm: float) -> Floats:
        """Return θ after a step of the schedule; parameters that do not share the norm move by at most REACH at first."""
        inside, out = self.in_norm, theta.copy()
        out[inside] = schedule.moved(theta[inside], push[inside], rate, norm)
        reach = REACH * rate / schedule.learning_rate
        free = theta[~inside] + np.clip(rate * push[~inside], -reach, reach)
        out[~inside] = np.clip(free, self.low, self.high)
        return out


def nearest_feasible(theta: Floats, norm: float) -> Floats:
    """Return the nearest point with θ ≥ 0 and Σθ ≤ norm. [Duchi et al. 2008]"""
    positive = np.maximum(theta, 0.0)
    if np.add.reduce(positive) <= norm:
        return positive
    falling = np.sort(theta)[::-1]
    excess = (np.cumsum(falling) - norm) / np.arange(1, len(theta) + 1)
    lowered = excess[np.flatnonzero(falling > excess)[-1]]
    return np.asarray(np.maximum(theta - lowered, 0.0), np.float64)


class FeasibleRun(TrainingRun):
    """One run of the schedule: the first start with every norm, then the other starts with the best norm."""

    def __init__(
        self,
        schedule: FeasibleSteps,
        plan: Plan,
        data: RankingData,
        valid: RankingData | None,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self.began = time.perf_counter()
        super().__init__(plan, data, valid, checkpoint)
        self.schedule, force = schedule, plan.force
        spec: Any = plan.model  # one that follows gradients, as the schedule has checked
        self.by_cost = valid is None and not labels_choose(data)
        self.model: GradientModel = spec.start(
            data, n_outputs=force.n_outputs(data), seed=plan.seed, num_threads=plan.num_threads
        )
        self.learned = LearnedParameters(force, data)
        kinds = [kind.name for kind in self.learned.kinds.kinds] if self.learned.size else []
        self.limits = Limits(len(self.model.vector), kinds)
        self.keys = query_hashes(data.query_ids, 0)
        self.force_data = ForceData(data, levels=force.n_classes(data))
        self.passed = 0  # of this start
        self.progress = Progress(rate=self.schedule.learning_rate)
        self.theta = self._begin()
        self._resume()

    @property
    def norm(self) -> float:
        """Of the current try."""
        return self._norm_of(self.progress.restart)

    def _norm_of(self, restart: int) -> float:
        """Return each norm in turn, then the one that was best from the first start."""
        norms = self.schedule.norms
        best = [row.restart for row in self.progress.log if row.best and row.restart < len(norms)]
        return norms[restart] if restart < len(norms) else norms[best[-1]]

    @property
    def start(self) -> int:
        """Of the current try."""
        return max(self.progress.restart - len(self.schedule.norms) + 1, 0)

    def _begin(self) -> Floats:
        """Draw parameters uniformly from [0, 1], and scale them into the feasible set."""
        drawn = counter_uniform(self.plan.seed, START_STREAM + self.start, len(self.model.vector) + self.learned.size)
        return self.limits.begin(self.schedule, drawn, self.norm)

    def _own(self, theta: Floats) -> Floats:
        """The force's parameters."""
        return theta[len(self.model.vector) :]

    def _done(self) -> bool:
        return self.progress.restart >= self.schedule.tries or self._ended()

    def _ended(self) -> bool:
        limit = self.schedule.max_seconds
        return limit is not None and time.perf_counter() - self.began >= limit and self.progress.epoch > 0

    def _epoch(self, began: float) -> None:
        """Make one pass, evaluate the model after it, and keep it if it is the best so far."""
        before = self.progress
        number = before.epoch + 1
        theta, cost, seen = self._pass(before)
        if not (np.isfinite(theta).all() and np.isfinite(seen).all() and np.isfinite(cost or 0.0)):
            raise DataError(
                f"training diverged in epoch {number}: parameters or scores are no longer finite; try a smaller "
                f"learning_rate than {before.rate:g}, or features of a smaller scale"
            )
        self.model.vector = theta[: len(self.model.vector)]
        if self.valid is None:  # norms and starts are chosen by the value after the pass
            seen = self.model.scores_in_training(self.data, num_threads=self.plan.num_threads)
        train = self._value(self.plan.metric, self.data, seen)
        valid, also, judge, outputs = None, None, self.data, seen
        if self.valid is not None:
            judge, outputs = self.valid, self.model.scores(self.valid.features, num_threads=self.plan.num_threads)
            valid, also = self._value(self.plan.metric, self.valid, outputs), self._also(outputs)
        judged = self._judged(train, valid, cost) if _tells_apart(outputs, judge) else CONSTANT_SCORES
        best = judged is not None and (before.best_value is None or judged > before.best_value)
        risen = judged is not None and (before.run_value is None or judged > before.run_value)
        row = Epoch(
            epoch=number,
            train=train,
            valid=valid,
            cost=cost,
            learning_rate=before.rate,
            restart=before.restart,
            best=best,
            seconds=round(time.perf_counter() - began, 3),
            also=also,
        )
        kept = {"best_value": judged, "best_epoch": number, "best_vector": theta.copy()}
        self.theta, self.passed = theta, self.passed + 1
        self.progress = before.moved(
            epoch=number,
            log=before.log.appended(row),
            since_best=0 if best else before.since_best + 1,
            run_value=judged if risen else before.run_value,
            since_rise=0 if risen else before.since_rise + 1,
            rate=before.rate * self.schedule.decay,
            **(kept if best else {}),
        )
        self._restart_if_over()

    def _judged(self, train: float | None, valid: float | None, cost: float | None) -> float | None:
        """Return the value by which the best epoch is chosen: the metric, or the negative cost if labels do not distinguish rankings."""
        value = cost if self.by_cost else train if self.valid is None else valid
        rising = self.plan.metric.higher_is_better and not self.by_cost
        return value if value is None or rising else -value

    def _restart_if_over(self) -> None:
        schedule, patience = self.schedule, self._patience()
        stale = patience is not None and self.progress.since_rise >= patience
        if self.passed < schedule.epochs and not stale:
            return
        restart = self.progress.restart + 1
        self.progress = self.progress.moved(restart=restart, run_value=None, since_rise=0, rate=schedule.learning_rate)
        self.passed = 0
        if restart < schedule.tries:
            self.theta = self._begin()

    def _pass(self, before: Progress) -> tuple[Floats, float | None, Floats]:
        """Return θ after the pass, the mean cost of a query, and the scores of each query before its update."""
        data, plan, schedule = self.data, self.plan, self.schedule
        theta, seen, total = self.theta, np.zeros(data.n_documents), 0.0
        size = len(self.model.vector)
        # Every norm uses the same order of queries and the same draws of the force, so that only the norm differs.
        round = 1 + self.passed + schedule.epochs * self.start
        for query in shuffled_order(self.keys, plan.seed, round):
            part = data.select(np.array([query]))
            self.model.vector = theta[:size]
            scores = self.model.scores_in_training(part, num_threads=plan.num_threads)
            seen[data.query_offsets[query] : data.query_offsets[query + 1]] = scores
            outcome = plan.force.compute(
                scores,
                self.force_data.part(part, np.array([query])),
                cost=plan.force.has_cost,
                parameters=self._own(theta),
                seed=plan.seed,
                round=round,
                num_threads=plan.num_threads,
            )
            if outcome.cost is not None:
                total += float(outcome.cost[0])
            push = self.model.backward_in_training(part, outcome.force, num_threads=plan.num_threads)
            if outcome.parameter_force is not None:
                push = np.concatenate([push, outcome.parameter_force[0]])
            theta = self.limits.moved(schedule, theta, push, before.rate, self.norm)
        return theta, total / data.n_queries if plan.force.has_cost else None, seen

    def _state(self) -> Arrays:
        return {"theta": self.theta.copy(), "passed": np.array([self.passed], np.float64)}

    def _load_state(self, arrays: Arrays) -> None:
        if arrays["theta"].shape != self.theta.shape or self.progress.best_vector.shape != self.theta.shape:
            raise ValueError("theta has another size")
        self.theta, self.passed = np.array(arrays["theta"], np.float64), int(arrays["passed"][0])
        if not 0 <= self.passed < self.schedule.epochs:
            raise ValueError(f"{self.passed} passes from one start")
        if min(vector[self.limits.in_norm].min(initial=0) for vector in (self.theta, self.progress.best_vector)) < 0:
            raise ValueError("parameters below 0")

    def _judged_values(self, row: Epoch) -> tuple[float | None, ...]:
        return self._judged(row.train, row.valid, row.cost), CONSTANT_SCORES

    def _is_value_of_best(self, row: Epoch) -> bool:
        if self.valid is None:
            return True
        self.model.vector = self.progress.best_vector[: len(self.model.vector)]
        outputs = self.model.scores(self.valid.features, num_threads=self.plan.num_threads)
        return self._value(self.plan.metric, self.valid, outputs) == row.valid

    def _trained(self, interrupted: bool) -> Trained:
        progress = self.progress
        kept = progress.log[progress.best_epoch - 1]
        self.model.vector = progress.best_vector[: len(self.model.vector)].copy()
        outcome = self.learned.outcome(self._own(progress.best_vector))
        outcome["learned"] = {**(outcome["learned"] or {}), "norm": self._norm_of(kept.restart)}
        return Trained(
            plan=self.plan,
            model=self.model.finished(),
            best_epoch=progress.best_epoch,
            best_value=kept.valid,
            log=tuple(progress.log),
            interrupted=interrupted,
            **outcome,
        )


def _tells_apart(scores: Floats, data: RankingData) -> bool:
    """Return whether a query has two different scores; otherwise the order of the file would be evaluated."""
    starts = data.query_offsets[:-1]
    return bool(np.any(np.maximum.reduceat(scores, starts) > np.minimum.reduceat(scores, starts)))
