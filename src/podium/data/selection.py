"""Some of the queries or documents of a data set, with the parts that belong to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from podium.data.arrays import refuse_masked
from podium.data.ordering import ranked_rows
from podium.data.pairs import Pairs
from podium.errors import DataError

if TYPE_CHECKING:
    from podium.data.ranking_data import RankingData

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]


def query_numbers(queries: npt.ArrayLike, n_queries: int) -> Ints:
    """Return query numbers given as numbers or as a mask; each must exist and occur once."""
    given = np.atleast_1d(np.asarray(refuse_masked("queries", queries, "give query numbers or a mask")))
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iub"):
        raise DataError(f"queries are {given.dtype} of shape {given.shape}; give query numbers or a mask")
    if given.dtype == bool and len(given) != n_queries:
        raise DataError(f"the mask has {len(given)} values for {n_queries} queries; give one value per query")
    chosen = np.flatnonzero(given) if given.dtype == bool else given.astype(np.int64)
    if not chosen.size:
        raise DataError("no query is selected; a data set needs at least one row")
    if chosen.min() < 0 or chosen.max() >= n_queries:
        raise DataError(f"queries {chosen.min()}..{chosen.max()} are asked for of {n_queries}; numbers start at 0")
    if len(np.unique(chosen)) != len(chosen):
        raise DataError("a query is selected twice; select each at most once")
    return chosen


def document_mask(keep: npt.ArrayLike, n_documents: int) -> npt.NDArray[np.bool_]:
    """Return a mask with one True or False per document, at least one of them True."""
    mask = np.asarray(refuse_masked("keep", keep, "give True or False"))
    if mask.dtype != bool or mask.shape != (n_documents,):
        raise DataError(
            f"the mask is {mask.dtype} of shape {mask.shape}; give one True or False for each of {n_documents} documents"
        )
    if not mask.any():
        raise DataError("no document is selected; a data set needs at least one row")
    return mask


def rows_of_queries(query_offsets: Ints, chosen: Ints) -> tuple[slice | Ints, Ints]:
    """Return (the grouped rows of the chosen queries, their new offsets); a slice if the queries are neighbors."""
    sizes = np.diff(query_offsets)[chosen]
    offsets = _offsets(sizes)
    if (np.diff(chosen) == 1).all():
        return slice(int(query_offsets[chosen[0]]), int(query_offsets[chosen[-1] + 1])), offsets
    return np.arange(offsets[-1]) + np.repeat(query_offsets[:-1][chosen] - offsets[:-1], sizes), offsets


def rows_of_mask(query_offsets: Ints, mask: npt.NDArray[np.bool_]) -> tuple[Ints, Ints, Ints]:
    """Return (the grouped rows of a mask, their new offsets, the queries that keep a document)."""
    sizes = np.add.reduceat(mask, query_offsets[:-1], dtype=np.int64)
    left = np.flatnonzero(sizes)
    return np.flatnonzero(mask), _offsets(sizes[left]), left


def select_rows(
    data: RankingData, rows: slice | Array, offsets: Ints, queries: Ints, *, keeps_order: bool
) -> dict[str, Any]:
    """Return the parts of grouped rows that belong to the given queries.

    With `keeps_order` the caller's rows keep their order among themselves; otherwise they follow the grouped rows.
    """
    return {
        "features": data.features[rows],
        "labels": data.labels[rows],
        "query_offsets": offsets,
        "query_ids": data.query_ids[queries],
        "document_ids": None if data.document_ids is None else data.document_ids[rows],
        "document_weights": None if data.document_weights is None else data.document_weights[rows],
        "query_weights": None if data.query_weights is None else data.query_weights[queries],
        "pairs": None if data.pairs is None else _pairs_inside(data.pairs, rows, data.n_documents, int(offsets[-1])),
        "feature_names": data.feature_names,
        "categorical_features": data.categorical_features,
        "absent_value": data.absent_value,
        "row_order": ranked_rows(data.row_order, rows) if keeps_order else None,
    }


def _pairs_inside(pairs: Pairs, rows: slice | Array, before: int, after: int) -> Pairs:
    position = np.full(before, -1, np.int64)
    position[rows] = np.arange(after)
    kept = (position[pairs.winner] >= 0) & (position[pairs.loser] >= 0)
    return Pairs(position[pairs.winner[kept]], position[pairs.loser[kept]], pairs.probability[kept], pairs.weight[kept])


def _offsets(sizes: Ints) -> Ints:
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets
