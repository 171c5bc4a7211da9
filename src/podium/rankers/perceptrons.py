"""PRank, quadratic PRank and OAP-BPM, which learn a score and increasing thresholds from one document at a time."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.data.canonical import fingerprint
from podium.errors import DataError, ParameterError, short_repr
from podium.forces import FORCES, Force
from podium.models import Spec
from podium.models.inputs import InputMap
from podium.models.kernel import KernelModel, KernelSpec
from podium.models.net import LinearSpec, Net
from podium.models.perceptrons import Learner
from podium.models.quadratic import QuadraticModel, QuadraticSpec
from podium.parameters import setting
from podium.rankers.base import BaseRanker
from podium.rules import Choice
from podium.scoring import check_names
from podium.training import Plan, Trained
from podium.training.schedules.perceptron import (
    Committee,
    CommitteeSettings,
    OnlineSchedule,
    Perceptron,
    PerceptronSettings,
    SupportSettings,
    check_finite,
    check_levels,
    document_keys,
    input_map,
    online_documents,
)


class OnlineRanker(PerceptronSettings, BaseRanker):
    """Base class of the rankers that learn from one document at a time, and predict levels as well as scores.

    Labels are whole levels from 0. Queries play no part in learning, and weights are refused.

    Attributes:
        thresholds_: the thresholds b_0 ≤ b_1 ≤ …, one fewer than there are levels.
    """

    def _force(self) -> Force:
        return Force.of(FORCES["prank"])

    def _model(self) -> Spec:
        return LinearSpec(**self.settings_of(LinearSpec))

    def _schedule(self) -> OnlineSchedule:
        return Perceptron(**self.settings_of(Perceptron))

    def _keep(self, trained: Trained, data: RankingData) -> None:
        super()._keep(trained, data)
        self._take_chosen(trained.chosen or {})
        self.__dict__.pop("stream_", None)

    def _take_chosen(self, chosen: dict[str, Any]) -> None:
        self.chosen_ = chosen

    def _extra_state(self) -> dict[str, Any]:
        return {**super()._extra_state(), "chosen": self.chosen_}

    def _load_extra_state(self, more: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> None:
        super()._load_extra_state(more, arrays)
        self._take_chosen(dict(more["chosen"]))

    def _map(self) -> InputMap:
        """Return how features become inputs, as the first call fixed it."""
        assert isinstance(self.model_, Net | QuadraticModel | KernelModel)
        return self.model_.map

    def predict_level(self, X: Any) -> npt.NDArray[np.int64]:
        """Return the level of each row, in the caller's order: the number of thresholds that its score reaches."""
        scores = self.predict(X)
        return np.searchsorted(self.thresholds_, scores, side="right").astype(np.int64)

    def partial_fit(self, X: Any, y: npt.ArrayLike | None = None, *, qid: npt.ArrayLike | None = None) -> OnlineRanker:
        """Continue to learn from more documents, each used once and in the given order.

        The first call of `partial_fit` or `fit` fixes what cannot change later: the features, how they are standardized, the
        number of levels and the other parameters of the function. It should therefore see a fair part of the stream; otherwise set
        `standardize=False` and `levels`. After `fit`, or after loading from a file, the perceptrons of a committee all resume from
        their mean, with the number and the share that were chosen.

        Args:
            X: a RankingData, or features [rows × features] with `y`.
            y: one level per row.
            qid: one query id per row. It is not used, and may be left out.
        """
        if not isinstance(X, RankingData) and qid is None:
            qid = np.zeros(len(X), np.int64)
        first = not hasattr(self, "model_")
        with self._features_kept():
            data = self._as_data(X, y, qid, reset=first)
            plan = self._plan(data)
            plan.schedule.check(plan)
            plan = plan.schedule.resolve(plan, data)
            learner = self._first_learner(plan, data) if first else self._next_learner(plan, data)
            calls = 1 if first else self.n_epochs_ + 1
            documents = online_documents(data, learner.map, document_keys(data, salt=calls))
            rows = data.to_caller_order(np.arange(data.n_documents, dtype=np.int64))
            learner.run(documents, rows, seed=plan.seed, round=calls, num_threads=plan.num_threads)
            learned = learner.learned(check_finite(learner.candidates(), calls)[-1])
            check_finite([learned.model.scores(data.features, num_threads=plan.num_threads)], calls)
        names = data.feature_names if first else self.feature_names_
        self._keep(Trained(plan, learned.model, learned.thresholds, calls, None, (), chosen=learned.chosen), data)
        self.feature_names_, self.scorer_ = names, replace(self.scorer_, feature_names=names)
        self.n_epochs_, self.stream_ = calls, learner.state()
        self.fitted_parameters_ = self._saved_parameters()
        seen = fingerprint(data)
        self.fingerprint_ = seen if first else hashlib.sha256((self.fingerprint_ + seen).encode()).hexdigest()
        return self

    def _first_learner(self, plan: Plan, data: RankingData) -> Learner:
        """Return a learner that has seen nothing yet."""
        schedule = self._schedule()
        levels = check_levels(data, schedule.levels)
        if data.n_features == 0:
            raise DataError("the data has no features; a model needs at least one to tell documents apart")
        map = input_map(schedule, plan, data)
        if not map.scale.any():
            raise DataError(
                f"every feature is constant in the first part of the stream ({data.n_documents} documents), which fixes how "
                "features are standardized, so that all inputs would stay 0; give a larger first part, or set standardize=False"
            )
        return schedule.make_learner(plan, map, levels, has_valid=False)

    def _next_learner(self, plan: Plan, data: RankingData) -> Learner:
        """Return a learner that continues from the present model, if parameters and features are the same as before."""
        now, before = self._saved_parameters(), self.fitted_parameters_
        for name, parameter in self.parameters().items():
            if parameter.fixed_by_first_call and name in before and now[name] != before[name]:
                raise ParameterError(
                    name,
                    now[name],
                    f"differs from {name}={short_repr(before[name])}, with which the model was trained, and partial_fit cannot change it",
                    f"set it back, or start over with a new {type(self).__name__}",
                )
        if data.n_features != self.n_features_in_:
            raise DataError(
                f"the data has {data.n_features} features, and the model was trained on {self.n_features_in_}; give the same in "
                "the same order (n_features for sparse files)"
            )
        check_names(data.feature_names, self.feature_names_)
        levels = check_levels(data, len(self.thresholds_) + 1, settled=True)
        schedule = self._schedule().settled(self.chosen_)
        learner = schedule.make_learner(plan, self._map(), levels, has_valid=False)
        stream = self.__dict__.get("stream_")
        learner.resume(learner.state_of(self.model_, self.thresholds_) if stream is None else stream)
        return learner


