"""RankBoost: exponential pairs × stumps, each with its own closed-form weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from podium.data import RankingData
from podium.forces import FORCES, Force
from podium.models.trees import TreesSpec
from podium.rankers.ranker import PlannedRanker
from podium.training.boost_schedule import BoostSchedule

DOMINANT_L2 = 1e18  # beside this every leaf weighs the same, and the split that gains most is the one with the most force on a side


@dataclass(kw_only=True, eq=False, repr=False)
class RankBoost(PlannedRanker):
    """Exponential pairs × threshold stumps × boosting. [Freund, Iyer, Schapire and Singer 2003]

    A round takes the stump h(x) = 1 where x_f > θ whose r = Σ_pairs D·(h(winner) − h(loser)) is largest in size, D the
    pairs' weights e^{−o} brought to sum 1, and adds α·h with α = ½ ln((1 + r)/(1 − r)). The pairs are never listed: r is a
    sum over documents of their potentials.

    Args:
        n_estimators: at most this many stumps.
        learning_rate: what α is multiplied by; 1 is RankBoost.
        early_stopping_rounds: with validation data, stop after this many rounds without progress; None never does.
        max_bins: values of a feature are told apart by at most this many bins, and missing.
    """

    n_estimators: int = 1000
    learning_rate: float = 1.0
    early_stopping_rounds: int | None = 100
    max_bins: int = 255

    budget: ClassVar[str] = "n_estimators"

    def _force(self) -> Force:
        return Force.of(FORCES["exponential"])

    def _model(self) -> TreesSpec:
        return TreesSpec(
            num_leaves=2,
            l2=DOMINANT_L2,
            min_documents=1,
            max_bins=self.max_bins,
            row_sampling=1.0,
            query_sampling=1.0,
            column_sampling=1.0,
        )

    def _schedule(self, data: RankingData, has_valid: bool) -> BoostSchedule:
        return BoostSchedule(
            epochs=self.n_estimators,
            learning_rate=self.learning_rate,
            early_stopping_rounds=self.early_stopping_rounds if has_valid else None,
            closed_form=True,
            called=self.budget,
        )
