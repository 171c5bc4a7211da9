"""PRank, quadratic PRank and OAP-BPM: a score and rising thresholds, learned from one document after the other."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
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
from podium.models.quadratic import QuadraticModel, QuadraticSpec
from podium.rankers.ranker import PlannedRanker
from podium.scoring import Scorer, check_names
from podium.training import OnlineSchedule, Plan, Trained
from podium.training.online import (
    check_finite,
    check_levels,
    document_keys,
    input_map,
    make_learner,
    online_documents,
)
from podium.training.online_learners import Learner
from podium.training.online_schedule import COUNTS, SHARES

# By the first call of a stream, or by fit:
SETTLED = ("form", "levels", "perceptrons", "share", "standardize", "supports", "width")


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineRanker(PlannedRanker):
    """A ranker that learns from one document after the other, and predicts levels as well as scores.

    Labels are whole levels from 0. A document is looked at by itself, whatever its query; weights have no part.

    Args:
        epochs: at most this many passes over the documents, each in an order drawn anew.
        early_stopping_rounds: with validation data, stop after this many epochs without progress; None never does.
        levels: how many levels there are; by default one more than the highest label.
        standardize: whether features are brought to mean 0 and variance 1 first.
        width: what they are divided by then; √features by default, which brings a document to a length of about 1, so that
            thresholds, which move by 1, keep pace with the scores.

    Attributes:
        thresholds_: b_0 ≤ b_1 ≤ …, one fewer than the levels.
    """

    epochs: int = 100
    early_stopping_rounds: int | None = 20
    levels: int | None = None
    standardize: bool = True
    width: float | None = None

    def _force(self) -> Force:
        return Force.of(FORCES["ordinal"])  # whose labels these are; what moves documents is the perceptron's own rule

    def _model(self) -> Spec:
        return LinearSpec(standardize=self.standardize)

    def _schedule(self, data: RankingData, has_valid: bool) -> OnlineSchedule:
        return OnlineSchedule(
            epochs=self.epochs,
            early_stopping_rounds=self.early_stopping_rounds if has_valid else None,
            levels=self.levels,
            width=self.width,
            **self._kind(),
        )

    def _kind(self) -> dict[str, Any]:
        """What the schedule must know of this kind of perceptron."""
        return {}

    def _keep(self, plan: Plan, data: RankingData, trained: Trained) -> None:
        super()._keep(plan, data, trained)
        self.force_ = "prank"
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
        """From features to inputs, as it was settled."""
        assert isinstance(self.model_, Net | QuadraticModel | KernelModel)
        return self.model_.map

    def predict_level(self, X: Any) -> npt.NDArray[np.int64]:
        """The level of each row, in the caller's order: how many thresholds its score has reached."""
        scores = self.predict(X)
        return np.searchsorted(self.thresholds_, scores, side="right").astype(np.int64)

    def partial_fit(self, X: Any, y: npt.ArrayLike | None = None, *, qid: npt.ArrayLike | None = None) -> OnlineRanker:
        """Learns from documents of a stream, once and in the order given, and goes on from what is known.

        The first call, or `fit`, settles what cannot change later: the features, how they are standardized, the number of
        levels and the other parameters of the function, so that it should see a fair part of the stream; or set
        `standardize=False` and `levels`. After `fit`, or once loaded from a file, many perceptrons go on from where their
        mean stands, as many and with the same share as were chosen.

        Args:
            X: a RankingData, or features [rows × features] with `y`.
            y: one level a row.
            qid: one query id a row; of no consequence here, and may be left out.
        """
        if not isinstance(X, RankingData) and qid is None:
            qid = np.zeros(len(X), np.int64)
        first = not hasattr(self, "model_")
        with self._features_kept():
            data = self._as_data(X, y, qid, reset=first)
            plan = self._plan(data, has_valid=False)
            learner = self._first_learner(plan, data) if first else self._next_learner(plan, data)
            calls = 1 if first else self.n_epochs_ + 1
            documents = online_documents(data, learner.map, document_keys(data, salt=calls))
            rows = data.to_caller_order(np.arange(data.n_documents, dtype=np.int64))
            learner.run(documents, rows, seed=plan.seed, round=calls, num_threads=plan.num_threads)
            learned = learner.learned(check_finite(learner.candidates(), calls)[-1])
            check_finite([learned.model.scores(data.features, num_threads=plan.num_threads)], calls)
        names = data.feature_names if first else self.feature_names_
        self._keep(plan, data, Trained(learned.model, learned.thresholds, calls, None, (), chosen=learned.chosen))
        self.feature_names_, self.scorer_ = names, Scorer(learned.model, names)
        self.n_epochs_, self.stream_ = calls, learner.state()
        self.fitted_parameters_ = self._saved_parameters()
        seen = fingerprint(data)
        self.fingerprint_ = seen if first else hashlib.sha256((self.fingerprint_ + seen).encode()).hexdigest()
        return self

    def _first_learner(self, plan: Plan, data: RankingData) -> Learner:
        """What a stream begins with."""
        assert isinstance(plan.schedule, OnlineSchedule)
        levels = check_levels(data, plan.schedule.levels)
        if data.n_features == 0:
            raise DataError("the data has no features; a model needs at least one to tell documents apart")
        map = input_map(plan, data)
        if not map.scale.any():
            raise DataError(
                f"every feature is constant in the first part of the stream ({data.n_documents} documents), which settles how "
                "features are standardized: all would be 0 for good; give a larger first part, or set standardize=False"
            )
        return make_learner(plan.schedule, map, levels, has_valid=False)

    def _next_learner(self, plan: Plan, data: RankingData) -> Learner:
        """What goes on from what is known, where parameters and features are what they were."""
        assert isinstance(plan.schedule, OnlineSchedule)
        now, before = self._saved_parameters(), self.fitted_parameters_
        for name in SETTLED:
            if name in now and name in before and now[name] != before[name]:
                raise ParameterError(
                    f"{name}={short_repr(now[name])} differs from {name}={short_repr(before[name])}, which what is known was learned with "
                    f"and partial_fit keeps; set it back, or begin anew with another {type(self).__name__}"
                )
        if data.n_features != self.n_features_in_:
            raise DataError(
                f"the data has {data.n_features} features, and the model was trained on {self.n_features_in_}; give the same in "
                "the same order (n_features for sparse files)"
            )
        check_names(data.feature_names, self.feature_names_)
        levels = check_levels(data, len(self.thresholds_) + 1, settled=True)
        schedule = plan.schedule
        if schedule.shares is not None:
            schedule = replace(schedule, shares=(self.chosen_["share"],), counts=(self.chosen_["perceptrons"],))
        learner = make_learner(schedule, self._map(), levels, has_valid=False)
        stream = self.__dict__.get("stream_")
        learner.resume(learner.state_of(self.model_, self.thresholds_) if stream is None else stream)
        return learner


