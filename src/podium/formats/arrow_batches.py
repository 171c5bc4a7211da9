"""The record batches of an Arrow IPC file or stream: whether their metadata agrees with their bytes.

The buffers of a batch fill its body one after the other, a null count of zero agrees with the bits that mark nulls, and no buffer
is much larger than its column. Batches that Podium writes carry a checksum of their body besides.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from podium.formats.arrow_messages import CONTINUATION, ArrowMessage
from podium.formats.flatbuffers import DamageError

NODE = np.dtype([("length", "<i8"), ("nulls", "<i8")])
BUFFER = np.dtype([("offset", "<i8"), ("length", "<i8")])
VERSION_5 = 4  # as messages number it: the layout since Arrow 1.0
ALIGNMENTS = (8, 16, 32, 64)
MOST_PADDING = 64  # bytes that a writer may add to a buffer
CODECS = ("lz4", "zstd")
CHECKSUM_KEY = "podium.crc32"


@dataclass(frozen=True)
class ColumnShape:
    """What a type needs in a batch.

    Attributes:
        n_buffers: Number of buffers.
        has_validity: Whether the first buffer marks nulls.
        bits: Bits per row of the second buffer; 0 if that is not known.
        more: Entries that the second buffer has besides one per row.
        list_size: Number of values per row of the column that follows, of a list of fixed size; None of other types.
        is_top: Whether this is a column of the table, not one inside another.
    """

    n_buffers: int
    has_validity: bool = True
    bits: int = 0
    more: int = 0
    list_size: int | None = None
    is_top: bool = True


def check_batch(file: IO[bytes], message: ArrowMessage, types: Sequence[Any] | None) -> None:
    """Check the metadata of a batch against its body; raise a DamageError if they contradict each other.

    Args:
        file: The open file.
        message: The message of the batch.
        types: The pyarrow types of the columns; None for a dictionary, which is one column of some type.
    """
    nodes, buffers = message.batch.structs(1, NODE), message.batch.structs(2, BUFFER)
    _check_places(buffers, message.body_length)
    if types is None:
        shapes, nodes = [ColumnShape(len(buffers))], nodes[:1]
    else:
        views = iter(message.batch.structs(4, "<i8").tolist())
        old = message.version < VERSION_5
        shapes = [shape for kind in types for shape in _column_shapes(kind, views, old)]
    if len(shapes) != len(nodes) or sum(shape.n_buffers for shape in shapes) != len(buffers):
        raise DamageError("a batch has other columns than the schema")
    first = 0
    for number, (shape, (length, nulls)) in enumerate(zip(shapes, nodes.tolist(), strict=True)):
        if length < 0 or (shape.is_top and length != message.n_rows):
            raise DamageError(f"a column has {length} rows in a batch of {message.n_rows}")
        if shape.has_validity and nulls == 0 and shape.n_buffers and buffers[first]["length"]:
            _check_no_nulls(file, message, buffers[first], length)
        if shape.bits and length:
            _check_size(file, message, buffers[first + 1], -(-(length + shape.more) * shape.bits // 8))
        if shape.list_size is not None and nodes["length"][number + 1] != length * shape.list_size:
            raise DamageError(f"{length} lists of {shape.list_size} values do not make a column of that length")
        first += shape.n_buffers
    _check_checksum(file, message)


def _check_places(buffers: npt.NDArray[Any], body_length: int) -> None:
    """Check that the buffers lie in the body one after the other, each aligned, with nothing before, between or after."""
    offsets, lengths = buffers["offset"], buffers["length"]
    if not len(buffers):
        starts = np.zeros(1, np.int64)
    elif lengths.min() < 0 or offsets.min() < 0 or lengths.max() > body_length:
        raise DamageError("a buffer of a batch lies outside its body")
    else:
        starts = np.append(0, offsets + lengths)
    wanted = np.append(offsets, body_length)
    if not any((wanted == -(-starts // alignment) * alignment).all() for alignment in ALIGNMENTS):
        raise DamageError("the buffers of a batch do not lie one after the other")


def _column_shapes(kind: Any, views: Iterator[int], old: bool, is_top: bool = True) -> Iterator[ColumnShape]:
    """Yield the shapes of a column and of the columns inside it.

    Args:
        kind: The pyarrow type of the column.
        views: How many more buffers each column of views has.
        old: Whether the batch has the layout from before Arrow 1.0, in which every column has a buffer that marks nulls.
        is_top: Whether this is a column of the table.
    """
    import pyarrow as pa

    is_a = pa.types
    inside: Sequence[Any] = ()
    if isinstance(kind, pa.BaseExtensionType):
        yield from _column_shapes(kind.storage_type, views, old, is_top)
        return
    if is_a.is_dictionary(kind):
        shape = ColumnShape(2, bits=kind.index_type.bit_width)
    elif is_a.is_null(kind):
        shape = ColumnShape(0, has_validity=False)
    elif is_a.is_union(kind):
        shape = ColumnShape(old + (2 if kind.mode == "dense" else 1), has_validity=False)
        inside = [kind.field(k).type for k in range(kind.num_fields)]
    elif is_a.is_run_end_encoded(kind):
        shape, inside = ColumnShape(int(old), has_validity=False), [kind.run_end_type, kind.value_type]
    elif kind.has_variadic_buffers:
        shape = ColumnShape(kind.num_buffers + next(views, 0), bits=128)
    else:
        bits, more = _second_buffer(kind)
        size = kind.list_size if is_a.is_fixed_size_list(kind) else None
        shape = ColumnShape(kind.num_buffers, bits=bits, more=more, list_size=size)
        inside = [kind.field(k).type for k in range(kind.num_fields)]
    yield replace(shape, is_top=is_top)
    for child in inside:
        yield from _column_shapes(child, views, old, is_top=False)


def _second_buffer(kind: Any) -> tuple[int, int]:
    """Return the bits per row of a column's second buffer, and how many entries it has besides one per row."""
    import pyarrow as pa

    is_a = pa.types
    if is_a.is_large_string(kind) or is_a.is_large_binary(kind) or is_a.is_large_list(kind):
        return 64, 1
    if is_a.is_string(kind) or is_a.is_binary(kind) or is_a.is_list(kind) or is_a.is_map(kind):
        return 32, 1
    if is_a.is_primitive(kind) or is_a.is_decimal(kind) or is_a.is_fixed_size_binary(kind):
        return kind.bit_width, 0
    return 0, 0


