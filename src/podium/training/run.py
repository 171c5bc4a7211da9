"""What every training is: a plan, the checks before it begins, epochs until something ends it, and checkpoints."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium import __version__
from podium.data import RankingData
from podium.data.canonical import fingerprint
from podium.errors import DataError, FormatError, ParameterError
from podium.forces import Force
from podium.metrics import Metric
from podium.models import Model, Spec
from podium.models.heads import to_scores
from podium.training.boost_schedule import BoostSchedule
from podium.training.checkpoint import REMEDY, Arrays, Checkpoint, check_loaded, check_state
from podium.training.feasible_schedule import FeasibleSchedule
from podium.training.judging import check_choice, mean_value
from podium.training.online_schedule import OnlineSchedule
from podium.training.progress import Callback, Epoch, Progress
from podium.training.schedule import Schedule

Floats = npt.NDArray[np.float64]
BUDGETS = ("epochs", "max_seconds")  # how long a training may go on is not what it is


@dataclass(frozen=True)
class Plan:
    """What to train: force × function class × schedule, judged by a metric."""

    force: Force
    model: Spec
    schedule: Schedule | BoostSchedule | FeasibleSchedule | OnlineSchedule
    metric: Metric
    seed: int = 0
    num_threads: int = 1

    def identity(self, data: RankingData, valid: RankingData | None) -> dict[str, str]:
        """What must be the same for one training to go on from another's checkpoint."""
        named = {
            "Podium": __version__,
            "force": str(self.force),
            "model": str(self.model),
            "metric": str(self.metric),
            "seed": str(self.seed),
        }
        schedule = {name: str(value) for name, value in self.schedule.__dict__.items() if name not in BUDGETS}
        return {
            **named,
            **schedule,
            "data": fingerprint(data),
            "validation data": "none" if valid is None else fingerprint(valid),
        }


@dataclass(frozen=True)
class Trained:
    """A trained model and how it came about.

    Attributes:
        model: of the best epoch on validation. Without validation data it is of the last epoch; where weights may be
            drawn anew, of the best on the training data.
        thresholds: of a force that learns its own (ordinal) and of perceptrons, else empty.
        best_epoch: the epoch kept.
        best_value: its metric on validation, or None.
        log: a row an epoch.
        interrupted: whether Ctrl-C ended it early.
        certificate: of lbfgs and bundle, the model's objective and how far it can lie above the least one.
        chosen: of perceptrons, what was chosen on validation data or by default.
        learned: of feasible steps, the force's own parameters by name and the norm kept.
    """

    model: Model
    thresholds: Floats
    best_epoch: int
    best_value: float | None
    log: tuple[Epoch, ...]
    interrupted: bool = False
    certificate: dict[str, Any] | None = None
    chosen: dict[str, Any] | None = None
    learned: dict[str, float] | None = None


class Run(ABC):
    """One training, from where it begins or goes on to where it ends."""

    progress: Progress

    def __init__(
        self, plan: Plan, data: RankingData, valid: RankingData | None, checkpoint: Checkpoint | None = None
    ) -> None:
        if valid is not None and valid.n_features != data.n_features:
            raise DataError(
                f"the validation data has {valid.n_features} features, the training data {data.n_features}; "
                "read both with the same options (n_features for sparse files)"
            )
        if data.n_features == 0:
            raise DataError("the data has no features; a model needs at least one to tell documents apart")
        if valid is None and plan.schedule.early_stopping_rounds is not None:
            raise ParameterError("early_stopping_rounds needs validation data; give valid=, or leave it out")
        if checkpoint is not None and not plan.force.is_importable:
            raise ParameterError(
                f"a checkpoint must know the force, and {plan.force} has no name to know it by; define the function in a module"
            )
        self.plan, self.data, self.valid, self.checkpoint = plan, data, valid, checkpoint
        plan.force.check_labels(data)
        if valid is not None:
            check_choice(plan.metric, valid, "validation", plan.num_threads)
        mean_value(plan.metric, data, np.zeros(data.n_documents), plan.num_threads)  # says which labels it cannot take
        self.identity = {} if checkpoint is None else self._identity()
        self.held: tuple[Progress, Arrays] | None = None

    def _identity(self) -> dict[str, str]:
        """What must be the same for one training to go on from another's checkpoint."""
        return self.plan.identity(self.data, self.valid)

    @abstractmethod
    def _epoch(self, began: float) -> None:
        """One epoch: moves `progress` on."""

    @abstractmethod
    def _ended(self) -> bool:
        """Whether there is nothing left to do, apart from the schedule's limits."""

    @abstractmethod
    def _state(self) -> Arrays:
        """What must be known to go on, apart from the progress."""

    @abstractmethod
    def _load_state(self, arrays: Arrays) -> None:
        """Goes on from a state; KeyError, TypeError or ValueError where it is none of this training."""

    @abstractmethod
    def _trained(self, interrupted: bool) -> Trained:
        """The best so far."""

    def _resume(self) -> None:
        if self.checkpoint is None:
            return
        found = self.checkpoint.read(self.identity, epochs=self.plan.schedule.epochs)
        if found is not None:
            numbers, arrays = found
            try:
                self.progress = Progress.of(numbers, arrays.pop("best_vector"))
                check_state(arrays, self._state())
                self._load_state(arrays)
                check_loaded(arrays, self._state())
            except (IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
                raise FormatError(
                    self.checkpoint.path, f"is not a checkpoint of this training ({error}); {REMEDY}"
                ) from None

    def run(self, callbacks: Sequence[Callback]) -> Trained:
        """Epochs until the end, whatever ends it."""
        began, interrupted = time.perf_counter(), False
        try:
            while not self._done():
                self._epoch(began)
                self._save()
                stops = [callback(self.progress.log[-1]) for callback in callbacks]  # all of them see every epoch
                if any(stops):
                    break
            self._write()
        except KeyboardInterrupt:
            if self.progress.epoch == 0:
                raise
            self._write()
            interrupted = True
        return self._trained(interrupted)

    def _done(self) -> bool:
        schedule, progress = self.plan.schedule, self.progress
        patience = schedule.early_stopping_rounds
        stale = patience is not None and progress.since_best >= patience
        return progress.epoch >= schedule.epochs or stale or self._ended()

    def _value(self, metric: Metric, data: RankingData, outputs: Floats) -> float | None:
        """The mean of the metric over queries that have a value; the same for any order of queries."""
        table = outputs.reshape(data.n_documents, -1)
        scores = to_scores(table[:, 0] if table.shape[1] == 1 else table)
        return mean_value(metric, data, scores, self.plan.num_threads)

    def _save(self) -> None:
        """Holds on to the state at the end of an epoch, since an interrupt may come in the middle of the next."""
        if self.checkpoint is not None:
            self.held = self.progress, {**self._state(), "best_vector": self.progress.best_vector}
            if self.checkpoint.due:
                self._write()

    def _write(self) -> None:
        if self.checkpoint is not None and self.held is not None:
            progress, arrays = self.held
            self.checkpoint.write(self.identity, progress.numbers(), arrays)
