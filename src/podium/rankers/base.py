"""Base class of all rankers: a scikit-learn estimator made of a force, a model and a schedule."""

from __future__ import annotations

import functools
import os
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeVar, cast, dataclass_transform

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from podium.cluster.engines import Engine
from podium.cluster.engines import engine as as_engine
from podium.data import RankingData
from podium.data.canonical import fingerprint, refuse_path
from podium.data.hashing import check_seed
from podium.errors import ParameterError
from podium.evaluation import evaluate
from podium.explaining import ExplainMixin
from podium.forces import Force
from podium.forces.network_inputs import plain_setting
from podium.memory import MemoryLimit, parse_bytes, scratch_folder
from podium.metrics import metric as as_metric
from podium.metrics.ties import TieEffect
from podium.models import Model, Spec
from podium.parameters import Parameter, describe_parameters
from podium.rankers.common import CommonSettings
from podium.rankers.exporting import ExportMixin
from podium.rankers.inputs import DataMixin, Valid
from podium.rankers.saving import SaveMixin
from podium.rankers.training_warnings import warn_of
from podium.scoring import Scorer
from podium.threads import resolve_threads
from podium.training import Checkpoint, Plan, Schedule, Trained, train
from podium.training.judging import effect_of_ties
from podium.training.progress import Callback

Floats = npt.NDArray[np.float64]
Fit = TypeVar("Fit", bound=Callable[..., Any])
# Arguments of other libraries, and what to give instead.
OTHER_NAMES = {
    **dict.fromkeys(("group", "groups", "query", "query_id", "query_ids"), "qid=, one query id per row"),
    **dict.fromkeys(("eval_set", "eval_group", "eval_qid", "validation_data"), "valid=, a RankingData or (X, y, qid)"),
    "weight": "sample_weight=, one weight per row",
}


def explain_misuse(fit: Fit) -> Fit:
    """Return `fit` with an error that says what to give instead, if it is called as those of other libraries are."""

    @functools.wraps(fit)
    def call(self: Any, *given: Any, **named: Any) -> Any:
        if len(given) > 2:
            raise TypeError("fit takes X and y by position and the rest by name; give qid=, as in fit(X, y, qid=qid)")
        for name in named:
            if name in OTHER_NAMES:
                raise TypeError(f"fit has no argument {name!r}; give {OTHER_NAMES[name]}")
        return fit(self, *given, **named)

    return cast(Fit, call)


