"""One run of a schedule that grows trees: rounds, the choice of the best one, and checkpoints."""

from __future__ import annotations

import array
import functools
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data import RankingData
from podium.data.canonical import canonical_order
from podium.data.hashing import counter_uniform
from podium.errors import DataError
from podium.forces import ForceData
from podium.forces.force_data import ForceOutcome
from podium.metrics import Metric
from podium.models.growing import TrackedScores, TreeBooster
from podium.training.best_round import best_round
from podium.training.checkpoint import Arrays, Checkpoint
from podium.training.force_parameters import BoostedParameters, LearnedParameters
from podium.training.progress import Epoch, Progress
from podium.training.run import Plan, Trained, TrainingRun

if TYPE_CHECKING:
    from podium.training.schedules.boosting import TreeSchedule

Floats = npt.NDArray[np.float64]
TRAIN_METRIC_DOCUMENTS = 100_000  # documents from which the training metric is not evaluated in every round
TRAIN_METRIC_ROUNDS = 10  # rounds between two evaluations of the training metric
DART_STREAM = 1 << 40
FOREST_STREAM = 1 << 40
CERTAIN = 1e-6  # a stump without errors is weighted as if it were wrong on this share
SAME_SCORES = 1e-6  # largest difference of scores that are summed in another order, relative to the largest score


@dataclass(frozen=True)
class BoostedRound:
    """A round as a worker needs it that joins after it.

    Attributes:
        trees: its trees.
        own: the free numbers of the force's own parameters after it, and the largest sums of forces on them so far.
        row: its row of the log.
    """

    trees: tuple[Arrays, ...]
    own: tuple[Floats, Floats]
    row: Epoch


