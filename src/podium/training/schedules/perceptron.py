"""PRank and related perceptrons, which learn from one document at a time, in a random order drawn for each epoch."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data import RankingData
from podium.data.hashing import query_hashes, splitmix64
from podium.errors import DataError, ParameterError
from podium.models.inputs import InputMap
from podium.models.perceptrons import Learner, LinearPerceptrons
from podium.models.quadratic import WidthSettings, scaled_map
from podium.parameters import setting
from podium.rules import Integer, Real
from podium.training.checkpoint import Arrays, Checkpoint
from podium.training.progress import Epoch, Progress
from podium.training.run import Plan, Trained, TrainingRun
from podium.training.schedule import EpochSettings, Schedule

Floats = npt.NDArray[np.float64]
U64 = npt.NDArray[np.uint64]


SHARES = (0.3, 0.5, 0.7)  # the best on validation data is chosen; without any, the first [RankNet §6]
COUNTS = (5, 10, 20, 50, 100)  # likewise for the number of perceptrons; without validation data, the last


@dataclass(kw_only=True, eq=False, repr=False)
class PerceptronSettings(WidthSettings, EpochSettings):
    """Settings of perceptrons with thresholds between levels."""

    levels: int | None = setting(
        None,
        Integer(2, 1000),
        "Number of levels of the labels.",
        none="the highest label plus 1",
        fixed_by_first_call=True,
    )


class OnlineSchedule(PerceptronSettings, Schedule):
    """Base class of the schedules that learn from one document at a time."""

    undistributed = "learns from one document after the other"

    @property
    def max_epochs(self) -> int:
        """Maximum number of passes over the documents."""
        return self.epochs

    @abstractmethod
    def make_learner(self, plan: Plan, map: InputMap, levels: int, *, has_valid: bool) -> Learner:
        """Return the learner; without validation data there is one candidate."""

    def check(self, plan: Plan) -> None:
        """Check that a perceptron can hold the model, and that the force is a perceptron's."""
        super().check(plan)
        form = plan.model.perceptron
        if form is None:
            raise ParameterError(
                "schedule", str(self), f"cannot fit {plan.model}", "use linear, quadratic or kernel(poly)"
            )
        if not plan.force.definition.online:
            raise ParameterError(
                "force",
                str(plan.force),
                f"is not the force of a perceptron, and the schedule {self.name} follows no other",
                "use {force='prank'} or {schedule='adam'}",
            )
        self.check_read(plan.model, form.reads)
        self.shared(plan)

    def shared(self, plan: Plan) -> dict[str, Any]:
        """Return the settings that schedule and model both have, as one of them gives them."""
        found: dict[str, Any] = {}
        theirs = plan.model.parameters()
        for name, parameter in self.parameters().items():
            if name in theirs:
                mine, other = getattr(self, name), getattr(plan.model, name)
                if mine != other and mine != parameter.default and other != theirs[name].default:
                    raise ParameterError(name, mine, f"differs from the one in {plan.model}", "give it once")
                found[name] = other if mine == parameter.default else mine
        return found

    def resolve(self, plan: Plan, data: RankingData) -> Plan:
        """Let schedule and model agree on the settings that both have."""
        model: Any = plan.model
        shared = self.shared(plan)
        schedule = replace(self, width=shared.get("width", self.width))
        return replace(plan, schedule=schedule, model=replace(model, **shared).resolve(data))

    def settled(self, chosen: Mapping[str, Any]) -> Self:
        """Return the schedule with the choices of an earlier training, to continue from it."""
        return self

    def make_run(
        self, plan: Plan, data: RankingData, valid: RankingData | None, checkpoint: Checkpoint | None
    ) -> OnlineRun:
        """Return the training."""
        return OnlineRun(self, plan, data, valid, checkpoint)


@dataclass(kw_only=True, eq=False, repr=False)
class SupportSettings(PerceptronSettings):
    """Settings of a perceptron that may be stored by support documents."""

    supports: int = setting(
        2000,
        Integer(1, 100_000),
        "Maximum number of support documents of the kernel form. Those that matter least are dropped.",
        fixed_by_first_call=True,
    )


@dataclass(kw_only=True, eq=False, repr=False)
class Perceptron(SupportSettings, OnlineSchedule):
    """One perceptron with thresholds, which uses every document. [Crammer and Singer 2002]"""

    name = "perceptron"
    fits = "`prank`; `linear`, `quadratic` or `kernel(poly)`"
    summary = "PRank: a perceptron with thresholds between levels, one document after the other: perceptron(epochs=20)."

    def make_learner(self, plan: Plan, map: InputMap, levels: int, *, has_valid: bool) -> Learner:
        """Return a perceptron in the form that the model has."""
        assert plan.model.perceptron is not None
        return plan.model.perceptron.make(map, levels - 1, self.supports)


