"""CSV and TSV with named columns, gzip or plain.

pyarrow reads and writes them if it is installed. Without it, and to say where a bad cell stands, Python's csv module does.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Unpack

import numpy as np
import numpy.typing as npt

from podium.data import RankingData, Strings
from podium.data.categories import category_names
from podium.data.frame_columns import sorted_categories
from podium.errors import DataError, FormatError, MissingExtraError
from podium.formats.arrow import record_batch, require_pyarrow
from podium.formats.columns import (
    COLUMN_NAMES,
    ROLE_RULES,
    Block,
    ColumnPlan,
    RoleOptions,
    Roles,
    assemble,
    plan_reading,
    plan_writing,
    row_blocks,
)
from podium.formats.decimals import shortest
from podium.formats.delimited_arrow import is_plain_text, read_with_arrow
from podium.formats.delimited_text import MISSING, PARSE_ROWS, read_header, read_text, truth_columns
from podium.formats.feature_file import FeatureFile
from podium.formats.format import Format, Progress
from podium.formats.opening import is_plain_file, reading, writing
from podium.threads import resolve_threads

PathLike = str | os.PathLike[str]


def read_delimited(
    path: PathLike,
    delimiter: str,
    into: FeatureFile | None = None,
    *,
    num_threads: int | None = None,
    progress: Progress | None = None,
    **roles: Unpack[RoleOptions],
) -> RankingData:
    """Return the data of a table of text with a header.

    An empty cell, nan, NaN, NULL and NA are missing features. True and False are 1 and 0. Query ids are integers if all of them are written as such.

    Args:
        path: The file, plain or gzip.
        delimiter: What separates the cells of a row.
        into: The file to put the features into; by default they are kept in memory.
        num_threads: Number of threads; by default every core this process may use.
        progress: Called with (bytes done, bytes in all).
        **roles: Which column is what; see `Roles`.
    """
    use_threads = resolve_threads(num_threads) > 1
    text = None
    with reading(path) as stream:
        names = read_header(path, stream, delimiter)
        try:
            plan = plan_reading(names, Roles.of(roles))
        except DataError as error:
            raise FormatError.of(path, error, line=1) from None
        truths = truth_columns(path, stream, delimiter, names)
        stream.seek(0)
        is_fast = _has_pyarrow() and is_plain_text(stream, delimiter)
        if is_fast and not is_plain_file(stream):  # Arrow's own gzip does not notice a file that is cut short
            stream.seek(0)
            text = stream.read()
    data = _fast_data(path, text, delimiter, plan, names, truths, use_threads, progress, into) if is_fast else None
    if data is None:
        block, texts = read_text(path, delimiter, plan, names)  # says where a bad cell stands
        try:
            data = _with_categories(plan, block, texts)
        except DataError as error:
            raise FormatError.of(path, error) from None
        if into is not None:
            into.replace(data.features)
    if progress is not None:
        total = Path(path).stat().st_size
        progress(total, total)
    return data


def _has_pyarrow() -> bool:
    try:
        require_pyarrow()
    except MissingExtraError:
        return False
    return True


def _fast_data(
    path: PathLike,
    text: bytes | None,
    delimiter: str,
    plan: ColumnPlan,
    names: Sequence[str],
    truths: frozenset[str],
    use_threads: bool,
    progress: Progress | None,
    into: FeatureFile | None,
) -> RankingData | None:
    """Return the data of a file, or of the text it decompresses to, as pyarrow reads it; None if it refuses it."""
    try:
        block, texts = read_with_arrow(path, text, delimiter, plan, names, truths, use_threads, progress, into)
        return _with_categories(plan, block, texts, is_whole=into is not None)
    except (DataError, ValueError, OSError):
        return None


def _with_categories(
    plan: ColumnPlan, block: Block, texts: dict[str, list[str]], *, is_whole: bool = False
) -> RankingData:
    """Return the data with the columns of categories put between those of numbers, where `is_whole` features have room."""
    if not plan.categorical:
        return assemble(plan, block, plan.feature_names, in_runs=is_whole)
    rows, numeric = len(block.labels), iter(block.features.T)
    matrix = block.features if is_whole else np.empty((rows, len(plan.features)), np.float32)
    categories = {}
    for column, name in enumerate(plan.features):
        if name in plan.categorical:
            matrix[:, column], categories[column] = _coded(name, texts[name])
        elif not is_whole:
            matrix[:, column] = next(numeric)
    whole = Block(block.labels, block.qid, block.document_ids, block.weights, block.query_weights, matrix)
    return assemble(plan, whole, plan.feature_names, categories, in_runs=is_whole)


def _coded(name: str, texts: Sequence[str]) -> tuple[npt.NDArray[np.float32], tuple[str, ...]]:
    """Return the code of each text and the categories; an empty cell is missing, as it is for numbers."""
    categories = category_names(name, sorted_categories(set(texts).difference(MISSING)))
    code_of = {text: float(code) for code, text in enumerate(categories)}
    return np.array([code_of.get(text, np.nan) for text in texts], np.float32), categories


def write_delimited(data: RankingData, path: PathLike, delimiter: str, **roles: Unpack[RoleOptions]) -> None:
    """Write data as text, rows in the caller's order, each number as its shortest exact decimal; pairs are refused."""
    plan = plan_writing(data, Roles.of(roles))
    _refuse_missing_texts(data, plan)
    with writing(path, "csv" if delimiter == "," else "tsv") as file:
        file.write(_csv_line(plan.names, delimiter).encode())
        (_write_with_arrow if _has_pyarrow() else _write_with_csv)(data, plan, file, delimiter)


