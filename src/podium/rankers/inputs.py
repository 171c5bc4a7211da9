"""How a ranker takes data: RankingData, frames and arrays, checked as scikit-learn does."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import validate_data

from podium.data import RankingData
from podium.data.arrays import fill_masked, refuse_masked
from podium.data.canonical import refuse_path
from podium.data.categories import without_unknown
from podium.data.conversion import as_weights
from podium.data.frame_columns import is_frame, whole_frame
from podium.data.matching import convert_like
from podium.errors import DataError, ParameterError
from podium.scoring import Scorer, match_features

Valid = RankingData | tuple[Any, Any, Any]


class DataMixin:
    """The conversion of what `fit` and `predict` are given."""

    scorer_: Scorer
    n_features_in_: int

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

    def _is_plain_float_matrix(self, X: Any) -> bool:
        """Return whether the scorer's own checks suffice. scikit-learn's take longer than scoring a few documents."""
        return (
            type(X) is np.ndarray
            and X.dtype in (np.float32, np.float64)
            and X.shape[1:] == (self.n_features_in_,)
            and len(X) > 0
            and not hasattr(self, "feature_names_in_")
        )

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
        valid = match_features(valid, data.n_features, data.feature_names, data.categorical_features, **names)
        features = without_unknown(valid.features, data.categorical_features or {})
        return valid if features is valid.features else valid.replace_grouped(features=features)


def _weights(given: Any, rows: int) -> npt.NDArray[np.float64]:
    weights = as_weights("sample_weight", given, rows)
    if not weights.any():
        raise ParameterError("sample_weight", rule="must not be zero for every document")
    return weights
