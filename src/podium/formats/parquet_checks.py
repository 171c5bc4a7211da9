"""Whether the footer of a Parquet file agrees with itself.

pyarrow reads what the footer says, whose bytes have no checksum. The footer says many things twice: the number of rows, the names and
types of the columns, where each column is and how large before and after compression. (Pages may have checksums, which pyarrow
compares.) The footer is read here from its bytes, because some of pyarrow's own ways to look at a damaged one end the process.

Layout: https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
"""

from __future__ import annotations

import base64
import binascii
import os
from dataclasses import dataclass
from typing import IO, Any

from podium.formats.flatbuffers import DamageError
from podium.formats.thrift import ThriftStruct, read_struct

MAGIC = b"PAR1"
REPEATED = 2
UNCOMPRESSED = 0
ARROW_SCHEMA = b"ARROW:schema"


@dataclass(frozen=True)
class Leaf:
    """A column that holds values: its path, its type, and whether it has one value per row."""

    path: list[bytes]
    type: int
    is_flat: bool


@dataclass(frozen=True)
class ParquetFooter:
    """What a footer says: the number of rows, and the schema of Arrow that most writers keep besides that of Parquet, or None."""

    n_rows: int
    arrow_schema: Any

    def check_types(self, schema: Any) -> None:
        """Check the types that pyarrow reads the columns as; old versions of Parquet write some integers as wider ones."""
        import pyarrow as pa

        is_a = pa.types
        for field in self.arrow_schema or ():
            found, kind = schema.field(field.name).type, field.type
            is_number = is_a.is_integer(kind) or is_a.is_floating(kind) or is_a.is_boolean(kind)
            is_wider = is_a.is_integer(kind) and is_a.is_integer(found) and found.bit_width > kind.bit_width
            if is_number and found != kind and not is_wider:
                raise DamageError(f"column {field.name!r} is {found} and was written as {kind}")


def check_footer(file: IO[bytes]) -> ParquetFooter:
    """Read the footer of an open Parquet file; raise a DamageError if parts of it contradict each other."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 8))
    tail = file.read(8)
    length = int.from_bytes(tail[:4], "little")
    start = size - 8 - length
    if tail[4:] != MAGIC or start < len(MAGIC):
        raise DamageError("it is cut short or damaged: it does not end with a footer")
    file.seek(start)
    footer = read_struct(file.read(length))
    try:
        return _check_groups(footer, start)
    except (KeyError, TypeError, AttributeError):
        raise DamageError("a part of its footer is missing or of another type") from None


def _check_groups(footer: ThriftStruct, footer_start: int) -> ParquetFooter:
    leaves = _leaves(footer[2])
    groups: list[ThriftStruct] = footer[4]
    rows = [group[3] for group in groups]
    if min(rows, default=0) < 0 or sum(rows) != footer[3]:
        raise DamageError(f"its row groups do not add up to the {footer[3]} rows it is said to have")
    places = []
    for group in groups:
        chunks = group[1]
        if len(chunks) != len(leaves):
            raise DamageError(f"a row group has {len(chunks)} columns where the schema has {len(leaves)}")
        for chunk, leaf in zip(chunks, leaves, strict=True):
            _check_chunk(chunk[3], leaf, group[3])
            if chunk[3][5]:
                places.append(_place(chunk[3]))
    places.sort()
    ends = [len(MAGIC), *(end for _, end in places)]
    starts = [*(start for start, _ in places), footer_start]
    if any(start < end for start, end in zip(starts, ends, strict=True)):
        raise DamageError("its columns overlap, or lie outside the file")
    names = list(dict.fromkeys(leaf.path[0] for leaf in leaves))
    return ParquetFooter(int(footer[3]), _arrow_schema(footer, names))


def _leaves(elements: list[ThriftStruct]) -> list[Leaf]:
    """Return the columns that hold values, from the schema's tree in the order in which it is written."""
    leaves: list[Leaf] = []
    open_groups: list[tuple[list[bytes], bool, int]] = [([], True, elements[0].get(5, 0))] if elements else []
    for element in elements[1:]:
        while open_groups and open_groups[-1][2] == 0:
            open_groups.pop()
        if not open_groups:
            raise DamageError("its schema has more columns than it is said to have")
        path, is_flat, left = open_groups.pop()
        open_groups.append((path, is_flat, left - 1))
        own_path, own_flat = [*path, element[4]], is_flat and element.get(3) != REPEATED
        if element.get(5):
            open_groups.append((own_path, own_flat, element[5]))
        else:
            leaves.append(Leaf(own_path, element[1], own_flat))
    if any(left for _, _, left in open_groups):
        raise DamageError("its schema has fewer columns than it is said to have")
    return leaves


def _check_chunk(chunk: ThriftStruct, leaf: Leaf, rows: int) -> None:
    """Check what is said about one column of a row group."""
    name = b".".join(leaf.path).decode(errors="backslashreplace")
    if chunk[3] != leaf.path or chunk[1] != leaf.type:
        raise DamageError(f"column {name!r} has another name or type in a row group than in the schema")
    if leaf.is_flat and chunk[5] != rows:
        raise DamageError(f"column {name!r} has {chunk[5]} values in a row group of {rows} rows")
    if chunk[4] == UNCOMPRESSED and chunk[6] != chunk[7]:
        raise DamageError(f"column {name!r} is said to be uncompressed and is compressed")


def _place(chunk: ThriftStruct) -> tuple[int, int]:
    """Return where the bytes of a column of a row group begin and end."""
    start = min(chunk[9], chunk.get(11) or chunk[9])
    return start, start + chunk[7]


def _arrow_schema(footer: ThriftStruct, found: list[bytes]) -> Any:
    """Return the schema of Arrow, checked against the names of the columns; None if there is none."""
    import pyarrow as pa

    stored: Any = next((note.get(2) for note in footer.get(5, ()) if note[1] == ARROW_SCHEMA), None)
    if stored is None:
        return None
    try:
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(stored, validate=True)))
        names = [name.encode() for name in schema.names]
    except (binascii.Error, pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DamageError(f"the schema in its notes is damaged: {error}") from None
    if names != found:
        raise DamageError("the names of its columns are not those of the schema in its notes")
    return schema
