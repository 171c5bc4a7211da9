"""Boosting: each round the force on the present scores becomes a tree, and the scores move by what its leaves give."""

from __future__ import annotations

import hashlib
import math
import time
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.data.canonical import canonical_order
from podium.data.hashing import counter_uniform
from podium.errors import DataError, ParameterError
from podium.forces import ForceData
from podium.forces.force import Outcome
from podium.metrics import Metric
from podium.models.growing import LARGE_DATA_DOCUMENTS, TrackedScores, TreeBooster
from podium.models.trees import TreeModel, TreesSpec
from podium.training.boost_schedule import BoostSchedule
from podium.training.checkpoint import Arrays, Checkpoint
from podium.training.progress import Epoch, Progress
from podium.training.run import Plan, Run, Trained
from podium.training.thresholds import rising_thresholds, starting_parameters

Floats = npt.NDArray[np.float64]
FIRST_ORDER = ("spring", "step", "hinge")  # forces without a curvature to divide by: a leaf gives the mean force
TRAIN_EVERY = 10  # rounds between two looks at the training metric where there are many documents
DART_STREAM = 1 << 40
FOREST_STREAM = 1 << 40
SMOOTHING, FEW_SMOOTHING = 10, 40  # rounds on either side; where documents are few
CERTAIN = 1e-6  # a stump that errs nowhere is trusted as if it erred on this share


