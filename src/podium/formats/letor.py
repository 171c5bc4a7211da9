"""LETOR / SVMlight text: `label qid:7 1:0.5 3:2 # comment`, one document per line.

The core parses the text in several threads and returns blocks in file order. This module makes RankingData of them.
"""

from __future__ import annotations

import gzip
import mmap
import os
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data import RankingData
from podium.errors import DataError, FormatError
from podium.formats.format import Format, Progress
from podium.formats.letor_rows import (
    FAULTS,
    LETOR_RULES,
    LINE_TOO_LONG,
    MAX_FEATURES,
    QID_MISSING,
    QID_UNEXPECTED,
    LetorOptions,
    LetorRows,
)
from podium.formats.letor_writing import write_letor
from podium.formats.opening import gunzipping, open_file
from podium.kinds import GZIP_MAGIC
from podium.threads import resolve_threads

LEAST_BLOCK_BYTES, MOST_BLOCK_BYTES = 256 << 10, 4 << 20
LONGEST_LINE = 256 << 20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

PathLike = str | os.PathLike[str]
Widths = Callable[[Sequence[int]], None]
"""Called with the number of features that the lines of each file show, before all get as many as the widest."""
Blocks = Iterator[tuple[_core.LetorBlock, int]]
CoreOptions = tuple[float, int, bool, bool, int]


def read_letor(
    path: PathLike,
    *,
    num_threads: int | None = None,
    progress: Progress | None = None,
    absent: Literal["zero", "missing"] = "zero",
    index_base: Literal["auto", 0, 1] = "auto",
    n_features: int | None = None,
    max_features: int = MAX_FEATURES,
    document_ids: bool = True,
    sizes: PathLike | None = None,
    scattered: Literal["error", "group"] = "error",
    labels: Literal["required", "ignore"] = "required",
) -> RankingData:
    """Read judged queries from LETOR / SVMlight text, plain or gzip.

    Args:
        path: The path of the file.
        num_threads: Number of threads that parse; by default every core this process may use.
        progress: Called now and then with (bytes done, bytes in all).
        absent: The value of a feature that a line leaves out: "zero" or "missing".
        index_base: The index of the first feature, 0 or 1; "auto" means 0 if any line has index 0, otherwise 1.
        n_features: The number of features, if the file may lack the last ones, as a test file may.
        max_features: A larger index is taken for a mistake.
        document_ids: Whether to keep document ids: X of a comment `# docid = X`, otherwise the whole comment.
        sizes: A file of query sizes, for text without query ids; by default `path.query` or `path.group`.
        scattered: What to do if the rows of a query are not together: "error" refuses them, "group" groups them.
        labels: "required", or "ignore" for documents that are only to be scored: lines may begin with their query id, labels
            that there are count for nothing, and the label of every document is 0.
    """
    options = LetorOptions(absent, index_base, n_features, max_features, document_ids, sizes, scattered, labels)
    return read_letor_together([path], options, num_threads=num_threads, progress=progress)[0]


def read_letor_together(
    paths: Sequence[PathLike],
    options: LetorOptions,
    *,
    num_threads: int | None = None,
    progress: Progress | None = None,
    on_widths: Widths | None = None,
) -> list[RankingData]:
    """Read files of one data set: they count features from the same index, and all get the same features."""
    threads = resolve_threads(num_threads)
    loaded = []
    for path in paths:
        rows = LetorRows(path, options)
        features = FeatureRows(rows)
        with open_file(path) as file:
            for block, share in iterate_blocks(path, file, options, threads, progress):
                rows.add(block)
                features.add(block, share)
        loaded.append((rows, rows.parts(), features))
    base = min(rows.base for rows, _, _ in loaded)
    width = max(rows.width(base) for rows, _, _ in loaded)
    if on_widths is not None:
        on_widths([rows.found_width(base) for rows, _, _ in loaded])
    return [rows.data(features.finish(base, width), parts) for rows, parts, features in loaded]


