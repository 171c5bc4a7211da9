"""Convert what callers pass (arrays, lists, frames, series, sparse matrices) to the parts that RankingData holds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data.arrays import real_numbers, refuse_masked
from podium.data.feature_names import feature_indices
from podium.data.frame_columns import Frame, is_frame
from podium.data.grouping import as_ids
from podium.data.pairs import Pairs
from podium.data.strings import Strings
from podium.errors import DataError, short_repr

Array = npt.NDArray[Any]
PER_DOCUMENT = ("features", "labels", "document_ids", "document_weights", "pairs")  # parts that follow the row order


@dataclass(frozen=True)
class Features:
    """Features as RankingData holds them, with the names and categories that a frame gives."""

    values: npt.NDArray[np.float32]
    names: tuple[str, ...] | None = None
    categories: Mapping[int, tuple[str, ...] | None] | None = None


def convert_features(X: Any, categorical_features: Any = None) -> Features:
    """Return X as float32 [rows × features] in C order, without a copy if it is that already; masked or null is NaN.

    `categorical_features` names the columns of a frame to take as categories, whatever their type; those of an array hold codes.
    """
    if is_frame(X):
        return _frame_features(Frame(X), categorical_features)
    if hasattr(X, "toarray"):  # a SciPy sparse matrix: absent means 0
        X = X.toarray()
    try:
        values = real_numbers(X, np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"X must be numbers [rows × features]: {error}") from None
    if values.ndim != 2:
        raise DataError(f"X has {values.ndim} dimensions; it must have 2, [rows × features]")
    return Features(np.require(values, requirements=["C", "A"]))


def as_features(X: Any) -> npt.NDArray[np.float32]:
    """Return X as float32 [rows × features]; see `convert_features`."""
    return convert_features(X).values


def _frame_features(frame: Frame, categorical_features: Any) -> Features:
    names = tuple(frame.names)
    chosen: Any = () if categorical_features is None else categorical_features
    coded = set(feature_indices(list(chosen) if isinstance(chosen, Mapping) else chosen, names, len(names)))
    values = np.empty((frame.n_rows, len(names)), np.float32)
    categories: dict[int, tuple[str, ...] | None] = {}
    for column, name in enumerate(names):
        made = frame.feature(name, categorical=column in coded and not isinstance(chosen, Mapping))
        with np.errstate(over="ignore"):  # RankingData reports what is infinite as float32
            values[:, column] = made.values
        if made.categories is not None:
            categories[column] = made.categories
    return Features(values, names, categories or None)


def as_number(given: object) -> float | int | None:
    """Return a finite number, as an int if it is one, so that equal values print alike; None for anything else."""
    if isinstance(given, np.ndarray) and given.ndim == 0:
        given = given.item()
    if isinstance(given, bool | np.bool_):
        return None
    if isinstance(given, Integral):
        return int(given)  # not through float, which would change a large one
    if not isinstance(given, Real | Decimal):
        return None
    try:
        number = float(given)
    except (OverflowError, ValueError):
        return None
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() else number


def as_numbers(name: str, values: Any) -> npt.NDArray[np.float64]:
    """Return real numbers as a float64 array in C order; a matrix of one column becomes flat, and masked or null is NaN."""
    try:
        numbers = real_numbers(values, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{name} must be numbers: {error}") from None
    return np.ascontiguousarray(numbers[:, 0]) if numbers.ndim == 2 and numbers.shape[1] == 1 else numbers


def as_column(name: str, values: npt.ArrayLike, rows: int) -> npt.NDArray[np.float64]:
    """Return one float64 per row."""
    column = as_numbers(name, values)
    if column.shape != (rows,):
        raise DataError(f"{name} has shape {column.shape} for {rows} rows; give one number per row")
    return column


def as_weights(name: str, values: npt.ArrayLike, count: int) -> npt.NDArray[np.float64]:
    """Return `count` weights; raise a DataError unless each is finite and not negative."""
    weights = as_column(name, values, count)
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        k = int(np.argmax(bad))
        raise DataError(f"{name}[{k}] = {weights[k]} must be finite and not negative")
    return weights


def as_query_weights(
    given: Mapping[Any, float] | npt.ArrayLike | None, query_ids: Array
) -> npt.NDArray[np.float64] | None:
    """Return one weight per query, from a mapping by query id or from an array in the order of the queries."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        missing = [key for key in query_ids.tolist() if key not in given]
        if missing:
            raise DataError(
                f"query_weights has no weight for query {missing[0]!r} ({len(missing)} are missing); give one for each"
            )
        given = [given[key] for key in query_ids.tolist()]
    return as_weights("query_weights", given, len(query_ids))


def as_feature_names(names: Any) -> tuple[str, ...] | None:
    """Return one text per column, no two the same."""
    if names is None:
        return None
    if isinstance(names, str):
        raise DataError(f"feature_names={short_repr(names)} must be a list of names, one per column")
    texts = tuple(str(name) for name in names)
    if len(set(texts)) != len(texts):
        twice = next(column for column, name in enumerate(texts) if name in texts[:column])
        raise DataError(
            f"feature_names: {texts[twice]!r} names columns {texts.index(texts[twice])} and {twice}; give each feature a name of its own"
        )
    return texts


def as_row_numbers(name: str, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return row numbers as int64."""
    given = np.asarray(refuse_masked(name, values, "give a whole number"))
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise DataError(f"{name} is {given.dtype} of shape {given.shape}; it must be a flat array of whole numbers")
    return given.astype(np.int64, copy=False)


def as_part(name: str, value: Any, query_ids: Array, rows: int) -> Any:
    """Return a part of RankingData in the type that it is held in; `query_ids` are those that query weights go by."""
    if value is None:
        if name in ("features", "labels", "query_ids"):
            raise DataError(f"{name} cannot be None; every data set has them")
        return None
    if name == "features":
        return _one_per_row(name, as_features(value), rows)
    if name == "query_weights":
        return as_query_weights(value, query_ids)
    if name in ("labels", "document_weights"):
        return as_column(name, value, rows)
    if name == "query_ids":
        return as_ids(value, len(value) if hasattr(value, "__len__") else 0)
    if name == "document_ids":
        return _one_per_row(name, Strings.of(value, name), rows)
    return as_feature_names(value) if name == "feature_names" else as_pairs(value)


def _one_per_row(name: str, part: Any, rows: int) -> Any:
    if len(part) != rows:
        raise DataError(f"{name} has {len(part)} entries for {rows} rows; give one per row")
    return part


def as_pairs(pairs: Any) -> Pairs | None:
    """Return the pairs, or None; raise a DataError for anything else."""
    if pairs is not None and not isinstance(pairs, Pairs):
        raise DataError(f"pairs={short_repr(pairs)} must be Pairs; make them with podium.Pairs.of(winner, loser)")
    return pairs
