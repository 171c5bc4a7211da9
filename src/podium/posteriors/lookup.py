"""Finds the rows of the documents that votes name in a data set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data import RankingData, Strings
from podium.data.grouping import id_texts
from podium.errors import DataError

Ints = npt.NDArray[np.int64]
RULE = "documents are compared only inside their query"


class RowLookup:
    """The rows of a data set by query and document; queries are compared by the text of their ids."""

    def __init__(self, data: RankingData, by: str) -> None:
        self.queries = id_texts(data.query_ids)
        self.numbers = {text: number for number, text in enumerate(self.queries)}
        if len(self.numbers) < len(self.queries):
            raise DataError(
                "two query ids of the data print the same text, by which votes name them; give ids of one type"
            )
        self.query_of = data.document_queries
        if by == "rows":
            caller = np.arange(data.n_documents) if data.row_order is None else data.row_order
            names: Any = caller.tolist()
        elif data.document_ids is None:
            raise DataError(
                "the data has no document_ids to find the documents of votes by; give it some, or pass by='rows' where "
                "the votes name row numbers"
            )
        else:
            names = data.document_ids
        self.by, self.n_documents = by, data.n_documents
        self.places: dict[str, list[int]] = {}
        for row, name in enumerate(names):
            self.places.setdefault(str(name), []).append(row)

    def find(self, query_ids: Strings | None, first: Strings, second: Strings, *, skip: bool) -> tuple[Ints, Ints]:
        """Return the rows of both documents of each vote; -1 for one that the data lacks if `skip`, or else raise a DataError."""
        rows = np.full((2, len(first)), -1, np.int64)
        for k, (query, a, b) in enumerate(zip(_texts(query_ids, len(first)), first, second, strict=True)):
            if query is not None and query not in self.numbers:
                if skip:
                    continue
                raise DataError(
                    f"a vote on {a!r} and {b!r} is for query {query!r}, which the data does not have; pass missing='skip' "
                    "to leave such votes out"
                )
            rows[:, k] = [self._row(name, query, (a, b), skip) for name in (a, b)]
        self._refuse_across(rows, first, second)
        return rows[0], rows[1]

    def _row(self, name: str, query: str | None, vote: tuple[str, str], skip: bool) -> int:
        places = self.places.get(name, [])
        inside = places if query is None else [row for row in places if self.query_of[row] == self.numbers[query]]
        what = "row" if self.by == "rows" else "document"
        if len(inside) == 1:
            return inside[0]
        if len(inside) > 1:
            where = "in several queries: give the votes a qid" if query is None else f"twice in query {query!r}"
            raise DataError(
                f"{what} {name!r}, of a vote on {vote[0]!r} and {vote[1]!r}, occurs {where}; ids must be unique"
            )
        if places and query is not None and not skip:
            home = self.queries[self.query_of[places[0]]]
            raise DataError(
                f"a vote for query {query!r} compares {vote[0]!r} and {vote[1]!r}, but {what} {name!r} is of query {home!r}; "
                f"{RULE}: leave the vote out or correct its query"
            )
        if skip:
            return -1
        rule = f"rows are 0 to {self.n_documents - 1}" if self.by == "rows" else "it has no document of that id"
        raise DataError(
            f"{what} {name!r}, of a vote on {vote[0]!r} and {vote[1]!r}, is not in the data: {rule}; pass missing='skip' "
            "to leave such votes out"
        )

    def _refuse_across(self, rows: Ints, first: Strings, second: Strings) -> None:
        across = (rows >= 0).all(axis=0) & (self.query_of[rows[0]] != self.query_of[rows[1]])
        if across.any():
            k = int(np.argmax(across))
            one, other = (self.queries[self.query_of[row]] for row in rows[:, k])
            raise DataError(
                f"a vote compares {first[k]!r} of query {one!r} with {second[k]!r} of query {other!r}; {RULE}: leave the "
                "vote out"
            )


def _texts(column: Strings | None, count: int) -> Iterator[str | None]:
    return iter([None] * count) if column is None else iter(column)