@dataclass_transform(kw_only_default=True, eq_default=False)
class BaseRanker(CommonSettings, DataMixin, SaveMixin, ExportMixin, ExplainMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of all rankers.

    Attributes:
        model_: the trained model.
        resolved_: every setting with the value that was used, including defaults that depend on the data; and the printable
            names of force, model and schedule.
        log_: the training log, one row per epoch.
        best_epoch_: the number of the epoch that was kept.
        best_value_: the metric of that epoch on the validation data, or None without validation data.
        ties_: how many validation queries have tied scores that can change that value, and by how much; None without
            validation data and after loading.
        interrupted_: whether Ctrl-C ended training early.
        learned_: parameters of the force itself that were learned, by name; None if it has none.
    """

    # scikit-learn passes query ids as `groups`, the name that its splitters use. Its Pipeline always passes a sample_weight to
    # `score`, even if it is None, and requires that the request is declared.
    __metadata_request__fit: ClassVar[dict[str, str]] = {"qid": "groups"}
    __metadata_request__score: ClassVar[dict[str, str | None]] = {"qid": "groups", "sample_weight": None}

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Make every ranker a dataclass of its settings, and list them in its docstring."""
        super().__init_subclass__(**keywords)
        dataclass(kw_only=True, eq=False, repr=False)(cls)
        cls.__doc__ = describe_parameters(cls)

    @abstractmethod
    def _force(self) -> Force:
        """Return the force."""

    @abstractmethod
    def _model(self) -> Spec:
        """Return the settings of the model."""

    @abstractmethod
    def _schedule(self) -> Schedule:
        """Return the schedule."""

    def _plan(self, data: RankingData) -> Plan:
        """Return what the settings describe. A ranker overrides this if its force or model depends on the data."""
        for name, parameter in self.parameters().items():
            parameter.check(getattr(self, name))
        return Plan(
            force=self._force(),
            model=self._model(),
            schedule=self._schedule(),
            metric=as_metric(self.metric),
            seed=check_seed(self.seed),
            num_threads=resolve_threads(self.num_threads),
            also=tuple(as_metric(name) for name in self.parameters()["also"].check(self.also)),
            memory=None if self.memory_limit is None else MemoryLimit(parse_bytes(self.memory_limit), scratch_folder()),
        )

    def check_parameters(self) -> None:
        """Raise ParameterError if the settings contradict each other, as far as that can be known without data."""
        plan = self._plan(RankingData(np.zeros((1, 1)), [0], [0]))
        plan.schedule.check(plan)

    def resolve(self, data: RankingData) -> dict[str, Any]:
        """Return every setting with the value that training on this data would use.

        Args:
            data: the training data.
        """
        plan = self._plan(data)
        return self._resolved(plan.schedule.resolve(plan, self._prepare(data)))

    def _prepare(self, data: RankingData) -> RankingData:
        """Return the training data as the model and the force see it."""
        return data

    def _prepare_valid(self, data: RankingData) -> RankingData:
        """Return the validation data as the model sees it."""
        return data

    def _resolved(self, plan: Plan) -> dict[str, Any]:
        names = [parameter.name for parameter in plan.force.definition.parameters]
        force = {name: plain_setting(plan.force.setting(name)) for name in names}
        used = {**force, **plan.model.values(), **plan.schedule.values()}
        own = {name: used.get(name, value) for name, value in self._saved_parameters().items()}
        axes = {"force": str(plan.force), "model": str(plan.model), "schedule": str(plan.schedule)}
        return {**own, **axes}

    def tunable(self) -> dict[str, tuple[Parameter, Any]]:
        """Return the settings that a search may vary, by name: how each is declared, and its present value."""
        return {name: (p, getattr(self, name)) for name, p in self.parameters().items() if p.searchable}

    def with_parameters(self, parameters: Mapping[str, Any]) -> Self:
        """Return an untrained copy with some parameters changed.

        Args:
            parameters: the values to change, by name.
        """
        changed: Self = clone(self).set_params(**parameters)
        return changed

    @property
    def max_epochs(self) -> int:
        """Maximum number of epochs or rounds of a training."""
        return self._schedule().max_epochs

    @property
    def training_schedule(self) -> Schedule:
        """The schedule that the settings describe."""
        return self._schedule()

    @property
    def trains_repeatedly(self) -> bool:
        """Whether `fit` trains several times and keeps the best, so that one checkpoint cannot hold its progress."""
        return False

    @property
    def n_trees_(self) -> int:
        """Number of trees in the model; 0 if it is not made of trees."""
        return self.model_.n_trees

    @property
    def unit(self) -> str:
        """What one step of training is called: epoch or round."""
        return self._schedule().unit

    @property
    def kept_without_validation(self) -> str:
        """Which epoch or round is kept if there is no validation data, in words."""
        return self._schedule().kept_without_validation

    @explain_misuse
    def fit(
        self,
        X: Any,
        y: npt.ArrayLike | None = None,
        *,
        qid: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        valid: Valid | None = None,
        callbacks: Callback | Sequence[Callback] = (),
        checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
        start_from: BaseRanker | str | os.PathLike[str] | None = None,
        engine: str | Engine = "local",
    ) -> BaseRanker:
        """Learn from judged queries.

        Args:
            X: a RankingData, or features [rows × features] with `y` and `qid`.
            y: one label per row; higher is better.
            qid: one query id per row.
            sample_weight: one weight per row, in the order of the rows of `X`.
            valid: judged queries, a RankingData or (X, y, qid), on which the best epoch is chosen.
            callbacks: functions that are called with every row of the log. A callback that returns True ends training.
            checkpoint: a file to which progress is written, and from which training resumes if it exists.
            start_from: a trained ranker of boosted trees, or its path. Its trees are kept, and new ones are added.
            engine: where training runs: 'local', this process, or 'ray(workers=4, threads=2)', workers on a Ray cluster that
                each take some of the queries. The model is the same.

        Ctrl-C ends training and keeps the best epoch so far. scikit-learn's ConvergenceWarning is given if a solver uses up its
        epochs before its tolerance is met, and if the best epoch is one of the first or the last one allowed.
        """
        if isinstance(checkpoint, str | os.PathLike):
            checkpoint = Checkpoint(checkpoint)
        if checkpoint is not None and not isinstance(checkpoint, Checkpoint):
            raise ParameterError("checkpoint", checkpoint, "must be the path of a file, or a podium.Checkpoint")
        runs_on = as_engine(engine)
        called = (callbacks,) if callable(callbacks) else tuple(callbacks)
        start = self._start_model(start_from)
        with self._features_kept():
            data = self._as_data(X, y, qid, sample_weight, reset=True)
            if start is not None:
                data = start.scorer_.coded(data)
            judged = self._as_valid(valid, data)
            plan = replace(self._plan(data), start_from=None if start is None else start.model_, engine=runs_on)
            if runs_on.threads is not None:
                plan = replace(plan, num_threads=runs_on.threads)
            seen = None if judged is None else self._prepare_valid(judged)
            trained = self._learn(plan, self._prepare(data), seen, called, checkpoint)
        self.feature_names_, self.fingerprint_ = data.feature_names, fingerprint(data)
        self.ties_ = None if judged is None else self._effect_of_ties(trained.plan, judged)
        warn_of(self, trained.plan, data)
        return self

    def _learn(
        self,
        plan: Plan,
        data: RankingData,
        valid: RankingData | None,
        callbacks: tuple[Callback, ...],
        checkpoint: Checkpoint | None,
    ) -> Trained:
        """Train, and set the attributes whose names end in an underscore."""
        trained = train(plan, data, valid=valid, callbacks=callbacks, checkpoint=checkpoint)
        self._keep(trained, data)
        return trained

    def _keep(self, trained: Trained, data: RankingData) -> None:
        plan = trained.plan
        self.model_, self.scorer_ = (
            trained.model,
            Scorer(trained.model, data.feature_names, categories=data.categorical_features),
        )
        self.force_, self.schedule_ = str(plan.force), str(plan.schedule)
        self.model_name_, self.model_spec_ = plan.model.name, str(plan.model)
        self.log_, self.n_epochs_ = trained.log, len(trained.log)
        self.best_epoch_, self.best_value_ = trained.best_epoch, trained.best_value
        self.interrupted_, self.certificate_ = trained.interrupted, trained.certificate
        self.thresholds_, self.learned_ = trained.thresholds, trained.learned
        self.fitted_parameters_, self.resolved_ = self._saved_parameters(), self._resolved(plan)

    def _effect_of_ties(self, plan: Plan, valid: RankingData) -> TieEffect:
        scores = valid.from_caller_order(self.scorer_.scores(valid, num_threads=plan.num_threads))
        return effect_of_ties(plan.metric, valid, scores, plan.num_threads)

    @property
    def ran_out(self) -> bool:
        """Whether a solver used up its epochs before its tolerance was met, and its last point was kept."""
        certificate = getattr(self, "certificate_", None)
        used_up = self.n_epochs_ >= self.max_epochs and self.best_epoch_ == self.n_epochs_
        return certificate is not None and certificate["verdict"] == "going" and used_up and not self.interrupted_

    @property
    def outcome(self) -> dict[str, Any]:
        """What training chose or found besides the epoch, by name: the parameters that the force learned, if any."""
        return dict(self.learned_ or {})

    def _start_model(self, start_from: BaseRanker | str | os.PathLike[str] | None) -> BaseRanker | None:
        if isinstance(start_from, str | os.PathLike):
            from podium.rankers import load

            start_from = load(start_from)
        if start_from is not None and not isinstance(getattr(start_from, "model_", None), Model):
            raise ParameterError("start_from", start_from, "must be a trained ranker, or the path of one")
        return start_from

    def predict(self, X: Any) -> Floats:
        """Return one score per row, in the caller's order. Higher is better, and only scores of the same query can be compared.

        If the model and `X` have feature names, features are matched by name: their order does not matter, and columns that the
        model was not trained on are left out with a warning. The columns of a frame are converted as those of the training data
        were: text becomes categories, and a time becomes days.

        Args:
            X: a RankingData, a frame, or features [rows × features].
        """
        check_is_fitted(self, "scorer_")
        refuse_path("X", X)
        if not isinstance(X, RankingData) and not self._is_plain_float_matrix(X):
            X = self._checked_features(X)
        return self.scorer_.scores(X, num_threads=self.num_threads)

    def rank(self, X: Any, *, qid: npt.ArrayLike | None = None) -> npt.NDArray[np.int64]:
        """Return the rank of each row in its query, counted from 1, in the caller's order. Equal scores keep the rows' order.

        Args:
            X: a RankingData, a frame, or features [rows × features].
            qid: one query id per row; part of a RankingData.
        """
        check_is_fitted(self, "scorer_")
        refuse_path("X", X)
        data = X if isinstance(X, RankingData) else self._as_data(X, np.zeros(len(X)), qid, reset=False)
        scores = data.from_caller_order(self.predict(data))
        order = np.lexsort((np.arange(len(scores)), -scores, data.document_queries))
        places = np.empty(len(scores), np.int64)
        places[order] = np.arange(len(scores)) - np.repeat(data.query_offsets[:-1], data.query_sizes) + 1
        return data.to_caller_order(places)

    def score(
        self,
        X: Any,
        y: npt.ArrayLike | None = None,
        *,
        qid: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> float:
        """Return the mean of `metric` over the queries, negated if smaller is better, as scikit-learn expects.

        Args:
            X: A RankingData, or the features of one document per row.
            y: One label per row; part of a RankingData.
            qid: One query id per row; part of a RankingData.
            sample_weight: Must be None, because metrics do not weigh documents. scikit-learn's Pipeline passes it always.
        """
        if sample_weight is not None:
            raise ParameterError(
                "sample_weight",
                rule="weighs documents, which metrics do not",
                remedy="give a RankingData with query_weights to weigh queries",
            )
        check_is_fitted(self, "scorer_")
        return self._mean_metric(self.scorer_, self._as_data(X, y, qid, reset=False))

    def _mean_metric(self, scorer: Scorer, data: RankingData) -> float:
        meant = as_metric(self.metric)
        scores = scorer.scores(data, num_threads=self.num_threads)
        value = evaluate(scores, data, meant, num_threads=self.num_threads).mean[str(meant)]
        return value if meant.higher_is_better else -value

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        tags.target_tags.single_output = True
        return tags
