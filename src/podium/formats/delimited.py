"""CSV and TSV with named columns, gzip or plain.

pyarrow reads and writes where it is installed; without it, and to say where a bad cell stands, Python's csv module does.
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Unpack

import numpy as np
import numpy.typing as npt

from podium.data import RankingData, Strings
from podium.errors import DataError, FormatError, MissingExtraError
from podium.formats.arrow import record_batch, require_pyarrow, strings_of
from podium.formats.columns import (
    ROLE_NAMES,
    Block,
    ColumnPlan,
    RoleOptions,
    Roles,
    assemble,
    plan_reading,
    plan_writing,
    row_blocks,
)
from podium.formats.decimals import ids_from_texts, nearest_float32, shortest
from podium.formats.format import Format
from podium.formats.opening import read_bytes, reading, text_lines, writing
from podium.kinds import looks_like_csv, looks_like_tsv
from podium.threads import resolve_threads

PathLike = str | os.PathLike[str]
Progress = Callable[[int, int], None]

MISSING = ("", "nan", "NaN", "NULL", "NA")
TOO_LARGE = 2.0**128 - 2.0**103  # from here on the nearest float32 is infinite
PARSE_ROWS = 4096


def read_delimited(
    path: PathLike,
    delimiter: str,
    *,
    num_threads: int | None = None,
    progress: Progress | None = None,
    **roles: Unpack[RoleOptions],
) -> RankingData:
    """A table of text with a header as RankingData; see `Roles` for the options.

    An empty cell, nan, NaN, NULL and NA are missing features. Query ids are int64 where all of them print as one.
    """
    use_threads = resolve_threads(num_threads) > 1
    plan, names = _read_header(path, delimiter, Roles.of(roles))
    total = Path(path).stat().st_size
    try:
        data = assemble(plan, _read_with_arrow(path, delimiter, plan, names, use_threads, progress))
    except FormatError:
        raise
    except (MissingExtraError, DataError, ValueError, EOFError, OSError) as reason:
        block = _read_with_csv(path, delimiter, plan, names)  # says where a bad cell stands
        try:
            data = assemble(plan, block)
        except DataError as error:
            raise FormatError(path, str(error)) from reason
    if progress is not None:
        progress(total, total)
    return data


def write_delimited(data: RankingData, path: PathLike, delimiter: str, **roles: Unpack[RoleOptions]) -> None:
    """Write data as text, rows in the caller's order, each number as its shortest exact decimal; pairs are refused."""
    plan = plan_writing(data, Roles.of(roles))
    _refuse_missing_ids(data)
    with writing(path, "csv" if delimiter == "," else "tsv") as file:
        file.write(_csv_line(plan.names, delimiter).encode())
        try:
            require_pyarrow()
        except MissingExtraError:
            _write_with_csv(data, file, delimiter)
        else:
            _write_with_arrow(data, plan, file, delimiter)


def _read_header(path: PathLike, delimiter: str, roles: Roles) -> tuple[ColumnPlan, list[str]]:
    with reading(path) as stream:
        try:
            names = next(csv.reader(text_lines(path, stream), delimiter=delimiter, strict=True))
        except (csv.Error, StopIteration) as error:
            raise FormatError(path, f"the header cannot be read: {error}", line=1) from None
    try:
        return plan_reading(names, roles), names
    except DataError as error:
        raise FormatError(path, str(error), line=1) from None


