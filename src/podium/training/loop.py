"""The training loop of gradient schedules: epochs, the best of which is kept, changes of the learning rate, and restarts."""

from __future__ import annotations

import itertools
import logging
import time
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from podium.cluster.engines import Ray
from podium.data import RankingData
from podium.errors import DataError, ParameterError
from podium.forces import ForceData
from podium.models import GradientModel
from podium.training.checkpoint import Arrays, Checkpoint
from podium.training.convex import State
from podium.training.force_parameters import LearnedParameters
from podium.training.judging import check_choice
from podium.training.progress import Epoch, Progress
from podium.training.run import Plan, Trained, TrainingRun
from podium.training.schedule import BEST_ON_TRAINING, Schedule
from podium.training.steps import Steps, Task

log = logging.getLogger("podium.cluster")
Floats = npt.NDArray[np.float64]
LARGE_NET = 1 << 15  # parameters above which the core adds up documents, not queries (core/net/descent.cpp)
MUCH_MEMORY = 10**9  # bytes
SHRINK = 0.8
COST_FACTORS = {"halve": 0.5, "shrink_on_cost": SHRINK}  # factors of the learning rate when the mean cost rises


class DescentSchedule(Schedule):
    """A schedule that follows gradients; subclasses say how epochs are taken."""

    fits = "any force; any model but `trees`"
    epochs: int
    rate_rule = "constant"
    restart_rounds: int | None = None

    @property
    def max_epochs(self) -> int:
        """Maximum number of epochs."""
        return self.epochs

    @property
    def kept_without_validation(self) -> str:
        """Which epoch is kept if there is no validation data: with restarts, the last one may be a bad one."""
        return super().kept_without_validation if self.restart_rounds is None else BEST_ON_TRAINING

    @property
    def starting_rate(self) -> float:
        """The learning rate of the first epoch; solvers find their own steps."""
        return 1.0

    def check_engine(self, plan: Plan) -> None:
        """Check that workers can fit the model, if the plan's engine distributes the queries."""
        super().check_engine(plan)
        spec: Any = plan.model
        if plan.engine.distributes and not spec.distributes:
            raise ParameterError(
                "engine",
                str(plan.engine),
                f"cannot fit the model {spec.name}, whose gradients are not computed query by query",
                "use {engine='local'}, or the model linear, net or kernel",
            )

    def prepare(self, plan: Plan, data: RankingData) -> Plan:
        """Return the plan with the model's survey of all training documents, after a warning if gradients take much memory."""
        spec: Any = plan.model
        kept = self._kept_bytes(plan, data)
        if kept > MUCH_MEMORY:
            log.warning(
                "the workers of %s take turns, because the net is large, and the gradients of all turns are kept until an epoch ends: "
                "about %.1f GB for %s with %d queries; use a smaller net or engine='local'",
                plan.engine,
                kept / 1e9,
                spec,
                data.n_queries,
            )
        return replace(plan, survey=spec.survey(data, seed=plan.seed, num_threads=plan.num_threads))

    def _kept_bytes(self, plan: Plan, data: RankingData) -> float:
        """Return about how many bytes of gradients an epoch of a large net keeps: one sum whenever a query has another owner."""
        engine, spec = plan.engine, cast("Any", plan.model)
        if not (isinstance(engine, Ray) and hasattr(spec, "hidden")):
            return 0.0
        widths = (data.n_features, *spec.hidden, plan.force.n_outputs(ForceData(data)))
        parameters = sum((inputs + 1) * outputs for inputs, outputs in itertools.pairwise(widths))
        return 8 * parameters * data.n_queries * (1 - 1 / engine.workers) if parameters > LARGE_NET else 0.0

    @abstractmethod
    def make_steps(self, task: Task) -> Steps:
        """Return the object that runs the epochs, if force and model are compatible with these settings."""

    def make_run(
        self, plan: Plan, data: RankingData, valid: RankingData | None, checkpoint: Checkpoint | None
    ) -> DescentRun:
        """Return the training."""
        return DescentRun(self, plan, data, valid, checkpoint)