class BoostingRun(TrainingRun):
    """One run of a schedule that grows trees."""

    def __init__(
        self,
        schedule: TreeSchedule,
        plan: Plan,
        data: RankingData,
        valid: RankingData | None,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self.began = time.perf_counter()
        super().__init__(plan, data, valid, checkpoint)
        assert schedule.smoothing is not None
        self.schedule, self.rate, self.smoothing = schedule, schedule.learning_rate, schedule.smoothing
        force, threads, exchange = plan.force, plan.num_threads, plan.exchange
        self.force_data = ForceData(data, levels=int(exchange.largest(data.labels.max())) + 1)
        self.outcome: ForceOutcome | None = None
        base = np.full(force.n_outputs(self.force_data), force.starting_score(data, exchange))
        model: Any = plan.model  # trees, as the schedule has checked
        start: Any = plan.start_from
        self.growing = TreeBooster(
            model,
            data,
            base=base,
            seed=plan.seed,
            num_threads=threads,
            start=start,
            memory=plan.memory,
            exchange=exchange,
        )
        self.rounds_before = self.growing.trees_before // self.growing.n_outputs
        self.watched = None if valid is None else self.growing.watch(valid, threads)
        self.learned = LearnedParameters(force, data, held=self.force_data, exchange=exchange)
        self.own = BoostedParameters(self.learned)
        force.check_labels(self.force_data)
        plain = force.has_curvature and not (schedule.closed_form or force.runs_in_python or self.learned.size)
        self.together = plain and self.growing.grows_together
        self.progress = Progress(rate=self.rate)
        self.valid_values = array.array("d")  # of every round so far; NaN if there is none
        self.recalled: list[Arrays] = []  # trees of a round that is followed, which need not be grown
        self.remembered: int | None = None  # the round after which scores were last copied
        self.before_round: dict[str, Floats] = {}  # scores to restore if a round is interrupted
        self._resume()

    def _ended(self) -> bool:
        limit = self.schedule.max_seconds
        if limit is None or self.progress.epoch == 0:
            return False
        return self.plan.exchange.any(time.perf_counter() - self.began >= limit)

    def _epoch(self, began: float) -> None:
        """Run one round, evaluate the forest after it, and record its length if it is the best so far."""
        number = self.progress.epoch + 1
        self._remember_scores()
        self._grow(number)
        self._check_scores(number)
        train = self._train_value(number)
        valid = None if self.watched is None else self._valid_value(self.plan.metric)
        also = None if self.watched is None else self._also(self.watched.scores)
        self._log_round(train, valid, also, round(time.perf_counter() - self.began, 3))

    def _log_round(
        self, train: float | None, valid: float | None, also: dict[str, float | None] | None, seconds: float
    ) -> None:
        before = self.progress
        number = before.epoch + 1
        del self.valid_values[before.epoch :]
        self.valid_values.append(math.nan if valid is None else valid)
        best_epoch = number if self.watched is None else before.best_epoch if valid is None else self._best_round()
        row = Epoch(
            epoch=number,
            train=train,
            valid=valid,
            cost=None,
            learning_rate=before.rate,
            restart=0,
            best=best_epoch == number,
            seconds=seconds,
            also=also,
            best_epoch=best_epoch if self.smoothing and valid is not None else None,
        )
        log = before.log.appended(row)
        changed = {} if best_epoch == before.best_epoch else self._kept(best_epoch, log[best_epoch - 1].valid)
        since = number - best_epoch if best_epoch > 0 else number
        self.progress = before.moved(epoch=number, log=log, since_best=since, **changed)

    def record(self) -> BoostedRound:
        """Return the last round."""
        growing = self.growing
        trees = range(len(growing.trees) - growing.forests * growing.n_outputs, len(growing.trees))
        arrays = tuple(growing.arrays_of(tree) for tree in trees)
        return BoostedRound(arrays, (self.own.free, self.own.largest), self.progress.log[-1])

    def follow(self, record: BoostedRound) -> None:
        """Take over the next round from a worker that has run it: the same numbers are added to the scores in the same order."""
        self.recalled = list(record.trees)
        self.own.free, self.own.largest = record.own
        self._grow(self.progress.epoch + 1)
        row = record.row
        self._log_round(row.train, row.valid, row.also, row.seconds)

    def _best_round(self) -> int:
        """Return the round with the best smoothed validation value."""
        sign = 1.0 if self.plan.metric.higher_is_better else -1.0
        return best_round(sign * np.array(self.valid_values), self.smoothing)

    def _kept(self, epoch: int, value: float | None) -> dict[str, Any]:
        """Return what is recorded about the best round."""
        trees = epoch * self.growing.forests * self.growing.n_outputs  # an earlier round, once its neighbors are known
        vector = np.concatenate([self.growing.weights[:trees], self.own.rounds[epoch]])
        judged = value if value is None or self.plan.metric.higher_is_better else -value
        return {
            "best_value": judged if self.watched is not None else float(epoch),
            "best_epoch": epoch,
            "best_vector": vector,
        }

    def _grow(self, number: int) -> None:
        if self.growing.forests > 1:
            self._grow_side_by_side(number)
        else:
            self._grow_and_drop(number)
        self.own.end_round()

    def _grow_and_drop(self, number: int) -> None:
        dropped = self._dropped(number)
        if self._grows_in_core and not dropped:
            self._grow_in_core(number)
            self.growing.add_step(self.watched)
            return
        growing, weights = self.growing, self.growing.weights
        watched = [growing.train, *([] if self.watched is None else [self.watched])]
        out = [weights[k * growing.n_outputs] for k in dropped]
        growing.add(growing.train, dropped, [-weight for weight in out])
        if self._grows_in_core:
            self._grow_in_core(number)
        else:
            self._absorb(number, 0)
        # The new tree, whose values include the rate, and the k trees that were left out are together scaled to the size of the k:
        # k/(k + rate) and rate/(k + rate) of it. At rate 1 this is the paper's. [DART]
        left, share = self._shares(len(dropped))
        for k, weight in zip(dropped, out, strict=True):
            for output in range(growing.n_outputs):
                weights[k * growing.n_outputs + output] = weight * left
        for output in range(growing.n_outputs):
            weights[(number - 1) * growing.n_outputs + output] = share
        for part in watched:
            back = [w * left for w in out] if part is growing.train else [w * (left - 1) for w in out]
            growing.add(part, [*dropped, number - 1], [*back, share])

    def _shares(self, dropped: int) -> tuple[float, float]:
        """Return the factors of the trees that a round left out, and of its new tree."""
        return (dropped / (dropped + self.rate), 1 / (dropped + self.rate)) if dropped else (1.0, 1.0)

    def _weights_after(self, rounds: int) -> list[float]:
        """Return the weights of all trees after some rounds, which depend on the schedule and the seed alone."""
        growing = self.growing
        if growing.forests > 1:
            return [1 / growing.forests] * (rounds * growing.forests * growing.n_outputs)
        weights: list[float] = []
        for number in range(1, rounds + 1):
            dropped = self._dropped(number)
            left, share = self._shares(len(dropped))
            for k in dropped:
                weights[k] *= left
            weights.append(share)
        return [weight for weight in weights for _ in range(growing.n_outputs)]

    def _grow_side_by_side(self, number: int) -> None:
        """Grow the forests independently of each other; their mean is evaluated."""
        growing, share = self.growing, 1 / self.growing.forests
        if self._grows_in_core:
            self._grow_in_core(number)
            growing.add_step(self.watched)
            return
        first = growing.n_steps
        for forest, own in enumerate(growing.own):
            self._absorb(number, forest)
            step = [first + forest]
            growing.add(own, step, [1.0])
            growing.add(growing.train, step, [share])
            if self.watched is not None:
                growing.add(self.watched, step, [share])

    @functools.cached_property
    def prepared(self) -> _core.PreparedForce:
        """The force on the training documents as the core takes it."""
        return self.force_data.prepared(self.plan.force)

    @property
    def _grows_in_core(self) -> bool:
        """Whether the core computes the forces of a round and grows its trees in one call."""
        return self.together and not self.recalled

    def _grow_in_core(self, number: int) -> None:
        """Grow one tree of every forest from the force on the forest's current scores."""
        growing = self.growing
        rounds = [self._draw_of(number, forest) for forest in range(growing.forests)]
        growing.grow_together(self.prepared, rounds, self.rate)

    def _absorb(self, number: int, forest: int) -> None:
        """Grow trees from the force on a forest's current scores, and update the force's own parameters."""
        plan, growing = self.plan, self.growing
        if self.recalled:
            growing.recall_step(self.recalled[: growing.n_outputs])
            del self.recalled[: growing.n_outputs]
            return
        scores = growing.own[forest].scores
        outcome = plan.force.compute(
            scores if growing.n_outputs == 1 else scores.reshape(-1, growing.n_outputs),
            self.force_data,
            curvature=True,
            cost=self.schedule.closed_form,
            parameters=self.learned.values(self.own.free),
            seed=plan.seed,
            round=self._draw_of(number, forest),
            num_threads=plan.num_threads,
            into=self.outcome,
        )
        self.outcome = outcome
        assert outcome.curvature is not None
        bend = outcome.curvature
        if self.schedule.closed_form or not plan.force.has_curvature:
            bend = np.ones_like(bend)
        growing.grow(outcome.force, bend, self.rate)
        if outcome.cost is not None:
            self._weigh_stump(plan.exchange.fsum(outcome.cost.tolist())[0])
        if outcome.parameter_force is not None:
            rate = self.rate / growing.forests
            self.own.move(outcome.parameter_force, rate, growing.n_documents)

    def _draw_of(self, number: int, forest: int) -> int:
        """Return the number of a round and forest, of which random draws are a function."""
        return number + self.rounds_before + FOREST_STREAM * forest

    def _weigh_stump(self, total: float) -> None:
        """Return α = ½ ln((1 + r)/(1 − r)) for documents on the right, where r is the share of the pairs' weight that the stump
        orders correctly minus the share that it orders incorrectly. [RankBoost]"""
        stump = self.growing.trees[-1]
        if stump.n_leaves < 2 or total <= 0:
            return
        r = float(np.clip(stump.forces()[1] / total, CERTAIN - 1, 1 - CERTAIN))
        stump.set_values(np.array([0.0, self.rate * math.atanh(r)]))

    def _dropped(self, number: int) -> list[int]:
        """Return the rounds that this one leaves out."""
        if self.schedule.dart == 0 or number == 1:
            return []
        drawn = counter_uniform(self.plan.seed, DART_STREAM + number + self.rounds_before, number - 1)
        return [int(k) for k in np.flatnonzero(drawn < self.schedule.dart)]

    def _check_scores(self, number: int) -> None:
        if not _core.all_finite(self.growing.train.scores):
            raise DataError(
                f"training diverged in round {number}: scores are no longer finite; try a smaller learning_rate than "
                f"{self.rate:g}"
            )

    def _train_value(self, number: int) -> float | None:
        """Return the training metric, which decides nothing. Once there is a curve it is computed in some rounds only."""
        started = self.watched is not None and number > TRAIN_METRIC_ROUNDS
        if (started or self.growing.n_documents >= TRAIN_METRIC_DOCUMENTS) and number % TRAIN_METRIC_ROUNDS != 0:
            return None
        return self._value(self.plan.metric, self.data, self.growing.train.scores)

    def _valid_value(self, metric: Metric) -> float | None:
        assert self.valid is not None
        assert self.watched is not None
        return self._value(metric, self.valid, self.watched.scores)

    def _remember_scores(self) -> None:
        """Copy all scores if a checkpoint may have to be written during the round."""
        if self.checkpoint is None:
            return
        for name, tracked in self._tracked().items():
            if name not in self.before_round:
                self.before_round[name] = np.empty_like(tracked.scores)
            np.copyto(self.before_round[name], tracked.scores)
        self.weights_before = self.growing.weights[:]
        self.own_before = self.own.state()
        self.remembered = self.progress.epoch

    def _tracked(self) -> dict[str, TrackedScores]:
        own = self.growing.own if self.growing.forests > 1 else []
        tracked = {"train": self.growing.train, **{f"own_scores.{k}": scores for k, scores in enumerate(own)}}
        return tracked if self.watched is None else {**tracked, "valid": self.watched}

    def _undo_round(self) -> None:
        """Restore trees and scores to the end of the last complete round."""
        if self.remembered != self.progress.epoch:  # the round is complete or has not started
            return
        for name, tracked in self._tracked().items():
            np.copyto(tracked.scores, self.before_round[name])
        del self.growing.trees[len(self.weights_before) :]
        self.growing.weights = self.weights_before[:]
        self.own.load(self.own_before)

    def _save(self) -> None:
        """Collect the state only when it is written, because copying all trees after every round would be expensive."""
        if self.checkpoint is not None and self.checkpoint.due:
            self._write()

    def _write(self) -> None:
        if self.checkpoint is not None and self.progress.epoch > 0:
            self._undo_round()
            self.held = self.progress, {**self._state(), "best_vector": self.progress.best_vector}
        super()._write()

    def _state(self) -> Arrays:
        growing = self.growing
        state = {f"forest.{name}": value for name, value in growing.grown([1.0] * len(growing.trees)).items()}
        state |= {"weights": np.array(growing.weights), "train": _held(growing.train, self.data), **self.own.state()}
        if growing.forests > 1:
            state |= {f"own_scores.{k}": _held(own, self.data) for k, own in enumerate(growing.own)}
        if self.watched is not None and self.valid is not None:
            state["valid"] = _held(self.watched, self.valid)
        return state

    def _load_state(self, arrays: Arrays) -> None:
        forest = {name.removeprefix("forest."): value for name, value in arrays.items() if name.startswith("forest.")}
        self.growing.recall(forest, arrays["weights"])
        rounds = self.progress.epoch
        if self.growing.n_steps != rounds * self.growing.forests or len(arrays["own"]) != rounds + 1:
            raise ValueError("trees of another number of rounds")
        kept = self.progress.best_epoch * self.growing.forests * self.growing.n_outputs
        if len(self.progress.best_vector) != kept + self.learned.size:
            raise ValueError("best_vector is of another round")
        if self.growing.weights.tolist() != self._weights_after(rounds):
            raise ValueError("the weights of the trees do not follow from the schedule")
        if not np.array_equal(arrays["own"][0], self.learned.start()) or arrays["own_largest"].min(initial=0) < 0:
            raise ValueError("the parameters of the force cannot be those of this training")
        self.own.load(arrays)
        self._add_all()
        self.valid_values.extend(math.nan if row.valid is None else row.valid for row in self.progress.log)
        _load_scores(self.growing.train, self.data, arrays["train"])
        if self.growing.forests > 1:
            for k, own in enumerate(self.growing.own):
                _load_scores(own, self.data, arrays[f"own_scores.{k}"])
        if self.watched is not None and self.valid is not None:
            _load_scores(self.watched, self.valid, arrays["valid"])

    def _add_all(self) -> None:
        """Add the trees of a checkpoint to the scores, with which those that it holds are then compared."""
        growing, forests = self.growing, self.growing.forests
        steps, weights = range(growing.n_steps), growing.weights[:: growing.n_outputs]
        for part in [growing.train, *([] if self.watched is None else [self.watched])]:
            growing.add(part, steps, weights)
        for k, own in enumerate(growing.own if forests > 1 else ()):
            growing.add(own, steps[k::forests], [1.0] * len(steps[k::forests]))

    def _check_progress(self, fresh: Progress) -> None:
        """Check that the best round follows from the log, and its weights from the schedule."""
        super()._check_progress(fresh)
        progress, last = self.progress, self.progress.log[-1]
        best = progress.epoch if self.watched is None else 0 if last.valid is None else self._best_round()
        if (progress.best_epoch, progress.since_best) != (best, progress.epoch - best):
            raise ValueError(f"round {progress.best_epoch} is not the best of the log")
        kept = [*self._weights_after(best), *self.own.rounds[best]]
        if progress.best_vector.tolist() != kept:
            raise ValueError("best_vector does not follow from the schedule")

    def _is_value_of_best(self, row: Epoch) -> bool:
        """Return whether the scores have the values of the last row; those of the best round are no longer there."""
        last = self.progress.log[-1]
        if self.watched is not None and self._valid_value(self.plan.metric) != last.valid:
            return False
        return last.train is None or self._value(self.plan.metric, self.data, self.growing.train.scores) == last.train

    def _trained(self, interrupted: bool) -> Trained:
        progress, n_own = self.progress, self.learned.size
        vector = progress.best_vector
        weights, own = vector[: len(vector) - n_own], vector[len(vector) - n_own :]
        return Trained(
            plan=self.plan,
            model=self.growing.finished(weights.tolist()),
            best_epoch=progress.best_epoch,
            best_value=progress.log[progress.best_epoch - 1].valid,
            log=tuple(progress.log),
            interrupted=interrupted,
            **self.learned.outcome(self.learned.values(own)),
        )


def _canonical_rows(data: RankingData) -> npt.NDArray[np.int64]:
    order = canonical_order(data)
    sizes = data.query_sizes[order]
    place = np.arange(data.n_documents) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.repeat(data.query_offsets[:-1][order], sizes) + place


def _held(watched: TrackedScores, data: RankingData) -> Floats:
    """Return scores in an order that does not depend on the order of queries in the file."""
    return watched.scores.reshape(data.n_documents, -1)[_canonical_rows(data)].reshape(-1)


def _load_scores(watched: TrackedScores, data: RankingData, scores: Floats) -> None:
    if scores.shape != watched.scores.shape:
        raise ValueError("scores of another number of documents")
    summed = _held(watched, data)
    if np.abs(scores - summed).max(initial=0) > SAME_SCORES * max(1.0, np.abs(summed).max(initial=0)):
        raise ValueError("scores that are not those of the trees")
    watched.scores.reshape(data.n_documents, -1)[_canonical_rows(data)] = scores.reshape(data.n_documents, -1)
