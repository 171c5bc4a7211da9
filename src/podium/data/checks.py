"""The rules that every RankingData keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data.conversion import as_weights
from podium.data.feature_names import feature_name
from podium.data.grouping import first_appearance_codes, plain_ids
from podium.data.ordering import check_row_numbers, check_row_order
from podium.data.pairs import Pairs
from podium.errors import DataError, short_repr
from podium.threads import resolve_threads

if TYPE_CHECKING:
    from podium.data.ranking_data import RankingData

Array = npt.NDArray[Any]


def check_shapes(data: RankingData) -> None:
    """Check that the parts fit together, at a cost that does not grow with the features."""
    offsets = data.query_offsets
    for name in ("features", "labels", "query_offsets", "query_ids"):
        if not isinstance(getattr(data, name), np.ndarray):
            raise DataError(f"{name} must be an array, not {type(getattr(data, name)).__name__}")
    if data.labels.ndim != 1 or offsets.ndim != 1 or data.query_ids.ndim != 1:
        raise DataError("labels, query_offsets and query_ids must be flat arrays")
    n, q = data.n_documents, data.n_queries
    if data.features.dtype != np.float32 or data.labels.dtype != np.float64 or offsets.dtype != np.int64:
        raise DataError("features must be float32, labels float64 and query_offsets int64")
    if data.features.ndim != 2 or len(data.features) != n:
        raise DataError(f"features have shape {data.features.shape} for {n} labels; give [{n} × features]")
    if not data.features.flags.c_contiguous:
        raise DataError("features must be in C order, row after row; use np.ascontiguousarray")
    if len(offsets) != q + 1 or offsets[0] != 0 or offsets[-1] != n or (np.diff(offsets) < 1).any():
        raise DataError(f"query_offsets must rise from 0 to {n} in {q} steps of at least 1")
    for name, count in (
        ("document_ids", n),
        ("document_weights", n),
        ("query_weights", q),
        ("row_order", n),
        ("feature_names", data.n_features),
    ):
        part = getattr(data, name)
        if part is not None and len(part) != count:
            raise DataError(f"{name} has {len(part)} entries; {count} are needed")


def check_values(data: RankingData) -> None:
    """Check that the values are ones a ranker can learn from."""
    if data.n_documents == 0:
        raise DataError("there are no documents; a data set needs at least one row")
    bad = ~np.isfinite(data.labels)
    if bad.any():
        k = int(np.argmax(bad))
        raise DataError(
            f"label of row {caller_row(data, k)} is {data.labels[k]}; labels must be finite numbers: "
            f"drop the row or give it a label"
        )
    _refuse_overflowing_labels(data)
    where = _core.first_infinite(data.features, resolve_threads(None))
    if where >= 0:
        row, column = divmod(where, data.n_features)
        raise DataError(
            f"feature {feature_name(column, data.feature_names)!r} of row {caller_row(data, row)} is infinite as float32; "
            f"features must be finite, or NaN where missing"
        )
    for name in ("document_weights", "query_weights"):
        weights = getattr(data, name)
        if weights is not None:
            as_weights(name, weights, len(weights))
    _refuse_repeated_queries(data.query_ids)
    if data.row_order is not None:
        check_row_order(data.row_order, data.n_documents)
    if data.pairs is not None:
        check_pairs(data.pairs, data.query_offsets)


def _refuse_overflowing_labels(data: RankingData) -> None:
    """Refuse labels whose sum in a query is infinite, because metrics and forces add them up."""
    largest = float(np.abs(data.labels).max())
    if largest < 1e300:  # no memory holds enough documents for an overflow
        return
    with np.errstate(over="ignore"):
        sums = np.add.reduceat(np.abs(data.labels), data.query_offsets[:-1])
    if not np.isfinite(sums).all():
        query = int(np.argmin(np.isfinite(sums)))
        first, last = data.query_offsets[query : query + 2]
        row = int(first + np.argmax(np.abs(data.labels[first:last])))
        raise DataError(
            f"the labels of query {plain_ids(data.query_ids[query : query + 1])[0]} sum to more than a float64 can hold "
            f"(row {caller_row(data, row)} has {data.labels[row]:g}); rescale the labels"
        )


def caller_row(data: RankingData, document: int) -> int:
    """Return the caller's row of a grouped document."""
    return document if data.row_order is None else int(data.row_order[document])


def _refuse_repeated_queries(query_ids: Array) -> None:
    codes, count = first_appearance_codes(query_ids)
    if count < len(codes):
        k = int(np.argmax(codes != np.arange(len(codes))))
        raise DataError(
            f"query_ids: {short_repr(plain_ids(query_ids[k : k + 1])[0])} occurs twice, the second time as query {k}; give each query its own id"
        )


def check_pairs(pairs: Pairs, offsets: Array) -> None:
    """Check that the rows of each pair exist and belong to one query, and that its numbers are in range."""
    pairs.check()
    for name, rows in (("winner", pairs.winner), ("loser", pairs.loser)):
        check_row_numbers(name, rows, int(offsets[-1]))
    across = np.searchsorted(offsets, pairs.winner, "right") != np.searchsorted(offsets, pairs.loser, "right")
    if across.any():
        k = int(np.argmax(across))
        raise DataError(
            f"pairs: pair {k} joins documents of two queries; both documents of a pair must belong to one query"
        )