def _read_with_arrow(
    path: PathLike, delimiter: str, plan: ColumnPlan, names: Sequence[str], use_threads: bool, progress: Progress | None
) -> Block:
    pa = require_pyarrow()
    import pyarrow.csv as pa_csv

    types = dict.fromkeys(plan.features, pa.float32())
    types |= {name: pa.float64() for name in (plan.label, plan.weight, plan.query_weight) if name is not None}
    types |= {name: pa.large_string() for name in (plan.query, plan.document) if name is not None}
    total = Path(path).stat().st_size
    matrices: list[npt.NDArray[np.float32]] = []
    columns: dict[str, list[Any]] = {name: [] for name in plan.names if name not in set(plan.features)}
    with reading(path) as text:  # says clearly what cannot be read at all
        plain = isinstance(text, io.BufferedReader) and isinstance(text.raw, io.FileIO)
    # Arrow's own file: its threads read ahead, and must not need the interpreter, least of all when that ends. Its gzip
    # takes a file that is cut short for a whole one, so that is read here.
    with (
        pa.OSFile(os.fspath(path)) if plain else pa.BufferReader(read_bytes(path)) as stream,
        pa_csv.open_csv(
            stream,
            pa_csv.ReadOptions(
                use_threads=use_threads, block_size=1 << 23, skip_rows_after_names=1, column_names=names
            ),
            pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            pa_csv.ConvertOptions(column_types=types, null_values=MISSING, include_columns=plan.names),
        ) as reader,
    ):
        for batch in reader:
            if progress is not None and plain:
                progress(stream.tell(), total)  # of a gzip only the end is known
            matrix = np.empty((batch.num_rows, len(plan.features)), np.float32)
            for k, name in enumerate(plan.features):
                matrix[:, k] = batch.column(name).to_numpy(zero_copy_only=False)
            matrices.append(matrix)
            for name, parts in columns.items():
                parts.append(batch.column(name))
    tables = {name: pa.chunked_array(parts, types[name]) for name, parts in columns.items()}

    def numbers(name: str | None) -> Any:
        return None if name is None else tables[name].to_numpy()

    encoded = pa.concat_arrays(tables[plan.query].chunks).dictionary_encode()
    ids = encoded.dictionary.to_pylist()
    if any(text in MISSING for text in ids):
        raise DataError("a query id is missing")
    return Block(
        labels=numbers(plan.label),
        qid=ids_from_texts(ids)[encoded.indices.to_numpy()],
        document_ids=None if plan.document is None else strings_of(tables[plan.document], plan.document),
        weights=numbers(plan.weight),
        query_weights=numbers(plan.query_weight),
        features=np.concatenate(matrices),
    )


def _read_with_csv(path: PathLike, delimiter: str, plan: ColumnPlan, names: Sequence[str]) -> Block:
    position = {name: column for column, name in enumerate(names)}
    numeric = [name for name in (plan.label, plan.weight, plan.query_weight) if name is not None]
    numbers: dict[str, list[float]] = {name: [] for name in numeric}
    matrices: list[npt.NDArray[np.float32]] = []
    texts: list[list[str]] = []
    queries: list[str] = []
    documents: list[str] = []
    chosen = [position[name] for name in plan.features]
    for line, cells in _csv_rows(path, delimiter, len(names)):
        for name in numeric:
            numbers[name].append(_role_number(path, line, name, position[name], cells[position[name]], plan))
        query = cells[position[plan.query]]
        if query in MISSING:
            raise _bad_cell(path, line, plan.query, position[plan.query], query, "every row needs a query id")
        queries.append(query)
        if plan.document is not None:
            documents.append(cells[position[plan.document]])
        for column in chosen:
            _feature_number(path, line, names[column], column, cells[column])
        texts.append([cells[column] for column in chosen])
        if len(texts) == PARSE_ROWS:
            matrices.append(_feature_matrix(texts, len(chosen)))
            texts = []
    matrices.append(_feature_matrix(texts, len(chosen)))
    if not queries:
        raise FormatError(path, "the table has a header and no rows")
    arrays = {name: np.array(values) for name, values in numbers.items()}
    return Block(
        labels=arrays[plan.label],
        qid=ids_from_texts(queries),
        document_ids=None if plan.document is None else Strings.of(documents),
        weights=None if plan.weight is None else arrays[plan.weight],
        query_weights=None if plan.query_weight is None else arrays[plan.query_weight],
        features=np.concatenate(matrices),
    )


def _csv_rows(path: PathLike, delimiter: str, width: int) -> Iterator[tuple[int, list[str]]]:
    """(line, cells) of each row after the header."""
    with reading(path) as stream:
        rows = csv.reader(text_lines(path, stream), delimiter=delimiter, strict=True)
        next(rows)
        line = rows.line_num + 1
        try:
            for cells in rows:
                if cells and len(cells) != width:
                    raise FormatError(
                        path,
                        f"the row has {len(cells)} cells and the header {width}; give each row one cell a column",
                        line=line,
                    )
                if cells:
                    yield line, cells
                line = rows.line_num + 1
        except csv.Error as error:
            raise FormatError(path, f"{error}; check the quotes", line=line) from None


