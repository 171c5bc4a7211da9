"""StructRank: a cumulative distribution network over preferences × the Nadaraya–Watson estimator × feasible steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy.typing as npt

from podium.data import RankingData
from podium.data.normalize import NORMALIZATIONS, normalize
from podium.errors import ParameterError, short_repr, unknown_name
from podium.forces import FORCES, Force
from podium.models.nadaraya_watson import NadarayaWatsonSpec
from podium.rankers.ranker import PlannedRanker
from podium.rankers.svm import on_one_scale
from podium.scoring import Scorer
from podium.training import FeasibleSchedule, Plan, Trained
from podium.training.checkpoint import Checkpoint
from podium.training.progress import Callback

SCALES = tuple(name for name in NORMALIZATIONS if name != "log")


@dataclass(kw_only=True, eq=False, repr=False)
class StructRank(PlannedRanker):
    """min Σ_queries mean over pairs of preferences of log(1 + e^{−w₁r} + e^{−w₂r′}), s the Nadaraya–Watson estimator.

    θ = (a, w₁, w₂) ≥ 0 with Σθ ≤ norm, a the widths of the kernel, by one step a query. [StructRank, NIPS 2008]

    Args:
        metric: what the best epoch of all starts and norms is chosen by.
        topology: which preferences meet: full all, random each with some partners, independent none.
        partners: of random, others that each preference meets in a draw.
        draws: of random, draws of the partners, averaged.
        scale: mean, so that a query's size does not count; or sum, the paper's plain sum.
        tie: whether w₁ and w₂ are one; they are where the preferences are independent.
        norm: the most that all parameters may sum to; several are tried from the first start, and the best on validation data
            is kept.
        starts: drawn at random; those past the first are tried with the norm that was best.
        epochs: passes over the data from each start.
        learning_rate: of the first pass of a start.
        decay: what the rate is multiplied by after each pass.
        step: shrink halves the rate of an update until it is feasible; project takes the nearest feasible point.
        early_stopping_rounds: with validation data, leave a start after this many passes without progress; None never does.
        max_seconds: begin no pass after this long; None for any time.
        references: at most this many training documents vote.
        choose: where there are more, sample takes some of them and kmeans the centers of all.
        leave_out: whether a training query is scored without its own documents, so that none votes for itself.
        standardize: whether features are brought to mean 0 and variance 1 first; None does it unless all of them lie in
            [−1, 1] already.
        normalize: minmax or zscore rescales features inside each query first, in training and in scoring, which then needs
            whole queries; None leaves them.

    Attributes:
        w1_, w2_: as learned.
        norm_: the one kept.
    """

    metric: str = "map"
    topology: str = "full"
    partners: int = 5
    draws: int = 3
    scale: str = "mean"
    tie: bool = False
    norm: float | tuple[float, ...] = (20.0, 30.0, 60.0)
    starts: int = 3
    epochs: int = 10
    learning_rate: float = 20.0
    decay: float = 0.5**0.5
    step: str = "project"
    early_stopping_rounds: int | None = 2
    max_seconds: float | None = None
    references: int = 20_000
    choose: str = "sample"
    leave_out: bool = True
    standardize: bool | None = None
    normalize: str | None = None

    @property
    def most_epochs(self) -> int:
        """Passes of all starts and norms, at most."""
        return self._feasible(True).epochs

    def _force(self) -> Force:
        named: dict[str, Any] = {"topology": self.topology, "scale": self.scale}
        drawn = Force.of(FORCES["structrank"], **named, partners=self.partners, draws=self.draws)
        return drawn if self.topology == "random" else Force.of(FORCES["structrank"], **named)

    def _model(self) -> NadarayaWatsonSpec:
        standardize = True if self.standardize is None else self.standardize
        if self.normalize is not None and self.normalize not in SCALES:
            raise unknown_name("normalize", self.normalize, SCALES)
        return NadarayaWatsonSpec(self.references, self.choose, self.leave_out, standardize)

    def _feasible(self, has_valid: bool) -> FeasibleSchedule:
        if not isinstance(self.tie, bool):
            raise ParameterError(f"tie={short_repr(self.tie)} must be True or False")
        return FeasibleSchedule(
            passes=self.epochs,
            starts=self.starts,
            norms=self.norm,  # type: ignore[arg-type]
            learning_rate=self.learning_rate,
            decay=self.decay,
            step=self.step,
            tie=self.tie or self.topology == "independent",
            early_stopping_rounds=self.early_stopping_rounds if has_valid else None,
            max_seconds=self.max_seconds,
        )

    def _schedule(self, data: RankingData, has_valid: bool) -> FeasibleSchedule:
        return self._feasible(has_valid)

    def _plan(self, data: RankingData, has_valid: bool) -> Plan:
        plan = super()._plan(data, has_valid)
        if self.standardize is None and on_one_scale(data):
            assert isinstance(plan.model, NadarayaWatsonSpec)
            return replace(plan, model=replace(plan.model, standardize=False))
        return plan

    def _learn(
        self,
        data: RankingData,
        valid: RankingData | None,
        callbacks: tuple[Callback, ...],
        checkpoint: Checkpoint | None,
    ) -> None:
        if self.normalize is not None:
            self._model()  # says whether there is such a scale
            data = normalize(data, self.normalize)
            valid = None if valid is None else normalize(valid, self.normalize)
        super()._learn(data, valid, callbacks, checkpoint)

    def _keep(self, plan: Plan, data: RankingData, trained: Trained) -> None:
        super()._keep(plan, data, trained)
        self.scorer_ = Scorer(trained.model, data.feature_names, self.normalize)
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
