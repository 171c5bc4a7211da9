"""Split a data set into parts or folds of whole queries."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from podium.data.hashing import query_hashes
from podium.data.ranking_data import RankingData
from podium.errors import DataError, ParameterError, is_integer


def split(data: RankingData, shares: float | Sequence[float] = (0.8, 0.2), *, seed: int = 0) -> list[RankingData]:
    """Split the data into parts of whole queries; every query is in at most one part.

    Queries are chosen by a hash of the seed and the query id, so the parts hold the same queries whatever the order of the queries
    in the data. A part keeps that order. The sizes differ from the shares by less than one query.

    Args:
        data: The data.
        shares: The share of the queries for each part. A single number makes two parts: that share and the rest. Shares that sum
            to less than 1 leave queries out.
        seed: The same seed gives the same parts.
    """
    sizes = _as_shares(shares)
    cuts = np.rint(np.append(0.0, np.cumsum(sizes)) * data.n_queries).astype(np.int64)
    for share, count in zip(sizes, np.diff(cuts), strict=True):
        if count == 0:
            raise DataError(
                f"a share of {share:g} of {data.n_queries} queries is less than one query; give a larger share or more queries"
            )
    order = _hash_order(data, seed)
    return [data.select(np.sort(order[a:b])) for a, b in itertools.pairwise(cuts)]


def folds(data: RankingData, k: int, *, seed: int = 0) -> Iterator[tuple[RankingData, RankingData]]:
    """Yield (train, test) for each of k folds: every query is in one test part and in the training parts of the other folds.

    Queries are chosen as in `split`. Folds are made one at a time, because each holds a copy of the data.

    Args:
        data: The data.
        k: The number of folds.
        seed: The same seed gives the same folds.
    """
    return ((data.select(train), data.select(test)) for train, test in query_folds(data, k, seed=seed))


def query_folds(
    data: RankingData, k: int, *, seed: int = 0
) -> list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Return the query numbers of (train, test) for each of k folds, in ascending order."""
    every = np.arange(data.n_queries)
    return [(np.setdiff1d(every, part), part) for part in query_parts(data, k, seed=seed)]


def query_parts(data: RankingData, k: int, *, seed: int = 0) -> list[npt.NDArray[np.int64]]:
    """Return the query numbers of k parts of nearly equal size, in ascending order within each part."""
    if not is_integer(k) or k < 2:
        raise ParameterError("k", k, "must be a whole number of at least 2")
    if k > data.n_queries:
        raise DataError(
            f"{k} folds of {data.n_queries} queries would leave a fold empty; use at most as many folds as queries"
        )
    return [np.sort(part) for part in np.array_split(_hash_order(data, seed), k)]


def _hash_order(data: RankingData, seed: int) -> npt.NDArray[np.int64]:
    return np.argsort(query_hashes(data.query_ids, seed), kind="stable")


def _as_shares(shares: float | Sequence[float]) -> npt.NDArray[np.float64]:
    try:
        given = np.asarray(shares, np.float64)
    except (TypeError, ValueError):
        raise ParameterError("shares", shares, "must be numbers, such as (0.8, 0.2)") from None
    if given.ndim == 0:
        if not 0 < given < 1:
            raise ParameterError("shares", shares, "must be between 0 and 1, such as 0.8 for 80 % and 20 %")
        return np.array([given, 1 - given])
    if given.ndim != 1 or not given.size or not (given > 0).all():
        raise ParameterError("shares", shares, "must be numbers above 0, such as (0.8, 0.2)")
    if given.sum() > 1 + 1e-9:
        raise ParameterError("shares", shares, f"sum to {given.sum():g}", "the sum may be at most 1")
    return given
