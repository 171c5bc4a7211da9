"""Any force × any function class, and the schedule that all gradient rankers share."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.data.hashing import check_seed
from podium.errors import ParameterError, short_repr
from podium.forces import Force
from podium.forces import force as as_force
from podium.metrics import metric as as_metric
from podium.models import Spec
from podium.models import model as as_model
from podium.models.trees import TreesSpec
from podium.rankers.base import BaseRanker
from podium.scoring import Scorer
from podium.threads import resolve_threads
from podium.training import BoostSchedule, FeasibleSchedule, OnlineSchedule, Plan, Schedule, Trained, train
from podium.training.checkpoint import Checkpoint
from podium.training.progress import Callback


@dataclass(kw_only=True, eq=False, repr=False)
class PlannedRanker(BaseRanker):
    """A ranker that trains by one plan."""

    @abstractmethod
    def _force(self) -> Force:
        """What moves the documents."""

    @abstractmethod
    def _model(self) -> Spec:
        """What turns features into scores."""

    @abstractmethod
    def _schedule(
        self, data: RankingData, has_valid: bool
    ) -> Schedule | BoostSchedule | FeasibleSchedule | OnlineSchedule:
        """How the forces are absorbed."""

    def _plan(self, data: RankingData, has_valid: bool) -> Plan:
        return Plan(
            force=self._force(),
            model=self._model(),
            schedule=self._schedule(data, has_valid),
            metric=as_metric(self.metric),
            seed=check_seed(self.seed),
            num_threads=resolve_threads(self.num_threads),
        )

    def check_parameters(self) -> None:
        """That force, model and schedule can be made of the parameters."""
        self._plan(RankingData(np.zeros((1, 1)), [0], [0]), has_valid=True)

    def _learn(
        self,
        data: RankingData,
        valid: RankingData | None,
        callbacks: tuple[Callback, ...],
        checkpoint: Checkpoint | None,
    ) -> None:
        plan = self._plan(data, valid is not None)
        self._keep(plan, data, train(plan, data, valid=valid, callbacks=callbacks, checkpoint=checkpoint))

    def _keep(self, plan: Plan, data: RankingData, trained: Trained) -> None:
        self.model_, self.scorer_ = trained.model, Scorer(trained.model, data.feature_names)
        self.force_, self.model_name_, self.model_spec_ = str(plan.force), plan.model.name, str(plan.model)
        self.log_, self.n_epochs_ = trained.log, len(trained.log)
        self.best_epoch_, self.best_value_ = trained.best_epoch, trained.best_value
        self.interrupted_, self.certificate_ = trained.interrupted, trained.certificate
        self.thresholds_ = trained.thresholds

    def _extra_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {"thresholds": self.thresholds_} if len(self.thresholds_) else {}

    def _load_extra_state(self, more: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> None:
        self.thresholds_ = arrays.get("thresholds", np.empty(0))
        self.certificate_ = more.get("certificate")

    def _extra_state(self) -> dict[str, Any]:
        return {"certificate": self.certificate_}


@dataclass(kw_only=True, eq=False, repr=False)
class GradientRanker(PlannedRanker):
    """A ranker that follows gradients.

    Args:
        optimizer: adam, sgd, lbfgs (all queries at once, for a force with a cost) or bundle (the same for a convex force
            with l2 whose cost may have corners).
        learning_rate: of adam and sgd.
        batch: queries an update, or "pair": an update a pair of documents.
        epochs: at most this many passes over the data.
        l2: ½·l2·‖weights‖² is added to the mean cost of a query.
        rate_rule: constant; halve when the epoch's mean cost rises; shrink, ×0.8 when the training metric falls.
        restart_rounds: draw new weights after this many epochs without progress, instead of stopping early; the best is
            kept.
        early_stopping_rounds: with validation data, stop after this many epochs without progress; None never does.
        tolerance: of lbfgs, where it stops: for a convex problem with l2 > 0 the gap to the least objective, as a share of
            the objective; else the share of the first gradient.
    """

    optimizer: str = "adam"
    learning_rate: float = 0.001
    batch: int | str = 1
    epochs: int = 100
    l2: float = 0.0
    rate_rule: str = "constant"
    restart_rounds: int | None = None
    early_stopping_rounds: int | None = 20
    tolerance: float = 1e-6

    def _schedule(self, data: RankingData, has_valid: bool) -> Schedule | BoostSchedule:
        """How the forces are absorbed."""
        return Schedule(
            optimizer=self.optimizer,
            learning_rate=self.learning_rate,
            batch=self.batch,
            epochs=self.epochs,
            l2=self.l2,
            rate_rule=self.rate_rule,
            restart_rounds=self.restart_rounds,
            early_stopping_rounds=self.early_stopping_rounds if has_valid and self.restart_rounds is None else None,
            tolerance=self.tolerance,
        )


@dataclass(kw_only=True, eq=False, repr=False)
class Ranker(GradientRanker):
    """Any force × any function class.

    Args:
        force: a name such as "lambdarank(map)", a Force, or your own function of one query.
        model: a name such as "linear", "net(10)", "kernel(rbf)" or "trees(num_leaves=31)".
        learning_rate: of adam and sgd, 0.001 by default; of trees, by default chosen by the size of the data.
        epochs: at most this many passes over the data, 100 by default, or rounds of trees, 1000 by default.
        early_stopping_rounds: with validation data, stop after this many epochs without progress, by default 20, or 300
            rounds of trees; 0 never does.
        smoothing: of the validation curve of trees, see `LambdaMART`.
    """

    force: Any = "lambdarank(ndcg@10)"
    model: Any = "linear"
    learning_rate: float | None = None  # type: ignore[assignment]
    epochs: int | None = None  # type: ignore[assignment]
    early_stopping_rounds: int | None = None
    smoothing: int | None = None

    def _force(self) -> Force:
        return as_force(self.force)

    @property
    def most_epochs(self) -> int:
        """How many epochs, or rounds of trees, training may take."""
        return (1000 if isinstance(self._model(), TreesSpec) else 100) if self.epochs is None else int(self.epochs)

    def _schedule(self, data: RankingData, has_valid: bool) -> Schedule | BoostSchedule:
        trees = isinstance(self._model(), TreesSpec)
        patience = (300 if trees else 20) if self.early_stopping_rounds is None else self.early_stopping_rounds
        settled: dict[str, Any] = {
            "learning_rate": self.learning_rate,
            "epochs": (1000 if trees else 100) if self.epochs is None else self.epochs,
            "early_stopping_rounds": patience if has_valid and self.restart_rounds is None and patience != 0 else None,
        }
        others = {f.name: getattr(self, f.name) for f in fields(Schedule) if f.name not in settled}
        if not trees:
            if self.smoothing is not None:
                raise ParameterError(f"smoothing={short_repr(self.smoothing)} belongs to trees; leave it out")
            return Schedule(
                **{**settled, **others, "learning_rate": 0.001 if self.learning_rate is None else self.learning_rate}
            )
        for field in fields(Schedule):
            if field.name in others and others[field.name] != field.default:
                raise ParameterError(
                    f"{field.name}={short_repr(others[field.name])} belongs to models that follow gradients; trees take "
                    "learning_rate, epochs, early_stopping_rounds and smoothing, and what trees(…) is given"
                )
        return BoostSchedule(**settled, smoothing=self.smoothing)

    def _saved_parameters(self) -> dict[str, Any]:
        named = self.force if isinstance(self.force, str) else str(self._force())  # not a function's place in memory
        return {**super()._saved_parameters(), "force": named}

    def _model(self) -> Spec:
        return as_model(self.model)
