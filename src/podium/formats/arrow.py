"""Parquet and Arrow files (IPC, which is also Feather): tables with typed columns, read and written with pyarrow."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from podium.data import RankingData, Strings
from podium.data.grouping import text_array
from podium.errors import DataError, FormatError, MissingExtraError
from podium.files import atomic_write
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
from podium.formats.format import Format
from podium.formats.opening import open_file
from podium.kinds import looks_like_arrow, looks_like_parquet
from podium.threads import resolve_threads

Progress = Callable[[int, int], None]
LIST_COLUMN = "features"


def require_pyarrow() -> Any:
    """The pyarrow package."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("pyarrow is not installed; pip install 'podium[frames]'") from None
    return pyarrow


def read_parquet(
    path: str | os.PathLike[str],
    *,
    num_threads: int | None = None,
    progress: Progress | None = None,
    **roles: Unpack[RoleOptions],
) -> RankingData:
    """A Parquet file as RankingData, one row group at a time; see `Roles` for the options."""
    pa = require_pyarrow()
    import pyarrow.parquet as pq

    use_threads = resolve_threads(num_threads) > 1
    with _arrow_errors(path), pa.OSFile(_existing(path)) as source, pq.ParquetFile(source) as file:
        schema = file.schema_arrow
        plan = plan_reading(schema.names, Roles.of(roles))
        groups = (
            file.read_row_group(group, columns=plan.names, use_threads=use_threads)
            for group in range(file.num_row_groups)
        )
        return _gather(plan, schema, groups, file.metadata.num_rows, Path(path).stat().st_size, progress)


def read_arrow(
    path: str | os.PathLike[str],
    *,
    num_threads: int | None = None,
    progress: Progress | None = None,
    **roles: Unpack[RoleOptions],
) -> RankingData:
    """An Arrow IPC file or stream (Feather version 2) as RankingData, mapped, one batch at a time."""
    pa = require_pyarrow()
    resolve_threads(num_threads)
    with _arrow_errors(path), pa.memory_map(_existing(path)) as source:
        is_file = source.read(6) == b"ARROW1"
        source.seek(0)
        if is_file:
            reader = pa.ipc.open_file(source)
            batches = [reader.get_batch(k) for k in range(reader.num_record_batches)]
        else:
            reader = pa.ipc.open_stream(source)
            batches = list(reader)
        plan = plan_reading(reader.schema.names, Roles.of(roles))
        tables = (pa.Table.from_batches([batch.select(plan.names)]) for batch in batches)
        rows = sum(batch.num_rows for batch in batches)
        return _gather(plan, reader.schema, tables, rows, Path(path).stat().st_size, progress)


def write_parquet(data: RankingData, path: str | os.PathLike[str], **roles: Unpack[RoleOptions]) -> None:
    """Write data as a Parquet file, rows in the caller's order; preference pairs are refused."""
    require_pyarrow()
    import pyarrow.parquet as pq

    plan = plan_writing(data, Roles.of(roles))
    with atomic_write(path, "parquet") as file:
        writer = None
        for block in row_blocks(data):
            batch = record_batch(plan, block)
            writer = writer or pq.ParquetWriter(file, batch.schema)
            writer.write_batch(batch)
        if writer is not None:
            writer.close()


def write_arrow(data: RankingData, path: str | os.PathLike[str], **roles: Unpack[RoleOptions]) -> None:
    """Write data as an Arrow IPC file, rows in the caller's order; preference pairs are refused."""
    pa = require_pyarrow()
    plan = plan_writing(data, Roles.of(roles))
    with atomic_write(path, "arrow") as file:
        writer = None
        for block in row_blocks(data):
            batch = record_batch(plan, block)
            writer = writer or pa.ipc.new_file(file, batch.schema)
            writer.write_batch(batch)
        if writer is not None:
            writer.close()


def record_batch(plan: ColumnPlan, block: Block) -> Any:
    """Rows as an Arrow record batch; missing features are nulls."""
    pa = require_pyarrow()
    columns: list[Any] = [pa.array(block.labels), pa.array(block.qid)]
    if block.document_ids is not None:
        columns.append(arrow_strings(block.document_ids))
    columns += [pa.array(weights) for weights in (block.weights, block.query_weights) if weights is not None]
    by_column = np.ascontiguousarray(block.features.T)
    columns += [pa.array(column, from_pandas=True) for column in by_column]
    return pa.record_batch(columns, names=plan.names)


def arrow_strings(strings: Strings) -> Any:
    """A column of strings as Arrow's large_string, without a copy."""
    pa = require_pyarrow()
    held = strings.compact()
    return pa.LargeStringArray.from_buffers(len(held), pa.py_buffer(held.offsets), pa.py_buffer(held.data))


def strings_of(column: Any, name: str) -> Strings:
    """An Arrow column of text (or of what prints as text) as Strings."""
    pa = require_pyarrow()
    if column.null_count:
        raise DataError(f"column {name!r} has {column.null_count} missing document ids; give one a row")
    array = pa.concat_arrays(column.cast(pa.large_string()).chunks)
    _, offsets, values = array.buffers()
    bounds = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    return Strings(bounds, np.frombuffer(values or b"", np.uint8))


def from_table(table: Any, roles: Roles) -> RankingData:
    """RankingData of a pyarrow table."""
    plan = plan_reading(table.schema.names, roles)
    return _gather(plan, table.schema, [table.select(plan.names)], table.num_rows, table.nbytes, None)


