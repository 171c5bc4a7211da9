"""Rescale features: inside each query, or by the logarithm of counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from podium.data.blocks import query_blocks
from podium.data.checks import caller_row
from podium.data.feature_names import feature_indices, feature_name
from podium.data.ranking_data import RankingData
from podium.errors import DataError, ParameterError, UnknownNameError

Block = npt.NDArray[np.float64]
Offsets = npt.NDArray[np.int64]


def normalize(data: RankingData, method: str, *, features: Sequence[int | str] | None = None) -> RankingData:
    """Return the data with features rescaled; missing values are ignored and stay missing.

    Args:
        data: The data to rescale; it stays as it is.
        method: How to rescale: 'minmax', 'zscore' or 'log'.
        features: The features to rescale, by name or number; by default all that are not categorical.
    """
    if method not in NORMALIZATIONS:
        raise UnknownNameError("normalization", method, NORMALIZATIONS)
    rescale = NORMALIZATIONS[method]
    columns = _columns(data, features)
    result = np.empty_like(data.features, order="C") if isinstance(columns, slice) else data.features.copy()
    for first, last in query_blocks(data):
        rows = slice(int(data.query_offsets[first]), int(data.query_offsets[last]))
        block = data.features[rows, columns].astype(np.float64)
        result[rows, columns] = rescale(block, data.query_offsets[first:last] - rows.start)
        if method == "log":
            _refuse_negative(data, block, columns, rows.start)
    return data.replace_grouped(features=result)


def _columns(data: RankingData, features: Sequence[int | str] | None) -> slice | npt.NDArray[np.int64]:
    coded = data.categorical_features or {}
    if features is None:
        return np.setdiff1d(np.arange(data.n_features), list(coded)) if coded else slice(None)
    columns = feature_indices(features, data.feature_names, data.n_features)
    for column in columns:
        if column in coded:
            name = feature_name(column, data.feature_names)
            raise ParameterError("features", features, f"names {name!r}, whose values are categories", "leave it out")
    return np.array(columns, np.int64)


def _minmax(block: Block, starts: Offsets) -> Block:
    """Return (x - min) / (max - min) inside each query; 0 if the feature is constant in the query."""
    sizes = np.diff(starts, append=len(block))
    low = np.fmin.reduceat(block, starts, axis=0)
    spread = np.fmax.reduceat(block, starts, axis=0) - low
    spread[spread == 0] = 1.0
    return np.asarray((block - np.repeat(low, sizes, axis=0)) / np.repeat(spread, sizes, axis=0))


def _zscore(block: Block, starts: Offsets) -> Block:
    """Return (x - mean) / standard deviation inside each query (dividing by n, not n - 1); 0 if the feature is constant."""
    sizes = np.diff(starts, append=len(block))
    missing = np.isnan(block)
    absent = np.add.reduceat(missing, starts, axis=0, dtype=np.int64) if missing.any() else 0
    count = np.maximum(sizes[:, None] - absent, 1)
    constant = np.fmax.reduceat(block, starts, axis=0) == np.fmin.reduceat(block, starts, axis=0)
    mean = np.add.reduceat(np.where(missing, 0.0, block), starts, axis=0) / count
    centered = block - np.repeat(mean, sizes, axis=0)
    deviation = np.sqrt(np.add.reduceat(np.where(missing, 0.0, centered) ** 2, starts, axis=0) / count)
    deviation[constant | (deviation == 0)] = np.inf
    # A value below the mean, divided by infinity, is -0.0; adding 0 makes it 0.
    return np.asarray(centered / np.repeat(deviation, sizes, axis=0) + 0.0)


def _log(block: Block, starts: Offsets) -> Block:
    """Return log(1 + x) of counts x ≥ 0."""
    return np.log1p(np.maximum(block, 0.0))


def _refuse_negative(data: RankingData, block: Block, columns: slice | npt.NDArray[np.int64], start: int) -> None:
    if not (block < 0).any():
        return
    row, k = (int(index[0]) for index in np.nonzero(block < 0))
    column = k if isinstance(columns, slice) else int(columns[k])
    raise DataError(
        f"feature {feature_name(column, data.feature_names)!r} of row {caller_row(data, start + row)} is {block[row, k]:g}; 'log' is for counts, which are not negative: "
        f"leave the feature out with features=…, or use 'minmax'"
    )


NORMALIZATIONS: dict[str, Callable[[Block, Offsets], Block]] = {
    "log": _log,
    "minmax": _minmax,
    "zscore": _zscore,
}