class PRank(OnlineRanker):
    """A perceptron with thresholds: the level is the number of thresholds that w·x reaches. [Crammer and Singer 2002]

    After a mistake, every threshold on the wrong side of w·x moves by 1 towards it, and w moves by the same number of steps along
    ±x, so that w·x moves towards the thresholds.
    """


class QuadraticPRank(SupportSettings, OnlineRanker):
    """PRank on every feature and every product of two features. [Crammer and Singer 2002; RankNet §6]"""

    form: str = setting(
        "explicit",
        Choice("explicit", "kernel"),
        "How the function is stored: 'explicit' keeps one weight per product of features; 'kernel' keeps Σ α (1 + x·x_s)² over "
        "support documents, which is the same function as long as no support document is dropped.",
        fixed_by_first_call=True,
    )

    def _model(self) -> Spec:
        if self.form == "kernel":
            return KernelSpec(kernel="poly", width=self.width, standardize=self.standardize)
        return QuadraticSpec(**self.settings_of(QuadraticSpec))

    @property
    def outcome(self) -> dict[str, Any]:
        """With the kernel form, the number of support documents."""
        return self.chosen_


class OAPBPM(CommitteeSettings, OnlineRanker):
    """The mean of many PRanks, each of which takes every document with a probability: a Bayes point. [Harrington 2003]

    Attributes:
        share_: the probability that was kept.
        perceptrons_: the number of perceptrons that was kept.
    """

    def _schedule(self) -> OnlineSchedule:
        return Committee(**self.settings_of(Committee))

    @property
    def outcome(self) -> dict[str, Any]:
        """The share and the number of perceptrons that were kept."""
        return self.chosen_

    def _take_chosen(self, chosen: dict[str, Any]) -> None:
        super()._take_chosen(chosen)
        self.share_, self.perceptrons_ = float(chosen["share"]), int(chosen["perceptrons"])
