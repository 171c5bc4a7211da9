"""What callers give (arrays, lists, frames, series, sparse matrices), as the arrays RankingData holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.errors import DataError

Array = npt.NDArray[Any]


def as_features(X: Any) -> npt.NDArray[np.float32]:
    """X as float32 [rows × features] in C order, without a copy where it is that already; masked or null is NaN."""
    if hasattr(X, "toarray"):  # a SciPy sparse matrix: absent means 0
        X = X.toarray()
    elif hasattr(X, "dtypes") and hasattr(X, "to_numpy"):  # a pandas frame, whose nulls NumPy cannot convert
        X = _frame_values(X)
    elif hasattr(X, "to_numpy"):
        X = X.to_numpy()
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float32), np.nan)
    try:
        given = np.asarray(X)
        if given.dtype.kind in "cmM":
            raise TypeError(f"{given.dtype} is not a real number")
        with np.errstate(over="ignore"):  # a value too large for float32 is reported later as infinite
            features = np.ascontiguousarray(given, np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"X must be numbers [rows × features]: {error}") from None
    if given.ndim != 2:
        raise DataError(f"X has {given.ndim} dimensions; it must have 2, [rows × features]")
    return features


def _frame_values(frame: Any) -> Array:
    try:
        return np.asarray(frame.to_numpy(dtype=np.float32, na_value=np.nan))
    except (TypeError, ValueError):  # a polars frame, or text in a column: let NumPy say what is wrong
        return np.asarray(frame.to_numpy())


def as_column(name: str, values: npt.ArrayLike, rows: int) -> npt.NDArray[np.float64]:
    """One float64 a row."""
    try:
        given = np.asarray(values)
        if given.dtype.kind in "cmM":
            raise TypeError(f"{given.dtype} is not a real number")
        column = np.ascontiguousarray(given, np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} must be numbers: {error}") from None
    if given.ndim == 2 and given.shape[1] == 1:
        column = column[:, 0]
    if column.shape != (rows,) or given.ndim == 0:
        raise DataError(f"{name} has shape {given.shape} for {rows} rows; give one number a row")
    return column


def as_weights(name: str, values: npt.ArrayLike, count: int) -> npt.NDArray[np.float64]:
    """One finite weight ≥ 0 for each of `count` things."""
    weights = as_column(name, values, count)
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        k = int(np.argmax(bad))
        raise DataError(f"{name}[{k}] = {weights[k]} must be finite and not negative")
    return weights


def as_query_weights(
    given: Mapping[Any, float] | npt.ArrayLike | None, query_ids: Array
) -> npt.NDArray[np.float64] | None:
    """One weight a query, from a mapping by query id or from an array in the order of the queries."""
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