@dataclass(kw_only=True, eq=False, repr=False)
class CommitteeSettings(PerceptronSettings):
    """Settings of many perceptrons that are averaged."""

    share: float | None = setting(
        None,
        Real(above=0, most=1),
        "Probability with which a perceptron learns from a document.",
        none="the best of 0.3, 0.5 and 0.7 on the validation data, or 0.3 without any",
        fixed_by_first_call=True,
    )
    perceptrons: int | None = setting(
        None,
        Integer(1, 10_000),
        "Number of perceptrons that are averaged.",
        none="the best of 5, 10, 20, 50 and 100 on the validation data, or 100 without any",
        fixed_by_first_call=True,
    )


@dataclass(kw_only=True, eq=False, repr=False)
class Committee(CommitteeSettings, OnlineSchedule):
    """The mean of many perceptrons, each of which uses a document with some probability. [Harrington 2003]"""

    name = "committee"
    fits = "`prank`; `linear`"
    summary = "OAP-BPM: the mean of many perceptrons, each on its own sample of the documents: committee(share=0.3)."

    def check(self, plan: Plan) -> None:
        """Check that perceptrons of the model can be averaged."""
        super().check(plan)
        if plan.model.perceptron is None or not plan.model.perceptron.averages:
            raise ParameterError("schedule", str(self), f"cannot fit {plan.model}", "use {model='linear'}")

    def settled(self, chosen: Mapping[str, Any]) -> Self:
        """Return the schedule with the share and the number of perceptrons that were chosen."""
        return replace(self, share=chosen["share"], perceptrons=chosen["perceptrons"])

    def make_learner(self, plan: Plan, map: InputMap, levels: int, *, has_valid: bool) -> Learner:
        """Return all candidates if validation data can choose among them; else the defaults."""
        shares = (SHARES if has_valid else SHARES[:1]) if self.share is None else (self.share,)
        counts = (COUNTS if has_valid else COUNTS[-1:]) if self.perceptrons is None else (self.perceptrons,)
        return LinearPerceptrons(map, levels - 1, shares, counts)


def check_levels(data: RankingData, levels: int | None, *, settled: bool = False) -> int:
    """Return the number of levels, after checking that perceptrons can learn from the data.

    Args:
        data: training data.
        levels: the number of levels; None for one more than the highest label.
        settled: whether an earlier call determined `levels`, so that changing the parameter would not help.
    """
    labels = data.labels
    if labels.min() < 0 or labels.max() >= 1000 or (labels != np.rint(labels)).any():
        raise DataError(
            f"prank: labels must be whole levels 0, 1, 2, … below 1000; found {labels.min():g} to {labels.max():g}"
        )
    for part in ("pairs", "document_weights", "query_weights"):
        if getattr(data, part) is not None:
            raise DataError(
                f"prank: every document moves the thresholds by whole steps, so that it cannot use "
                f"{part.replace('_', ' ')}, but this data has some",
                remedy=f"leave them out: {{without={part}}}",
            )
    most = int(labels.max()) + 1
    if settled and levels is not None and most > levels:
        rule = f"was determined by the first call and allows labels from 0 to {levels - 1}, but a label is {most - 1}"
        raise ParameterError("levels", levels, rule, f"start over with {{levels={most}}} or more")
    if levels is not None and most > levels:
        rule = f"allows labels from 0 to {levels - 1}, but a label is {most - 1}"
        raise ParameterError("levels", levels, rule, f"give {{levels={most}}} or more")
    return most if levels is None else levels


def document_keys(data: RankingData, salt: int = 0) -> U64:
    """Return one number per document, computed from its query's id and its place in the query, whatever the order of queries."""
    sizes = data.query_sizes
    place = np.arange(data.n_documents) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    keys = np.repeat(splitmix64(query_hashes(data.query_ids, 0) ^ splitmix64(np.array([salt], np.uint64))), sizes)
    return splitmix64(keys ^ place.astype(np.uint64))


def shuffled_documents(keys: U64, seed: int, round: int) -> npt.NDArray[np.int64]:
    """Return the documents in an order that depends only on their keys, the seed and the round."""
    start = splitmix64(splitmix64(np.array([seed], np.uint64)) ^ np.uint64(round))
    return np.argsort(splitmix64(splitmix64(keys ^ start)), kind="stable").astype(np.int64)


