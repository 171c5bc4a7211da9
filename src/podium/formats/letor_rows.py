"""Labels, queries and document ids of a LETOR file, collected from its blocks, and the messages for its faults."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data import RankingData, Strings
from podium.data.grouping import MAX_ID_LENGTH
from podium.errors import FormatError
from podium.formats.decimals import ids_from_texts
from podium.formats.sizes import SIDE_SUFFIXES, read_sizes, side_files
from podium.rules import Choice, Custom, Flag, Integer, Rule

Array = npt.NDArray[Any]

# One message for each LetorFault of the core, in the same order.
FAULTS = (
    "",
    "found {found}, expected a label, a number such as 0 or 2.5; a line reads `label qid:ID index:value …`",
    "the label is {found}; labels must be finite numbers: give the document a label or leave it out",
    "found {found} with no query id after `qid:`; write the id right after the colon, as in qid:7",
    "found {found} where `qid:ID` was expected; earlier lines have a query id, so every line must have one",
    "found {found}, a query id where none was expected; either every line has `qid:ID`, right after its label, or none has",
    "found {found}, expected `index:value` such as 12:0.5",
    "the feature index in {found} is negative; indices start at 0 or 1",
    "the feature index in {found} is larger than {max_index}; if it is meant, read with a larger max_features",
    "feature {found} occurs twice on this line; remove one of the two",
    "found {found} without a colon, expected `index:value` such as 12:0.5; is the line cut short?",
    "found {found}, expected a feature value: a number, or nan or NULL if it is missing",
    "the value {found} is too large for a 32-bit float (up to 3.4e38); rescale the feature",
    "the value {found} is infinite; features must be finite, or nan if missing",
    "found {found}, which is not UTF-8 text; convert the file to UTF-8",
    "a line is longer than 256 MiB; this does not look like LETOR text",
    "the file became shorter while it was being read; read it again when nobody writes to it",
    "memory ran out while reading; convert the file to the cache first: podium data convert IN OUT.podium-data",
)
QID_MISSING, QID_UNEXPECTED, LINE_TOO_LONG = 4, 5, 15
MAX_FEATURES = 1 << 24


def _index_base(given: object) -> object:
    if isinstance(given, bool) or given not in ("auto", 0, 1):
        raise ValueError
    return given


LETOR_RULES: dict[str, Rule] = {
    "absent": Choice("zero", "missing"),
    "index_base": Custom(_index_base, "must be one of 'auto', 0, 1"),
    "n_features": Integer(0, 2**32 - 2),
    "max_features": Integer(1, 2**32 - 2),
    "document_ids": Flag(),
    "sizes": Custom(os.fspath, "must be the path of a file", str),
    "scattered": Choice("error", "group"),
    "labels": Choice("required", "ignore"),
}


@dataclass(frozen=True)
class LetorOptions:
    """How to read LETOR text; see `read_letor` for the options."""

    absent: str = "zero"
    index_base: str | int = "auto"
    n_features: int | None = None
    max_features: int = MAX_FEATURES
    document_ids: bool = True
    sizes: str | os.PathLike[str] | None = None
    scattered: str = "error"
    labels: str = "required"

    def __post_init__(self) -> None:
        for name, rule in LETOR_RULES.items():
            if getattr(self, name) is not None or name not in ("n_features", "sizes"):
                rule.check(name, getattr(self, name))

    @property
    def absent_value(self) -> float:
        """Return the value of a feature that a line leaves out."""
        return 0.0 if self.absent == "zero" else float("nan")


class LetorRows:
    """Everything but the features of one file, collected block by block."""

    def __init__(self, path: str | os.PathLike[str], options: LetorOptions) -> None:
        self.path, self.options = path, options
        self.labels: list[Array] = []
        self.ids: list[str] = []
        self.counts: list[int] = []
        self.lines: list[int] = []
        self.comment_ends: list[Array | int] = []
        self.comments: list[bytes] = []
        self.n_rows = self.n_lines = 0
        self.min_index, self.max_index = 2**32, -1
        self.has_qid = False
        self._entries: tuple[int, int] | None = None  # fewest and most entries of all rows but the last
        self._last = -1
        self._cut = False

    def add(self, block: _core.LetorBlock) -> None:
        """Add the next block of the file."""
        if block.rows:
            if self.n_rows == 0:
                self.has_qid = block.has_qid
            self._add_queries(block)
            self._watch_entries(block)
            self.labels.append(block.labels)
            ends = block.comment_ends
            self.comment_ends.append(ends if len(ends) else block.rows)
            self.comments.append(block.comments)
            if block.min_index <= block.max_index:
                self.min_index = min(self.min_index, block.min_index)
                self.max_index = max(self.max_index, block.max_index)
        if block.lines:
            self._cut = block.ends_without_feed
        self.n_rows += block.rows
        self.n_lines += block.lines

    def _add_queries(self, block: _core.LetorBlock) -> None:
        for run in block.queries:
            if self.ids and self.ids[-1] == run.id:
                self.counts[-1] += run.rows
            else:
                line = self.n_lines + run.line + 1
                if len(run.id) > MAX_ID_LENGTH or "\0" in run.id:
                    raise FormatError(
                        self.path,
                        f"the query id {run.id[:40]!r} is longer than {MAX_ID_LENGTH} characters or has a NUL in it; use plain ids",
                        line=line,
                    )
                self.ids.append(run.id)
                self.counts.append(run.rows)
                self.lines.append(line)

    def _watch_entries(self, block: _core.LetorBlock) -> None:
        seen = [entries for entries in (self._last, block.fewest_entries, block.most_entries) if entries >= 0]
        if seen:
            low, high = self._entries or (min(seen), max(seen))
            self._entries = min(low, *seen), max(high, *seen)
        self._last = block.last_row_entries

    @property
    def base(self) -> int:
        """Return the index of the first feature."""
        given = self.options.index_base
        if given == 1 and self.min_index == 0:
            raise FormatError(self.path, "a feature has index 0, but index_base=1; read with index_base=0 or 'auto'")
        return int(given) if given != "auto" else 0 if self.min_index == 0 else 1

    def found_width(self, base: int) -> int:
        """Return the number of features that the lines show, counted from index `base`."""
        return max(self.max_index - base + 1, 0)

    def width(self, base: int) -> int:
        """Return the number of features, counted from index `base`."""
        found, given = self.found_width(base), self.options.n_features
        if given is not None and found > given:
            raise FormatError(
                self.path,
                f"feature index {self.max_index} is larger than the {given} features of n_features allow; "
                "is this another data set?",
            )
        return found if given is None else given

    def refuse_absurd_width(self, width: int) -> None:
        """Refuse a number of features that takes far more memory than the text, such as a mistyped index would cause."""
        size, text = 4 * self.n_rows * width, Path(self.path).stat().st_size if Path(self.path).exists() else 0
        if self.options.n_features is None and size > max(1 << 30, 1000 * text):
            raise FormatError(
                self.path,
                f"feature index {self.max_index} would make {self.n_rows} documents take {size / 2**30:.1f} GiB, "
                f"{size // max(text, 1)} times the file; if it is meant, read with n_features={width}",
            )

    def parts(self) -> dict[str, Any]:
        """Return labels, queries and document ids."""
        if self.n_rows == 0:
            raise FormatError(self.path, "the file has no documents, only blank lines or comments")
        self._refuse_cut_line()
        labels = np.concatenate(self.labels)
        parts: dict[str, Any] = {"labels": labels, "document_ids": self._document_ids()}
        if self.has_qid:
            ids = ids_from_texts(self.ids)
            counts = np.array(self.counts, np.int64)
            self._refuse_scattered()
            if self.options.sizes is not None:
                raise FormatError(
                    self.path,
                    f"the lines have query ids, and sizes={os.fspath(self.options.sizes)!r} is given too; remove one of the two",
                )
        else:
            counts = self._side_sizes()
            ids = np.arange(len(counts))
        return parts | {"query_ids": ids, "counts": counts}

    def data(self, features: Array, parts: dict[str, Any]) -> RankingData:
        """Return everything as RankingData, with the rows of each query grouped."""
        ids, counts = parts.pop("query_ids"), parts.pop("counts")
        if len(set(ids.tolist())) < len(ids):
            data = RankingData(features, parts["labels"], np.repeat(ids, counts), document_ids=parts["document_ids"])
            return data.with_absent_value(self.options.absent_value)
        offsets = np.append(0, np.cumsum(counts))
        return RankingData.of_parts(
            check=False,
            features=features,
            query_ids=ids,
            query_offsets=offsets,
            absent_value=self.options.absent_value,
            **parts,
        )

    def _refuse_cut_line(self) -> None:
        if self._cut and self._entries is not None and self._entries[0] == self._entries[1] > self._last:
            raise FormatError(
                self.path,
                f"the last line has no line end and {self._last} features, while all others have {self._entries[0]}: "
                "the file looks cut short; download it again, or end the line if it is complete",
                line=self.n_lines,
            )

    def _refuse_scattered(self) -> None:
        if self.options.scattered == "group" or len(set(self.ids)) == len(self.ids):
            return
        first: dict[str, int] = {}
        for k, (query, line) in enumerate(zip(self.ids, self.lines, strict=True)):
            if query in first:
                raise FormatError(
                    self.path,
                    f"query {query} begins again here; its first rows are at line {self.lines[first[query]]}",
                    line=line,
                    remedy="keep the rows of a query together, or use {scattered='group'} if both belong to one query",
                )
            first[query] = k

    def _side_sizes(self) -> npt.NDArray[np.int64]:
        side = self.options.sizes or next(iter(side_files(self.path)), None)
        if side is None:
            raise FormatError(
                self.path,
                "the lines have no query ids. Write `qid:ID` after each label, or put the query sizes, one per line, "
                f"into {Path(self.path).name}{SIDE_SUFFIXES[0]}",
                line=1,
            )
        counts = np.asarray(read_sizes(side), np.int64)
        if counts.sum() != self.n_rows:
            raise FormatError(side, f"the sizes add up to {counts.sum()} rows, but {self.path} has {self.n_rows}")
        return counts

    def _document_ids(self) -> Strings | None:
        if not any(self.comments):
            return None
        ends, base = [np.zeros(1, np.int64)], 0
        for block_ends, text in zip(self.comment_ends, self.comments, strict=True):
            ends.append(np.full(block_ends, base) if isinstance(block_ends, int) else block_ends + base)
            base += len(text)
        return Strings(np.concatenate(ends), np.frombuffer(b"".join(self.comments), np.uint8))
