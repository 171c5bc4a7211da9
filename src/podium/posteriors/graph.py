"""Pairs as a graph: documents are numbered from 0, and each has a name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data import Pairs, RankingData
from podium.data.arrays import refuse_masked
from podium.data.grouping import distinct, is_missing, plain_ids
from podium.errors import DataError, short_repr
from podium.posteriors.votes import Votes

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Graph:
    """Pairs between documents 0 … n − 1, with the name of each document and, if known, its query."""

    winner: Ints
    loser: Ints
    probability: Floats
    weight: Floats
    documents: npt.NDArray[Any]
    queries: npt.NDArray[Any] | None = None

    def __post_init__(self) -> None:
        if not (self.weight > 0).any():
            raise DataError("there is no pair with a weight above 0; give at least one")


def graph_of(
    pairs: Pairs | RankingData | npt.ArrayLike,
    loser: npt.ArrayLike | None,
    probability: npt.ArrayLike | None,
    weight: npt.ArrayLike | None,
) -> Graph:
    """Return the graph of Pairs, of data that holds pairs, or of the ids of winners and losers."""
    if not isinstance(pairs, Pairs | RankingData):
        if loser is None:
            raise DataError(
                f"pairs={short_repr(pairs)} must be Pairs, RankingData with pairs, or ids of winners followed by those of losers"
            )
        return _of_ids(pairs, loser, 1.0 if probability is None else probability, 1.0 if weight is None else weight)
    if any(given is not None for given in (loser, probability, weight)):
        raise DataError(f"{type(pairs).__name__} holds losers, probabilities and weights itself; give nothing else")
    if isinstance(pairs, RankingData):
        return _of_data(pairs)
    if (np.minimum(pairs.winner, pairs.loser) < 0).any():
        raise DataError("pairs: a row number is negative; rows count from 0")
    count = int(max(pairs.winner.max(initial=-1), pairs.loser.max(initial=-1))) + 1
    return Graph(pairs.winner, pairs.loser, pairs.probability, pairs.weight, np.arange(count))


def _of_ids(winner: npt.ArrayLike, loser: npt.ArrayLike, probability: npt.ArrayLike, weight: npt.ArrayLike) -> Graph:
    sides = [_as_ids(name, ids) for name, ids in (("winner", winner), ("loser", loser))]
    codes, documents = distinct(np.concatenate(sides))
    for k, (one, other) in enumerate(zip(*sides, strict=False)):
        if one == other:
            raise DataError(f"pair {k} sets document {short_repr(one)} above itself; leave it out")
    numbers = Pairs.of(codes[: len(sides[0])], codes[len(sides[0]) :], probability, weight)
    return Graph(numbers.winner, numbers.loser, numbers.probability, numbers.weight, documents)


def _as_ids(name: str, ids: npt.ArrayLike) -> npt.NDArray[Any]:
    given = np.atleast_1d(np.asarray(refuse_masked(name, ids, "every pair needs two documents")))
    if given.ndim != 1 or given.dtype.kind not in "iuUSOT":
        raise DataError(
            f"{name} is {given.dtype} of shape {given.shape}; give a flat list of ids, text or whole numbers"
        )
    values = given.astype(object)
    for k, value in enumerate(values.tolist()):
        if is_missing(value):
            raise DataError(f"{name}[{k}] is {value}; every pair needs two documents")
    return values


def _of_data(data: RankingData) -> Graph:
    if data.pairs is None:
        raise DataError("the data holds no pairs; give it some with data.replace(pairs=…)")
    names = (
        data.to_caller_order(np.asarray(data.document_ids)) if data.document_ids is not None else np.arange(len(data))
    )
    pairs, queries = data.to_caller_order(data.pairs), data.to_caller_order(data.document_queries)
    return Graph(
        pairs.winner,
        pairs.loser,
        pairs.probability,
        pairs.weight,
        names,
        _as_objects(plain_ids(data.query_ids))[queries],
    )


def graph_of_votes(votes: Votes) -> Graph:
    """Return the graph of votes: a document of two queries is two documents, and a tie is half a vote for each side."""
    codes, documents = distinct(np.concatenate([np.asarray(votes.first), np.asarray(votes.second)]))
    queries = None
    if votes.query_ids is not None:
        query_codes, ids = distinct(np.tile(np.asarray(votes.query_ids), 2))
        codes, both = distinct(query_codes * len(documents) + codes)
        queries, documents = _as_objects(ids)[both // len(documents)], documents[both % len(documents)]
    winner, loser = codes[: len(votes)], codes[len(votes) :]
    return Graph(winner, loser, votes.probabilities(prior=0), votes.totals, _as_objects(documents), queries)


def _as_objects(values: Sequence[Any] | npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the values as an array of Python objects, each of them one entry, tuples too."""
    array = np.empty(len(values), object)
    array[:] = [str(value) if isinstance(value, str) else value for value in values]
    return array
