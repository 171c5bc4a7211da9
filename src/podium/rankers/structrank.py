"""StructRank: a cumulative distribution network over preferences × the Nadaraya–Watson estimator × feasible steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy.typing as npt

from podium.data import RankingData
from podium.data.normalize import NORMALIZATIONS, normalize
from podium.forces import Force
from podium.forces.definition import PARTNER_DRAWS, PARTNERS, SCALE, TOPOLOGY
from podium.models import Spec
from podium.models.nadaraya_watson import NadarayaWatsonSpec, ReferenceSettings
from podium.parameters import Choice, inherit, setting
from podium.rankers.base import BaseRanker
from podium.rankers.ranker import preset_force
from podium.training import Schedule, Trained
from podium.training.schedules.feasible import FeasibleSettings, FeasibleSteps

SCALES = tuple(name for name in NORMALIZATIONS if name != "log")


@dataclass(kw_only=True, eq=False, repr=False)
class StructRank(ReferenceSettings, FeasibleSettings, BaseRanker):
    """min Σ_queries mean over pairs of preferences of log(1 + e^{−w₁r} + e^{−w₂r′}), s the Nadaraya–Watson estimator.

    θ = (a, w₁, w₂) ≥ 0 with Σθ ≤ norm, where a are the widths of the kernel; one step per query. [StructRank, NIPS 2008]

    Attributes:
        w1_, w2_: as learned.
        norm_: the norm that was kept.
    """

    metric: Any = "map"
    topology: str = inherit(TOPOLOGY)
    partners: int = inherit(PARTNERS)
    draws: int = inherit(PARTNER_DRAWS)
    scale: str = inherit(SCALE)
    norm: float | tuple[float, ...] = (20.0, 30.0, 60.0)
    standardize: bool | None = None
    normalize: str | None = setting(
        None,
        Choice(*SCALES),
        "Rescale features within each query first, in training and in scoring, which then needs whole queries: "
        f"{' or '.join(map(repr, SCALES))}.",
        none="leave them",
    )

    def _force(self) -> Force:
        force = preset_force(self, "structrank")
        return force if force.draws else Force.of(force.definition, topology=self.topology, scale=self.scale)

    def _model(self) -> Spec:
        return NadarayaWatsonSpec(**self.settings_of(NadarayaWatsonSpec))

    def _schedule(self) -> Schedule:
        # Independent preferences have no second steepness.
        tied = bool(self.tie) or self.topology == "independent"
        return FeasibleSteps(**{**self.settings_of(FeasibleSteps), "tie": tied})

    def _prepare(self, data: RankingData) -> RankingData:
        return data if self.normalize is None else normalize(data, self.normalize)

    def _prepare_valid(self, data: RankingData) -> RankingData:
        return self._prepare(data)

    def _keep(self, trained: Trained, data: RankingData) -> None:
        super()._keep(trained, data)
        self.scorer_ = replace(self.scorer_, normalize=self.normalize)
        self._set_learned(trained.learned or {})

    def _set_learned(self, learned: dict[str, float]) -> None:
        self.w1_, self.w2_, self.norm_ = (float(learned[name]) for name in ("w1", "w2", "norm"))

    @property
    def outcome(self) -> dict[str, Any]:
        """The norm that was chosen, and the steepness that was learned."""
        return {"w1": self.w1_, "w2": self.w2_, "norm": self.norm_}

    def _extra_state(self) -> dict[str, Any]:
        return {**super()._extra_state(), **self.outcome}

    def _load_extra_state(self, more: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> None:
        super()._load_extra_state(more, arrays)
        self._set_learned(more)
