"""What every ranker is: a scikit-learn estimator that fits judged queries, scores documents, and saves itself."""

from __future__ import annotations

import contextlib
import json
import os
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from podium import __version__
from podium.artifact import Artifact, save_artifact
from podium.data import RankingData
from podium.data.canonical import fingerprint, refuse_path
from podium.errors import DataError, FormatError, ParameterError, short_repr
from podium.evaluation import evaluate
from podium.forces import FORCES
from podium.metrics import metric as as_metric
from podium.models import MODELS
from podium.rankers.explaining import ExplainMixin
from podium.scoring import Scorer, check_names
from podium.training.checkpoint import Checkpoint
from podium.training.progress import Callback, Epoch

Floats = npt.NDArray[np.float64]
FLAT_BLOCK = 64  # queries looked at together for scores that differ
Valid = RankingData | tuple[Any, Any, Any]


@dataclass(kw_only=True, eq=False, repr=False)
class BaseRanker(ExplainMixin, BaseEstimator):  # type: ignore[misc]
    """A ranker.

    Args:
        metric: what it is judged by: the best epoch on validation data, and `score`.
        seed: the same seed gives the same model.
        num_threads: how many threads to use; all cores by default. The model does not depend on it.

    Attributes:
        model_: the trained function class.
        log_: a row an epoch.
        best_epoch_: the epoch that was kept.
        best_value_: its metric on the validation data, or None without any.
        interrupted_: whether Ctrl-C ended training early.
    """

    metric: str = "ndcg@10"
    seed: int = 0
    num_threads: int | None = None

    budget: ClassVar[str] = "epochs"  # the parameter that says how long training may go on

    # scikit-learn hands query ids on as `groups`, the name its splitters have for them. Its Pipeline always offers `score`
    # a sample_weight, if only None, and must find that it is known there, if only to be refused.
    __metadata_request__fit: ClassVar[dict[str, str]] = {"qid": "groups"}
    __metadata_request__score: ClassVar[dict[str, str | None]] = {"qid": "groups", "sample_weight": None}

    @property
    def most_epochs(self) -> int:
        """How many epochs training may take."""
        return int(getattr(self, self.budget))

    def fit(
        self,
        X: Any,
        y: npt.ArrayLike | None = None,
        *,
        qid: npt.ArrayLike | None = None,
        valid: Valid | None = None,
        callbacks: Callback | Sequence[Callback] = (),
        checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
    ) -> BaseRanker:
        """Learns from judged queries.

        Args:
            X: a RankingData, or features [rows × features] with `y` and `qid`.
            y: one label a row, higher is better.
            qid: one query id a row.
            valid: judged queries, a RankingData or (X, y, qid), on which the best epoch is chosen.
            callbacks: each is called with every epoch's row of the log; one that returns True ends training.
            checkpoint: a file to write progress to and to go on from, if it is there.

        Ctrl-C ends training and keeps the best so far. A solver that uses up its epochs before its tolerance is met gives
        scikit-learn's ConvergenceWarning.
        """
        if isinstance(checkpoint, str | os.PathLike):
            checkpoint = Checkpoint(checkpoint)
        if checkpoint is not None and not isinstance(checkpoint, Checkpoint):
            raise ParameterError(
                f"checkpoint={short_repr(checkpoint)} must be the path of a file, or a podium.Checkpoint"
            )
        called = (callbacks,) if callable(callbacks) else tuple(callbacks)
        with self._features_kept():
            data = self._as_data(X, y, qid, reset=True)
            judged = self._as_valid(valid)
            if judged is not None:
                check_names(judged.feature_names, data.feature_names)
            self._learn(data, judged, called, checkpoint)
        self.fitted_parameters_ = self._saved_parameters()
        self.feature_names_ = data.feature_names
        self.fingerprint_ = fingerprint(data)
        if self.interrupted_:
            warnings.warn(f"training was interrupted; the best so far (epoch {self.best_epoch_}) is kept", stacklevel=2)
        flat = self._constant_score_reason(data)
        if flat is not None:
            warnings.warn(f"nothing is ranked: {flat}", stacklevel=2)
        elif self.ran_out:
            warnings.warn(
                f"the solver stopped after {self.n_epochs_} {self.budget}, all it was allowed, before its tolerance was met; "
                f"allow more {self.budget}, or a larger tolerance",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _constant_score_reason(self, data: RankingData) -> str | None:
        """Why the model tells no two documents apart in queries where it should; None where it does, or need not."""
        differ = np.flatnonzero(np.diff(data.labels) * (np.diff(data.document_queries) == 0))
        queries = np.unique(data.document_queries[differ])
        if not len(queries):
            known = FORCES.get(self.force_.partition("(")[0])
            if known is None or known.over == "points" or data.pairs is not None:
                return None
            return (
                "no training query has two documents with different labels; documents that are to be compared share a query "
                "id, so look at the query ids and the labels"
            )
        if self._scores_differ(data, queries):
            return None
        tried = next((name for name in ("min_documents", "learning_rate", "C") if hasattr(self, name)), None)
        remedy = "" if tried is None else f"; try another {tried}, or features of another scale"
        return f"all documents of each training query get the same score{remedy}"

    def _scores_differ(self, data: RankingData, queries: npt.NDArray[np.int64]) -> bool:
        """Whether two documents of one of these queries have different scores; the first that has settles it."""
        for first in range(0, len(queries), FLAT_BLOCK):
            some = data.select(queries[first : first + FLAT_BLOCK])
            scores = some.from_caller_order(self.scorer_.scores(some, num_threads=self.num_threads))
            if (np.diff(scores) * (np.diff(some.document_queries) == 0)).any():
                return True
        return False

    @property
    def ran_out(self) -> bool:
        """Whether a solver used up its epochs before its tolerance was met, and what it had come to was kept."""
        certificate = getattr(self, "certificate_", None)
        used_up = self.n_epochs_ >= self.most_epochs and self.best_epoch_ == self.n_epochs_
        return certificate is not None and certificate["verdict"] == "going" and used_up and not self.interrupted_

    @property
    def outcome(self) -> dict[str, Any]:
        """What training chose or came to beside the epoch, by name; most rankers have nothing to tell."""
        return {}

    @contextlib.contextmanager
    def _features_kept(self) -> Iterator[None]:
        """Where fitting fails, a ranker that was fitted before knows its old features, as its model does."""
        names = ("n_features_in_", "feature_names_in_")
        before = {name: self.__dict__[name] for name in names if name in self.__dict__}
        try:
            yield
        except BaseException:
            for name in names:
                self.__dict__.pop(name, None)
            self.__dict__.update(before)
            raise

    def check_parameters(self) -> None:
        """That the parameters go together, as far as that can be told without data; a ParameterError where not."""
        as_metric(self.metric)

    @abstractmethod
    def _learn(
        self,
        data: RankingData,
        valid: RankingData | None,
        callbacks: tuple[Callback, ...],
        checkpoint: Checkpoint | None,
    ) -> None:
        """Trains, and sets the attributes that end in an underscore."""

    def predict(self, X: Any) -> Floats:
        """One score a row, in the caller's order; higher is better. Scores compare inside a query only."""
        check_is_fitted(self, "scorer_")
        refuse_path("X", X)
        if not isinstance(X, RankingData) and not self._is_plain_float_matrix(X):
            with np.errstate(over="ignore"):  # a number too large for float32 is refused as infinite
                X = validate_data(self, X, reset=False, dtype=np.float32, ensure_all_finite="allow-nan")
        return self.scorer_.scores(X, num_threads=self.num_threads)

    def _is_plain_float_matrix(self, X: Any) -> bool:
        """Whether the scorer's own checks are enough: scikit-learn's take longer than scoring a few documents."""
        return (
            type(X) is np.ndarray
            and X.dtype in (np.float32, np.float64)
            and X.shape[1:] == (self.n_features_in_,)
            and len(X) > 0
            and not hasattr(self, "feature_names_in_")
        )

    def rank(self, X: Any, *, qid: npt.ArrayLike | None = None) -> npt.NDArray[np.int64]:
        """The place of each row in its query, from 1, in the caller's order; equal scores keep the rows' order."""
        refuse_path("X", X)
        data = X if isinstance(X, RankingData) else self._as_data(X, np.zeros(len(X)), qid, reset=False)
        scores = data.from_caller_order(self.predict(data))
        order = np.lexsort((np.arange(len(scores)), -scores, data.document_queries))
        places = np.empty(len(scores), np.int64)
        places[order] = np.arange(len(scores)) - np.repeat(data.query_offsets[:-1], data.query_sizes) + 1
        return data.to_caller_order(places)

    def score(self, X: Any, y: npt.ArrayLike | None = None, *, qid: npt.ArrayLike | None = None) -> float:
        """The mean of `metric` over the queries; for a metric where less is better, minus it, as scikit-learn wants."""
        check_is_fitted(self, "scorer_")
        return self._mean_metric(self.scorer_, self._as_data(X, y, qid, reset=False))

    def _mean_metric(self, scorer: Scorer, data: RankingData) -> float:
        meant = as_metric(self.metric)
        scores = scorer.scores(data, num_threads=self.num_threads)
        value = evaluate(scores, data, meant, num_threads=self.num_threads).mean[str(meant)]
        return value if meant.higher_is_better else -value

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model to one file, which `podium.load` gives back."""
        check_is_fitted(self, "scorer_")
        if self.model_name_ not in MODELS:
            raise ParameterError(
                f"a ranker over {self.model_name_!r} cannot be saved: podium.load knows {', '.join(MODELS)} and could not "
                "find the code of another model; pickle the ranker, or save the model's arrays yourself"
            )
        if "__main__:" in self.force_:
            warnings.warn(
                f"the force {self.force_} lives in the script that is running, where nobody else will find it: the saved model "
                "scores anywhere, but is trained on only here; define the force in a module of its own",
                stacklevel=2,
            )
        save_artifact(path, self._artifact())

    def _artifact(self) -> Artifact:
        model = self.scorer_.model
        header = {
            "library": __version__,
            "ranker": type(self).__name__,
            "parameters": self.fitted_parameters_,
            "force": self.force_,
            "model": {"name": self.model_name_, "spec": self.model_spec_, "settings": model.settings()},
            "metric": str(as_metric(self.fitted_parameters_["metric"])),
            "features": {
                "count": model.n_features,
                "names": None if self.feature_names_ is None else list(self.feature_names_),
                **({} if self.scorer_.normalize is None else {"normalize": self.scorer_.normalize}),
            },
            "data": self.fingerprint_,
            "training": {"epochs": self.n_epochs_, "best_epoch": self.best_epoch_, "best_value": self.best_value_},
            "more": self._extra_state(),
        }
        arrays = {f"model.{name}": value for name, value in model.arrays().items()}
        return Artifact(header, {**arrays, **{f"more.{name}": value for name, value in self._extra_arrays().items()}})

    def _saved_parameters(self) -> dict[str, Any]:
        """The parameters as JSON; threads are left out, because the model does not depend on them."""

        def plain(value: Any) -> Any:
            return value.tolist() if isinstance(value, np.generic | np.ndarray) else str(value)

        parameters = {name: value for name, value in self.get_params(deep=False).items() if name != "num_threads"}
        return {name: json.loads(json.dumps(value, default=plain)) for name, value in parameters.items()}

    def _extra_state(self) -> dict[str, Any]:
        """What a ranker keeps beside its model; JSON."""
        return {}

    def _extra_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Arrays a ranker keeps beside its model's."""
        return {}

    @classmethod
    def restore(cls, artifact: Artifact, path: str | os.PathLike[str]) -> BaseRanker:
        """The ranker of a saved model."""
        header = artifact.header
        scorer = Scorer.of(header, artifact.arrays, path)
        try:
            known: dict[str, Any] = {
                name: tuple(value) if isinstance(value, list) else value
                for name, value in header["parameters"].items()
                if name in cls._get_param_names()
            }
            ranker = cls(**known)
            ranker._set_fitted(scorer, header)
            ranker._load_extra_state(
                header["more"],
                {name.removeprefix("more."): v for name, v in artifact.arrays.items() if name.startswith("more.")},
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormatError(path, f"is a Podium model with a part missing or wrong: {error!r}") from None
        return ranker

    def _set_fitted(self, scorer: Scorer, header: dict[str, Any]) -> None:
        self.scorer_, self.model_ = scorer, scorer.model
        self.fitted_parameters_ = header["parameters"]
        self._set_features(scorer.model.n_features, scorer.feature_names)
        self.feature_names_ = scorer.feature_names
        self.fingerprint_, self.force_ = header["data"], header["force"]
        self.model_name_, self.model_spec_ = header["model"]["name"], header["model"]["spec"]
        training = header["training"]
        self.n_epochs_, self.best_epoch_ = training["epochs"], training["best_epoch"]
        self.best_value_, self.interrupted_ = training["best_value"], False
        self.log_: tuple[Epoch, ...] = ()

    def _set_features(self, count: int, names: Sequence[str] | None) -> None:
        """As scikit-learn does for arrays (no names) and frames, so that it checks what `predict` is given."""
        self.n_features_in_ = count
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.array(names, object)

    def _load_extra_state(self, more: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Takes back what `_extra_state` and `_extra_arrays` gave."""

    def _as_data(self, X: Any, y: Any, qid: Any, *, reset: bool) -> RankingData:
        refuse_path("X", X)
        if isinstance(X, RankingData):
            if y is not None or qid is not None:
                raise ParameterError("a RankingData has its own labels and query ids; leave out y and qid")
            if reset:
                self._set_features(X.n_features, X.feature_names)
            return X
        with np.errstate(over="ignore"):
            X, y = validate_data(
                self, X, y, reset=reset, dtype=np.float32, ensure_all_finite="allow-nan", y_numeric=True
            )
        if qid is None:
            warnings.warn(
                "no qid: all rows are taken as one query; give qid=, one query id a row (from scikit-learn's tools: "
                "sklearn.set_config(enable_metadata_routing=True) and groups=, or params={'groups': …})",
                UserWarning,
                stacklevel=3,
            )
            qid = np.zeros(len(X), np.int64)
        names = getattr(self, "feature_names_in_", None)
        return RankingData(X, y, qid, feature_names=None if names is None else [str(name) for name in names])

    def _as_valid(self, valid: Valid | None) -> RankingData | None:
        refuse_path("valid", valid)
        if valid is None or isinstance(valid, RankingData):
            return valid
        if not isinstance(valid, tuple) or len(valid) != 3:
            raise DataError("valid must be a RankingData or (X, y, qid)")
        return self._as_data(*valid, reset=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        tags.target_tags.single_output = True
        return tags
