"""LETOR / SVMlight text: `label qid:7 1:0.5 3:2 # comment`, a document a line.

Read by the core, several threads at once, in blocks that come out in file order; here the blocks become RankingData
or, without ever standing in memory together, the binary cache.
"""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data import RankingData, Strings
from podium.errors import DataError, FormatError, ParameterError
from podium.files import replacing
from podium.formats.format import Format
from podium.formats.sizes import read_sizes
from podium.threads import resolve_threads

Progress = Callable[[int, int], None]
Array = npt.NDArray[Any]

LEAST_BLOCK_BYTES, MOST_BLOCK_BYTES = 256 << 10, 4 << 20
MAX_FEATURES = 1 << 24

# One sentence for each LetorFault of the core, in its order.
FAULTS = (
    "",
    "found {found}, expected a label, a number such as 0 or 2.5; a line reads `label qid:ID index:value …`",
    "the label is {found}; labels must be finite numbers: give the document a label or leave it out",
    "found {found} with no query id behind `qid:`; write the id right after the colon, as in qid:7",
    "found {found} where `qid:ID` was expected; lines before carry a query id, so every line must",
    "found {found}, a query id where none was expected; either every line has `qid:ID`, right behind its label, or none",
    "found {found}, expected `index:value` such as 12:0.5",
    "the feature index in {found} is negative; indices start at 0 or 1",
    "the feature index in {found} is larger than {max_index}; if it is meant, read with max_features=…",
    "feature {found} stands twice on this line; leave one of the two out",
    "found {found} without a colon, expected `index:value` such as 12:0.5; is the line cut short?",
    "found {found}, expected a feature value: a number, or nan or NULL where it is missing",
    "the value {found} is too large for a 32-bit float (up to 3.4e38); rescale the feature",
    "the value {found} is infinite; features must be finite, or nan where missing",
    "found {found}, which is not UTF-8 text; convert the file to UTF-8",
    "a line is longer than 256 MiB; this does not look like LETOR text",
    "the file became shorter while it was being read; read it again when nobody writes to it",
    "memory ran out while reading; convert the file to the cache first: podium data convert IN OUT.podium-data",
)


def read_letor(
    path: str | os.PathLike[str],
    *,
    num_threads: int | None = None,
    progress: Progress | None = None,
    absent: Literal["zero", "missing"] = "zero",
    index_base: Literal["auto", 0, 1] = "auto",
    n_features: int | None = None,
    max_features: int = MAX_FEATURES,
    document_ids: bool = True,
    sizes: str | os.PathLike[str] | None = None,
    scattered: Literal["error", "group"] = "error",
) -> RankingData:
    """Judged queries from LETOR / SVMlight text, plain or gzip.

    Args:
        path: the file.
        num_threads: threads that parse; by default the cores this process may use.
        progress: called with (bytes done, bytes in all).
        absent: what a feature that a line leaves out is.
        index_base: whether the first feature is number 0 or 1; "auto" is 0 if any line has index 0, else 1.
        n_features: at least this many features (a test file may lack the last ones of its training file).
        max_features: the largest index taken for real.
        document_ids: keep the document id of the comment: X of `# docid = X`, else the comment itself.
        sizes: a side file of query sizes for files without qid; by default `path.query` or `path.group`.
        scattered: what to do when the rows of a query stand in several places: refuse, or group them.
    """
    blocks: list[_core.LetorBlock] = []
    rows = Rows(path, sizes, scattered, index_base, n_features)
    threads = resolve_threads(num_threads)
    fill = absent_value(absent)
    for block in iterate_blocks(path, fill, max_features, document_ids, threads, progress):
        rows.add(block)
        blocks.append(block)
    parts = rows.parts()
    features = _allocate(path, rows.n_rows, rows.width)
    _core.fill_features(blocks, features, 0, rows.base, fill, threads)
    return rows.data(features, parts)


