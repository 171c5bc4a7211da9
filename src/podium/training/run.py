"""What all trainings share: a plan, checks before the first epoch, epochs until training ends, and checkpoints."""

from __future__ import annotations

import hashlib
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium import __version__
from podium.cluster.engines import Engine, Local
from podium.data import RankingData
from podium.data.canonical import fingerprint
from podium.errors import DataError, FormatError, ParameterError
from podium.exchange import ALONE, Exchange
from podium.forces import Force
from podium.memory import MemoryLimit
from podium.metrics import Metric
from podium.models import Model, Spec
from podium.models.heads import to_scores
from podium.training.checkpoint import REMEDY, Arrays, Checkpoint, check_loaded, check_state
from podium.training.judging import Judge, check_choice, mean_value
from podium.training.progress import Callback, Epoch, Progress, ScoreCallback
from podium.training.schedule import Schedule

Floats = npt.NDArray[np.float64]
LOCAL = Local()


@dataclass(frozen=True)
class Plan:
    """What to train: force × model × schedule, judged by a metric.

    Attributes:
        also: further metrics that are logged on the validation data.
        start_from: a trained model whose scores training starts from.
        memory: how much memory training may use; None if there is no limit.
        survey: what the model's start needs to know of all training documents, if the data is one worker's share of them.
        exchange: how to learn numbers over the queries of all workers, if the data is one worker's share of them.
        engine: where training runs.
    """

    force: Force
    model: Spec
    schedule: Schedule
    metric: Metric
    seed: int = 0
    num_threads: int = 1
    also: tuple[Metric, ...] = ()
    start_from: Model | None = None
    memory: MemoryLimit | None = None
    survey: Any = None
    exchange: Exchange = ALONE
    engine: Engine = LOCAL

    def identity(self, data: RankingData, valid: RankingData | None) -> dict[str, str]:
        """Return what must be the same for one training to resume from another's checkpoint."""
        named = {
            "Podium": __version__,
            "force": str(self.force),
            "model": str(self.model),
            "metric": str(self.metric),
            "seed": str(self.seed),
            "schedule": self.schedule.name,
        }
        settings = {
            name: str(value) for name, value in self.schedule.values().items() if name not in self.schedule.budget
        }
        return {
            **named,
            **settings,
            "model to start from": "none" if self.start_from is None else _digest(self.start_from),
            "data": fingerprint(data),
            "validation data": "none" if valid is None else fingerprint(valid),
        }


@dataclass(frozen=True)
class Trained:
    """A trained model and the course of its training.

    Attributes:
        plan: what was trained, every default resolved.
        model: the model of the best epoch on the validation data. Without validation data, of the last epoch; with restarts,
            of the best epoch on the training data.
        thresholds: thresholds between the levels, if the force or the schedule learns them; else empty.
        best_epoch: the epoch that was kept.
        best_value: its metric on the validation data, or None.
        log: one row per epoch.
        interrupted: whether Ctrl-C ended training early.
        certificate: for lbfgs and bundle, the model's objective and a bound on its distance from the minimum.
        chosen: what the schedule chose on the validation data or by default, by name.
        learned: the force's own learned parameters by name, unless they are thresholds; feasible steps add the norm that was
            chosen.
    """

    plan: Plan
    model: Model
    thresholds: Floats
    best_epoch: int
    best_value: float | None
    log: tuple[Epoch, ...]
    interrupted: bool = False
    certificate: dict[str, Any] | None = None
    chosen: dict[str, Any] | None = None
    learned: dict[str, Any] | None = None


