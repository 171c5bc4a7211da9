"""LambdaMART and MART: boosted trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from podium.data import RankingData
from podium.forces import Force
from podium.forces.definition import DAMPING, DRAWS, NOISE, NORMALIZE, SIGMA, TRUNCATION
from podium.models import Spec
from podium.models.tree_defaults import BY_SIZE, EFFORTS, tree_defaults
from podium.models.tree_settings import TreeSettings, TreesSpec
from podium.parameters import inherit, setting
from podium.rankers.base import BaseRanker
from podium.rankers.class_weights import RULE, as_class_weights, weighted
from podium.rankers.common import TARGET
from podium.rankers.ranker import preset_force
from podium.rules import Custom, parse_mapping
from podium.training import Plan, Schedule
from podium.training.schedules.boosting import Boosting, BoostingSettings


class TreeRanker(TreeSettings, BoostingSettings, BaseRanker):
    """Base class of the rankers of boosted trees."""

    class_weight: Mapping[float, float] | str | None = setting(
        None,
        Custom(as_class_weights, RULE, parse_mapping, "LABEL:WEIGHT,…|balanced"),
        "Weights of documents by label, as in {0: 1, 1: 5}. 'balanced' gives all labels of a query the same total weight.",
        none="no weights",
    )

    def _model(self) -> Spec:
        return TreesSpec(**self.settings_of(TreesSpec))

    def _schedule(self) -> Schedule:
        return self._boosting()

    def _boosting(self) -> Boosting:
        return Boosting(**self.settings_of(Boosting))

    def _prepare(self, data: RankingData) -> RankingData:
        return weighted(data, self.parameters()["class_weight"].check(self.class_weight))


class LambdaMART(TreeRanker):
    """LambdaRank[metric] × boosted trees × Newton steps. [LambdaMART]

    With `noise=0` it is LambdaMART as published.
    """

    target: Any = inherit(TARGET)
    sigma: float = inherit(SIGMA, default=1.0)
    truncation: int | None = inherit(TRUNCATION, default=None, none="all pairs that can change the target")
    normalize: bool = inherit(NORMALIZE)
    damping: bool = inherit(DAMPING)
    noise: float = inherit(NOISE, default=1.0)
    draws: int | None = inherit(
        DRAWS,
        default=None,
        none=f"{BY_SIZE}; those of effort='fast' if draws cannot be averaged at once",
    )

    def _force(self) -> Force:
        return preset_force(self, "lambdarank", self.target or self.metric)

    def _plan(self, data: RankingData) -> Plan:
        plan = super()._plan(data)
        if self.draws is not None or not self.noise:
            return plan
        budget = self._boosting().budget_for(data)
        in_pairs = data.pairs is not None or data.document_weights is not None or self.class_weight is not None
        if in_pairs or not plan.force.averages_draws:  # every draw takes as long as the first
            budget = replace(budget, effort=EFFORTS[0])
        return replace(plan, force=plan.force.replace(draws=tree_defaults(budget, "symmetric")["draws"]))


class MART(TreeRanker):
    """Squared error × boosted trees: regression on the labels. [Friedman 2001]"""

    def _force(self) -> Force:
        return preset_force(self, "squared")
