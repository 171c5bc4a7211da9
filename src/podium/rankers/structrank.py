"""StructRank: a cumulative distribution network over preferences × the Nadaraya–Watson estimator × feasible steps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy.typing as npt

from podium.data import RankingData
from podium.data.normalize import NORMALIZATIONS, normalize
from podium.forces import Force
from podium.forces.network_settings import (
    COMPONENTS,
    FUNCTION,
    LEARN,
    NOISE_FEATURES,
    NOISE_SCALE,
    PARTNER_DRAWS,
    PARTNERS,
    SCALE,
    TIE,
    TOPOLOGY,
    W1,
)
from podium.models import Spec
from podium.models.nadaraya_watson import NadarayaWatsonSpec, ReferenceSettings
from podium.parameters import inherit, setting
from podium.rankers.base import BaseRanker
from podium.rankers.ranker import preset_force
from podium.rules import Choice
from podium.training import Schedule, Trained
from podium.training.schedules.feasible import FeasibleSettings, FeasibleSteps

PLAIN = ("w1", "w2", "norm")  # what a file has side by side with other state if nothing else was learned
SCALES = tuple(name for name in NORMALIZATIONS if name != "log")


class StructRank(ReferenceSettings, FeasibleSettings, BaseRanker):
    """StructRank: a cumulative distribution network over preferences × the Nadaraya–Watson estimator. [StructRank, NIPS 2008]

    It minimizes Σ_queries mean over pairs of preferences of log(1 + e^{−w₁r} + e^{−w₂r′}), where r and r′ are the gaps in scores of
    the two preferences, over the parameters θ = (a, w₁, w₂) ≥ 0 with Σθ ≤ norm. The a are the widths of the estimator's kernel.
    It takes one step per query.

    Attributes:
        w1_: the steepness w₁ that was learned.
        w2_: the steepness w₂ that was learned.
        norm_: the norm that was kept.
    """

    metric: Any = "map"
    topology: Any = inherit(TOPOLOGY)
    function: str = inherit(FUNCTION)
    components: int = inherit(COMPONENTS)
    partners: int = inherit(PARTNERS)
    draws: int = inherit(PARTNER_DRAWS)
    tie: bool = inherit(TIE)
    learn: bool = inherit(LEARN)
    noise_scale: Any = inherit(NOISE_SCALE)
    noise_features: tuple[Any, ...] = inherit(NOISE_FEATURES)
    scale: str = inherit(SCALE)
    norm: float | tuple[float, ...] = (20.0, 30.0, 60.0)
    standardize: bool | None = None
    normalize: str | None = setting(
        None,
        Choice(*SCALES),
        "How features are rescaled within each query first, in training and in scoring, which then needs whole queries: "
        f"{' or '.join(map(repr, SCALES))}.",
        none="do not rescale",
    )

    def _force(self) -> Force:
        force = preset_force(self, "structrank")
        return force if force.draws else force.replace(partners=PARTNERS.default, draws=PARTNER_DRAWS.default)

    def _model(self) -> Spec:
        return NadarayaWatsonSpec(**self.settings_of(NadarayaWatsonSpec))

    def _schedule(self) -> Schedule:
        return FeasibleSteps(**self.settings_of(FeasibleSteps))

    def _prepare(self, data: RankingData) -> RankingData:
        return data if self.normalize is None else normalize(data, self.normalize)

    def _prepare_valid(self, data: RankingData) -> RankingData:
        return self._prepare(data)

    def _keep(self, trained: Trained, data: RankingData) -> None:
        super()._keep(trained, data)
        self.scorer_ = replace(self.scorer_, normalize=self.normalize)
        self._set_learned()

    def _set_learned(self) -> None:
        learned = self.learned_ or {}
        self.norm_ = learned["norm"]
        self.w1_ = learned.get("w1", float(W1.default))
        self.w2_ = learned.get("w2", self.w1_)

    def _extra_state(self) -> dict[str, Any]:
        state = super()._extra_state()
        if set(self.learned_ or {}) == set(PLAIN):
            state |= state.pop("learned")
        return state

    def _load_extra_state(self, more: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> None:
        if "learned" not in more:
            more = {**more, "learned": {name: more[name] for name in PLAIN}}
        super()._load_extra_state(more, arrays)
        self._set_learned()