def iterate_blocks(
    path: str | os.PathLike[str],
    absent: float,
    max_features: int,
    comments: bool,
    num_threads: int,
    progress: Progress | None,
) -> Iterator[_core.LetorBlock]:
    """Parsed blocks in file order; the first bad line raises."""
    max_index = max_features - 1 if max_features >= 1 else -1
    if not 0 <= max_index < 2**32 - 1:
        raise ParameterError(f"max_features={max_features} must lie between 1 and {2**32 - 1}")
    lines = 0
    with open_data(path) as file:
        total = os.fstat(file.fileno()).st_size
        if total == 0:
            raise FormatError(path, "the file is empty; it must hold at least one line `label qid:ID index:value …`")
        source = _gzip_blocks if file.read(2) == b"\x1f\x8b" else _plain_blocks
        for block, done in source(path, file, total, (absent, max_index, comments, num_threads)):
            if block.fault:
                found = block.found.decode(errors="backslashreplace")
                message = FAULTS[block.fault].format(found=repr(found) if found else "the end of the line", max_index=max_index)
                raise FormatError(path, message, line=lines + block.fault_line + 1, column=block.fault_column + 1)
            lines += block.lines
            if progress is not None:
                progress(done, total)
            yield block


def open_data(path: str | os.PathLike[str]) -> Any:
    """The file open for reading bytes, or the clear sentence why not."""
    try:
        return Path(path).open("rb")
    except FileNotFoundError:
        raise FormatError(path, "there is no such file") from None
    except IsADirectoryError:
        raise FormatError(path, "this is a folder; name a file, or use read_folds for a folder of folds") from None
    except PermissionError:
        raise FormatError(path, "the file may not be read; check its permissions") from None