def _gather(
    plan: ColumnPlan, schema: Any, tables: Iterable[Any], rows: int, size: int, progress: Progress | None
) -> RankingData:
    """One RankingData of several tables with the same columns, `rows` in all."""
    pa = require_pyarrow()
    lists = plan.features == (LIST_COLUMN,) and _is_list(schema.field(LIST_COLUMN).type)
    columns = {name: np.empty(rows) for name in (plan.label, plan.weight, plan.query_weight) if name is not None}
    features: npt.NDArray[np.float32] | None = None
    queries: list[Any] = []
    documents: list[Any] = []
    start = 0
    for table in tables:
        stop = start + table.num_rows
        for name, values in columns.items():
            values[start:stop] = _numbers(table.column(name), name)
        matrix = _list_values(table.column(LIST_COLUMN)) if lists else None
        if features is None:
            features = np.empty((rows, len(plan.features) if matrix is None else matrix.shape[1]), np.float32)
        _fill_features(features[start:stop], matrix, table, plan)
        queries += table.column(plan.query).chunks
        documents += [] if plan.document is None else table.column(plan.document).chunks
        start = stop
        if progress is not None and rows:
            progress(size * start // rows, size)
    if features is None or not rows:
        raise DataError("the table has no rows")
    named = ColumnPlan(plan.label, plan.query, plan.document, plan.weight, plan.query_weight, ()) if lists else plan
    block = Block(
        labels=columns[plan.label],
        qid=_query_ids(pa.chunked_array(queries), plan.query),
        document_ids=None if plan.document is None else strings_of(pa.chunked_array(documents), plan.document),
        weights=None if plan.weight is None else columns[plan.weight],
        query_weights=None if plan.query_weight is None else columns[plan.query_weight],
        features=features,
    )
    return assemble(named, block)


def _fill_features(
    target: npt.NDArray[np.float32], matrix: npt.NDArray[np.float32] | None, table: Any, plan: ColumnPlan
) -> None:
    if matrix is not None:
        if matrix.shape[1] != target.shape[1]:
            raise DataError(
                f"column {LIST_COLUMN!r} holds lists of {target.shape[1]} and of {matrix.shape[1]} numbers; "
                f"every document needs the same features"
            )
        target[:] = matrix
        return
    for k, name in enumerate(plan.features):
        with np.errstate(over="ignore"):  # RankingData reports what is infinite as float32
            target[:, k] = _numbers(table.column(name), name)


def _numbers(column: Any, name: str) -> npt.NDArray[Any]:
    """A column of numbers, NaN for null."""
    pa = require_pyarrow()
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        column = column.cast(pa.float64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise DataError(
            f"column {name!r} is {kind}, not numbers; cast it, or name the feature columns with features=[…]"
        )
    return np.asarray(column.to_numpy())


def _is_list(kind: Any) -> bool:
    types = require_pyarrow().types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _list_values(column: Any) -> npt.NDArray[np.float32]:
    """A column of lists of one length as a matrix."""
    import pyarrow.compute as pc

    lengths = np.unique(pc.list_value_length(column).fill_null(-1).to_numpy())
    if len(lengths) > 1 or (len(lengths) and lengths[0] < 0):
        raise DataError(
            f"column {LIST_COLUMN!r} holds lists of {lengths.min()} to {lengths.max()} numbers (-1 is no list); "
            f"every document needs the same features"
        )
    width = int(lengths[0]) if len(lengths) else 0
    values = _numbers(pc.list_flatten(column), LIST_COLUMN)
    with np.errstate(over="ignore"):
        return np.asarray(values, np.float32).reshape(len(column), width)


def _query_ids(column: Any, name: str) -> npt.NDArray[Any]:
    pa = require_pyarrow()
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy()))
        raise DataError(f"column {name!r} is missing in row {row}; every row needs a query id")
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view":
        array = pa.concat_arrays(column.cast(pa.large_string()).chunks).dictionary_encode()
        return np.asarray(text_array(array.dictionary.to_pylist())[array.indices.to_numpy()])
    return np.asarray(column.to_numpy())


def _existing(path: str | os.PathLike[str]) -> bytes:
    """Return the path of a file that is there and not empty, as the bytes it is to the system."""
    with open_file(path) as file:
        if not file.read(1):
            raise FormatError(path, "the file is empty")
    return os.fsencode(path)


@contextlib.contextmanager
def _arrow_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """What goes wrong with a file, as a FormatError that names it."""
    pa = require_pyarrow()
    try:
        yield
    except FormatError:
        raise
    except DataError as error:
        raise FormatError(path, str(error)) from None
    except (pa.ArrowException, OSError) as error:
        raise FormatError(path, f"is damaged or not of this format: {error}") from None


PARQUET = Format(
    "parquet",
    (".parquet", ".pq"),
    "data",
    "Parquet table with named columns",
    read_parquet,
    write_parquet,
    looks_like_parquet,
    read_options=ROLE_NAMES,
    write_options=ROLE_NAMES,
)
ARROW = Format(
    "arrow",
    (".arrow", ".feather", ".ipc"),
    "data",
    "Arrow IPC (Feather) table with named columns",
    read_arrow,
    write_arrow,
    looks_like_arrow,
    read_options=ROLE_NAMES,
    write_options=ROLE_NAMES,
)
