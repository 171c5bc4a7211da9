"""RankSVM: hinge pairs × a linear model or a kernel, solved to a tolerance with a certificate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.data.conversion import as_number
from podium.errors import ParameterError, short_repr, unknown_name
from podium.forces import FORCES, Force
from podium.models import Spec
from podium.models.kernel import KernelSpec
from podium.models.net import LinearSpec
from podium.rankers.ranker import PlannedRanker
from podium.scoring import Scorer
from podium.training import Plan, Schedule, Trained, train
from podium.training.checkpoint import Checkpoint
from podium.training.judging import check_choice
from podium.training.progress import Callback

SOLVERS = {"hinge": "bundle", "squared_hinge": "lbfgs"}


@dataclass(kw_only=True, eq=False, repr=False)
class RankSVM(PlannedRanker):
    """min ½‖w‖² + C · mean over pairs of max(0, 1 − o), or of its square, o = s_winner − s_loser. [RankSVM]

    A gradient costs O(m log m), never a list of pairs.

    Args:
        C: how much the mean loss weighs against ‖w‖²; several values are tried, and the best on validation data is kept.
        loss: hinge or squared_hinge.
        query_norm: whether the mean is taken inside each query first, so that queries count alike; else pairs do.
        kernel: linear, rbf or poly.
        width: of rbf and poly, in standardized features; √features by default.
        degree: of poly.
        landmarks: of rbf and poly, documents that stand for all of them where there are more. [Nyström]
        standardize: whether features are brought to mean 0 and variance 1 first; None does it unless all of them lie in
            [−1, 1] already, because the scale of a feature is then part of what it says.
        tolerance: the solution's objective is proven to be within this share of the least one.
        epochs: at most this many iterations.

    Attributes:
        C_: the C kept.
        certificate_: objective and gap, in the units of the objective above, and whether the tolerance was met.
    """

    C: float | tuple[float, ...] = 100.0
    loss: str = "hinge"
    query_norm: bool = False
    kernel: str = "linear"
    width: float | None = None
    degree: int = 2
    landmarks: int = 2000
    standardize: bool | None = None
    tolerance: float = 1e-4
    epochs: int = 2000

    def _force(self) -> Force:
        if self.loss not in tuple(SOLVERS):
            raise unknown_name("loss", self.loss, SOLVERS)
        if not isinstance(self.query_norm, bool):
            raise ParameterError(f"query_norm={short_repr(self.query_norm)} must be True or False")
        return Force.of(FORCES[self.loss])

    def _model(self) -> Spec:
        standardize = True if self.standardize is None else self.standardize
        curved = KernelSpec(self.kernel, self.width, self.degree, landmarks=self.landmarks, standardize=standardize)
        return LinearSpec(standardize=standardize) if self.kernel == "linear" else curved

    def _plan(self, data: RankingData, has_valid: bool) -> Plan:
        plan = super()._plan(data, has_valid)
        if self.standardize is None and on_one_scale(data):
            assert isinstance(plan.model, LinearSpec | KernelSpec)
            return replace(plan, model=replace(plan.model, standardize=False))
        return plan

    def _schedule(self, data: RankingData, has_valid: bool) -> Schedule:
        return Schedule(
            optimizer=SOLVERS[self.loss], epochs=self.epochs, l2=1 / self._candidates()[0], tolerance=self.tolerance
        )

    def _candidates(self) -> list[float]:
        several = isinstance(self.C, Sequence) or (isinstance(self.C, np.ndarray) and self.C.ndim == 1)
        given: list[Any] = list(self.C) if several else [self.C]  # type: ignore[arg-type]
        numbers = [as_number(value) for value in given]
        if not numbers or not all(number is not None and number > 0 for number in numbers):
            raise ParameterError(f"C={short_repr(self.C)} must be a number above 0, or several of them")
        return [float(number) for number in numbers if number is not None]

    def _learn(
        self,
        data: RankingData,
        valid: RankingData | None,
        callbacks: tuple[Callback, ...],
        checkpoint: Checkpoint | None,
    ) -> None:
        candidates = self._candidates()
        if len(candidates) > 1 and (valid is None or checkpoint is not None):
            what = "validation data to choose by; give valid=" if valid is None else "one C a checkpoint"
            raise ParameterError(f"C={short_repr(self.C)}: several values need {what}, or a single C")
        plan = self._plan(data, has_valid=False)
        if valid is not None:
            check_choice(plan.metric, valid, "validation", plan.num_threads)
        assert isinstance(plan.schedule, Schedule)
        weighted = _weigh_queries(data, query_norm=self.query_norm)
        best: tuple[float, Trained, float | None] | None = None
        interrupted = False
        for c in candidates:
            chosen = replace(plan, schedule=replace(plan.schedule, l2=1 / c))
            try:
                # The solution counts, not the best iteration on the way there: validation data only judges it.
                trained = train(chosen, weighted, callbacks=callbacks, checkpoint=checkpoint)
                value = None if valid is None else self._mean_metric(Scorer(trained.model), valid)
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
        self.C_ = best[0]
        self._keep(plan, data, replace(best[1], interrupted=interrupted))
        self._state_certificate()
        if best[2] is not None:
            self.best_value_ = best[2] if plan.metric.higher_is_better else -best[2]

    def _state_certificate(self) -> None:
        """The solver's objective is the mean loss + ½‖w‖²/C; the one above is C times that."""
        assert self.certificate_ is not None
        self.certificate_ = {
            name: value * self.C_ if isinstance(value, float) else value for name, value in self.certificate_.items()
        }

    def _extra_state(self) -> dict[str, Any]:
        return {**super()._extra_state(), "C": self.C_}

    def _load_extra_state(self, more: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> None:
        super()._load_extra_state(more, arrays)
        self.C_ = float(more["C"])


def _weigh_queries(data: RankingData, *, query_norm: bool) -> RankingData:
    """The data with query weights that make the mean cost of a query the mean loss of a pair."""
    pairs = _pair_weights(data)
    own = np.ones(data.n_queries) if data.query_weights is None else data.query_weights
    if query_norm:
        total = math.fsum(own[pairs > 0])
        weights = own / np.where(pairs > 0, pairs, 1.0)
    else:
        total, weights = math.fsum(own * pairs), own
    return data.replace(query_weights=weights * (data.n_queries / total if total > 0 else 1.0))


def _pair_weights(data: RankingData) -> npt.NDArray[np.float64]:
    """What the pairs of each query weigh together: of different labels, (Σw)² less that of every level, halved."""
    weight = np.ones(data.n_documents) if data.document_weights is None else data.document_weights
    if data.pairs is not None:
        each = data.pairs.weight * weight[data.pairs.winner] * weight[data.pairs.loser]
        return np.asarray(np.bincount(data.document_queries[data.pairs.winner], each, data.n_queries), np.float64)
    queries = data.document_queries
    order = np.lexsort((data.labels, queries))
    starts = np.flatnonzero(np.diff(queries[order], prepend=-1) | (np.diff(data.labels[order], prepend=np.nan) != 0))
    levels = np.add.reduceat(weight[order], starts)
    of = queries[order][starts]
    whole, same = (np.bincount(of, values, data.n_queries) for values in (levels, levels**2))
    return np.asarray((whole**2 - same) / 2)


def on_one_scale(data: RankingData) -> bool:
    """Whether every value lies in [−1, 1]; a missing one does not count."""
    return bool(np.fmax.reduce(data.features, axis=None) <= 1 and np.fmin.reduce(data.features, axis=None) >= -1)