def _plain_blocks(path: Any, file: Any, total: int, options: tuple[float, int, bool, int]) -> Iterator[tuple[_core.LetorBlock, int]]:
    block_bytes = min(MOST_BLOCK_BYTES, max(LEAST_BLOCK_BYTES, total // (4 * options[3])))
    stream = _core.LetorFile(file.fileno(), total, *options, block_bytes)
    for block in stream:
        yield block, stream.bytes_done


def _gzip_blocks(path: Any, file: Any, total: int, options: tuple[float, int, bool, int]) -> Iterator[tuple[_core.LetorBlock, int]]:
    file.seek(0)
    rest, first = b"", True
    step = MOST_BLOCK_BYTES * options[3]
    with gzip.GzipFile(fileobj=file) as text:
        while True:
            try:
                chunk = text.read(step)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise FormatError(path, f"the gzip data is damaged or cut short ({error}); fetch or compress the file again") from None
            rest += chunk.removeprefix(b"\xef\xbb\xbf") if first else chunk
            first = False
            cut = rest.rfind(b"\n") + 1 if chunk else len(rest)
            if cut:
                blocks = _core.parse_letor(rest[:cut], *options)
                for block in blocks:
                    yield block, file.tell()
            rest = rest[cut:]
            if not chunk:
                return


class Rows:
    """What the blocks of one file add up to, features aside."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        sizes: str | os.PathLike[str] | None,
        scattered: str,
        index_base: str | int,
        n_features: int | None,
    ) -> None:
        if scattered not in ("error", "group"):
            raise ParameterError(f"scattered={scattered!r} must be 'error' or 'group'")
        if index_base not in ("auto", 0, 1):
            raise ParameterError(f"index_base={index_base!r} must be 'auto', 0 or 1")
        if n_features is not None and n_features < 0:
            raise ParameterError(f"n_features={n_features} must not be negative")
        self.path, self.sizes, self.scattered = path, sizes, scattered
        self.index_base, self.n_features = index_base, n_features
        self.labels: list[Array] = []
        self.ids: list[str] = []
        self.counts: list[int] = []
        self.lines: list[int] = []
        self.comment_ends: list[Array | int] = []
        self.comments: list[bytes] = []
        self.n_rows = self.n_lines = 0
        self.min_index, self.max_index = 2**32, -1
        self.has_qid = False
        self._entries: tuple[int, int] | None = None  # fewest and most of all rows but the last
        self._last = -1
        self._cut = False

    def add(self, block: _core.LetorBlock) -> None:
        """Takes in the next block of the file."""
        if block.rows:
            if self.n_rows == 0:
                self.has_qid = block.has_qid
            elif block.has_qid != self.has_qid:
                fault = FAULTS[5 if block.has_qid else 4].format(found="a line")
                raise FormatError(self.path, fault, line=self.n_lines + 1)
            self._add_queries(block)
            self._watch_entries(block)
            self.labels.append(block.labels)
            ends = block.comment_ends
            self.comment_ends.append(ends if len(ends) else block.rows)
            self.comments.append(block.comments)
            if block.min_index <= block.max_index:
                self.min_index = min(self.min_index, block.min_index)
                self.max_index = max(self.max_index, block.max_index)
        self._cut = block.ends_without_feed
        self.n_rows += block.rows
        self.n_lines += block.lines

    def _add_queries(self, block: _core.LetorBlock) -> None:
        for run in block.queries:
            if self.ids and self.ids[-1] == run.id:
                self.counts[-1] += run.rows
            else:
                self.ids.append(run.id)
                self.counts.append(run.rows)
                self.lines.append(self.n_lines + run.line + 1)

    def _watch_entries(self, block: _core.LetorBlock) -> None:
        seen = [entries for entries in (self._last, block.fewest_entries, block.most_entries) if entries >= 0]
        if seen:
            low, high = self._entries or (min(seen), max(seen))
            self._entries = min(low, *seen), max(high, *seen)
        self._last = block.last_row_entries

    @property
    def base(self) -> int:
        """The index of the first feature."""
        if self.index_base == "auto":
            return 0 if self.min_index == 0 else 1
        if self.index_base == 1 and self.min_index == 0:
            raise FormatError(self.path, "a feature has index 0, but index_base=1; read with index_base=0 or 'auto'")
        return int(self.index_base)

    @property
    def width(self) -> int:
        """How many features there are."""
        found = self.max_index - self.base + 1 if self.max_index >= 0 else 0
        if self.n_features is not None and found > self.n_features:
            raise FormatError(
                self.path, f"feature index {self.max_index} goes beyond n_features={self.n_features}; is this another data set?"
            )
        return found if self.n_features is None else self.n_features

    def parts(self) -> dict[str, Any]:
        """Labels, queries and document ids."""
        if self.n_rows == 0:
            raise FormatError(self.path, "the file has no documents, only blank lines or comments")
        self._refuse_cut_line()
        labels = np.concatenate(self.labels)
        parts: dict[str, Any] = {"labels": labels, "document_ids": self._document_ids()}
        if self.has_qid:
            ids = as_query_ids(self.ids)
            counts = np.array(self.counts, np.int64)
            self._refuse_scattered()
        else:
            counts = self._side_sizes()
            ids = np.arange(len(counts))
        return parts | {"query_ids": ids, "counts": counts}

    def data(self, features: Array, parts: dict[str, Any]) -> RankingData:
        """The whole as RankingData (grouping rows where they are scattered)."""
        ids, counts = parts.pop("query_ids"), parts.pop("counts")
        if len(set(ids.tolist())) < len(ids):
            return RankingData(features, parts["labels"], np.repeat(ids, counts), document_ids=parts["document_ids"])
        offsets = np.append(0, np.cumsum(counts))
        return RankingData.of_parts(check=False, features=features, query_ids=ids, query_offsets=offsets, **parts)

    def _refuse_cut_line(self) -> None:
        if self._cut and self._entries is not None and self._entries[0] == self._entries[1] > self._last:
            raise FormatError(
                self.path,
                f"the last line has no line end and {self._last} features where all others have {self._entries[0]}: "
                "the file looks cut short; fetch it again, or end the line if it is whole",
                line=self.n_lines,
            )

    def _refuse_scattered(self) -> None:
        if self.scattered == "group" or len(set(self.ids)) == len(self.ids):
            return
        first: dict[str, int] = {}
        for k, (query, line) in enumerate(zip(self.ids, self.lines, strict=True)):
            if query in first:
                raise FormatError(
                    self.path,
                    f"query {query} begins again here; its first rows are at line {self.lines[first[query]]}. Keep the rows of "
                    "a query together, or read with scattered='group' (--scattered group) if both places mean one query",
                    line=line,
                )
            first[query] = k

    def _side_sizes(self) -> npt.NDArray[np.int64]:
        beside = [Path(f"{os.fspath(self.path)}{suffix}") for suffix in (".query", ".group")]
        side = self.sizes or next((file for file in beside if file.exists()), None)
        if side is None:
            raise FormatError(
                self.path,
                "the lines carry no query id. Write `qid:ID` behind each label, or put the query sizes, one a line, "
                f"into {beside[0].name}",
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


def as_query_ids(ids: list[str]) -> Array:
    """Whole numbers where every id is one, written the plain way; else text."""
    if all(re.fullmatch(r"0|-?[1-9][0-9]{0,17}", text) for text in ids):
        return np.array(ids, np.int64)
    return np.array(ids, np.str_)


def absent_value(absent: str) -> float:
    """The number that stands for a feature a line leaves out."""
    if absent not in ("zero", "missing"):
        raise ParameterError(f"absent={absent!r} must be 'zero' or 'missing'")
    return 0.0 if absent == "zero" else float("nan")


def _allocate(path: Any, rows: int, columns: int) -> npt.NDArray[np.float32]:
    try:
        return np.empty((rows, columns), np.float32)
    except (MemoryError, ValueError):
        size = rows * columns * 4 / 2**30
        raise DataError(
            f"{os.fspath(path)}: {rows} documents × {columns} features take {size:.1f} GiB, more than there is; "
            "features are held dense: drop the largest feature indices or convert to the cache"
        ) from None


def write_letor(
    data: RankingData,
    path: str | os.PathLike[str],
    *,
    num_threads: int | None = None,
    index_base: Literal[0, 1] = 1,
    sparse: bool = False,
    progress: Progress | None = None,
) -> None:
    """Writes rows in the caller's order with the shortest decimals that read back exactly; `.gz` compresses.

    `sparse` leaves zeros out (for readers who take absent as zero). Document and query weights, pairs and feature
    names have no place in this format and are refused.
    """
    _refuse_what_letor_lacks(path, data)
    comments = _comments(path, data)
    ids = [str(query) for query in data.query_ids.tolist()]
    for query in ids:
        if not query or re.search(r"\s", query):
            raise DataError(f"{os.fspath(path)}: query id {query!r} is empty or has blanks in it, which LETOR text cannot hold")
    order = None if data.row_order is None else np.argsort(data.row_order)
    queries, threads, step = data.document_queries, resolve_threads(num_threads), max(1, (8 << 20) // (data.n_features + 1))
    with replacing(path) as file:
        out = gzip.GzipFile(fileobj=file, mode="wb", mtime=0, filename="") if os.fspath(path).endswith(".gz") else file
        for begin in range(0, data.n_documents, step):
            rows: slice | Array = slice(begin, begin + step) if order is None else order[begin : begin + step]
            notes = Strings.of([]) if comments is None else comments[rows].compact()
            offsets = notes.offsets if comments is not None else np.zeros(0, np.int64)
            features = np.ascontiguousarray(data.features[rows])
            text = _core.format_letor(
                features, data.labels[rows], ids, queries[rows], offsets, notes.data, index_base, sparse, threads
            )
            out.write(text)
            if progress is not None:
                progress(min(begin + step, data.n_documents), data.n_documents)
        if out is not file:
            out.close()


def _refuse_what_letor_lacks(path: Any, data: RankingData) -> None:
    for name in ("document_weights", "query_weights", "pairs", "feature_names"):
        if getattr(data, name) is not None:
            raise DataError(
                f"{os.fspath(path)}: LETOR text cannot hold {name}; write the cache (.podium-data), or drop them: data.replace({name}=None)"
            )


def _comments(path: Any, data: RankingData) -> Strings | None:
    if data.document_ids is None:
        return None
    comments = []
    for text in data.document_ids:
        if text != text.strip(" \t\r") or "\n" in text or re.match(r"docid\s*=\s*\S", text):
            raise DataError(f"{os.fspath(path)}: document id {text!r} cannot be told apart in a LETOR comment; rename it")
        comments.append(text and (f" {text}" if re.search(r"[ \t\r]", text) else f"docid = {text}"))
    return Strings.of(comments)


def looks_like_letor(head: bytes) -> bool:
    """Whether the first line that is not blank or a comment reads `number [qid:x] index:value…`."""
    lines = (line.strip() for line in head.splitlines())
    first = next((line for line in lines if line and not line.startswith(b"#")), b"")
    return re.match(rb"[-+.0-9eE]+\s+(qid:\S+|\d+:\S+)(\s|$)", first) is not None


LETOR = Format(
    name="letor",
    suffixes=(".letor", ".svm", ".svmlight", ".libsvm"),
    holds="data",
    description="LETOR / SVMlight text: label qid:ID index:value … # docid",
    read=read_letor,
    write=write_letor,
    looks_like=looks_like_letor,
)
