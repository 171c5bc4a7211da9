"""LambdaMART and MART: forces absorbed by boosted trees."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.data.conversion import as_number
from podium.errors import DataError, ParameterError, short_repr
from podium.forces import FORCES, Force
from podium.metrics import metric as as_metric
from podium.models.growing import LARGE_DATA_DOCUMENTS
from podium.models.trees import TreeModel, TreesSpec
from podium.rankers.base import BaseRanker, Valid
from podium.rankers.ranker import PlannedRanker
from podium.scoring import check_names
from podium.training import Plan, train
from podium.training.boost_schedule import BoostSchedule
from podium.training.checkpoint import Checkpoint
from podium.training.progress import Callback

FEW_DRAWS = 5  # of the noise, where there are few documents


@dataclass(kw_only=True, eq=False, repr=False)
class TreeRanker(PlannedRanker):
    """A ranker of boosted trees. What is None is chosen by the size of the data.

    Args:
        n_estimators: at most this many rounds.
        learning_rate: what a leaf's value is multiplied by; None chooses by the size of the data.
        early_stopping_rounds: with validation data, stop after this many rounds without progress; None never does.
        smoothing: a round is judged by the mean of the validation values of so many rounds before and after it too; 0 takes
            its own alone; None chooses by the size of the data.
        max_seconds: begin no round after this long; None for any time.
        num_leaves: of a tree at most; None chooses by the size of the data.
        max_depth: of a tree at most; None for any.
        growth: leaf, the most promising leaf is split next; depth, level by level; symmetric, one split for all of a level.
        l1: a leaf's force is moved towards 0 by this much.
        l2: a leaf gives Σλ / (Σw + l2).
        min_documents: of a leaf at least, of those the tree is grown from; None chooses by the size of the data.
        min_curvature: Σw of a leaf at least.
        min_gain: of a split at least.
        max_bins: values of a feature are told apart by at most this many bins, and missing.
        row_sampling: the share of documents a tree is grown from; None chooses by the size of the data.
        sampling: force (also None), stronger forces are likelier kept and weighed so that no sum is biased; or uniform.
        query_sampling: the share of queries a tree is grown from; None chooses by the size of the data.
        column_sampling: the share of features a tree is grown from; None chooses by the size of the data.
        random_strength: gains of features are compared times e^{strength·z}, z normal.
        random_thresholds: a node looks at one threshold a feature, drawn at random.
        forests: that are grown side by side, each from draws of its own, and averaged: a round grows a tree of each; None
            chooses by the size of the data.
        monotone: {feature: +1 or -1}: the score must not fall, or rise, as the feature rises.
        categorical: features, counted from 0, whose values are names without an order; the rarest past `max_bins` of them
            count as missing.
        dart: the share of earlier trees that a round leaves out at random. [DART]
        class_weight: {label: weight}, or "balanced": each label of a query weighs the same.
        also: other metrics to show beside the one it is judged by, on the validation data.
    """

    n_estimators: int = 1000
    learning_rate: float | None = None
    early_stopping_rounds: int | None = 300
    smoothing: int | None = None
    max_seconds: float | None = None
    num_leaves: int | None = None
    max_depth: int | None = None
    growth: str = "leaf"
    l1: float = 0.0
    l2: float = 0.0
    min_documents: int | None = None
    min_curvature: float = 1e-3
    min_gain: float = 0.0
    max_bins: int = 255
    row_sampling: float | None = None
    sampling: str | None = None
    query_sampling: float | None = None
    column_sampling: float | None = None
    random_strength: float = 0.0
    random_thresholds: bool = False
    forests: int | None = None
    monotone: Any = ()
    categorical: Sequence[int] = ()
    dart: float = 0.0
    class_weight: Mapping[float, float] | str | None = None
    also: Sequence[str] = ()

    budget: ClassVar[str] = "n_estimators"

    def fit(
        self,
        X: Any,
        y: npt.ArrayLike | None = None,
        *,
        qid: npt.ArrayLike | None = None,
        valid: Valid | None = None,
        callbacks: Callback | Sequence[Callback] = (),
        checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
        start_from: BaseRanker | str | os.PathLike[str] | None = None,
    ) -> BaseRanker:
        """Learns from judged queries, as every ranker does.

        `start_from` is a ranker of trees, or the path of one: its trees are kept, and new ones go on from its scores.
        """
        self._start = _ranker(start_from)
        try:
            return super().fit(X, y, qid=qid, valid=valid, callbacks=callbacks, checkpoint=checkpoint)
        finally:
            del self._start

    def _model(self) -> TreesSpec:
        return TreesSpec(**{field.name: getattr(self, field.name) for field in fields(TreesSpec)})

    def _schedule(self, data: RankingData, has_valid: bool) -> BoostSchedule:
        return BoostSchedule(
            epochs=self.n_estimators,
            learning_rate=self.learning_rate,
            early_stopping_rounds=self.early_stopping_rounds if has_valid else None,
            smoothing=self.smoothing,
            max_seconds=self.max_seconds,
            dart=self.dart,
            called=self.budget,
        )

    def _learn(
        self,
        data: RankingData,
        valid: RankingData | None,
        callbacks: tuple[Callback, ...],
        checkpoint: Checkpoint | None,
    ) -> None:
        plan = self._plan(data, valid is not None)
        start: TreeModel | None = None
        if self._start is not None:
            assert isinstance(self._start.model_, TreeModel)
            start = self._start.model_
            check_names(data.feature_names, self._start.feature_names_)
        also = (self.also,) if isinstance(self.also, str) else self.also
        if not isinstance(also, list | tuple):
            raise ParameterError(f"also={short_repr(also)} must be the names of metrics, as in ['map', 'err@10']")
        trained = train(
            plan,
            weighted(data, self.class_weight),
            valid=valid,
            callbacks=callbacks,
            checkpoint=checkpoint,
            start=start,
            also=tuple(as_metric(name) for name in also),
        )
        self._keep(plan, data, trained)

    def _saved_parameters(self) -> dict[str, Any]:
        """As pairs, since the keys of a JSON object can only be text."""
        saved = super()._saved_parameters()
        for name in ("monotone", "class_weight"):
            given = getattr(self, name)
            if isinstance(given, Mapping):
                saved[name] = [[as_number(key), as_number(value)] for key, value in given.items()]
        return saved

    @property
    def n_trees_(self) -> int:
        """How many trees the model has."""
        assert isinstance(self.model_, TreeModel)
        return self.model_.n_trees


@dataclass(kw_only=True, eq=False, repr=False)
class LambdaMART(TreeRanker):
    """LambdaRank[metric] × boosted trees × Newton steps. [LambdaMART]

    Args:
        target: the metric whose change the forces carry; by default the metric it is judged by.
        sigma: steepness of the logistic.
        truncation: only pairs with a document among the first this many move; None for all that can change the target.
        normalize: whether a query's forces are scaled by log₂(1 + S)/S, S = 2 Σ |force| over its pairs.
        damping: whether a pair's force is divided by 0.01 + its gap in scores, where not all of a query's are equal.
        noise: places are those of scores with noise of standard deviation π/√3 times this, so that a force does not hang on which of
            two nearly equal documents stands first, or at the start of all; 0 for LambdaMART as it was published.
        draws: of the noise, averaged; None takes 5 where documents are few, and 1 where they are many.
    """

    target: str | None = None
    sigma: float = 1.0
    truncation: int | None = None
    normalize: bool = False
    damping: bool = False
    noise: float = 1.0
    draws: int | None = None

    def _plan(self, data: RankingData, has_valid: bool) -> Plan:
        plan = super()._plan(data, has_valid)
        few = self.draws is None and bool(self.noise) and data.n_documents < LARGE_DATA_DOCUMENTS
        return replace(plan, force=self._force(FEW_DRAWS)) if few else plan

    def _force(self, draws: int = 1) -> Force:
        return Force.of(
            FORCES["lambdarank"],
            self.target or self.metric,
            sigma=self.sigma,
            truncation=0 if self.truncation is None else self.truncation,
            normalize=self.normalize,
            damping=self.damping,
            noise=self.noise,
            draws=draws if self.draws is None else self.draws,
        )


@dataclass(kw_only=True, eq=False, repr=False)
class MART(TreeRanker):
    """Squared error × boosted trees: regression on the labels. [Friedman 2001]"""

    def _force(self) -> Force:
        return Force.of(FORCES["squared"])


def weighted(data: RankingData, class_weight: Any) -> RankingData:
    """The data with document weights by label."""
    if class_weight is None:
        return data
    if isinstance(class_weight, str) and class_weight == "balanced":
        weights = _balanced(data)
    else:
        weights = _by_label(data, class_weight)
    before = 1.0 if data.document_weights is None else data.document_weights
    return data.replace_grouped(document_weights=weights * before)


def _by_label(data: RankingData, given: Any) -> npt.NDArray[np.float64]:
    try:
        pairs = list(given.items() if isinstance(given, Mapping) else given)
        known = {as_number(label): as_number(weight) for label, weight in pairs}
    except (TypeError, ValueError):
        known = {None: None}
    if any(label is None or weight is None or weight < 0 for label, weight in known.items()):
        raise ParameterError(
            f"class_weight={short_repr(given)} must be 'balanced', or map labels to weights of at least 0, as in {{0: 1, 1: 5}}"
        )
    labels, place = np.unique(data.labels, return_inverse=True)
    missing = [label for label in labels.tolist() if label not in known]
    if missing:
        raise DataError(f"class_weight has no weight for label {missing[0]:g}; give one for each label")
    return np.array([known[as_number(label)] for label in labels.tolist()], np.float64)[place]


def _balanced(data: RankingData) -> npt.NDArray[np.float64]:
    """n_q / (labels of q · documents of q with this label)."""
    labels, place = np.unique(data.labels, return_inverse=True)
    pairs, which, count = np.unique(
        data.document_queries * len(labels) + place, return_inverse=True, return_counts=True
    )
    kinds = np.bincount(pairs // len(labels), minlength=data.n_queries)  # labels of each query
    return np.asarray((data.query_sizes / kinds)[data.document_queries] / count[which])


def _ranker(start_from: BaseRanker | str | os.PathLike[str] | None) -> BaseRanker | None:
    if start_from is None:
        return None
    if isinstance(start_from, str | os.PathLike):
        from podium.rankers import load

        start_from = load(start_from)
    if not isinstance(getattr(start_from, "model_", None), TreeModel):
        raise ParameterError(
            f"start_from={short_repr(start_from)} must be a trained ranker of trees, or the path of one"
        )
    return start_from