def _refuse_missing_texts(data: RankingData, plan: ColumnPlan) -> None:
    """Refuse ids and categories that would be read back as missing."""
    for text in data.query_ids.tolist() if data.query_ids.dtype.kind == "U" else ():
        if text in MISSING:
            raise DataError(f"query id {text!r} would be read back as missing; rename the query")
    for name, categories in plan.categories.items():
        for text in categories:
            if text in MISSING:
                raise DataError(f"category {text!r} of feature {name!r} would be read back as missing; rename it")


def _write_with_arrow(data: RankingData, plan: ColumnPlan, file: IO[bytes], delimiter: str) -> None:
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    special = np.frombuffer(f'{delimiter}"\r\n'.encode(), np.uint8)
    texts = [] if data.document_ids is None else [data.document_ids.compact().data]
    texts += [Strings.of(categories).data for categories in plan.categories.values()]
    if data.query_ids.dtype.kind not in "iuf":
        texts.append(Strings.of(data.query_ids.tolist()).data)
    quoting = "needed" if any(np.isin(text, special).any() for text in texts) else "none"
    options = pa_csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style=quoting)
    writer = None
    for block in row_blocks(data):
        batch = record_batch(plan, block)
        decoded = [
            column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column for column in batch.columns
        ]
        batch = pa.record_batch(decoded, names=plan.names)
        writer = writer or pa_csv.CSVWriter(file, batch.schema, write_options=options)
        writer.write_batch(batch)
    if writer is not None:
        writer.close()


def _write_with_csv(data: RankingData, plan: ColumnPlan, file: IO[bytes], delimiter: str) -> None:
    for block in row_blocks(data, PARSE_ROWS):
        columns = [shortest(block.labels), [str(value) for value in block.qid.tolist()]]
        columns += [] if block.document_ids is None else [list(block.document_ids)]
        columns += [shortest(weights) for weights in (block.weights, block.query_weights) if weights is not None]
        for name, values in zip(plan.features, block.features.T, strict=True):
            names = plan.categories.get(name)
            texts = shortest(values) if names is None else ["nan" if v != v else names[int(v)] for v in values]
            columns.append(["" if text == "nan" else text for text in texts])
        file.write("".join(_csv_line(cells, delimiter) for cells in zip(*columns, strict=True)).encode())


def _csv_line(cells: Sequence[str], delimiter: str) -> str:
    """Return a line, with quotes around the cells that need them; Python's csv module leaves a lone carriage return without."""
    special = (delimiter, '"', "\r", "\n")
    quoted = ('"' + cell.replace('"', '""') + '"' if any(mark in cell for mark in special) else cell for cell in cells)
    return delimiter.join(quoted) + "\n"


def _format(name: str, delimiter: str) -> Format:
    def read(path: PathLike, **options: Any) -> RankingData:
        return read_delimited(path, delimiter, **options)

    def write(data: RankingData, path: PathLike, **options: Any) -> None:
        write_delimited(data, path, delimiter, **options)

    def read_into(path: PathLike, into: FeatureFile, **options: Any) -> RankingData:
        return read_delimited(path, delimiter, into, **options)

    what = f"{name.upper()} with a header, columns by name"
    return Format(name, "data", what, read, write, ROLE_RULES, COLUMN_NAMES, read_into)


CSV = _format("csv", ",")
TSV = _format("tsv", "\t")