class Boosting(Run):
    """One run of a schedule that grows trees."""

    def __init__(
        self,
        plan: Plan,
        data: RankingData,
        valid: RankingData | None,
        checkpoint: Checkpoint | None = None,
        *,
        start: TreeModel | None = None,
        also: tuple[Metric, ...] = (),
    ) -> None:
        self.start, self.also, self.began = start, also, time.perf_counter()
        super().__init__(plan, data, valid, checkpoint)
        assert isinstance(plan.schedule, BoostSchedule)
        assert isinstance(plan.model, TreesSpec)
        self.schedule = plan.schedule
        force, threads = plan.force, plan.num_threads
        self.force_data = ForceData(data)
        self.outcome: Outcome | None = None
        if force.name == "step" and force.parameter("margin", 0) == 0:
            raise ParameterError(
                "step with margin 0 has no force on equal scores, where trees begin; give it a margin: step(…, margin=1)"
            )
        base = np.zeros(force.n_outputs(self.force_data))
        if force.name == "squared":
            base[0] = _mean_label(data)
        self.rate = plan.schedule.learning_rate or learning_rate_for(data.n_documents)
        model = self._settled_forests(plan.model)
        self.growing = TreeBooster(model, data, base=base, seed=plan.seed, num_threads=threads, start=start)
        self.rounds_before = self.growing.trees_before // self.growing.n_outputs
        self.watched = None if valid is None else self.growing.watch(valid, threads)
        self.own = starting_parameters(force, data)
        self.smoothing = self._settled_smoothing()
        self.progress, self.steady = Progress(rate=self.rate), True
        self._resume()

    def _settled_forests(self, spec: TreesSpec) -> TreesSpec:
        """One forest where rounds look back at earlier ones, or weigh their trees in closed form."""
        if not self.schedule.dart and not self.schedule.closed_form:
            return spec
        if spec.forests is not None and spec.forests > 1:
            raise ParameterError(f"forests={spec.forests} cannot be grown with dart or by RankBoost; take forests=1")
        return replace(spec, forests=1)

    def _settled_smoothing(self) -> int:
        """0 where an earlier round's forest cannot be had back by leaving trees off."""
        given = self.schedule.smoothing
        if self.schedule.dart or len(self.own):
            if given:
                raise ParameterError(
                    f"smoothing={given} cannot be had with dart or a force with thresholds; take smoothing=0"
                )
            return 0
        if given is not None or self.schedule.closed_form:
            return given or 0
        return FEW_SMOOTHING if self.data.n_documents < LARGE_DATA_DOCUMENTS else SMOOTHING

    def _identity(self) -> dict[str, str]:
        return {**super()._identity(), "model to go on from": "none" if self.start is None else _digest(self.start)}

    def _ended(self) -> bool:
        limit = self.schedule.max_seconds
        return limit is not None and time.perf_counter() - self.began >= limit and self.progress.epoch > 0

    def _epoch(self, began: float) -> None:
        """One round; the forest after it is judged, and its length kept if it is the best so far."""
        before = self.progress
        number = before.epoch + 1
        self.steady = False  # an interrupt from here on finds scores and trees half way
        self._grow(number)
        self._check_scores(number)
        train = self._train_value(number)
        valid = None if self.watched is None else self._valid_value(self.plan.metric)
        values = [*(row.valid for row in before.log), valid]
        best_epoch = number if self.watched is None else self._best_round(values)
        best = best_epoch == number
        row = Epoch(
            epoch=number,
            train=train,
            valid=valid,
            cost=None,
            learning_rate=before.rate,
            restart=0,
            best=best,
            seconds=round(time.perf_counter() - self.began, 3),
            also={str(metric): self._valid_value(metric) for metric in self.also} or None,
            best_epoch=best_epoch if self.smoothing and valid is not None else None,
        )
        changed = {} if best_epoch == before.best_epoch else self._kept(best_epoch, values[best_epoch - 1])
        since = number - best_epoch if best_epoch > 0 else number
        self.progress = before.moved(epoch=number, log=(*before.log, row), since_best=since, **changed)
        self.steady = True

    def _best_round(self, values: list[float | None]) -> int:
        """The round with the best validation value, smoothed over its neighbors; 0 where there is no value."""
        if values[-1] is None:
            return self.progress.best_epoch
        sign = 1.0 if self.plan.metric.higher_is_better else -1.0
        found = sign * np.array(values, np.float64)
        width = min(self.smoothing, len(found) // 10)
        return int(np.argmax(_smoothed(found, width) if width > 0 else found)) + 1

    def _kept(self, epoch: int, value: float | None) -> dict[str, Any]:
        """What is kept of the best round."""
        vector = self._vector()
        if epoch < self.growing.n_steps // self.growing.forests:  # an earlier one, now that its neighbors are known
            vector = vector[: epoch * self.growing.forests * self.growing.n_outputs]
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

    def _grow_and_drop(self, number: int) -> None:
        dropped = self._dropped(number)
        growing, weights = self.growing, self.growing.weights
        watched = [growing.train, *([] if self.watched is None else [self.watched])]
        out = [weights[k * growing.n_outputs] for k in dropped]
        growing.add(growing.train, dropped, [-weight for weight in out])
        self._absorb(number, 0)
        # The new tree, whose values hold the rate already, and the k that were left out together take the room of the k:
        # k/(k + rate) and rate/(k + rate) of it. At rate 1 this is the paper's. [DART]
        left = len(dropped) / (len(dropped) + self.rate) if dropped else 1.0
        share = 1 / (len(dropped) + self.rate) if dropped else 1.0
        for k, weight in zip(dropped, out, strict=True):
            for output in range(growing.n_outputs):
                weights[k * growing.n_outputs + output] = weight * left
        for output in range(growing.n_outputs):
            weights[(number - 1) * growing.n_outputs + output] = share
        for part in watched:
            back = [w * left for w in out] if part is growing.train else [w * (left - 1) for w in out]
            growing.add(part, [*dropped, number - 1], [*back, share])

    def _grow_side_by_side(self, number: int) -> None:
        """Each forest goes its own way; what is judged is their mean."""
        growing, share = self.growing, 1 / self.growing.forests
        for forest, own in enumerate(growing.own):
            self._absorb(number, forest)
            step = [growing.n_steps - 1]
            growing.add(own, step, [1.0])
            growing.add(growing.train, step, [share])
            if self.watched is not None:
                growing.add(self.watched, step, [share])

    def _absorb(self, number: int, forest: int) -> None:
        """The force on a forest's scores as they stand becomes trees, and moves the force's own parameters."""
        plan, growing = self.plan, self.growing
        scores = growing.own[forest].scores
        outcome = plan.force.compute(
            scores if growing.n_outputs == 1 else scores.reshape(-1, growing.n_outputs),
            self.force_data,
            curvature=True,
            cost=self.schedule.closed_form,
            parameters=rising_thresholds(self.own) if len(self.own) else (),
            seed=plan.seed,
            round=number + self.rounds_before + FOREST_STREAM * forest,
            num_threads=plan.num_threads,
            into=self.outcome,
        )
        self.outcome = outcome
        assert outcome.curvature is not None
        bend = outcome.curvature
        if self.schedule.closed_form or (plan.force.inner or plan.force).name in FIRST_ORDER:
            bend = np.ones_like(bend)
        growing.grow(outcome.force, bend, self.rate)
        if outcome.cost is not None:
            self._weigh_stump(math.fsum(outcome.cost.tolist()))
        if outcome.parameter_force is not None:
            self.own = self.own + self._parameter_step(outcome.parameter_force) / growing.forests

    def _weigh_stump(self, total: float) -> None:
        """α = ½ ln((1 + r)/(1 − r)) for documents on the right, r the share of the pairs' weight that the stump orders
        rightly less the share it orders wrongly. [RankBoost]"""
        stump = self.growing.trees[-1]
        if stump.n_leaves < 2 or total <= 0:
            return
        r = float(np.clip(stump.forces()[1] / total, CERTAIN - 1, 1 - CERTAIN))
        stump.set_values(np.array([0.0, self.rate * math.atanh(r)]))

    def _parameter_step(self, parameter_force: Floats) -> Floats:
        """Along the force on the thresholds, over the most its slope can be: ¼ a document."""
        push = np.array([math.fsum(column) for column in parameter_force.T.tolist()])
        above = np.cumsum(push[::-1])[::-1]
        steps = np.exp(np.clip(self.own[1:], -30, 30))
        return np.asarray(self.rate * above * np.concatenate([[1.0], steps]) / (self.data.n_documents / 4))

    def _dropped(self, number: int) -> list[int]:
        """The rounds that this one leaves out."""
        if self.schedule.dart == 0 or number == 1:
            return []
        drawn = counter_uniform(self.plan.seed, DART_STREAM + number + self.rounds_before, number - 1)
        return [int(k) for k in np.flatnonzero(drawn < self.schedule.dart)]

    def _check_scores(self, number: int) -> None:
        if not np.isfinite(self.growing.train.scores).all():
            raise DataError(
                f"training diverged in round {number}: scores are no longer finite; try a smaller learning_rate than "
                f"{self.rate:g}"
            )

    def _train_value(self, number: int) -> float | None:
        if self.data.n_documents >= LARGE_DATA_DOCUMENTS and number % TRAIN_EVERY != 0:
            return None
        return self._value(self.plan.metric, self.data, self.growing.train.scores)

    def _valid_value(self, metric: Metric) -> float | None:
        assert self.valid is not None
        assert self.watched is not None
        return self._value(metric, self.valid, self.watched.scores)

    def _vector(self) -> Floats:
        """What the best round is known by: the weights of its trees, and the force's own parameters."""
        return np.concatenate([self.growing.weights, self.own])

    def _save(self) -> None:
        """All trees make a state, too much to hold after each of them: it is held when it is written."""
        if self.checkpoint is not None and self.checkpoint.due:
            self._write()

    def _write(self) -> None:
        if self.checkpoint is not None and self.steady:
            self.held = self.progress, {**self._state(), "best_vector": self.progress.best_vector}
        super()._write()

    def _state(self) -> Arrays:
        growing = self.growing
        state = {f"forest.{name}": value for name, value in growing.grown([1.0] * len(growing.trees)).items()}
        state |= {"weights": np.array(growing.weights), "own": self.own, "train": _held(growing.train, self.data)}
        if growing.forests > 1:
            state |= {f"own_scores.{k}": _held(own, self.data) for k, own in enumerate(growing.own)}
        if self.watched is not None and self.valid is not None:
            state["valid"] = _held(self.watched, self.valid)
        return state

    def _load_state(self, arrays: Arrays) -> None:
        forest = {name.removeprefix("forest."): value for name, value in arrays.items() if name.startswith("forest.")}
        self.growing.recall(forest, arrays["weights"])
        if self.growing.n_steps != self.progress.epoch * self.growing.forests or arrays["own"].shape != self.own.shape:
            raise ValueError("trees of another number of rounds")
        kept = self.progress.best_epoch * self.growing.forests * self.growing.n_outputs
        if len(self.progress.best_vector) != kept + len(self.own):
            raise ValueError("best_vector is of another round")
        self.own = arrays["own"]
        _load_scores(self.growing.train, self.data, arrays["train"])
        if self.growing.forests > 1:
            for k, own in enumerate(self.growing.own):
                _load_scores(own, self.data, arrays[f"own_scores.{k}"])
        if self.watched is not None and self.valid is not None:
            _load_scores(self.watched, self.valid, arrays["valid"])

    def _trained(self, interrupted: bool) -> Trained:
        progress, n_own = self.progress, len(self.own)
        vector = progress.best_vector
        weights, own = vector[: len(vector) - n_own], vector[len(vector) - n_own :]
        return Trained(
            model=self.growing.finished(weights.tolist()),
            thresholds=rising_thresholds(own) if n_own else np.empty(0),
            best_epoch=progress.best_epoch,
            best_value=progress.log[progress.best_epoch - 1].valid,
            log=progress.log,
            interrupted=interrupted,
        )


def learning_rate_for(n_documents: int) -> float:
    """0.05 where there are many documents, smaller where there are few."""
    return 0.05 if n_documents >= LARGE_DATA_DOCUMENTS else 0.03


def _mean_label(data: RankingData) -> float:
    weights = np.ones(data.n_documents) if data.document_weights is None else data.document_weights
    if data.query_weights is not None:
        weights = weights * np.repeat(data.query_weights, data.query_sizes)
    total = math.fsum(weights.tolist())
    return math.fsum((weights * data.labels).tolist()) / total if total > 0 else 0.0


def _canonical_rows(data: RankingData) -> npt.NDArray[np.int64]:
    order = canonical_order(data)
    sizes = data.query_sizes[order]
    place = np.arange(data.n_documents) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.repeat(data.query_offsets[:-1][order], sizes) + place


def _held(watched: TrackedScores, data: RankingData) -> Floats:
    """Scores in an order that the order of queries in the file does not change."""
    return watched.scores.reshape(data.n_documents, -1)[_canonical_rows(data)].reshape(-1)


def _load_scores(watched: TrackedScores, data: RankingData, scores: Floats) -> None:
    if scores.shape != watched.scores.shape:
        raise ValueError("scores of another number of documents")
    watched.scores.reshape(data.n_documents, -1)[_canonical_rows(data)] = scores.reshape(data.n_documents, -1)


def _digest(model: TreeModel) -> str:
    digest = hashlib.sha256()
    for name, value in sorted(model.arrays().items()):
        digest.update(name.encode() + value.tobytes())
    return digest.hexdigest()


def _smoothed(values: npt.NDArray[np.float64], width: int) -> npt.NDArray[np.float64]:
    """Each value's mean with `width` neighbors on either side, as far as there are any, up to one number for all.

    Deviations from the first value are averaged, and rounded by the largest of them, so that means of equal values are
    equal whatever the metric's scale.
    """
    apart = values - values[0]
    largest = float(np.abs(apart).max()) or 1.0
    sums = np.concatenate([[0.0], np.cumsum(apart / largest)])
    at = np.arange(len(values))
    low, high = np.maximum(at - width, 0), np.minimum(at + width + 1, len(values))
    return np.asarray(np.round((sums[high] - sums[low]) / (high - low), 11))