def online_documents(data: RankingData, map: InputMap, keys: U64) -> _core.OnlineDocuments:
    """Return the documents in the form that the core takes."""
    features = np.ascontiguousarray(data.features, np.float32)
    return _core.OnlineDocuments(
        features, map.center, map.scale, map.filled, np.ascontiguousarray(data.labels, np.int32), keys
    )


def check_finite(parts: list[Floats], number: int) -> list[Floats]:
    """Return the parameters or scores of an epoch, after checking that all are finite."""
    if not all(np.isfinite(part).all() for part in parts):
        raise DataError(
            f"training diverged in epoch {number}: weights or scores are no longer finite; use standardize=True, a larger "
            "width, or features of a smaller scale"
        )
    return parts


class OnlineRun(TrainingRun):
    """One run of a schedule that learns from one document after the other."""

    def __init__(
        self,
        schedule: OnlineSchedule,
        plan: Plan,
        data: RankingData,
        valid: RankingData | None,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self.schedule = schedule
        levels = check_levels(data, self.schedule.levels)
        super().__init__(plan, data, valid, checkpoint)
        self.map = input_map(schedule, plan, data)
        self.keys = document_keys(data)
        self.documents = online_documents(data, self.map, self.keys)
        self.learner = self.schedule.make_learner(plan, self.map, levels, has_valid=valid is not None)
        self.progress = Progress(rate=1.0)
        self.perfect = False
        self._resume()

    def _epoch(self, began: float) -> None:
        """Make one pass over the documents, evaluate every candidate after it, and keep the best so far."""
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
        also = None if self.valid is None else self._also(self._scores(vector, self.valid))
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
            also=also,
        )
        kept = {"best_value": judged, "best_epoch": number, "best_vector": vector.copy()}
        # A perceptron that skipped a document may be wrong there, so only a pass of all perceptrons over all documents counts.
        self.perfect = mistakes == 0 and taken == self.data.n_documents * self.learner.perceptrons
        self.progress = before.moved(
            epoch=number,
            log=before.log.appended(row),
            since_best=0 if best else before.since_best + 1,
            **(kept if best else {}),
        )

    def _best_candidate(self, number: int) -> tuple[Floats, float | None]:
        """Return the best candidate on validation data with its metric; without validation data, the last candidate."""
        candidates = check_finite(self.learner.candidates(), number)
        if self.valid is None:
            return candidates[-1], None
        values = [self._value(self.plan.metric, self.valid, self._scores(v, self.valid)) for v in candidates]
        sign = 1.0 if self.plan.metric.higher_is_better else -1.0
        # Among equals the last is chosen: the mean of more perceptrons with fewer documents each is more stable.
        at = max(range(len(values)), key=lambda k: (sign * (values[k] or 0.0), k))
        return candidates[at], values[at]

    def _scores(self, vector: Floats, data: RankingData) -> Floats:
        scores = self.learner.learned(vector).model.scores(data.features, num_threads=self.plan.num_threads)
        return check_finite([scores], self.progress.epoch + 1)[0]

    def _ended(self) -> bool:
        return self.perfect  # without a mistake nothing changes any more

    def _state(self) -> Arrays:
        return {**self.learner.state(), "perfect": np.array([self.perfect], np.float64)}

    def _load_state(self, arrays: Arrays) -> None:
        self.learner.learned(self.progress.best_vector)
        self.perfect = bool(arrays["perfect"][0])
        self.learner.resume(arrays)

    def _is_value_of_best(self, row: Epoch) -> bool:
        if self.valid is None:
            return True
        return (
            self._value(self.plan.metric, self.valid, self._scores(self.progress.best_vector, self.valid)) == row.valid
        )

    def _trained(self, interrupted: bool) -> Trained:
        progress = self.progress
        learned = self.learner.learned(progress.best_vector)
        return Trained(
            plan=self.plan,
            model=learned.model,
            thresholds=learned.thresholds,
            best_epoch=progress.best_epoch,
            best_value=progress.log[progress.best_epoch - 1].valid,
            log=tuple(progress.log),
            interrupted=interrupted,
            chosen=learned.chosen,
        )


def input_map(schedule: OnlineSchedule, plan: Plan, data: RankingData) -> InputMap:
    """Return the map from features to inputs that the plan's model and schedule describe."""
    model: Any = plan.model  # one that a perceptron can hold, as the schedule has checked
    return scaled_map(data, standardize=bool(model.standardize), width=schedule.width, num_threads=plan.num_threads)