class FeatureRows:
    """The feature matrix of a file, filled block by block.

    Memory is reserved for as many rows as the file will have if it goes on as it began, and a quarter more: pages that are never
    touched cost nothing. If a later block has other features, the rows so far are copied to a matrix with more columns.
    """

    def __init__(self, rows: LetorRows) -> None:
        self.rows = rows
        self.n_rows = 0
        self.base, self.array = 1, np.empty((0, 0), np.float32)

    def add(self, block: _core.LetorBlock, share: float) -> None:
        """Add the next block, with which `share` of the file has been read."""
        rows, needed = self.rows, self.rows.n_rows
        base, width = rows.base, rows.width(rows.base)
        rows.refuse_absurd_width(width)
        if needed > len(self.array) or (base, width) != (self.base, self.array.shape[1]):
            promised = int(1.25 * needed / max(share, 1e-9)) + 1024
            self._lay_out(needed, base, width, capacity=max(needed, len(self.array), promised))
        _core.fill_features([block], self.array, self.n_rows, base, rows.options.absent_value, 1)
        self.n_rows = needed

    def finish(self, base: int, width: int) -> npt.NDArray[np.float32]:
        """Return the matrix, with columns for the features from index `base` on."""
        if (base, width) != (self.base, self.array.shape[1]):
            self._lay_out(self.n_rows, base, width, capacity=self.n_rows)
        return self.array[: self.n_rows]

    def _lay_out(self, needed: int, base: int, width: int, *, capacity: int) -> None:
        old, shift = self.array[: self.n_rows], self.base - base
        array = _allocate(capacity, width)
        if array is None:
            array = _allocate(needed, width)
        if array is None:
            raise DataError(
                f"{os.fspath(self.rows.path)}: {needed} documents × {width} features take {4 * needed * width / 2**30:.1f} GiB, more "
                "than there is; every feature takes memory in every row: drop the largest feature indices, or convert to the cache"
            )
        self.array, self.base = array, base
        if self.n_rows:
            self.array[: self.n_rows] = self.rows.options.absent_value
            self.array[: self.n_rows, shift : shift + old.shape[1]] = old


def iterate_blocks(
    path: PathLike, file: IO[bytes], options: LetorOptions, num_threads: int, progress: Progress | None
) -> Iterator[tuple[_core.LetorBlock, float]]:
    """Yield the parsed blocks of an open file, each with the share of the file read so far; a bad line is a FormatError."""
    lines, has_qid, max_index = 0, None, options.max_features - 1
    total = os.fstat(file.fileno()).st_size
    if total == 0:
        raise FormatError(path, "the file is empty; it must hold at least one line `label qid:ID index:value …`")
    file.seek(0)
    source = _gzip_blocks if file.read(2) == GZIP_MAGIC else _plain_blocks
    core_options = (
        options.absent_value,
        max_index,
        options.document_ids,
        options.labels == "required",
        num_threads,
    )
    for block, done in source(path, file, total, core_options):
        if block.rows and has_qid is None:
            has_qid = block.has_qid
        if block.rows and block.has_qid != has_qid:
            fault = QID_UNEXPECTED if block.has_qid else QID_MISSING
            _refuse(path, fault, block.first_row_found, lines + block.first_row_line, block.first_row_column)
        if block.fault:
            _refuse(path, block.fault, block.found, lines + block.fault_line, block.fault_column, max_index)
        lines += block.lines
        if progress is not None:
            progress(done, total)
        yield block, done / total


def _refuse(path: PathLike, fault: int, found: bytes, line: int, column: int, max_index: int = 0) -> NoReturn:
    text = repr(found.decode(errors="backslashreplace")) if found else "the end of the line"
    raise FormatError(path, FAULTS[fault].format(found=text, max_index=max_index), line=line + 1, column=column + 1)


def _plain_blocks(path: PathLike, file: IO[bytes], total: int, options: CoreOptions) -> Blocks:
    block_bytes = min(MOST_BLOCK_BYTES, max(LEAST_BLOCK_BYTES, total // (4 * options[-1])))
    stream = _core.LetorFile(file.fileno(), total, *options, block_bytes)
    for block in stream:
        yield block, stream.bytes_done


def _gzip_blocks(path: PathLike, file: IO[bytes], total: int, options: CoreOptions) -> Blocks:
    file.seek(0)
    rest, first = b"", True
    step = MOST_BLOCK_BYTES * options[-1]
    with gzip.GzipFile(fileobj=file) as text:
        while True:
            with gunzipping(path):
                chunk = text.read(step)
            rest += chunk.removeprefix(BYTE_ORDER_MARK) if first else chunk
            first = False
            cut = rest.rfind(b"\n") + 1 if chunk else len(rest)
            if cut:
                for block in _core.parse_letor(rest[:cut], *options):
                    yield block, file.tell()
            rest = rest[cut:]
            if len(rest) > LONGEST_LINE:
                raise FormatError(path, FAULTS[LINE_TOO_LONG])
            if not chunk:
                return


def _allocate(rows: int, columns: int) -> npt.NDArray[np.float32] | None:
    """Return a matrix of pages that cost nothing until they are touched, or None if the system has no room for it.

    It comes straight from the system, which chooses the size of pages. NumPy always asks for huge pages, which are several times
    slower to touch for the first time on some virtual machines.
    """
    size = 4 * rows * columns
    if size == 0:
        return np.empty((rows, columns), np.float32)
    try:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError, ValueError):
        return None
    return np.frombuffer(memory, np.float32).reshape(rows, columns)


LETOR = Format(
    name="letor",
    holds="data",
    description="LETOR / SVMlight text: label qid:ID index:value … # docid",
    read=read_letor,
    write=write_letor,
    read_options=LETOR_RULES,
    write_options=("index_base", "sparse"),
)
