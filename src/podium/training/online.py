"""PRank and its kin: documents are learned from one by one, in an order drawn anew for every epoch."""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data import RankingData
from podium.data.hashing import query_hashes, splitmix64
from podium.errors import DataError
from podium.models.inputs import InputMap
from podium.models.kernel import KernelSpec
from podium.models.net import LinearSpec
from podium.models.quadratic import QuadraticSpec, check_features, scaled_map
from podium.training.checkpoint import Arrays, Checkpoint
from podium.training.online_learners import Learner, LinearPerceptrons, SupportQuadratic, WholeQuadratic
from podium.training.online_schedule import OnlineSchedule
from podium.training.progress import Epoch, Progress
from podium.training.run import Plan, Run, Trained

Floats = npt.NDArray[np.float64]
U64 = npt.NDArray[np.uint64]


def check_levels(data: RankingData, levels: int | None, *, settled: bool = False) -> int:
    """How many levels there are, where the data is of the kind that perceptrons learn from.

    Args:
        data: what is learned from.
        levels: how many there may be; None for one more than the highest label.
        settled: whether that was settled before, so that another parameter would not help.
    """
    labels = data.labels
    if labels.min() < 0 or labels.max() >= 1000 or (labels != np.rint(labels)).any():
        raise DataError(
            f"prank: labels must be whole levels 0, 1, 2, … below 1000; found {labels.min():g} to {labels.max():g}"
        )
    for part in ("pairs", "document_weights", "query_weights"):
        if getattr(data, part) is not None:
            raise DataError(
                f"prank: every document moves the thresholds by whole steps, so that there is no use for "
                f"{part.replace('_', ' ')}, and this data has some; leave them out: data.replace({part}=None)"
            )
    most = int(labels.max()) + 1
    if settled and levels is not None and most > levels:
        raise DataError(
            f"prank: a label is {most - 1}, and the first call settled {levels} levels, 0 to {levels - 1}; begin anew with "
            f"levels={most} or more"
        )
    if levels is not None and most > levels:
        raise DataError(
            f"prank: a label is {most - 1}, and levels={levels} has 0 to {levels - 1}; give levels={most} or more"
        )
    return most if levels is None else levels


def document_keys(data: RankingData, salt: int = 0) -> U64:
    """One number a document, of its query's id and its place in the query: the same in any order of the queries."""
    sizes = data.query_sizes
    place = np.arange(data.n_documents) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    keys = np.repeat(splitmix64(query_hashes(data.query_ids, 0) ^ splitmix64(np.array([salt], np.uint64))), sizes)
    return splitmix64(keys ^ place.astype(np.uint64))


def shuffled_documents(keys: U64, seed: int, round: int) -> npt.NDArray[np.int64]:
    """Documents in an order that is a function of their keys, the seed and the round."""
    start = splitmix64(splitmix64(np.array([seed], np.uint64)) ^ np.uint64(round))
    return np.argsort(splitmix64(splitmix64(keys ^ start)), kind="stable").astype(np.int64)


def make_learner(schedule: OnlineSchedule, map: InputMap, levels: int, *, has_valid: bool) -> Learner:
    """What the schedule asks for; without validation data there is one candidate."""
    if schedule.form == "explicit":
        return WholeQuadratic(map, levels - 1)
    if schedule.form == "kernel":
        return SupportQuadratic(map, levels - 1, schedule.supports)
    if schedule.shares is None:
        return LinearPerceptrons(map, levels - 1, (1.0,), (1,))
    if has_valid:
        return LinearPerceptrons(map, levels - 1, schedule.shares, schedule.counts)
    return LinearPerceptrons(map, levels - 1, schedule.shares[:1], schedule.counts[-1:])


def online_documents(data: RankingData, map: InputMap, keys: U64) -> _core.OnlineDocuments:
    """The documents as the core takes them."""
    features = np.ascontiguousarray(data.features, np.float32)
    return _core.OnlineDocuments(
        features, map.center, map.scale, map.filled, np.ascontiguousarray(data.labels, np.int32), keys
    )


def check_finite(parts: list[Floats], number: int) -> list[Floats]:
    """What was learned by the end of an epoch, or its scores, if all of it is finite."""
    if not all(np.isfinite(part).all() for part in parts):
        raise DataError(
            f"training diverged in epoch {number}: weights or scores are no longer finite; use standardize=True, a larger "
            "width, or features of a smaller scale"
        )
    return parts


