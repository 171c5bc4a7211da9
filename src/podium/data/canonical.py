"""What makes two data sets the same to training: one order of the queries, whatever that of the file, and one fingerprint."""

from __future__ import annotations

import hashlib
import json
import os

import numpy as np
import numpy.typing as npt

from podium.data.hashing import own_texts, query_hashes, splitmix64
from podium.data.ranking_data import RankingData
from podium.errors import DataError, short_repr

Order = npt.NDArray[np.int64]


def check_data(name: str, given: object) -> None:
    """Raise a DataError unless what was given is a RankingData."""
    refuse_path(name, given)
    if not isinstance(given, RankingData):
        raise DataError(
            f"{name} is a {type(given).__name__}; give podium.RankingData(X, y, qid), or what podium.read returns"
        )


def refuse_path(name: str, given: object) -> None:
    """Raise a DataError if the name of a file is given instead of its content."""
    if isinstance(given, str | os.PathLike):
        raise DataError(
            f"{name}={short_repr(given)} is the name of a file; read it first with podium.read({str(given)!r})"
        )


def canonical_order(data: RankingData) -> Order:
    """Return the query numbers in an order that depends on the query ids alone, so that sums over queries do too."""
    return np.argsort(query_hashes(data.query_ids, 0), kind="stable")


def shuffled_order(keys: npt.NDArray[np.uint64], seed: int, round: int) -> Order:
    """Return the query numbers in a random order that is a function of the seed, the round and the hashes of the query ids."""
    start = splitmix64(splitmix64(np.array([seed], np.uint64)) ^ np.uint64(round))
    return np.lexsort((keys, splitmix64(splitmix64(keys ^ start)))).astype(np.int64)


def fingerprint(data: RankingData) -> str:
    """Return a SHA-256 of the data, equal for the same queries in any order. It is computed once and kept with the data."""
    try:
        return data._fingerprint
    except AttributeError:
        object.__setattr__(data, "_fingerprint", compute_fingerprint(data))
        return data._fingerprint


def compute_fingerprint(data: RankingData) -> str:
    """Return the SHA-256 of the digests of the queries, which are sorted."""
    coded = json.dumps(sorted((data.categorical_features or {}).items())) if data.categorical_features else ""
    queries = np.empty(0, np.int64) if data.pairs is None else data.document_queries[data.pairs.winner]
    by_query = np.argsort(queries, kind="stable")
    bounds = np.searchsorted(queries[by_query], np.arange(data.n_queries + 1))
    digests = []
    for q, name in enumerate(own_texts(data.query_ids.tolist())):
        rows = slice(int(data.query_offsets[q]), int(data.query_offsets[q + 1]))
        digest = hashlib.sha256(f"{name}\n{rows.stop - rows.start}×{data.n_features}\n{coded}".encode())
        digest.update(np.ascontiguousarray(data.features[rows]).data)
        digest.update(np.ascontiguousarray(data.labels[rows]).data)
        if data.document_weights is not None:
            digest.update(b"document_weights" + data.document_weights[rows].tobytes())
        if data.query_weights is not None:
            digest.update(b"query_weight" + data.query_weights[q].tobytes())
        if data.pairs is not None:
            chosen = by_query[bounds[q] : bounds[q + 1]]
            digest.update(b"pairs" + (data.pairs.winner[chosen] - rows.start).tobytes())
            digest.update((data.pairs.loser[chosen] - rows.start).tobytes())
            digest.update(data.pairs.probability[chosen].tobytes() + data.pairs.weight[chosen].tobytes())
        digests.append(digest.digest())
    return hashlib.sha256(b"".join(sorted(digests))).hexdigest()