def _feature_matrix(texts: list[list[str]], width: int) -> npt.NDArray[np.float32]:
    flat = [text for row in texts for text in row]
    values = np.array([math.nan if text.strip() in MISSING else float(text) for text in flat])
    return nearest_float32(values, flat).reshape(len(texts), width)


def _feature_number(path: PathLike, line: int, name: str, column: int, text: str) -> None:
    if text.strip() in MISSING:
        return
    value = _as_float(text)
    if value is None:
        raise _bad_cell(path, line, name, column, text, "a feature is a number, or empty where missing")
    if not abs(value) < TOO_LARGE:
        raise _bad_cell(path, line, name, column, text, "a feature must be finite as float32, so below 3.4e38 in size")


def _role_number(path: PathLike, line: int, name: str, column: int, text: str, plan: ColumnPlan) -> float:
    value = _as_float(text)
    if value is None or not math.isfinite(value):
        what = "label" if name == plan.label else "weight"
        raise _bad_cell(path, line, name, column, text, f"a {what} is a finite number: give one or drop the row")
    if name != plan.label and value < 0:
        raise _bad_cell(path, line, name, column, text, "a weight is not negative")
    return value


def _as_float(text: str) -> float | None:
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _bad_cell(path: PathLike, line: int, name: str, column: int, text: str, rule: str) -> FormatError:
    found = f"is {text!r}" if text else "is empty"
    return FormatError(path, f"column {name!r} {found}; {rule}", line=line, column=column + 1)


def _refuse_missing_ids(data: RankingData) -> None:
    if data.query_ids.dtype.kind == "U":
        for text in data.query_ids.tolist():
            if text in MISSING:
                raise DataError(f"query id {text!r} would be read back as missing; rename the query")


def _write_with_arrow(data: RankingData, plan: ColumnPlan, file: IO[bytes], delimiter: str) -> None:
    import pyarrow.csv as pa_csv

    special = np.frombuffer(f'{delimiter}"\r\n'.encode(), np.uint8)
    texts = [] if data.document_ids is None else [data.document_ids.compact().data]
    if data.query_ids.dtype.kind not in "iuf":
        texts.append(Strings.of(data.query_ids.tolist()).data)
    quoting = "needed" if any(np.isin(text, special).any() for text in texts) else "none"
    options = pa_csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style=quoting)
    writer = None
    for block in row_blocks(data):
        batch = record_batch(plan, block)
        writer = writer or pa_csv.CSVWriter(file, batch.schema, write_options=options)
        writer.write_batch(batch)
    if writer is not None:
        writer.close()


def _write_with_csv(data: RankingData, file: IO[bytes], delimiter: str) -> None:
    for block in row_blocks(data, PARSE_ROWS):
        lines = []
        heads = [shortest(block.labels), [str(value) for value in block.qid.tolist()]]
        heads += [] if block.document_ids is None else [list(block.document_ids)]
        heads += [shortest(weights) for weights in (block.weights, block.query_weights) if weights is not None]
        for head, features in zip(zip(*heads, strict=True), block.features, strict=True):
            cells = ("" if cell == "nan" else cell for cell in shortest(features))
            lines.append(_csv_line([*head, *cells], delimiter))
        file.write("".join(lines).encode())


def _csv_line(cells: Sequence[str], delimiter: str) -> str:
    """A line with quotes where they are needed; Python's csv module leaves a lone carriage return without."""
    special = (delimiter, '"', "\r", "\n")
    quoted = ('"' + cell.replace('"', '""') + '"' if any(mark in cell for mark in special) else cell for cell in cells)
    return delimiter.join(quoted) + "\n"


def _format(name: str, delimiter: str, suffix: str, looks_like: Callable[[bytes], bool]) -> Format:
    def read(path: PathLike, **options: Any) -> RankingData:
        return read_delimited(path, delimiter, **options)

    def write(data: RankingData, path: PathLike, **options: Any) -> None:
        write_delimited(data, path, delimiter, **options)

    what = f"{name.upper()} with a header, columns by name"
    return Format(name, (suffix,), "data", what, read, write, looks_like, ROLE_NAMES, ROLE_NAMES)


CSV = _format("csv", ",", ".csv", looks_like_csv)
TSV = _format("tsv", "\t", ".tsv", looks_like_tsv)