class Online(Run):
    """One run of a schedule that takes documents one by one."""

    def __init__(
        self, plan: Plan, data: RankingData, valid: RankingData | None, checkpoint: Checkpoint | None = None
    ) -> None:
        assert isinstance(plan.schedule, OnlineSchedule)
        self.schedule = plan.schedule
        levels = check_levels(data, self.schedule.levels)
        super().__init__(plan, data, valid, checkpoint)
        self.map = input_map(plan, data)
        self.keys = document_keys(data)
        self.documents = online_documents(data, self.map, self.keys)
        self.learner = make_learner(self.schedule, self.map, levels, has_valid=valid is not None)
        self.progress = Progress(rate=1.0)
        self.perfect = False
        self._resume()

    def _epoch(self, began: float) -> None:
        """One pass; every candidate after it is judged, and the best so far kept."""
        before, plan = self.progress, self.plan
        number = before.epoch + 1
        order = shuffled_documents(self.keys, plan.seed, number)
        mistakes = taken = off = 0
        for begin in range(0, len(order), self.learner.piece):
            counts = self.learner.run(
                self.documents,
                order[begin : begin + self.learner.piece],
                seed=plan.seed,
                round=number,
                num_threads=plan.num_threads,
            )
            taken, mistakes, off = taken + counts[0], mistakes + counts[1], off + counts[2]
        vector, valid = self._best_candidate(number)
        train = self._value(plan.metric, self.data, self._scores(vector, self.data))
        judged = float(number) if valid is None else valid if plan.metric.higher_is_better else -valid
        best = before.best_value is None or judged > before.best_value
        row = Epoch(
            epoch=number,
            train=train,
            valid=valid,
            cost=off / max(taken, 1) * self.data.n_documents / self.data.n_queries,
            learning_rate=before.rate,
            restart=0,
            best=best,
            seconds=round(time.perf_counter() - began, 3),
        )
        kept = {"best_value": judged, "best_epoch": number, "best_vector": vector.copy()}
        # A perceptron that left a document out may yet be wrong there, so that only a pass of all by all is proof.
        self.perfect = mistakes == 0 and taken == self.data.n_documents * self.learner.perceptrons
        self.progress = before.moved(
            epoch=number,
            log=(*before.log, row),
            since_best=0 if best else before.since_best + 1,
            **(kept if best else {}),
        )

    def _best_candidate(self, number: int) -> tuple[Floats, float | None]:
        """The best on validation data and its metric there; without any, the last."""
        candidates = check_finite(self.learner.candidates(), number)
        if self.valid is None:
            return candidates[-1], None
        values = [self._value(self.plan.metric, self.valid, self._scores(v, self.valid)) for v in candidates]
        sign = 1.0 if self.plan.metric.higher_is_better else -1.0
        # The last of equals: more perceptrons, and fewer documents each, make a steadier mean.
        at = max(range(len(values)), key=lambda k: (sign * (values[k] or 0.0), k))
        return candidates[at], values[at]

    def _scores(self, vector: Floats, data: RankingData) -> Floats:
        scores = self.learner.learned(vector).model.scores(data.features, num_threads=self.plan.num_threads)
        return check_finite([scores], self.progress.epoch + 1)[0]

    def _ended(self) -> bool:
        return self.perfect  # without a mistake nothing moves any more

    def _state(self) -> Arrays:
        return {**self.learner.state(), "perfect": np.array([self.perfect], np.float64)}

    def _load_state(self, arrays: Arrays) -> None:
        self.learner.learned(self.progress.best_vector)
        self.perfect = bool(arrays["perfect"][0])
        self.learner.resume(arrays)

    def _trained(self, interrupted: bool) -> Trained:
        progress = self.progress
        learned = self.learner.learned(progress.best_vector)
        return Trained(
            model=learned.model,
            thresholds=learned.thresholds,
            best_epoch=progress.best_epoch,
            best_value=progress.log[progress.best_epoch - 1].valid,
            log=progress.log,
            interrupted=interrupted,
            chosen=learned.chosen,
        )


def input_map(plan: Plan, data: RankingData) -> InputMap:
    """From features to inputs, as the plan's function class and schedule have it."""
    assert isinstance(plan.schedule, OnlineSchedule)
    assert isinstance(plan.model, LinearSpec | QuadraticSpec | KernelSpec)
    if plan.schedule.form == "explicit":
        check_features(data.n_features)
    return scaled_map(data, standardize=plan.model.standardize, width=plan.schedule.width, num_threads=plan.num_threads)
