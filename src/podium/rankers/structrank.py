"""StructRank: a cumulative distribution network over preferences × the Nadaraya–Watson estimator × feasible steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy.typing as npt

from podium.data import RankingData
from podium.data.normalise import NORMALISATIONS, normalise
from podium.errors import ParameterError, shown, unknown_name
from podium.forces import FORCES, Force
from podium.models.nadaraya_watson import NadarayaWatsonSpec
from podium.rankers.ranker import PlannedRanker
from podium.rankers.svm import on_one_scale
from podium.scoring import Scorer
from podium.training import FeasibleSchedule, Plan, Trained
from podium.training.checkpoint import Checkpoint
from podium.training.progress import Callback

SCALES = tuple(name for name in NORMALISATIONS if name != "log")


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
        choose: where there are more, sample takes some of them and kmeans the centres of all.
        leave_out: whether a training query is scored without its own documents, so that none votes for itself.
        standardise: whether features are brought to mean 0 and variance 1 first; None does it unless all of them lie in
            [−1, 1] already.
        normalise: minmax or zscore rescales features inside each query first, in training and in scoring, which then needs
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
    standardise: bool | None = None
    normalise: str | None = None

    @property
    def most_epochs(self) -> int:
        """Passes of all starts and norms, at most."""
        return self._feasible(True).epochs

    def _force(self) -> Force:
        named: dict[str, Any] = {"topology": self.topology, "scale": self.scale}
        drawn = Force.of(FORCES["structrank"], **named, partners=self.partners, draws=self.draws)
        return drawn if self.topology == "random" else Force.of(FORCES["structrank"], **named)

    def _model(self) -> NadarayaWatsonSpec:
        standardise = True if self.standardise is None else self.standardise
        if self.normalise is not None and self.normalise not in SCALES:
            raise unknown_name("normalise", self.normalise, SCALES)
        return NadarayaWatsonSpec(self.references, self.choose, self.leave_out, standardise)

    def _feasible(self, has_valid: bool) -> FeasibleSchedule:
        if not isinstance(self.tie, bool):
            raise ParameterError(f"tie={shown(self.tie)} must be True or False")
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
        if self.standardise is None and on_one_scale(data):
            assert isinstance(plan.model, NadarayaWatsonSpec)
            return replace(plan, model=replace(plan.model, standardise=False))
        return plan

    def _learn(
        self,
        data: RankingData,
        valid: RankingData | None,
        callbacks: tuple[Callback, ...],
        checkpoint: Checkpoint | None,
    ) -> None:
        if self.normalise is not None:
            self._model()  # says whether there is such a scale
            data = normalise(data, self.normalise)
            valid = None if valid is None else normalise(valid, self.normalise)
        super()._learn(data, valid, callbacks, checkpoint)

    def _keep(self, plan: Plan, data: RankingData, trained: Trained) -> None:
        super()._keep(plan, data, trained)
        self.scorer_ = Scorer(trained.model, data.feature_names, self.normalise)
        self._set_learned(trained.learned or {})

    def _set_learned(self, learned: dict[str, float]) -> None:
        self.w1_, self.w2_, self.norm_ = (float(learned[name]) for name in ("w1", "w2", "norm"))

    @property
    def outcome(self) -> dict[str, Any]:
        """The norm that was chosen, and the steepness that was learned."""
        return {"w1": self.w1_, "w2": self.w2_, "norm": self.norm_}

    def _more(self) -> dict[str, Any]:
        return {**super()._more(), **self.outcome}

    def _restore_more(self, more: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> None:
        super()._restore_more(more, arrays)
        self._set_learned(more)