@dataclass(frozen=True)
class DescentRecord:
    """The state after an epoch, as a worker needs it that joins then.

    Attributes:
        progress: the progress.
        steps: the state of the steps.
    """

    progress: Progress
    steps: State

    is_whole: ClassVar[bool] = True

    @property
    def row(self) -> Epoch:
        """The row of the log."""
        last: Epoch = self.progress.log[-1]
        return last


class DescentRun(TrainingRun):
    """One run of a schedule that follows gradients."""

    def __init__(
        self,
        schedule: DescentSchedule,
        plan: Plan,
        data: RankingData,
        valid: RankingData | None,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        super().__init__(plan, data, valid, checkpoint)
        self.schedule = schedule
        self.spec: Any = plan.model  # one that follows gradients, as the schedule has checked
        if valid is None and self.schedule.restart_rounds is not None:
            check_choice(plan.metric, data, "training", plan.num_threads, plan.exchange)
        levels = int(plan.exchange.largest(data.labels.max())) + 1
        self.force_data = ForceData(data, levels=levels)
        self.own = LearnedParameters(plan.force, data, held=self.force_data, exchange=plan.exchange)
        self.model = self._start(restart=0)
        self.task = Task(plan.force, self.model, self._taught(data), plan.seed, plan.num_threads, levels, plan.exchange)
        self.steps = self.schedule.make_steps(self.task)
        threads = plan.num_threads
        self.valid_inputs = None if valid is None else self.model.prepare(valid.features, num_threads=threads)
        self.progress = Progress(rate=self.schedule.starting_rate)
        self.steps.begin(self._starting_vector(self.model))
        self._resume()

    def _taught(self, data: RankingData) -> RankingData:
        """Return the data that the force uses; the metric uses the original data."""
        return data

    def _start(self, restart: int) -> GradientModel:
        plan = self.plan
        known = {} if plan.survey is None else {"survey": plan.survey}
        started: GradientModel = self.spec.start(
            self.data,
            n_outputs=plan.force.n_outputs(self.force_data),
            seed=plan.seed,
            restart=restart,
            num_threads=plan.num_threads,
            **known,
        )
        return started

    def _starting_vector(self, model: GradientModel) -> Floats:
        return np.concatenate([model.vector, self.own.start()])

    def _load_state(self, arrays: Arrays) -> None:
        if self.progress.best_vector.shape != self.steps.vector.shape:
            raise ValueError("best_vector has another size")
        self.steps.resume(arrays)

    def record(self) -> DescentRecord:
        """Return the state after the last epoch."""
        return DescentRecord(self.progress, self.steps.state())

    def follow(self, record: DescentRecord) -> None:
        """Take over the state after an epoch."""
        self.progress = record.progress
        self.steps.resume(record.steps)

    def _patience(self) -> int | None:
        return super()._patience() if self.schedule.restart_rounds is None else None

    def _ended(self) -> bool:
        return self.steps.converged

    def _state(self) -> Arrays:
        return self.steps.state()

    def _epoch(self, began: float) -> None:
        """Make one pass, evaluate the model after it, and keep it if it is the best so far."""
        before = self.progress
        number = before.epoch + 1
        passed = self.steps.epoch(number, before.rate)
        vector = self.steps.vector
        finite = np.isfinite(vector).all() and np.isfinite(passed.scores).all() and np.isfinite(passed.cost or 0.0)
        if self.plan.exchange.any(not finite):
            raise DataError(
                f"training diverged in epoch {number}: parameters or scores are no longer finite; try a smaller "
                f"learning_rate than {before.rate:g}, or features of a smaller scale"
            )
        train = self._value(self.plan.metric, self.data, passed.scores)
        valid, also = (None, None) if self.valid is None else self._valid_values(vector)
        row = Epoch(
            epoch=number,
            train=train,
            valid=valid,
            cost=passed.cost,
            learning_rate=before.rate,
            restart=before.restart,
            best=self._is_better(number, train, valid, before.best_value),
            seconds=round(time.perf_counter() - began, 3),
            also=also,
        )
        after = self._after(before, row)
        if row.best:
            after = after.moved(best_vector=vector.copy(), certificate=self.steps.certificate())
        self.progress = after
        if after.restart != before.restart:
            self.steps.begin(self._starting_vector(self._start(after.restart)))

    def _is_better(self, number: int, train: float | None, valid: float | None, than: float | None) -> bool:
        judged = self._judged(number, train, valid)
        return judged is not None and (than is None or judged > than)

    def _after(self, before: Progress, row: Epoch) -> Progress:
        """Return the progress after the epoch of a row, as far as it follows from the row; it restarts if it is stuck."""
        judged = self._judged(row.epoch, row.train, row.valid)
        best = self._is_better(row.epoch, row.train, row.valid, before.best_value)
        risen = self._is_better(row.epoch, row.train, row.valid, before.run_value)
        after = before.moved(
            epoch=row.epoch,
            log=before.log.appended(row),
            since_best=0 if best else before.since_best + 1,
            run_value=judged if risen else before.run_value,
            since_rise=0 if risen else before.since_rise + 1,
            last_cost=row.cost,
            last_train=row.train,
            rate=self._next_rate(before, row.cost, row.train),
            **({"best_value": judged, "best_epoch": row.epoch} if best else {}),
        )
        rounds = self.schedule.restart_rounds
        if rounds is None or after.since_rise < rounds:
            return after
        return after.moved(
            restart=after.restart + 1,
            run_value=None,
            since_rise=0,
            rate=self.schedule.starting_rate,
            last_cost=None,
            last_train=None,
        )

    def _check_progress(self, fresh: Progress) -> None:
        """Check that the whole progress follows from the rows of the log, one after the other."""
        before, found = fresh, self.progress
        for row in found.log:
            best = self._is_better(row.epoch, row.train, row.valid, before.best_value)
            if (row.learning_rate, row.restart, row.best) != (before.rate, before.restart, best):
                raise ValueError(f"row {row.epoch} of the log does not follow from those before it")
            before = self._after(before, row)
        expected, numbers = before.numbers(), found.numbers()
        for name in expected.keys() - {"certificate", "log"}:
            if numbers[name] != expected[name]:
                raise ValueError(f"{name} {numbers[name]} does not follow from the log")
        super()._check_progress(fresh)

    def _judged_values(self, row: Epoch) -> tuple[float | None, ...]:
        return (self._judged(row.epoch, row.train, row.valid),)

    def _is_value_of_best(self, row: Epoch) -> bool:
        if self.valid is None:
            return True
        current = self.model.vector.copy()
        value = self._valid_values(self.progress.best_vector.copy())[0]
        self.model.vector = current
        return value == row.valid

    def _judged(self, number: int, train: float | None, valid: float | None) -> float | None:
        """Return the value by which the best epoch is chosen (higher is better): the metric, or the number of the epoch."""
        if self.valid is None and self.schedule.restart_rounds is None:
            return float(number)
        value = valid if self.valid is not None else train
        return value if value is None or self.plan.metric.higher_is_better else -value

    def _next_rate(self, before: Progress, cost: float | None, train: float | None) -> float:
        rule = self.schedule.rate_rule
        if rule in COST_FACTORS and cost is not None and before.last_cost is not None:
            return before.rate * COST_FACTORS[rule] if cost > before.last_cost else before.rate
        if rule == "shrink" and train is not None and before.last_train is not None:
            falls = train < before.last_train if self.plan.metric.higher_is_better else train > before.last_train
            return before.rate * SHRINK if falls else before.rate
        return before.rate

    def _valid_values(self, vector: Floats) -> tuple[float | None, dict[str, float | None] | None]:
        assert self.valid is not None
        self.model.vector = vector[: len(vector) - self.own.size]
        outputs = self.model.scores_of(self.valid_inputs, num_threads=self.plan.num_threads)
        return self._value(self.plan.metric, self.valid, outputs), self._also(outputs)

    def _trained(self, interrupted: bool) -> Trained:
        progress = self.progress
        size = len(progress.best_vector) - self.own.size
        self.model.vector = progress.best_vector[:size].copy()
        kept = progress.log[progress.best_epoch - 1]
        return Trained(
            plan=self.plan,
            model=self.model.finished(),
            best_epoch=progress.best_epoch,
            best_value=kept.valid,
            log=tuple(progress.log),
            interrupted=interrupted,
            certificate=progress.certificate,
            **self.own.outcome(self.own.values(progress.best_vector[size:])),
        )
