"""RankingData of a table that comes in pieces: frames of pandas and polars, tables of pyarrow, batches of files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data import RankingData, Strings
from podium.data.frame_columns import FeatureColumn, Frame, number_column, sorted_categories
from podium.data.frame_kinds import column_kind
from podium.data.frame_values import first_missing
from podium.errors import DataError
from podium.formats.columns import Block, ColumnPlan, assemble
from podium.formats.feature_file import FeatureFile
from podium.formats.format import Progress

LIST_COLUMN = "features"


def gather(
    plan: ColumnPlan,
    pieces: Iterable[Frame],
    rows: int,
    size: int = 0,
    progress: Progress | None = None,
    into: FeatureFile | None = None,
) -> RankingData:
    """Return the data of frames that have the same columns, one after the other.

    Args:
        plan: Which column is what.
        pieces: The frames, all of one library.
        rows: The number of rows of all of them together.
        size: The size of the whole table in bytes, for `progress`.
        progress: Called with (bytes done, bytes in all).
        into: The file to put the features into; by default they are kept in memory.
    """
    columns = {name: np.empty(rows) for name in (plan.label, plan.weight, plan.query_weight) if name is not None}
    features = FeatureColumns(plan, rows, into)
    queries: list[Any] = []
    documents: list[Any] = []
    start = 0
    for piece in pieces:
        stop = start + piece.n_rows
        if stop > rows:
            raise DataError(f"the table has more rows than the {rows} it is said to have")
        for name, values in columns.items():
            values[start:stop] = number_column(piece.column(name), name)
        features.add(piece, start, stop)
        queries.append(_complete(piece, plan.query, start, "a query id"))
        if plan.document is not None:
            documents.append(_complete(piece, plan.document, start, "a document id"))
        start = stop
        if progress is not None and rows:
            progress(size * start // rows, size)
    if not rows:
        raise DataError("the table has no rows")
    if start != rows:
        raise DataError(f"the table has {start} rows and is said to have {rows}")
    block = Block(
        labels=np.zeros(rows) if plan.label is None else columns[plan.label],
        qid=_joined(queries),
        document_ids=None if plan.document is None else text_column(_joined(documents)),
        weights=None if plan.weight is None else columns[plan.weight],
        query_weights=None if plan.query_weight is None else columns[plan.query_weight],
        features=features.matrix,
    )
    return assemble(plan, block, features.names, features.finish(), in_runs=into is not None)


class FeatureColumns:
    """The features of a table, filled in piece by piece.

    A piece may have its own codes for the categories of a column: they become those of the pieces before, and new ones.
    """

    def __init__(self, plan: ColumnPlan, rows: int, into: FeatureFile | None = None) -> None:
        self.plan, self.rows, self.into = plan, rows, into
        self.matrix = np.empty((rows, 0), np.float32)
        self.names: tuple[str, ...] | None = plan.feature_names
        self._widths: list[int] = []
        self._codes: dict[int, dict[str, int]] = {}
        self._ordered: dict[int, bool] = {}

    def add(self, piece: Frame, start: int, stop: int) -> None:
        """Take in the features of the next piece, rows `start` to `stop`."""
        lists = {
            name: self._feature(piece, name) for name in self.plan.features if column_kind(piece.column(name)) == "list"
        }
        widths = [lists[name].values.shape[1] if name in lists else 1 for name in self.plan.features]
        if not self._widths:
            self._allocate(widths, lists)
        at = 0
        for name, width, expected in zip(self.plan.features, widths, self._widths, strict=True):
            if width != expected:
                raise DataError(
                    f"column {name!r} holds lists of {min(width, expected)} to {max(width, expected)} numbers; every row "
                    "needs the same number"
                )
            made = lists[name] if name in lists else self._feature(piece, name)
            with np.errstate(over="ignore"):  # RankingData reports what is infinite as float32
                self.matrix[start:stop, at : at + width] = made.values.reshape(piece.n_rows, width)
            if made.categories is not None:
                self._recode(at, start, stop, made)
            at += width

    def _feature(self, piece: Frame, name: str) -> FeatureColumn:
        """Return a column as features; the one column of lists that a table has is there on purpose."""
        named = self.plan.named or self.plan.features == (LIST_COLUMN,)
        return piece.feature(name, named=named, categorical=name in self.plan.categorical)

    def _allocate(self, widths: list[int], lists: dict[str, FeatureColumn]) -> None:
        self._widths = widths
        shape = self.rows, sum(widths)
        self.matrix = np.empty(shape, np.float32) if self.into is None else self.into.allocate(*shape)
        if lists and self.plan.features == (LIST_COLUMN,):
            self.names = None
        elif lists:
            self.names = tuple(
                made
                for name, width in zip(self.plan.features, widths, strict=True)
                for made in ([f"{name}[{k}]" for k in range(width)] if name in lists else [name])
            )

    def _recode(self, column: int, start: int, stop: int, made: FeatureColumn) -> None:
        known = self._codes.setdefault(column, {})
        self._ordered[column] = made.ordered
        before = len(known)
        codes = np.array([known.setdefault(name, len(known)) for name in made.categories or ()], np.float32)
        if before:
            self._replace_codes(self.matrix[start:stop, column], codes)

    def finish(self) -> dict[int, tuple[str, ...] | None]:
        """Return the categories of the categorical columns; those without an order of their own are sorted."""
        found: dict[int, tuple[str, ...] | None] = {}
        for column, known in self._codes.items():
            names = tuple(known) if self._ordered[column] else sorted_categories(known)
            if names != tuple(known):
                place = {name: code for code, name in enumerate(names)}
                self._replace_codes(self.matrix[:, column], np.array([place[name] for name in known], np.float32))
            found[column] = names
        return found

    @staticmethod
    def _replace_codes(values: npt.NDArray[np.float32], new_codes: npt.NDArray[np.float32]) -> None:
        known = ~np.isnan(values)
        values[known] = new_codes[values[known].astype(np.int64)]


def _complete(piece: Frame, name: str, start: int, what: str) -> Any:
    """Return a column in which no value is missing."""
    column = piece.column(name)
    row = first_missing(column)
    if row is not None:
        raise DataError(f"column {name!r} is missing in row {start + row}; every row needs {what}")
    return column


def _joined(columns: list[Any]) -> Any:
    """Return the pieces of a column as one; only pyarrow has several."""
    if len(columns) == 1:
        return columns[0]
    import pyarrow as pa

    return pa.chunked_array([chunk for column in columns for chunk in column.chunks])


def text_column(column: Any) -> Strings:
    """Return a column of text, or of what prints as text, as Strings; text of pyarrow is not copied."""
    if type(column).__name__ != "ChunkedArray":
        return Strings.of(column)
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    array = pa.concat_arrays(column.cast(pa.large_string()).chunks)
    _, offsets, values = array.buffers()
    bounds = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    return Strings(bounds, np.frombuffer(values or b"", np.uint8))
