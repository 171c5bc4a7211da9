"""Parquet and Arrow IPC (Feather) files: tables with typed columns, read and written with pyarrow."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Unpack

import numpy as np

from podium.data import RankingData, Strings
from podium.data.frame_columns import Frame
from podium.errors import DataError, FormatError, MissingExtraError
from podium.files import atomic_write
from podium.formats.arrow_batches import check_batch, check_schema, checksum_note
from podium.formats.arrow_messages import DICTIONARY, ArrowLayout, read_layout
from podium.formats.columns import (
    COLUMN_NAMES,
    ROLE_RULES,
    Block,
    ColumnPlan,
    RoleOptions,
    Roles,
    plan_reading,
    plan_writing,
    row_blocks,
)
from podium.formats.feature_file import FeatureFile
from podium.formats.flatbuffers import DamageError
from podium.formats.format import Format
from podium.formats.gathering import gather
from podium.formats.opening import open_file
from podium.formats.parquet_checks import check_footer
from podium.threads import resolve_threads

Progress = Callable[[int, int], None]
STREAMED_ROWS = 1 << 14  # rows of Parquet that are read at a time if features are put into a file


def require_pyarrow() -> Any:
    """Return the pyarrow package; raise a MissingExtraError if it is not installed."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("pyarrow is not installed; pip install 'podium[frames]'") from None
    return pyarrow


def read_parquet(
    path: str | os.PathLike[str],
    into: FeatureFile | None = None,
    *,
    num_threads: int | None = None,
    progress: Progress | None = None,
    **roles: Unpack[RoleOptions],
) -> RankingData:
    """Read a Parquet file, one row group at a time; see `Roles` for the options.

    If features are put into a file, fewer rows are read at a time, because a row group may be as large as memory.
    """
    pa = require_pyarrow()
    import pyarrow.parquet as pq

    use_threads = resolve_threads(num_threads) > 1
    with _arrow_errors(path), open_file(path) as opened:
        _refuse_empty(path, opened)
        footer = check_footer(opened)
    with (
        _arrow_errors(path),
        pa.OSFile(os.fsencode(path)) as source,
        pq.ParquetFile(source, page_checksum_verification=True) as file,
    ):
        footer.check_types(file.schema_arrow)
        plan = plan_reading(file.schema_arrow.names, Roles.of(roles))
        if into is None:
            groups = (
                file.read_row_group(group, columns=plan.names, use_threads=use_threads)
                for group in range(file.num_row_groups)
            )
        else:
            batches = file.iter_batches(STREAMED_ROWS, columns=plan.names, use_threads=use_threads)
            groups = (pa.Table.from_batches([batch]) for batch in batches)
        return gather(plan, map(Frame, groups), footer.n_rows, Path(path).stat().st_size, progress, into)


def read_arrow(
    path: str | os.PathLike[str],
    into: FeatureFile | None = None,
    *,
    num_threads: int | None = None,
    progress: Progress | None = None,
    **roles: Unpack[RoleOptions],
) -> RankingData:
    """Read an Arrow IPC file (Feather version 2) or stream, one batch at a time; see `Roles` for the options."""
    pa = require_pyarrow()
    resolve_threads(num_threads)
    with _arrow_errors(path), open_file(path) as file, pa.OSFile(os.fsencode(path)) as source:
        _refuse_empty(path, file)
        layout = read_layout(file)
        reader = pa.ipc.open_file(source) if layout.is_file else pa.ipc.open_stream(source)
        plan = plan_reading(reader.schema.names, Roles.of(roles))
        size = file.seek(0, os.SEEK_END)
        check_schema(layout.first_message, reader.schema)
        types = [field.type for field in reader.schema]
        for message in layout.messages:
            check_batch(file, message, None if message.type == DICTIONARY else types)
        rows = sum(message.n_rows for message in layout.batches)
        return gather(plan, _checked_batches(layout, reader, plan), rows, size, progress, into)


def _checked_batches(layout: ArrowLayout, reader: Any, plan: ColumnPlan) -> Iterator[Frame]:
    """Yield the batches of an open file or stream, each checked in full before anything is taken from it."""
    pa = require_pyarrow()
    for number, message in enumerate(layout.batches):
        batch = reader.get_batch(number) if layout.is_file else reader.read_next_batch()
        batch.validate(full=True)
        if batch.num_rows != message.n_rows:
            raise DamageError(f"batch {number} has {batch.num_rows} rows and is said to have {message.n_rows}")
        yield Frame(pa.Table.from_batches([batch.select(plan.names)]))


def write_parquet(data: RankingData, path: str | os.PathLike[str], **roles: Unpack[RoleOptions]) -> None:
    """Write data as a Parquet file, rows in the caller's order; preference pairs are refused."""
    require_pyarrow()
    import pyarrow.parquet as pq

    plan = plan_writing(data, Roles.of(roles))
    with atomic_write(path, "parquet") as file:
        writer = None
        for block in row_blocks(data):
            batch = record_batch(plan, block)
            writer = writer or pq.ParquetWriter(file, batch.schema, write_page_checksum=True)
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
            writer.write_batch(batch, custom_metadata=checksum_note(batch))
        if writer is not None:
            writer.close()


def record_batch(plan: ColumnPlan, block: Block) -> Any:
    """Return rows as an Arrow record batch; missing features are nulls."""
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
    """Return a column of strings as Arrow's large_string, without a copy."""
    pa = require_pyarrow()
    held = strings.compact()
    return pa.LargeStringArray.from_buffers(len(held), pa.py_buffer(held.offsets), pa.py_buffer(held.data))


def _refuse_empty(path: str | os.PathLike[str], file: IO[bytes]) -> None:
    if not file.read(1):
        raise FormatError(path, "the file is empty")


@contextlib.contextmanager
def _arrow_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn errors of pyarrow and of damaged data into a FormatError that names the file."""
    pa = require_pyarrow()
    try:
        yield
    except FormatError:
        raise
    except DamageError as error:
        raise FormatError(path, f"is damaged or not of this format: {error}") from None
    except DataError as error:
        raise FormatError.of(path, error) from None
    except MemoryError:
        raise FormatError(path, "is damaged, or needs more memory than there is") from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise FormatError(path, f"is damaged or not of this format: {error}") from None


PARQUET = Format(
    "parquet",
    "data",
    "Parquet table with named columns",
    read_parquet,
    write_parquet,
    read_options=ROLE_RULES,
    write_options=COLUMN_NAMES,
    read_into=read_parquet,
)
ARROW = Format(
    "arrow",
    "data",
    "Arrow IPC (Feather) table with named columns",
    read_arrow,
    write_arrow,
    read_options=ROLE_RULES,
    write_options=COLUMN_NAMES,
    read_into=read_arrow,
)