@dataclass(kw_only=True, eq=False, repr=False)
class PRank(OnlineRanker):
    """A perceptron with thresholds: the level is the number of thresholds that w·x reaches. [Crammer and Singer 2002]

    On a mistake every threshold on the wrong side of w·x moves by 1 towards it, and w by as many steps of x the other way.
    """


@dataclass(kw_only=True, eq=False, repr=False)
class QuadraticPRank(OnlineRanker):
    """PRank on every feature and every product of two features. [Crammer and Singer 2002; RankNet §6]

    Args:
        form: explicit holds the function whole, a number a product, whatever the number of documents; kernel holds it as
            Σ α (1 + x·x_s)² over support documents, the same function as long as none is given up.
        supports: of kernel, at most this many documents; where there are more, those with the least part in the function
            are given up.
    """

    form: str = "explicit"
    supports: int = 2000

    def _model(self) -> Spec:
        if self.form == "kernel":
            return KernelSpec("poly", self.width, 2, 1.0, standardize=self.standardize)
        return QuadraticSpec(self.width, self.standardize)

    def _kind(self) -> dict[str, Any]:
        return {"form": str(self.form), "supports": self.supports}

    @property
    def outcome(self) -> dict[str, Any]:
        """Of the kernel form, how many support documents there are."""
        return self.chosen_


@dataclass(kw_only=True, eq=False, repr=False)
class OAPBPM(OnlineRanker):
    """The mean of many PRanks, each of which takes every document with a probability: a Bayes point. [Harrington 2003]

    Args:
        share: the probability; by default the best of 0.3, 0.5 and 0.7 on validation data, or 0.3 without any.
        perceptrons: how many; by default the best of 5, 10, 20, 50 and 100 on validation data, or 100 without any.

    Attributes:
        share_: the probability kept.
        perceptrons_: the number kept.
    """

    share: float | None = None
    perceptrons: int | None = None

    def _kind(self) -> dict[str, Any]:
        return {
            "shares": SHARES if self.share is None else (self.share,),
            "counts": COUNTS if self.perceptrons is None else (self.perceptrons,),
        }

    @property
    def outcome(self) -> dict[str, Any]:
        """The share and the number of perceptrons kept."""
        return self.chosen_

    def _take_chosen(self, chosen: dict[str, Any]) -> None:
        super()._take_chosen(chosen)
        self.share_, self.perceptrons_ = float(chosen["share"]), int(chosen["perceptrons"])
