"""Files of votes: CSV or TSV with a header, gzip or plain, with one vote or the counts of one pair per row."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterator, Sequence

from podium.errors import FormatError, ParameterError, short_repr
from podium.formats.decimals import ids_from_texts
from podium.formats.opening import reading, text_lines
from podium.posteriors.votes import OUTCOMES, Votes

PathLike = str | os.PathLike[str]
DOCUMENTS = ("a", "b")
COUNTS = ("a_wins", "b_wins", "ties")
KNOWN = ("qid", *DOCUMENTS, "outcome", "who", *COUNTS)


def read_votes(path: PathLike, *, ignore: Sequence[str] = ()) -> Votes:
    """Read votes from a table with a header: `qid, a, b, outcome[, who]`, or counted `qid, a, b, a_wins, b_wins[, ties]`.

    Columns are found by name and separated by tabs where the header holds one, else by commas. `a` and `b` are document
    ids or row numbers, `outcome` is a, b or tie, and `who` may be empty. Without `qid` the documents alone say the query.

    Args:
        path: the file.
        ignore: columns that are there and are not to be used; any other unknown column is refused.
    """
    if isinstance(ignore, str):
        raise ParameterError("ignore", ignore, "must be a list of column names")
    rows = _rows(path)
    _, header = next(rows)
    place = _columns(path, header, ignore)
    columns: dict[str, list[str]] = {name: [] for name in place}
    counts: dict[str, list[float]] = {name: [] for name in COUNTS if name in place}
    for line, cells in rows:
        if len(cells) != len(header):
            raise FormatError(
                path,
                f"the row has {len(cells)} cells and the header {len(header)}; give each row one cell per column",
                line=line,
            )
        _check_row(path, line, cells, place)
        for name, column in place.items():
            columns[name].append(cells[column])
        for name, values in counts.items():
            values.append(_count(path, line, name, place[name], cells[place[name]]))
        if counts and not any(values[-1] > 0 for values in counts.values()):
            raise FormatError(path, "the row counts no vote at all; leave it out", line=line)
    if not columns["a"]:
        raise FormatError(path, "the table has a header and no rows")
    qid = ids_from_texts(columns["qid"]) if "qid" in place else None
    if counts:
        return Votes.of_counts(qid, columns["a"], columns["b"], **counts)
    return Votes.of(qid, columns["a"], columns["b"], columns["outcome"], who=columns.get("who"))


def _rows(path: PathLike) -> Iterator[tuple[int, list[str]]]:
    """Yield (line, cells) of the header and of each row that is not blank."""
    with reading(path) as stream:
        delimiter = b"\t" if b"\t" in stream.readline() else b","
        stream.seek(0)
        rows = csv.reader(text_lines(path, stream), delimiter=delimiter.decode(), strict=True)
        line = 1
        try:
            for cells in rows:
                if cells or line == 1:
                    yield line, cells
                line = rows.line_num + 1
        except csv.Error as error:
            raise FormatError(path, f"{error}; check the quotes", line=line) from None


def _columns(path: PathLike, header: Sequence[str], ignore: Sequence[str]) -> dict[str, int]:
    """Return the place of each column in use."""
    found = f"Columns found: {', '.join(map(repr, header))}"
    place: dict[str, int] = {}
    for column, name in enumerate(header):
        if name in ignore:
            continue
        if name not in KNOWN:
            raise FormatError(
                path,
                f"column {name!r} is unknown; a table of votes has {', '.join(KNOWN)}",
                line=1,
                column=column + 1,
                remedy=f"rename it, or leave it out with {{ignore=[{name!r}]}}",
            )
        if name in place:
            raise FormatError(path, f"column {name!r} occurs twice. {found}", line=1, column=column + 1)
        place[name] = column
    wanted = [*DOCUMENTS, *(COUNTS[:2] if any(name in place for name in COUNTS) else ("outcome",))]
    for name in wanted:
        if name not in place:
            raise FormatError(path, f"there is no column {name!r}; votes need {', '.join(wanted)}. {found}", line=1)
    if "a_wins" in place and ("outcome" in place or "who" in place):
        extra = "outcome" if "outcome" in place else "who"
        raise FormatError(
            path, f"column {extra!r} belongs to single votes and 'a_wins' to counted ones; give one kind", line=1
        )
    return place


def _check_row(path: PathLike, line: int, cells: Sequence[str], place: dict[str, int]) -> None:
    """Raise a FormatError unless a row names two documents, a query if there is a column for it, and an outcome."""
    for name in ("qid", *DOCUMENTS):
        if name in place and not cells[place[name]]:
            raise FormatError(
                path, f"column {name!r} is empty; every vote needs one", line=line, column=place[name] + 1
            )
    a, b = (cells[place[name]] for name in DOCUMENTS)
    if a == b:
        raise FormatError(path, f"document {short_repr(a)} is compared with itself; leave the vote out", line=line)
    if "outcome" in place and cells[place["outcome"]] not in OUTCOMES:
        text = cells[place["outcome"]]
        raise FormatError(
            path, f"the outcome is {short_repr(text)}; it must be a, b or tie", line=line, column=place["outcome"] + 1
        )


def _count(path: PathLike, line: int, name: str, column: int, text: str) -> float:
    try:
        value = math.nan if "_" in text else float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise FormatError(
            path,
            f"column {name!r} is {short_repr(text)}; it must be a number of votes, 0 or more",
            line=line,
            column=column + 1,
        )
    return value
