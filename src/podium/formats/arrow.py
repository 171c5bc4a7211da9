"""Parquet and Arrow files (IPC, which is also Feather): tables with typed columns, read and written with pyarrow."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from podium.data import RankingData, Strings
from podium.data.frame_columns import Frame
from podium.errors import DataError, FormatError, MissingExtraError
from podium.files import atomic_write
from podium.formats.columns import (
    COLUMN_NAMES,
    ROLE_NAMES,
    Block,
    ColumnPlan,
    RoleOptions,
    Roles,
    plan_reading,
    plan_writing,
    row_blocks,
)
from podium.formats.format import Format
from podium.formats.gathering import gather
from podium.formats.opening import open_file
from podium.kinds import looks_like_arrow, looks_like_parquet
from podium.threads import resolve_threads

Progress = Callable[[int, int], None]


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
        return gather(plan, map(Frame, groups), file.metadata.num_rows, Path(path).stat().st_size, progress)


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
        return gather(plan, map(Frame, tables), rows, Path(path).stat().st_size, progress)


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
    for name, values in zip(plan.features, by_column, strict=True):
        column = pa.array(values, from_pandas=True)
        if name in plan.categories:
            column = pa.DictionaryArray.from_arrays(
                column.cast(pa.int32()), pa.array(plan.categories[name], pa.string())
            )
        columns.append(column)
    return pa.record_batch(columns, names=plan.names)


def arrow_strings(strings: Strings) -> Any:
    """A column of strings as Arrow's large_string, without a copy."""
    pa = require_pyarrow()
    held = strings.compact()
    return pa.LargeStringArray.from_buffers(len(held), pa.py_buffer(held.offsets), pa.py_buffer(held.data))


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
    write_options=COLUMN_NAMES,
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
    write_options=COLUMN_NAMES,
)
