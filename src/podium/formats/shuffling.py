"""Putting the rows of queries together, with memory for one shard of the data only."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.data.grouping import first_appearance_codes, plain_ids
from podium.errors import DataError, short_repr
from podium.memory import scratch_folder

Integers = npt.NDArray[np.int64]
Features = npt.NDArray[np.float32]
BLOCK_BYTES = 64 << 20  # of features that are moved at a time


@dataclass(frozen=True)
class Places:
    """Where the rows of queries are in data whose query ids may occur more than once.

    Attributes:
        query_offsets: First row of each query, and the end, once rows are together.
        codes: The number of the query of every place, in the order in which queries first appear.
        first: The first place of each query.
        order: The row that goes to each place, or None if rows are together already.
    """

    query_offsets: Integers
    codes: Integers
    first: Integers
    order: Integers | None

    @classmethod
    def of(cls, data: RankingData) -> Places:
        """Find the places of the queries of data."""
        codes, count = first_appearance_codes(data.query_ids)
        if count == data.n_queries:
            return cls(data.query_offsets, codes, np.arange(count), None)
        if data.pairs is not None:
            raise DataError(
                "the rows of a query are not together, and preference pairs name rows by their places; sort the data by query"
            )
        rows = np.repeat(codes, np.diff(data.query_offsets))
        order = np.argsort(rows, kind="stable").astype(np.int64)
        offsets = np.append(0, np.cumsum(np.bincount(rows, minlength=count))).astype(np.int64)
        first = np.zeros(count, np.int64)
        first[codes[::-1]] = np.arange(len(codes))[::-1]
        return cls(offsets, codes, first, order)

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.first)

    @property
    def n_split(self) -> int:
        """Number of queries that are in more than one place."""
        return int((np.bincount(self.codes) > 1).sum())

    def first_split(self, data: RankingData) -> str:
        """Return the id of the first query that is in more than one place."""
        query = int(np.argmax(np.bincount(self.codes) > 1))
        return short_repr(plain_ids(data.query_ids[self.first[[query]]])[0])

    def rows(self, cut: tuple[int, int]) -> Integers:
        """Return the rows of a cut (first query, last query + 1) in their new order."""
        assert self.order is not None
        return self.order[self.query_offsets[cut[0]] : self.query_offsets[cut[1]]]

    def parts(self, data: RankingData, cuts: Sequence[tuple[int, int]]) -> Iterator[RankingData]:
        """Yield the data of each cut, with the rows of its queries together."""
        if self.order is None:
            yield from (data.select(np.arange(first, last)) for first, last in cuts)
            return
        rows = [self.rows(cut) for cut in cuts]
        for cut, chosen, features in zip(cuts, rows, _shuffled(data, rows), strict=True):
            yield RankingData.of_parts(
                check=False, features=features, **self.queries(data, cut), **of_rows(data, chosen)
            )

    def queries(self, data: RankingData, cut: tuple[int, int]) -> dict[str, Any]:
        """Return what the queries of a cut have, and what all of the data has."""
        first, last = cut
        queries = self.first[first:last]
        return {
            "query_offsets": self.query_offsets[first : last + 1] - self.query_offsets[first],
            "query_ids": data.query_ids[queries],
            "query_weights": None if data.query_weights is None else data.query_weights[queries],
            "feature_names": data.feature_names,
            "categorical_features": None if data.categorical_features is None else dict(data.categorical_features),
            "absent_value": data.absent_value,
        }

    def check_query_weights(self, data: RankingData) -> None:
        """Raise an error if a query has different weights in different places."""
        if data.query_weights is None:
            return
        differs = data.query_weights != data.query_weights[self.first[self.codes]]
        if differs.any():
            query = plain_ids(data.query_ids[np.flatnonzero(differs)[:1]])[0]
            raise DataError(
                f"query {short_repr(query)} has different weights in different places; a query has one weight"
            )


def of_rows(data: RankingData, rows: Integers) -> dict[str, Any]:
    """Return what some rows have besides their features."""
    return {
        "labels": data.labels[rows],
        "document_ids": None if data.document_ids is None else data.document_ids[rows],
        "document_weights": None if data.document_weights is None else data.document_weights[rows],
    }


def feature_blocks(data: RankingData) -> Iterator[tuple[int, Features]]:
    """Yield the features in the order in which they lie, each block with its first row."""
    step = max(1, BLOCK_BYTES // (4 * data.n_features + 4))
    for row in range(0, data.n_documents, step):
        yield row, np.asarray(data.features[row : row + step])


def targets(rows: Sequence[Integers], count: int) -> npt.NDArray[np.int32]:
    """Return the number of the part that each row goes to."""
    target = np.empty(count, np.int32)
    for number, chosen in enumerate(rows):
        target[chosen] = number
    return target


def _shuffled(data: RankingData, rows: Sequence[Integers]) -> Iterator[Features]:
    """Yield the features of each part, after every row was appended to a temporary file of its part."""
    target = targets(rows, data.n_documents)
    with tempfile.TemporaryDirectory(dir=scratch_folder(), prefix="podium-") as folder:
        with contextlib.ExitStack() as opened:
            files: list[IO[bytes]] = [
                opened.enter_context((Path(folder) / str(number)).open("wb")) for number in range(len(rows))
            ]
            for row, block in feature_blocks(data):
                numbers = target[row : row + len(block)]
                for number in np.unique(numbers):
                    files[number].write(block[numbers == number].data)
        for number, chosen in enumerate(rows):
            path = Path(folder) / str(number)
            held = np.fromfile(path, np.float32).reshape(len(chosen), data.n_features)
            path.unlink()
            yield held[_ranks(chosen)]


def _ranks(rows: Integers) -> Integers:
    """Return the place of each row among these rows in ascending order."""
    return np.searchsorted(np.sort(rows), rows)
