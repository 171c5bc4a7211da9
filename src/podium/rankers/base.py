"""Base class of all rankers: a scikit-learn estimator made of a force, a model and a schedule."""

from __future__ import annotations

import contextlib
import functools
import os
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeVar, cast, dataclass_transform

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from podium.data import RankingData
from podium.data.arrays import fill_masked, refuse_masked
from podium.data.canonical import fingerprint, refuse_path
from podium.data.conversion import as_weights
from podium.data.frame_columns import is_frame, whole_frame
from podium.data.hashing import check_seed
from podium.data.matching import convert_like
from podium.errors import DataError, ParameterError
from podium.evaluation import evaluate
from podium.explaining import ExplainMixin
from podium.forces import Force
from podium.forces.network_inputs import plain_setting
from podium.metrics import metric as as_metric
from podium.metrics.ties import TieEffect
from podium.models import Model, Spec
from podium.parameters import Parameter, describe_parameters
from podium.rankers.common import CommonSettings
from podium.rankers.exporting import ExportMixin
from podium.rankers.saving import SaveMixin
from podium.rankers.training_warnings import warn_of
from podium.scoring import Scorer, check_names, match_features
from podium.threads import resolve_threads
from podium.training import Checkpoint, Plan, Schedule, Trained, train
from podium.training.judging import effect_of_ties
from podium.training.progress import Callback

Floats = npt.NDArray[np.float64]
Fit = TypeVar("Fit", bound=Callable[..., Any])
Valid = RankingData | tuple[Any, Any, Any]
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
class BaseRanker(CommonSettings, SaveMixin, ExportMixin, ExplainMixin, BaseEstimator):  # type: ignore[misc]
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

        Ctrl-C ends training and keeps the best epoch so far. scikit-learn's ConvergenceWarning is given if a solver uses up its
        epochs before its tolerance is met, and if the best epoch is one of the first or the last one allowed.
        """
        if isinstance(checkpoint, str | os.PathLike):
            checkpoint = Checkpoint(checkpoint)
        if checkpoint is not None and not isinstance(checkpoint, Checkpoint):
            raise ParameterError("checkpoint", checkpoint, "must be the path of a file, or a podium.Checkpoint")
        called = (callbacks,) if callable(callbacks) else tuple(callbacks)
        start = self._start_model(start_from)
        with self._features_kept():
            data = self._as_data(X, y, qid, sample_weight, reset=True)
            judged = self._as_valid(valid, data)
            if start is not None:
                check_names(data.feature_names, start.feature_names_)
            plan = replace(self._plan(data), start_from=None if start is None else start.model_)
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

    @contextlib.contextmanager
    def _features_kept(self) -> Iterator[None]:
        """If fitting fails, keep the features of an earlier fit, whose model is kept too."""
        names = ("n_features_in_", "feature_names_in_")
        before = {name: self.__dict__[name] for name in names if name in self.__dict__}
        try:
            yield
        except BaseException:
            for name in names:
                self.__dict__.pop(name, None)
            self.__dict__.update(before)
            raise

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

    def _is_plain_float_matrix(self, X: Any) -> bool:
        """Return whether the scorer's own checks suffice. scikit-learn's take longer than scoring a few documents."""
        return (
            type(X) is np.ndarray
            and X.dtype in (np.float32, np.float64)
            and X.shape[1:] == (self.n_features_in_,)
            and len(X) > 0
            and not hasattr(self, "feature_names_in_")
        )

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

    def _set_features(self, count: int, names: Sequence[str] | None) -> None:
        """Set the attributes by which scikit-learn checks the features given to `predict`."""
        self.n_features_in_ = count
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.array(names, object)

    def _as_data(
        self, X: Any, y: Any, qid: Any, sample_weight: Any = None, *, reset: bool, like: RankingData | None = None
    ) -> RankingData:
        """Return what was given as RankingData. A frame is converted like the data given, or else like the training data."""
        refuse_path("X", X)
        if isinstance(X, RankingData):
            if y is not None or qid is not None:
                raise ParameterError(
                    "qid", rule="is part of a RankingData, as the labels are", remedy="leave out y and qid"
                )
            if reset:
                self._set_features(X.n_features, X.feature_names)
            return X if sample_weight is None else X.replace(document_weights=_weights(sample_weight, len(X)))
        categories = None
        if is_frame(X) and reset:
            X = self._checked_features(X, reset=True)
        elif is_frame(X):
            made = (
                self.scorer_.convert(X)
                if like is None
                else convert_like(X, like.feature_names, like.n_features, like.categorical_features)
            )
            X, categories = made.values, made.categories
        else:
            y = refuse_masked("y", y, "every row needs a label")
            checks = {"dtype": np.float32, "ensure_all_finite": "allow-nan", "y_numeric": True}
            with np.errstate(over="ignore"):
                X, y = validate_data(self, fill_masked(X), y, reset=reset, **checks)
        if qid is None:
            warnings.warn(
                "qid is missing, so that all rows count as one query; give qid=, one query id per row (from scikit-learn's tools: "
                "sklearn.set_config(enable_metadata_routing=True) and groups=, or params={'groups': …})",
                UserWarning,
                stacklevel=3,
            )
            qid = np.zeros(len(X), np.int64)
        names = getattr(self, "feature_names_in_", None)
        return RankingData(
            X,
            y,
            qid,
            document_weights=None if sample_weight is None else _weights(sample_weight, len(X)),
            feature_names=None if names is None else [str(name) for name in names],
            categorical_features=categories,
        )

    def _checked_features(self, X: Any, *, reset: bool = False) -> Any:
        """Return features that scikit-learn has checked. A frame stays a frame, because RankingData reads its categories and dates.

        A frame to be scored is left to the scorer, which finds its columns by name, while scikit-learn insists on their order.
        """
        if is_frame(X):
            X = whole_frame(X)
            if reset:
                validate_data(self, X, reset=True, skip_check_array=True)
            return X
        with np.errstate(over="ignore"):  # a number too large for float32 is refused as infinite
            return validate_data(self, fill_masked(X), reset=reset, dtype=np.float32, ensure_all_finite="allow-nan")

    def _as_valid(self, valid: Valid | None, data: RankingData) -> RankingData | None:
        """Return the validation data with the features of the training data."""
        refuse_path("valid", valid)
        if valid is None:
            return None
        if not isinstance(valid, RankingData):
            if not isinstance(valid, tuple) or len(valid) != 3:
                raise DataError("valid must be a RankingData or (X, y, qid)")
            valid = self._as_data(*valid, reset=False, like=data)
        names = {"what": "the validation data", "known_by": "the training data has"}
        return match_features(valid, data.n_features, data.feature_names, data.categorical_features, **names)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        tags.target_tags.single_output = True
        return tags


def _weights(given: Any, rows: int) -> npt.NDArray[np.float64]:
    weights = as_weights("sample_weight", given, rows)
    if not weights.any():
        raise ParameterError("sample_weight", rule="must not be zero for every document")
    return weights
