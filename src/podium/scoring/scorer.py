"""Scorers: compute one score per document from its features."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.artifact import load_artifact
from podium.data import RankingData
from podium.data.categories import Categories, recode, with_categories, without_unknown
from podium.data.checks import caller_row
from podium.data.conversion import Features as ConvertedFeatures
from podium.data.conversion import convert_features
from podium.data.feature_names import feature_name
from podium.data.frame_columns import is_frame
from podium.data.matching import convert_like, match_columns, select_features
from podium.data.normalize import NORMALIZATIONS, normalize
from podium.errors import DataError, FormatError, ParameterError, is_integer, short_list
from podium.models import Model, restore_model
from podium.models.heads import to_scores
from podium.threads import resolve_threads

Floats = npt.NDArray[np.float64]
Features = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Scorer:
    """A trained model, ready to score.

    Attributes:
        model: turns features into outputs.
        feature_names: names of the features it was trained on, or None.
        normalize: how features are first rescaled inside each query, or None. If it is set, whole queries are needed.
        categories: categories of the categorical features it was trained on, by column, or None.
    """

    model: Model
    feature_names: tuple[str, ...] | None = None
    normalize: str | None = None
    categories: Categories | None = None

    def __repr__(self) -> str:
        trees = f", {self.model.n_trees:,} trees" if self.model.has_splits else ""
        return f"<Scorer: {type(self.model).__name__} over {self.model.n_features:,} features{trees}>"

    @classmethod
    def of(cls, header: dict[str, Any], arrays: dict[str, npt.NDArray[Any]], path: str | os.PathLike[str]) -> Scorer:
        """Return the scorer of a saved model."""
        try:
            own = {name.removeprefix("model."): value for name, value in arrays.items() if name.startswith("model.")}
            model = restore_model(header["model"]["name"], header["model"]["settings"], own)
            if header["features"]["count"] != model.n_features:
                raise ValueError(
                    f"{header['features']['count']} features in the header, {model.n_features} in the model"
                )
            names = header["features"]["names"]
            if names is not None and len(names) != model.n_features:
                raise ValueError(f"{len(names)} names for {model.n_features} features")
            scale = header["features"].get("normalize")
            if scale is not None and scale not in NORMALIZATIONS:
                raise ValueError(f"no normalization is called {scale!r}")
            categories = load_categories(header["features"].get("categories"), model.n_features)
            return cls(model, None if names is None else tuple(str(name) for name in names), scale, categories)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormatError(path, f"is a Podium model with a part missing or wrong: {error!r}") from None

    def scores(self, rows: RankingData | npt.ArrayLike, *, num_threads: int | None = None) -> Floats:
        """Return one score per row, in the caller's row order.

        Trees read float32 and float64 arrays in any memory order without copying them. The call is thread-safe.

        Args:
            rows: a RankingData, a frame, or features [rows × features].
            num_threads: number of threads; all cores by default.
        """
        data = rows if isinstance(rows, RankingData) else None
        threads = resolve_threads(num_threads)
        features = self._plain_features(rows, threads)
        outputs = self.model.scores(self.features(rows) if features is None else features, num_threads=threads)
        if not np.isfinite(outputs).all():
            held = int(np.argwhere(~np.isfinite(outputs))[0][0])
            row = held if data is None else caller_row(data, held)
            raise DataError(f"the score of row {row} is not finite; its features are too large for the model")
        scores = to_scores(outputs)
        return scores if data is None else data.to_caller_order(scores)

    def rank(
        self, rows: npt.ArrayLike, k: int | None = None, *, num_threads: int | None = None
    ) -> npt.NDArray[np.intp]:
        """Return the positions of the best k rows, best first, or of all rows without k. Rows with equal scores stay in order.

        The rows are the documents of one query.
        """
        if isinstance(rows, RankingData) and rows.n_queries > 1:
            raise DataError(f"rank takes the documents of one query, but the data has {rows.n_queries} queries")
        if k is not None and (not is_integer(k) or k < 0):
            raise ParameterError("k", k, "must be a whole number of at least 0", "leave it out to rank all rows")
        scores = self.scores(rows, num_threads=num_threads)
        return np.argsort(-scores, kind="stable")[:k]

    def _plain_features(self, rows: Any, threads: int) -> npt.NDArray[Any] | None:
        """Return an array unchanged if the model can read it directly, or None if it has to be converted."""
        if (
            type(rows) is not np.ndarray
            or rows.ndim != 2
            or self.normalize is not None
            or not self.model.reads_any_floats
            or self.number_categories
        ):
            return None
        if not rows.flags.aligned or rows.dtype not in (np.float32, np.float64):
            return None
        check_finite(rows, threads)
        return rows

    def convert(self, frame: Any) -> ConvertedFeatures:
        """Return the features of a frame, found by name and converted as those of the training data were."""
        return convert_like(frame, self.feature_names, self.model.n_features, self.categories)

    def coded(self, data: RankingData) -> RankingData:
        """Return data to continue training with: the same features, with categories coded as those of the training data were."""
        check_names(data.feature_names, self.feature_names)
        if data.n_features != self.model.n_features:  # refused by training, in its own words
            return data
        own = (data.categorical_features or {}).keys() & set(self.model.category_features.tolist())
        return with_categories(data, {**dict.fromkeys(own), **(self.categories or {})} or None)

    @property
    def number_categories(self) -> Categories:
        """The categorical features whose codes the model compares or weights as if they were numbers."""
        if self.categories is None:
            return {}
        split = set(self.model.category_features.tolist())
        return {column: names for column, names in self.categories.items() if column not in split}

    def features(self, rows: RankingData | npt.ArrayLike) -> Features:
        """Return the features of rows as the model takes them; those of a RankingData in its grouped order.

        A category that was not in the training data is a missing value to a model that takes codes as numbers: its place in a
        list of names says nothing about it. Splits by category send unknown categories where missing values go.
        """
        return without_unknown(self._converted(rows), self.number_categories)

    def _converted(self, rows: RankingData | npt.ArrayLike) -> Features:
        if isinstance(rows, RankingData):
            data = match_features(rows, self.model.n_features, self.feature_names, self.categories)
            return data.features if self.normalize is None else normalize(data, self.normalize).features
        if self.normalize is not None:
            raise DataError(
                f"the model rescales features inside each query (normalize={self.normalize!r}), so it scores whole queries: "
                "give podium.RankingData(X, y, qid), with any y"
            )
        given = self.convert(rows) if is_frame(rows) else convert_features(rows)
        check_finite(given.values, resolve_threads(None), given.names)
        if given.categories is None:
            return given.values
        return recode(given.values, given.categories, self.categories, given.names)[0]


def load_scorer(path: str | os.PathLike[str]) -> Scorer:
    """Load a saved model for scoring alone: no training code, scikit-learn or SciPy is imported.

    `podium.load` gives the whole ranker, which can also be inspected, explained and trained further.

    Args:
        path: the file of the model.
    """
    artifact = load_artifact(path)
    return Scorer.of(artifact.header, artifact.arrays, path)


def match_features(
    data: RankingData,
    n_features: int,
    feature_names: Sequence[str] | None,
    categories: Categories | None,
    *,
    what: str = "the data",
    known_by: str = "the model was trained on",
) -> RankingData:
    """Return data with the features a model was trained on; a DataError says what cannot be matched.

    Features are matched by name if both sides have names (see `podium.data.matching`), and by position otherwise. Sparse text
    may omit the last features, which are filled in with a warning. Categories get the codes of the training data.
    Data with another number of features is returned as it is, for the model to refuse.
    `what` and `known_by` say in messages what the data is, and where the features to find come from.
    """
    missing = n_features - data.n_features
    if missing > 0 and data.absent_value is not None and data.feature_names is None:
        taken = f"the other {missing} are" if missing > 1 else "the other is"
        counts_as = "0" if data.absent_value == 0 else "missing"
        warnings.warn(
            f"the data has {data.n_features} features, but the model has {n_features}; {taken} taken as {counts_as}",
            stacklevel=4,
        )
        rest = np.full((data.n_documents, missing), data.absent_value, np.float32)
        data = data.replace_grouped(features=np.concatenate([data.features, rest], axis=1))
    columns = match_columns(data.feature_names, feature_names, n_features, data=what, known_by=known_by, stacklevel=5)
    if columns is not None:
        data = select_features(data, columns)
    return with_categories(data, categories) if data.n_features == n_features else data


def load_categories(saved: Any, n_features: int) -> Categories | None:
    """Return categories as a model's header holds them: a list of [column, names or null]."""
    if saved is None:
        return None
    found = {int(column): None if names is None else tuple(str(name) for name in names) for column, names in saved}
    if not all(0 <= column < n_features for column in found):
        raise ValueError(f"categories of features that are not among the {n_features}")
    return found


def save_categories(categories: Categories | None) -> list[Any] | None:
    """Return categories as a model's header holds them."""
    return None if categories is None else [[column, names and list(names)] for column, names in categories.items()]


def check_finite(features: npt.NDArray[Any], threads: int, names: Sequence[str] | None = None) -> None:
    """Check that no feature is infinite or too large for float32; NaN is a missing value."""
    if not _core.any_infinite(features, threads):
        return
    with np.errstate(over="ignore"):
        row, column = (int(place) for place in np.argwhere(np.isinf(features.astype(np.float32)))[0])
    raise DataError(
        f"feature {feature_name(column, names)!r} of row {row} is infinite, or too large for float32; use NaN for a missing value"
    )


def check_names(given: Sequence[str] | None, known: Sequence[str] | None) -> None:
    """Check that named features are the ones trained on, in the same order."""
    if given is None or known is None or list(given) == list(known):
        return
    strange = [name for name in given if name not in set(known)]
    missing = [name for name in known if name not in set(given)]
    parts = [f"unknown: {short_list(strange)}" if strange else "", f"missing: {short_list(missing)}" if missing else ""]
    what = "; ".join(part for part in parts if part) or "another order"
    raise DataError(f"the features are not those the model was trained on ({what}); give the same in the same order")
