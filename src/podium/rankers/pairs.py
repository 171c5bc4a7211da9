"""RankNet, LambdaRank and Kernel RankNet, whose forces are sums over pairs of documents."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from podium.data import RankingData
from podium.errors import ParameterError
from podium.forces import Force
from podium.forces.definition import SIGMA, TIES
from podium.models import Spec
from podium.models.kernel import KernelSettings, KernelSpec
from podium.models.net import LinearSpec, NetSettings, NetSpec
from podium.parameters import inherit
from podium.rankers.common import TARGET
from podium.rankers.pair_weights import average_over_pairs
from podium.rankers.ranker import GradientRanker, preset_force
from podium.training import Plan
from podium.training.schedules.gradient import PenaltySettings


class NetRanker(NetSettings, GradientRanker):
    """Base class of the rankers with a linear model or a net."""

    hidden: tuple[int, ...] = ()

    def _model(self) -> Spec:
        hidden = self.parameters()["hidden"].check(self.hidden)
        if not hidden and self.output != "identity":
            raise ParameterError("output", self.output, "needs a net, and there is no hidden layer", "use {hidden=10}")
        return NetSpec(**self.settings_of(NetSpec)) if hidden else LinearSpec(**self.settings_of(LinearSpec))


class RankNet(NetRanker):
    """Logistic pairs × linear or net × gradient descent. [RankNet, ICML 2005]"""

    hidden: tuple[int, ...] = (10,)
    sigma: float = inherit(SIGMA, default=1.0)
    ties: bool = inherit(TIES)

    def _force(self) -> Force:
        return preset_force(self, "ranknet")


class LambdaRank(NetRanker):
    """LambdaRank[metric] × linear or net × gradient descent. [LambdaRank, NIPS 2006]"""

    hidden: tuple[int, ...] = (10,)
    sigma: float = inherit(SIGMA, default=1.0)
    target: Any = inherit(TARGET)

    def _force(self) -> Force:
        return preset_force(self, "lambdarank", self.target or self.metric)


class KernelRankNet(KernelSettings, GradientRanker):
    """Logistic pairs × kernel expansion, with ½·l2·‖f‖² of the kernel's space. [RankNet §7]"""

    # The defaults of l2 and width were chosen on OHSUMED's validation queries; docs/models.md says how.
    optimizer: str = "lbfgs"
    l2: float = inherit(
        PenaltySettings.parameters()["l2"],
        default=3e-4,
        description="Adds ½·l2·‖f‖² to the mean cost of a pair, where ‖f‖ is the norm of the kernel's space.",
    )
    width: float | None = inherit(KernelSettings.parameters()["width"], none="2·√features")
    sigma: float = inherit(SIGMA, default=1.0)

    def _force(self) -> Force:
        return preset_force(self, "ranknet")

    def _model(self) -> KernelSpec:
        return KernelSpec(**self.settings_of(KernelSpec))

    def _plan(self, data: RankingData) -> Plan:
        plan = super()._plan(data)
        if self.width is not None:
            return plan
        return replace(plan, model=replace(self._model(), width=2 * math.sqrt(data.n_features)))

    def _prepare(self, data: RankingData) -> RankingData:
        return average_over_pairs(data, query_norm=False)
