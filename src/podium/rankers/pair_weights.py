"""Query weights that average costs over pairs of documents, so that a penalty has the same meaning for lists of any length."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from podium.data import RankingData


def average_over_pairs(data: RankingData, *, query_norm: bool) -> RankingData:
    """Return the data with query weights that make the mean cost of a query the mean cost of a pair.

    With `query_norm` it is the mean over queries of the mean cost of their pairs.
    """
    pairs = _pair_weights(data)
    own = np.ones(data.n_queries) if data.query_weights is None else data.query_weights
    if query_norm:
        total = math.fsum(own[pairs > 0])
        weights = own / np.where(pairs > 0, pairs, 1.0)
    else:
        total, weights = math.fsum(own * pairs), own
    return data.replace(query_weights=weights * (data.n_queries / total if total > 0 else 1.0))


def _pair_weights(data: RankingData) -> npt.NDArray[np.float64]:
    """Return the total weight of each query's pairs. Without explicit pairs it is ((Σw)² − Σ over levels of (Σw)²) / 2."""
    weight = np.ones(data.n_documents) if data.document_weights is None else data.document_weights
    if data.pairs is not None:
        each = data.pairs.weight * weight[data.pairs.winner] * weight[data.pairs.loser]
        return np.asarray(np.bincount(data.document_queries[data.pairs.winner], each, data.n_queries), np.float64)
    queries = data.document_queries
    order = np.lexsort((data.labels, queries))
    starts = np.flatnonzero(np.diff(queries[order], prepend=-1) | (np.diff(data.labels[order], prepend=np.nan) != 0))
    levels = np.add.reduceat(weight[order], starts)
    of = queries[order][starts]
    whole, same = (np.bincount(of, values, data.n_queries) for values in (levels, levels**2))
    return np.asarray((whole**2 - same) / 2)
