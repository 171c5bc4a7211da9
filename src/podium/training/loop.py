"""The training loop: epochs, the best one kept, rates and restarts by their rules, checkpoints, and an ear for Ctrl-C."""

from __future__ import annotations

import math
import time
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
from podium.metrics import Documents, Metric, per_query
from podium.models import CoreModel, Model, Spec
from podium.models.heads import to_scores
from podium.training.checkpoint import REMEDY, Checkpoint
from podium.training.convex import State
from podium.training.progress import Callback, Epoch, Progress
from podium.training.schedule import Schedule
from podium.training.steps import FullSteps, Steps, Task, make_steps
from podium.training.thresholds import rising_thresholds, starting_parameters

Floats = npt.NDArray[np.float64]
SHRINK = 0.8


@dataclass(frozen=True)
class Plan:
    """What to train: force × function class × schedule, judged by a metric."""

    force: Force
    model: Spec
    schedule: Schedule
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
        schedule = {name: str(value) for name, value in self.schedule.__dict__.items() if name != "epochs"}
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
        thresholds: of a force that learns its own (ordinal), else empty.
        best_epoch: the epoch kept.
        best_value: its metric on validation, or None.
        log: a row an epoch.
        interrupted: whether Ctrl-C ended it early.
        certificate: of lbfgs and bundle, the model's objective and how far it can lie above the least one.
    """

    model: Model
    thresholds: Floats
    best_epoch: int
    best_value: float | None
    log: tuple[Epoch, ...]
    interrupted: bool = False
    certificate: dict[str, Any] | None = None


def train(
    plan: Plan,
    data: RankingData,
    *,
    valid: RankingData | None = None,
    callbacks: Sequence[Callback] = (),
    checkpoint: Checkpoint | None = None,
) -> Trained:
    """Trains until the epochs are used up, validation stops improving, a callback says True, or Ctrl-C."""
    return Training(plan, data, valid, checkpoint).run(callbacks)


def mean_value(metric: Metric, data: RankingData, scores: Floats, num_threads: int) -> float | None:
    """The mean of a metric over the queries that have a value, the same for any order of queries; None where none has."""
    documents = Documents(scores, data.labels, data.query_offsets, row_order=data.row_order)
    values = per_query([metric], documents, num_threads=num_threads)[0][0]
    known = values[~np.isnan(values)]
    return math.fsum(known.tolist()) / len(known) if len(known) else None


def check_choice(metric: Metric, data: RankingData, what: str, num_threads: int) -> None:
    """That the metric can tell one ranking of the data from another, so that there is a best one."""
    if mean_value(metric, data, np.zeros(data.n_documents), num_threads) is None:
        raise DataError(
            f"{metric} has no value on any query of the {what} data, so nothing is best; use other data or another metric"
        )
    order = np.lexsort((data.labels, data.document_queries))
    same_query = np.diff(data.document_queries[order]) == 0
    if not (same_query & (np.diff(data.labels[order]) != 0)).any():
        raise DataError(
            f"no query of the {what} data has two different labels, so {metric} cannot tell one ranking from another (pairs "
            "have no part in metrics); give labels, or train without validation data"
        )


class Training:
    """One run of the loop."""

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
        if checkpoint is not None and not plan.force.reads_back:
            raise ParameterError(
                f"a checkpoint must know the force, and {plan.force} has no name to know it by; define the function in a module"
            )
        self.plan, self.data, self.valid, self.checkpoint = plan, data, valid, checkpoint
        plan.force.check_labels(data)
        self._check_judges()
        self.model = self._start(restart=0)
        self.task = Task(plan.force, self.model, data, plan.schedule, plan.seed, plan.num_threads)
        self.steps: Steps = make_steps(self.task)
        self.valid_inputs = (
            self.model.prepare(valid.features, num_threads=plan.num_threads)
            if valid is not None and isinstance(self.model, CoreModel)
            else None
        )
        self.identity = {} if checkpoint is None else plan.identity(data, valid)
        self.progress = Progress(rate=float(plan.schedule.learning_rate))
        self.held: tuple[Progress, State] | None = None
        self.steps.begin(self._starting_vector(self.model))
        self._resume()

    def _check_judges(self) -> None:
        """That the metric can choose an epoch, before any time is spent."""
        if self.valid is not None:
            check_choice(self.plan.metric, self.valid, "validation", self.plan.num_threads)
        elif self.plan.schedule.restart_rounds is not None:
            check_choice(self.plan.metric, self.data, "training", self.plan.num_threads)

    def _start(self, restart: int) -> Model:
        plan = self.plan
        return plan.model.start(
            self.data,
            n_outputs=plan.force.n_outputs(self.data),
            seed=plan.seed,
            restart=restart,
            num_threads=plan.num_threads,
        )

    def _starting_vector(self, model: Model) -> Floats:
        return np.concatenate([model.vector, starting_parameters(self.plan.force, self.data)])

    def _resume(self) -> None:
        if self.checkpoint is None:
            return
        found = self.checkpoint.read(self.identity, epochs=self.plan.schedule.epochs)
        if found is not None:
            numbers, arrays = found
            try:
                self.progress = Progress.of(numbers, arrays.pop("best_vector"))
                if self.progress.best_vector.shape != self.steps.vector.shape:
                    raise ValueError("best_vector has another size")
                self.steps.resume(arrays)
            except (KeyError, TypeError, ValueError) as error:
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
        return progress.epoch >= schedule.epochs or stale or self.steps.converged

    def _epoch(self, began: float) -> None:
        """One pass; the model after it is judged, and kept if it is the best so far."""
        before = self.progress
        number = before.epoch + 1
        passed = self.steps.epoch(number, before.rate)
        vector = self.steps.vector
        if not (np.isfinite(vector).all() and np.isfinite(passed.scores).all() and np.isfinite(passed.cost or 0.0)):
            raise DataError(
                f"training diverged in epoch {number}: parameters or scores are no longer finite; try a smaller "
                f"learning_rate than {before.rate:g}, or features of a smaller scale"
            )
        train = self._value(self.data, passed.scores.reshape(self.data.n_documents, -1))
        valid = None if self.valid is None else self._valid_value(vector)
        judged = self._judged(number, train, valid)
        best = judged is not None and (before.best_value is None or judged > before.best_value)
        risen = judged is not None and (before.run_value is None or judged > before.run_value)
        row = Epoch(
            epoch=number,
            train=train,
            valid=valid,
            cost=passed.cost,
            learning_rate=before.rate,
            restart=before.restart,
            best=best,
            seconds=round(time.perf_counter() - began, 3),
        )
        kept = {
            "best_value": judged,
            "best_epoch": number,
            "best_vector": vector.copy(),
            "certificate": self._certificate(),
        }
        self.progress = before.moved(
            epoch=number,
            log=(*before.log, row),
            since_best=0 if best else before.since_best + 1,
            run_value=judged if risen else before.run_value,
            since_rise=0 if risen else before.since_rise + 1,
            last_cost=passed.cost,
            last_train=train,
            rate=self._next_rate(before, passed.cost, train),
            **(kept if best else {}),
        )
        self._restart_if_stuck()

    def _judged(self, number: int, train: float | None, valid: float | None) -> float | None:
        """What the best epoch has most of: the metric, counted so that more is better, or its number."""
        if self.valid is None and self.plan.schedule.restart_rounds is None:
            return float(number)
        value = valid if self.valid is not None else train
        return value if value is None or self.plan.metric.higher_is_better else -value

    def _next_rate(self, before: Progress, cost: float | None, train: float | None) -> float:
        rule = self.plan.schedule.rate_rule
        if rule == "halve" and cost is not None and before.last_cost is not None and cost > before.last_cost:
            return before.rate / 2
        if rule == "shrink" and train is not None and before.last_train is not None:
            falls = train < before.last_train if self.plan.metric.higher_is_better else train > before.last_train
            return before.rate * SHRINK if falls else before.rate
        return before.rate

    def _restart_if_stuck(self) -> None:
        rounds = self.plan.schedule.restart_rounds
        if rounds is None or self.progress.since_rise < rounds:
            return
        self.progress = self.progress.moved(
            restart=self.progress.restart + 1,
            run_value=None,
            since_rise=0,
            rate=float(self.plan.schedule.learning_rate),
            last_cost=None,
            last_train=None,
        )
        self.steps.begin(self._starting_vector(self._start(self.progress.restart)))

    def _value(self, data: RankingData, outputs: Floats) -> float | None:
        """The mean of the metric over queries that have a value; the same for any order of queries."""
        scores = to_scores(outputs[:, 0] if outputs.shape[1] == 1 else outputs)
        return mean_value(self.plan.metric, data, scores, self.plan.num_threads)

    def _valid_value(self, vector: Floats) -> float | None:
        assert self.valid is not None
        self.model.vector = vector[: len(vector) - self.plan.force.n_parameters(self.data)]
        threads = self.plan.num_threads
        if self.valid_inputs is not None and isinstance(self.model, CoreModel):
            outputs = self.model.scores_of(self.valid_inputs, num_threads=threads)
        else:
            outputs = self.model.scores(self.valid.features, num_threads=threads)
        return self._value(self.valid, outputs.reshape(self.valid.n_documents, -1))

    def _certificate(self) -> dict[str, Any] | None:
        return self.steps.certificate() if isinstance(self.steps, FullSteps) else None

    def _save(self) -> None:
        """Holds on to the state at the end of an epoch, since an interrupt may come in the middle of the next."""
        if self.checkpoint is not None:
            self.held = self.progress, {**self.steps.state(), "best_vector": self.progress.best_vector}
            if self.checkpoint.due:
                self._write()

    def _write(self) -> None:
        if self.checkpoint is not None and self.held is not None:
            progress, arrays = self.held
            self.checkpoint.write(self.identity, progress.numbers(), arrays)

    def _trained(self, interrupted: bool) -> Trained:
        progress = self.progress
        own = self.plan.force.n_parameters(self.data)
        size = len(progress.best_vector) - own
        self.model.vector = progress.best_vector[:size].copy()
        kept = progress.log[progress.best_epoch - 1]
        return Trained(
            model=self.model.finished(),
            thresholds=rising_thresholds(progress.best_vector[size:]),
            best_epoch=progress.best_epoch,
            best_value=kept.valid,
            log=progress.log,
            interrupted=interrupted,
            certificate=progress.certificate,
        )