def _check_no_nulls(file: IO[bytes], message: ArrowMessage, buffer: Any, length: int) -> None:
    """Check the bits of a column that is said to have no nulls; pyarrow does not look at them then."""
    needed = -(-length // 8)
    _check_size(file, message, buffer, needed)
    file.seek(message.body_start + int(buffer["offset"]))
    bits = _decompressed(file.read(int(buffer["length"])), message)
    if not np.unpackbits(np.frombuffer(bits[:needed], np.uint8), bitorder="little")[:length].all():
        raise DamageError("a column is said to have no nulls and has some")


def _check_size(file: IO[bytes], message: ArrowMessage, buffer: Any, needed: int) -> None:
    """Check that a buffer is as large as its column, or a little larger, which some writers fill up."""
    size = int(buffer["length"])
    if message.batch.table(3) is not None and size:
        file.seek(message.body_start + int(buffer["offset"]))
        size = _size_before_compression(file.read(8), size)
    if not needed <= size < needed + MOST_PADDING:
        raise DamageError(f"a column of a batch takes {size} bytes where its rows need {needed}")


def _size_before_compression(head: bytes, size: int) -> int:
    """Return the size that a compressed buffer begins with; -1 there says that it was left as it is."""
    stated = int.from_bytes(head, "little", signed=True)
    return size - 8 if stated == -1 else stated


def _decompressed(raw: bytes, message: ArrowMessage) -> bytes:
    compression = message.batch.table(3)
    if compression is None:
        return raw
    codec, size = compression.number(0, "<b"), _size_before_compression(raw[:8], len(raw))
    if raw[:8] == b"\xff" * 8:
        return raw[8:]
    if codec not in range(len(CODECS)):
        raise DamageError("a batch is compressed in an unknown way")
    import pyarrow as pa

    return bytes(pa.Codec(CODECS[codec]).decompress(raw[8:], size))


def _check_checksum(file: IO[bytes], message: ArrowMessage) -> None:
    stated = message.notes.get(CHECKSUM_KEY.encode())
    if stated is None:
        return
    file.seek(message.body_start)
    found, left = 0, message.body_length
    while left:
        block = file.read(min(left, 1 << 22))
        if not block:
            raise DamageError("the file became shorter while it was being read")
        found, left = zlib.crc32(block, found), left - len(block)
    if f"{found:08x}".encode() != stated:
        raise DamageError("the checksum of a batch does not fit its bytes")


def check_schema(first_message: bytes, schema: Any) -> None:
    """Check that a file begins with the message of this pyarrow schema, which its footer repeats."""
    import pyarrow as pa

    framed = CONTINUATION + len(first_message).to_bytes(4, "little") + first_message
    if not pa.ipc.read_schema(pa.py_buffer(framed)).equals(schema, check_metadata=True):
        raise DamageError("the schema at the beginning and the one in the footer differ")


def checksum_note(batch: Any) -> dict[str, str]:
    """Return what to write beside a pyarrow batch, so that `check_batch` can tell whether its bytes have changed."""
    raw = memoryview(batch.serialize())
    prefix = 8 if bytes(raw[:4]) == CONTINUATION else 4
    body_start = prefix + int.from_bytes(raw[prefix - 4 : prefix], "little")
    return {CHECKSUM_KEY: f"{zlib.crc32(raw[body_start:]):08x}"}
