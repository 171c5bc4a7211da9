"""CSV and TSV text read by Python's csv module, which defines what a file means; an error names line and column."""

from __future__ import annotations

import contextlib
import csv
import math
import os
import threading
from collections.abc import Iterator, Sequence
from typing import IO

import numpy as np
import numpy.typing as npt

from podium.data import Strings
from podium.errors import FormatError, short_repr
from podium.formats.columns import Block, ColumnPlan
from podium.formats.decimals import OVERFLOW, ids_from_texts, nearest_float32, overflows
from podium.formats.opening import reading, text_lines

PathLike = str | os.PathLike[str]
MISSING = ("", "nan", "NaN", "NULL", "NA")
TRUE, FALSE = ("True", "true", "TRUE"), ("False", "false", "FALSE")
TRUTHS = dict.fromkeys(TRUE, 1.0) | dict.fromkeys(FALSE, 0.0)
PARSE_ROWS = 4096
LONGEST_FIELD = 2**31 - 1
FIELD_LIMIT = threading.Lock()


def read_header(path: PathLike, stream: IO[bytes], delimiter: str) -> list[str]:
    """Return the names of the columns of an open file."""
    with _any_field_length():
        try:
            return next(csv.reader(text_lines(path, stream), delimiter=delimiter, strict=True))
        except (csv.Error, StopIteration) as error:
            raise FormatError(path, f"the header cannot be read: {error}", line=1) from None


def truth_columns(path: PathLike, stream: IO[bytes], delimiter: str, names: Sequence[str]) -> frozenset[str]:
    """Return the columns whose first value is True or False; the stream stands behind the header."""
    with _any_field_length():
        try:
            first = next(csv.reader(text_lines(path, stream), delimiter=delimiter, strict=True), [])
        except (csv.Error, FormatError):  # the reader of the rows reports it
            return frozenset()
    return frozenset(name for name, cell in zip(names, first, strict=False) if cell in TRUTHS)


@contextlib.contextmanager
def _any_field_length() -> Iterator[None]:
    """Let the csv module read fields of any length; its own limit, which holds for the whole process, is 128 KiB."""
    with FIELD_LIMIT:
        limit = csv.field_size_limit(LONGEST_FIELD)
        try:
            yield
        finally:
            csv.field_size_limit(limit)


class TextColumns:
    """The columns of a table of text, filled row by row; the first cell that has no place in its column is a FormatError."""

    def __init__(self, path: PathLike, plan: ColumnPlan, names: Sequence[str]) -> None:
        self.path, self.plan = path, plan
        position = {name: column for column, name in enumerate(names)}
        self.query = position[plan.query]
        self.document = None if plan.document is None else position[plan.document]
        self.numeric = {
            name: position[name] for name in (plan.label, plan.weight, plan.query_weight) if name is not None
        }
        self.numbers: dict[str, list[float]] = {name: [] for name in self.numeric}
        self.features = {name: position[name] for name in plan.features if name not in plan.categorical}
        self.categorical = {name: position[name] for name in plan.features if name in plan.categorical}
        self.texts: dict[str, list[str]] = {name: [] for name in self.categorical}
        self.queries: list[str] = []
        self.documents: list[str] = []
        self._cells: list[str] = []
        self._matrices: list[npt.NDArray[np.float32]] = []

    def add(self, line: int, cells: Sequence[str]) -> None:
        """Take in the row that begins at this line of the file."""
        for name, column in self.numeric.items():
            self.numbers[name].append(self._role_number(line, name, column, cells[column]))
        query = cells[self.query]
        if query in MISSING:
            raise self._bad_cell(line, self.plan.query, self.query, query, "every row needs a query id")
        self.queries.append(query)
        if self.document is not None:
            self.documents.append(cells[self.document])
        for name, column in self.categorical.items():
            self.texts[name].append(cells[column])
        for name, column in self.features.items():
            self._check_feature(line, name, column, cells[column])
        self._cells += [cells[column] for column in self.features.values()]
        if len(self.queries) % PARSE_ROWS == 0:
            self._parse()

    def _parse(self) -> None:
        """Turn the cells read so far into numbers, which take less memory than text."""
        cells, self._cells = self._cells, []
        values = np.array([math.nan if text.strip() in MISSING else _as_float(text) for text in cells], np.float64)
        rows = len(cells) // max(len(self.features), 1)
        self._matrices.append(nearest_float32(values, cells).reshape(rows, len(self.features)))

    def block(self) -> tuple[Block, dict[str, list[str]]]:
        """Return the whole table, and the texts of the categorical features, whose values are not part of it."""
        if not self.queries:
            raise FormatError(self.path, "the table has a header and no rows")
        self._parse()
        plan, numbers = self.plan, {name: np.array(values) for name, values in self.numbers.items()}
        features = np.concatenate(self._matrices) if self.features else np.empty((len(self.queries), 0), np.float32)
        block = Block(
            labels=np.zeros(len(self.queries)) if plan.label is None else numbers[plan.label],
            qid=ids_from_texts(self.queries),
            document_ids=None if plan.document is None else Strings.of(self.documents),
            weights=None if plan.weight is None else numbers[plan.weight],
            query_weights=None if plan.query_weight is None else numbers[plan.query_weight],
            features=features,
        )
        return block, self.texts

    def _check_feature(self, line: int, name: str, column: int, text: str) -> None:
        if text.strip() in MISSING:
            return
        value = _as_float(text)
        if value is None:
            raise self._bad_cell(
                line,
                name,
                column,
                text,
                "a feature is a number, True or False, or empty if missing",
                f"leave the column out with {{ignore=[{name!r}]}}, or read it as categories with "
                f"{{categorical_features=[{name!r}]}}",
            )
        if abs(value) >= OVERFLOW and overflows(value, text):
            raise self._bad_cell(
                line, name, column, text, "a feature must be finite as float32, so below 3.4e38 in size"
            )

    def _role_number(self, line: int, name: str, column: int, text: str) -> float:
        value = _as_float(text)
        if value is None or not math.isfinite(value):
            what = "label" if name == self.plan.label else "weight"
            raise self._bad_cell(line, name, column, text, f"a {what} is a finite number: give one or drop the row")
        if name != self.plan.label and value < 0:
            raise self._bad_cell(line, name, column, text, "a weight is not negative")
        return value

    def _bad_cell(self, line: int, name: str, column: int, text: str, rule: str, remedy: str = "") -> FormatError:
        found = f"is {short_repr(text)}" if text else "is empty"
        return FormatError(self.path, f"column {name!r} {found}; {rule}", line=line, column=column + 1, remedy=remedy)


def read_text(
    path: PathLike, delimiter: str, plan: ColumnPlan, names: Sequence[str]
) -> tuple[Block, dict[str, list[str]]]:
    """Return the rows of a file, and the texts of the categorical features."""
    columns = TextColumns(path, plan, names)
    with reading(path) as stream, _any_field_length():
        rows = csv.reader(text_lines(path, stream), delimiter=delimiter, strict=True)
        next(rows)
        line = rows.line_num + 1
        try:
            for cells in rows:
                if cells and len(cells) != len(names):
                    raise FormatError(
                        path,
                        f"the row has {len(cells)} cells and the header {len(names)}; give each row one cell per column",
                        line=line,
                    )
                if cells:
                    columns.add(line, cells)
                line = rows.line_num + 1
        except csv.Error as error:
            raise FormatError(path, f"{error}; check the quotes", line=line) from None
    return columns.block()


def _as_float(text: str) -> float | None:
    """Return the number that a text is, 1 for True and 0 for False; None if it is none. Python would read 1_000 as one."""
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return TRUTHS.get(text)
