"""RankSVM: hinge losses of pairs × a linear model or a kernel, solved to a proven tolerance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy.typing as npt

from podium.data import RankingData
from podium.errors import ParameterError
from podium.forces import FORCES, Force
from podium.models import Spec
from podium.models.kernel import KERNELS, KernelSettings, KernelSpec
from podium.models.net import LinearSpec
from podium.parameters import Search, inherit, setting
from podium.rankers.base import BaseRanker
from podium.rankers.pair_weights import average_over_pairs
from podium.rules import Choice, Flag, Real, Tuple
from podium.scoring import Scorer
from podium.training import Checkpoint, Plan, Schedule, Trained, train
from podium.training.judging import check_choice
from podium.training.progress import Callback
from podium.training.schedule import EPOCHS
from podium.training.schedules.solvers import LBFGS, Bundle, SolverSettings


@dataclass(kw_only=True, eq=False, repr=False)
class SVMSettings(KernelSettings):
    """Settings of RankSVM."""

    C: float | tuple[float, ...] = setting(
        100.0,
        Tuple(Real(above=0), "must be a number above 0, or several of them"),
        "Weight of the mean loss relative to ½‖w‖². If several are given, the one that is best on the validation data is kept.",
        search=Search(1e-2, 1e4, log=True),
        suspect=True,
    )
    loss: str = setting(
        "hinge", Choice("hinge", "squared_hinge"), "The loss of a pair: 'hinge', or its square 'squared_hinge'."
    )
    query_norm: bool = setting(
        False,
        Flag(),
        "Whether losses are first averaged within each query, so that all queries have the same weight. Otherwise all pairs do.",
    )
    kernel: str = setting("linear", Choice(*KERNELS), "The kernel: 'linear', 'rbf' or 'poly'.")
    standardize: bool | None = None
    tolerance: float = inherit(
        SolverSettings.parameters()["tolerance"],
        default=1e-4,
        description="The objective of the solution is proven to be within this share of the minimum.",
    )
    epochs: int = inherit(EPOCHS, default=2000, description="Maximum number of iterations.")


class RankSVM(SVMSettings, BaseRanker):
    """Hinge losses of pairs × a linear model or a kernel, solved to a proven tolerance. [RankSVM]

    It minimizes ½‖w‖² + C · mean over pairs of max(0, 1 − o), or of its square, where o = s_winner − s_loser. A gradient of m
    documents takes O(m log m) operations, because pairs are never enumerated.

    Attributes:
        C_: the C that was kept.
        certificate_: the objective above, how far it can be from the minimum, and whether the tolerance was met.
    """

    def _force(self) -> Force:
        return Force.of(FORCES[self.loss])

    def _model(self) -> Spec:
        kind: type[Spec] = LinearSpec if self.kernel == "linear" else KernelSpec
        return kind(**self.settings_of(kind))

    def _schedule(self) -> Schedule:
        kind = LBFGS if self._force().has_curvature else Bundle  # a cost with corners has no second derivative
        return kind(
            epochs=self.epochs, l2=1 / self._candidates()[0], tolerance=self.tolerance, early_stopping_rounds=None
        )

    def _candidates(self) -> tuple[float, ...]:
        candidates: tuple[float, ...] = self.parameters()["C"].check(self.C)
        return candidates

    @property
    def trains_repeatedly(self) -> bool:
        """Whether several values of C are given, of which the best is kept."""
        return len(self._candidates()) > 1

    def _prepare(self, data: RankingData) -> RankingData:
        return average_over_pairs(data, query_norm=self.query_norm)

    def _learn(
        self,
        plan: Plan,
        data: RankingData,
        valid: RankingData | None,
        callbacks: tuple[Callback, ...],
        checkpoint: Checkpoint | None,
    ) -> Trained:
        candidates = self._candidates()
        if len(candidates) > 1 and valid is None:
            raise ParameterError(
                "C", self.C, "has several values, which need validation data", "give {valid}, or a single C"
            )
        if len(candidates) > 1 and checkpoint is not None:
            raise ParameterError(
                "C",
                self.C,
                "has several values, which cannot share a checkpoint",
                "leave out {checkpoint}, or give a single C",
            )
        if valid is not None:
            check_choice(plan.metric, valid, "validation", plan.num_threads)
        best: tuple[float, Trained, float | None] | None = None
        interrupted = False
        for c in candidates:
            chosen = replace(plan, schedule=replace(plan.schedule, l2=1 / c))  # type: ignore[type-var]
            try:
                # The solution is what counts, not the best iteration before it: validation data only judges the solution.
                trained = train(chosen, data, callbacks=callbacks, checkpoint=checkpoint)
                value = (
                    None
                    if valid is None
                    else self._mean_metric(Scorer(trained.model, categories=data.categorical_features), valid)
                )
                if best is None or (value is not None and best[2] is not None and value > best[2]):
                    best = c, trained, value
                interrupted = trained.interrupted
            except KeyboardInterrupt:
                if best is None:
                    raise
                interrupted = True
            if interrupted:
                break
        assert best is not None
        self.C_, trained = best[0], replace(best[1], interrupted=interrupted)
        self._keep(trained, data)
        self._state_certificate()
        if best[2] is not None:
            self.best_value_ = best[2] if plan.metric.higher_is_better else -best[2]
        return trained

    def _state_certificate(self) -> None:
        """Scale the certificate: the solver's objective is the mean loss + ½‖w‖²/C, and the ranker's is C times that."""
        assert self.certificate_ is not None
        self.certificate_ = {
            name: value * self.C_ if isinstance(value, float) else value for name, value in self.certificate_.items()
        }

    def _extra_state(self) -> dict[str, Any]:
        return {**super()._extra_state(), "C": self.C_}

    def _load_extra_state(self, more: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> None:
        super()._load_extra_state(more, arrays)
        self.C_ = float(more["C"])
