"""RankBoost and AdaRank: weak rankers, each with its own closed-form weight."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.errors import ParameterError
from podium.forces import FORCES, Force
from podium.metrics import Metric, metric
from podium.models import Spec
from podium.models.inputs import InputSettings
from podium.models.net import LinearSpec
from podium.models.tree_settings import TreeSettings, TreesSpec
from podium.parameters import inherit, setting
from podium.rankers.base import BaseRanker
from podium.rankers.common import TARGET
from podium.rankers.ranker import preset_force
from podium.rules import Choice
from podium.training import Schedule, Trained
from podium.training.schedules.boosting import Stumps, StumpSettings
from podium.training.schedules.reweighting import Reweighting, ReweightingSettings

# So large that every leaf has the same weight, and the best split is the one with the most force on one side.
DOMINANT_L2 = 1e18


class RankBoost(StumpSettings, BaseRanker):
    """Exponential pairs × threshold stumps × boosting. [Freund, Iyer, Schapire and Singer 2003]

    Every round chooses the stump h(x) = 1 if x_f > θ, else 0, with the largest |r|, where r = Σ_pairs D·(h(winner) − h(loser)) and
    D are the weights e^{−o} of the pairs, normalized to sum to 1. It adds α·h with α = ½ ln((1 + r)/(1 − r)). The pairs are never
    enumerated: r is computed as a sum over documents. For a categorical feature of the data, h(x) = 1 if x_f is outside a set.
    """

    max_bins: int = inherit(TreeSettings.parameters()["max_bins"])

    def _force(self) -> Force:
        return preset_force(self, "exponential")

    def _model(self) -> Spec:
        return TreesSpec(
            num_leaves=2,
            l2=DOMINANT_L2,
            min_documents=1,
            max_bins=self.max_bins,
            row_sampling=1.0,
            query_sampling=1.0,
            column_sampling=1.0,
        )

    def _schedule(self) -> Schedule:
        return Stumps(**self.settings_of(Stumps))


class AdaRank(ReweightingSettings, InputSettings, BaseRanker):
    """Boosting of features or stumps for a metric, over reweighted queries. [Xu and Li 2007]

    Every round chooses the weak ranker h with the largest Σ P(q) Z(q, h), where Z is the metric and P are weights of the queries, and
    adds α·h with α = ½ ln(Σ P(q)(1 + Z(q, h)) / Σ P(q)(1 − Z(q, h))). Then P(q) ∝ exp(−sharpness · Z(q, f)), so that the next
    weak ranker is chosen for the queries that are still ranked badly.

    Attributes:
        weak_rankers_: for each round that was kept, the feature's column, its sign, the threshold of a stump, and the weight α.
    """

    target: Any = inherit(
        TARGET,
        description="The metric to maximize. It must be bounded.",
        none="the same as `metric`; with stumps, the mean over all orders of documents with equal scores if it has one",
    )
    weak: str = setting(
        "features",
        Choice("features", "stumps"),
        "The weak rankers: 'features' with either sign, which give a linear model; or threshold 'stumps' with either sign.",
    )
    standardize: bool | None = None
    max_bins: int = inherit(TreeSettings.parameters()["max_bins"], default=32)

    def _force(self) -> Force:
        return Force(FORCES["finite_difference"], metric=self._target())

    def _target(self) -> Metric:
        given = "metric" if self.target is None else "target"
        found = metric(getattr(self, given))
        if None in found.bounds:
            own = "declare its bounds: podium.custom_metric(function, bounds=(0, 1))"
            remedy = "use {target='ndcg@10'}" if found.custom is None else own
            raise ParameterError(given, str(found), "has no bounds, and AdaRank needs a metric with bounds", remedy)
        return self._averaged(found) if self.target is None else found

    def _averaged(self, judged: Metric) -> Metric:
        """Return the metric; for stumps, which tie many documents, its mean over all orders of tied documents."""
        averages = (
            self.weak == "stumps" and judged.custom is None and judged.parameters.get("ties") in ("auto", "input")
        )
        return judged.with_parameters(ties="average") if averages else judged

    def _model(self) -> Spec:
        if self.parameters()["weak"].check(self.weak) == "features":
            return LinearSpec(**self.settings_of(LinearSpec))
        return TreesSpec(num_leaves=2, max_bins=self.max_bins)

    def _schedule(self) -> Schedule:
        return Reweighting(**self.settings_of(Reweighting))

    def _keep(self, trained: Trained, data: RankingData) -> None:
        super()._keep(trained, data)
        assert trained.chosen is not None
        self.weak_rankers_ = list(trained.chosen["weak_rankers"])

    def _extra_state(self) -> dict[str, Any]:
        return {**super()._extra_state(), "weak_rankers": self.weak_rankers_}

    def _load_extra_state(self, more: dict[str, Any], arrays: dict[str, npt.NDArray[np.float64]]) -> None:
        super()._load_extra_state(more, arrays)
        self.weak_rankers_ = [dict(each) for each in more["weak_rankers"]]
