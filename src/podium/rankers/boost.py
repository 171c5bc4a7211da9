"""RankBoost: exponential pairs × stumps, each with its own closed-form weight."""

from __future__ import annotations

from podium.forces import Force
from podium.models import Spec
from podium.models.tree_settings import TreeSettings, TreesSpec
from podium.parameters import inherit
from podium.rankers.base import BaseRanker
from podium.rankers.ranker import preset_force
from podium.training import Schedule
from podium.training.schedules.boosting import Stumps, StumpSettings

# So large that every leaf has the same weight, and the best split is the one with the most force on one side.
DOMINANT_L2 = 1e18


class RankBoost(StumpSettings, BaseRanker):
    """Exponential pairs × threshold stumps × boosting. [Freund, Iyer, Schapire and Singer 2003]

    Every round chooses the stump h(x) = 1 if x_f > θ, else 0, with the largest |r|, where r = Σ_pairs D·(h(winner) − h(loser)) and
    D are the weights e^{−o} of the pairs, normalized to sum to 1. It adds α·h with α = ½ ln((1 + r)/(1 − r)). The pairs are never
    enumerated: r is computed as a sum over documents.
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
