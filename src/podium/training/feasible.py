"""Training by feasible steps: an update a query, several norms and several starts, the best epoch of all kept."""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.data.canonical import shuffled_order
from podium.data.hashing import counter_uniform, query_hashes
from podium.errors import DataError
from podium.forces import ForceData
from podium.models import GradientModel, GradientSpec
from podium.training.checkpoint import Arrays, Checkpoint
from podium.training.feasible_schedule import FeasibleSchedule
from podium.training.judging import labels_choose
from podium.training.progress import Epoch, Progress
from podium.training.run import Plan, Run, Trained

Floats = npt.NDArray[np.float64]
START_STREAM = 1 << 41
FLAT = -1e9  # what an epoch is judged by that tells no documents apart: the order of the file is no merit of its own


class Feasible(Run):
    """One run of the schedule: the first start with every norm, then the other starts with the best norm."""

    def __init__(
        self, plan: Plan, data: RankingData, valid: RankingData | None, checkpoint: Checkpoint | None = None
    ) -> None:
        self.began = time.perf_counter()
        super().__init__(plan, data, valid, checkpoint)
        assert isinstance(plan.schedule, FeasibleSchedule)
        assert isinstance(plan.model, GradientSpec)
        self.schedule, force = plan.schedule, plan.force
        self.by_cost = valid is None and not labels_choose(data)
        self.model: GradientModel = plan.model.start(
            data, n_outputs=force.n_outputs(data), seed=plan.seed, num_threads=plan.num_threads
        )
        self.learnable = force.definition.learnable
        self.n_own = min(len(self.learnable), 1) if self.schedule.tie else len(self.learnable)
        self.keys = query_hashes(data.query_ids, 0)
        self.levels = force.n_classes(data)
        self.passed = 0  # of this start
        self.progress = Progress(rate=self.schedule.learning_rate)
        self.theta = self._begin()
        self._resume()

    @property
    def norm(self) -> float:
        """Of the present try."""
        return self._norm_of(self.progress.restart)

    def _norm_of(self, restart: int) -> float:
        """Each in turn, then the one that was best from the first start."""
        norms = self.schedule.norms
        best = [row.restart for row in self.progress.log if row.best and row.restart < len(norms)]
        return norms[restart] if restart < len(norms) else norms[best[-1]]

    @property
    def start(self) -> int:
        """Of the present try."""
        return max(self.progress.restart - len(self.schedule.norms) + 1, 0)

    def _begin(self) -> Floats:
        """Uniform in [0, 1], and scaled into the feasible set."""
        drawn = counter_uniform(self.plan.seed, START_STREAM + self.start, len(self.model.vector) + self.n_own)
        return self.schedule.begin(drawn, self.norm)

    def _own(self, theta: Floats) -> Floats:
        """The force's parameters."""
        own = theta[len(self.model.vector) :]
        return np.repeat(own, len(self.learnable)) if len(own) < len(self.learnable) else own

    def _done(self) -> bool:
        return self.progress.restart >= self.schedule.tries or self._ended()

    def _ended(self) -> bool:
        limit = self.schedule.max_seconds
        return limit is not None and time.perf_counter() - self.began >= limit and self.progress.epoch > 0

    def _epoch(self, began: float) -> None:
        """One pass; the model after it is judged, and kept if it is the best so far."""
        before = self.progress
        number = before.epoch + 1
        theta, cost, seen = self._pass(before)
        if not (np.isfinite(theta).all() and np.isfinite(seen).all() and np.isfinite(cost or 0.0)):
            raise DataError(
                f"training diverged in epoch {number}: parameters or scores are no longer finite; try a smaller "
                f"learning_rate than {before.rate:g}, or features of a smaller scale"
            )
        self.model.vector = theta[: len(self.model.vector)]
        if self.valid is None:  # what chooses among norms and starts is judged as it stands after the pass
            seen = self.model.scores_in_training(self.data, num_threads=self.plan.num_threads)
        train = self._value(self.plan.metric, self.data, seen)
        valid, judge, outputs = None, self.data, seen
        if self.valid is not None:
            judge, outputs = self.valid, self.model.scores(self.valid.features, num_threads=self.plan.num_threads)
            valid = self._value(self.plan.metric, self.valid, outputs)
        judged = self._judged(train, valid, cost) if _tells_apart(outputs, judge) else FLAT
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
        )
        kept = {"best_value": judged, "best_epoch": number, "best_vector": theta.copy()}
        self.theta, self.passed = theta, self.passed + 1
        self.progress = before.moved(
            epoch=number,
            log=(*before.log, row),
            since_best=0 if best else before.since_best + 1,
            run_value=judged if risen else before.run_value,
            since_rise=0 if risen else before.since_rise + 1,
            rate=before.rate * self.schedule.decay,
            **(kept if best else {}),
        )
        self._restart_if_over()

    def _judged(self, train: float | None, valid: float | None, cost: float | None) -> float | None:
        """What the best epoch has most of: the metric, or less cost where no labels tell one ranking from another."""
        value = cost if self.by_cost else train if self.valid is None else valid
        rising = self.plan.metric.higher_is_better and not self.by_cost
        return value if value is None or rising else -value

    def _restart_if_over(self) -> None:
        schedule, patience = self.schedule, self.schedule.early_stopping_rounds
        stale = patience is not None and self.progress.since_rise >= patience
        if self.passed < schedule.passes and not stale:
            return
        restart = self.progress.restart + 1
        self.progress = self.progress.moved(restart=restart, run_value=None, since_rise=0, rate=schedule.learning_rate)
        self.passed = 0
        if restart < schedule.tries:
            self.theta = self._begin()

    def _pass(self, before: Progress) -> tuple[Floats, float | None, Floats]:
        """(θ after, mean cost of a query, scores of the training documents as each query met them)."""
        data, plan, schedule = self.data, self.plan, self.schedule
        theta, seen, total = self.theta, np.zeros(data.n_documents), 0.0
        size = len(self.model.vector)
        # The same order of queries and draws of the force for every norm, so that only the norm tells them apart.
        round = 1 + self.passed + schedule.passes * self.start
        for query in shuffled_order(self.keys, plan.seed, round):
            part = data.select(np.array([query]))
            self.model.vector = theta[:size]
            scores = self.model.scores_in_training(part, num_threads=plan.num_threads)
            seen[data.query_offsets[query] : data.query_offsets[query + 1]] = scores
            outcome = plan.force.compute(
                scores,
                ForceData(part, levels=self.levels),
                cost=plan.force.has_cost,
                parameters=self._own(theta),
                seed=plan.seed,
                round=round,
                num_threads=plan.num_threads,
            )
            if outcome.cost is not None:
                total += float(outcome.cost[0])
            push = self.model.backward_in_training(part, outcome.force, num_threads=plan.num_threads)
            if self.n_own:
                assert outcome.parameter_force is not None
                own = outcome.parameter_force[0]
                push = np.concatenate([push, [own.sum()] if self.n_own < len(own) else own])
            theta = schedule.moved(theta, push, before.rate, self.norm)
        return theta, total / data.n_queries if plan.force.has_cost else None, seen

    def _state(self) -> Arrays:
        return {"theta": self.theta.copy(), "passed": np.array([self.passed], np.float64)}

    def _load_state(self, arrays: Arrays) -> None:
        if arrays["theta"].shape != self.theta.shape or self.progress.best_vector.shape != self.theta.shape:
            raise ValueError("theta has another size")
        self.theta, self.passed = np.array(arrays["theta"], np.float64), int(arrays["passed"][0])

    def _trained(self, interrupted: bool) -> Trained:
        progress = self.progress
        kept = progress.log[progress.best_epoch - 1]
        self.model.vector = progress.best_vector[: len(self.model.vector)].copy()
        own = self._own(progress.best_vector)
        learned = dict(zip(self.learnable, own.tolist(), strict=True))
        return Trained(
            model=self.model.finished(),
            thresholds=np.empty(0),
            best_epoch=progress.best_epoch,
            best_value=kept.valid,
            log=progress.log,
            interrupted=interrupted,
            learned={**learned, "norm": self._norm_of(kept.restart)},
        )


def _tells_apart(scores: Floats, data: RankingData) -> bool:
    """Whether any query has two scores: else the order of the file would be judged."""
    starts = data.query_offsets[:-1]
    return bool(np.any(np.maximum.reduceat(scores, starts) > np.minimum.reduceat(scores, starts)))