class TrainingRun(ABC):
    """One training, from its start or a checkpoint to its end."""

    progress: Progress

    def __init__(
        self, plan: Plan, data: RankingData, valid: RankingData | None, checkpoint: Checkpoint | None = None
    ) -> None:
        if valid is not None and valid.n_features != data.n_features:
            raise DataError(
                f"the validation data has {valid.n_features} features, but the training data has {data.n_features}; "
                "read both with the same options (n_features for sparse files)"
            )
        if data.n_features == 0:
            raise DataError("the data has no features; a model needs at least one to tell documents apart")
        if valid is None and plan.also:
            raise ParameterError(
                "also", rule="names metrics of the validation data", remedy="give {valid}, or leave it out"
            )
        for kind, part in (("force", plan.force), ("metric", plan.metric)):
            if checkpoint is not None and not part.is_importable:
                rule = f"cannot be written: it records the {kind} by name, and {part} cannot be imported by its name"
                raise ParameterError("checkpoint", rule=rule, remedy="define the function in a module")
        self.plan, self.data, self.valid, self.checkpoint = plan, data, valid, checkpoint
        plan.force.check_labels(data)
        if valid is not None:
            check_choice(plan.metric, valid, "validation", plan.num_threads, plan.exchange)
        mean_value(
            plan.metric, data, np.zeros(data.n_documents), plan.num_threads, plan.exchange
        )  # raises an error for labels that the metric does not accept
        self.identity = {} if checkpoint is None or not checkpoint.checks_identity else plan.identity(data, valid)
        self.held: tuple[Progress, Arrays] | None = None
        self.judges: dict[tuple[Metric, bool], Judge] = {}  # by metric, and whether of the validation data
        self.judged_scores: Floats | None = None  # of the validation data, when it was last judged

    @abstractmethod
    def _epoch(self, began: float) -> None:
        """Run one epoch and update `progress`."""

    @abstractmethod
    def _ended(self) -> bool:
        """Return whether training has ended for another reason than the schedule's limits."""

    @abstractmethod
    def _state(self) -> Arrays:
        """Return what is needed to resume, apart from the progress."""

    @abstractmethod
    def _load_state(self, arrays: Arrays) -> None:
        """Resume from a state; raise KeyError, TypeError or ValueError if it does not belong to this training."""

    @abstractmethod
    def _trained(self, interrupted: bool) -> Trained:
        """Return the best model so far."""

    def record(self) -> Any:
        """Return the last epoch as `follow` takes it: its `row`, and `is_whole`, whether earlier ones need not be followed."""
        raise NotImplementedError

    def follow(self, record: Any) -> None:
        """Take over the next epoch from a worker that has run it, with the same result."""
        raise NotImplementedError

    def _resume(self) -> None:
        if self.checkpoint is None:
            return
        found = self.checkpoint.read(self.identity, epochs=self.plan.schedule.max_epochs)
        if found is not None:
            numbers, arrays = found
            fresh = self.progress
            try:
                self.progress = Progress.of(numbers, arrays.pop("best_vector"))
                check_state(arrays, self._state())
                self._load_state(arrays)
                check_loaded(arrays, self._state())
                self._check_progress(fresh)
            except (IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
                raise FormatError(
                    self.checkpoint.path, f"is not a checkpoint of this training ({error})", remedy=REMEDY
                ) from None

    def _check_progress(self, fresh: Progress) -> None:
        """Check the progress of a checkpoint against its log, given that of a training before its first epoch.

        The ValueError says what does not follow from the log.
        """
        progress = self.progress
        if progress.rate != fresh.rate and not 0 < progress.rate < fresh.rate:
            raise ValueError(f"the learning rate {progress.rate:g} cannot follow from {fresh.rate:g}")
        kept = progress.log[progress.best_epoch - 1] if progress.best_epoch else None
        values = (None,) if kept is None else self._judged_values(kept)
        if progress.best_value not in values:
            raise ValueError(f"best_value {progress.best_value} is not that of epoch {progress.best_epoch}")
        if self.plan.metric.custom is None and kept is not None and not self._is_value_of_best(kept):
            raise ValueError(f"the model of epoch {progress.best_epoch} does not have the value in the log")

    def _judged_values(self, row: Epoch) -> tuple[float | None, ...]:
        """Return the value by which the epoch of a row was judged (higher is better), or those that are possible.

        It is the metric on the validation data, or the number of the epoch without validation data.
        """
        if self.valid is None:
            return (float(row.epoch),)
        return (row.valid if row.valid is None or self.plan.metric.higher_is_better else -row.valid,)

    def _is_value_of_best(self, row: Epoch) -> bool:
        """Return whether the best model so far has the value of its row on the validation data."""
        return True

    def run(self, callbacks: Sequence[Callback], *, stopped: bool = False) -> Trained:
        """Run epochs until training ends or is interrupted; no more of them if it is `stopped` already."""
        began, interrupted = time.perf_counter(), False
        takers = [callback for callback in callbacks if isinstance(callback, ScoreCallback)]
        try:
            self.plan.exchange.begin(self.progress.epoch + 1)
            while not stopped and not self._done():
                self._epoch(began)
                self._save()
                self._pass_scores(takers)
                stops = [
                    callback(self.progress.log[-1]) for callback in callbacks
                ]  # every callback receives every epoch
                self.plan.exchange.begin(self.progress.epoch + 1)
                stopped = any(stops)
            self._write()
        except KeyboardInterrupt:
            if self.progress.epoch == 0:
                raise
            self._write()
            interrupted = True
        return self._trained(interrupted)

    def _pass_scores(self, takers: Sequence[ScoreCallback]) -> None:
        """Give the scores of the validation data to the callbacks that take them."""
        for taker in takers:
            if self.judged_scores is not None:
                taker.receive_scores(self.judged_scores)

    def _done(self) -> bool:
        schedule, progress = self.plan.schedule, self.progress
        patience = self._patience()
        stale = patience is not None and progress.since_best >= patience
        return progress.epoch >= schedule.max_epochs or stale or self._train_is_done() or self._ended()

    def _train_is_done(self) -> bool:
        """Return whether the training metric is perfect or has stopped changing, if the schedule stops then."""
        rounds, log = self.plan.schedule.unchanged_rounds, self.progress.log
        if rounds is None or not log or log[-1].train is None:
            return False
        least, greatest = self.plan.metric.bounds
        if log[-1].train == (greatest if self.plan.metric.higher_is_better else least):
            return True
        return len(log) > rounds and len({row.train for row in log[-rounds - 1 :]}) == 1

    def _patience(self) -> int | None:
        """Return the number of epochs without progress on the validation data after which training stops."""
        return None if self.valid is None else self.plan.schedule.early_stopping_rounds

    def _value(self, metric: Metric, data: RankingData, outputs: Floats) -> float | None:
        """Return the mean of the metric over the queries that have a value; it does not depend on their order."""
        table = outputs.reshape(data.n_documents, -1)
        scores = to_scores(table[:, 0] if table.shape[1] == 1 else table)
        if data is self.valid:
            self.judged_scores = scores
        judge = self.judges.get((metric, data is self.valid))
        if judge is None:
            judge = Judge(metric, data, self.plan.num_threads, self.plan.exchange)
            self.judges[metric, data is self.valid] = judge
        return judge.mean(scores)

    def _also(self, outputs: Floats) -> dict[str, float | None] | None:
        """Return the further metrics on the validation data, given the model's outputs there."""
        assert self.valid is not None or not self.plan.also
        return {str(metric): self._value(metric, self.valid, outputs) for metric in self.plan.also} or None  # type: ignore[arg-type]

    def _save(self) -> None:
        """Keep the state at the end of an epoch, because an interrupt can come in the middle of the next one."""
        if self.checkpoint is not None:
            self.held = self.progress, {**self._state(), "best_vector": self.progress.best_vector}
            if self.checkpoint.due:
                self._write()

    def _write(self) -> None:
        if self.checkpoint is not None and self.held is not None:
            progress, arrays = self.held
            self.checkpoint.write(self.identity, progress.numbers(), arrays)


def _digest(model: Model) -> str:
    digest = hashlib.sha256()
    for name, value in sorted(model.arrays().items()):
        digest.update(name.encode() + value.tobytes())
    return digest.hexdigest()
