"""The messages of an Arrow IPC file or stream, and whether what they say about themselves agrees.

pyarrow reads whatever the metadata says. If a few bytes of it are damaged, a batch may be left out, a column may be read from the
wrong place and nulls may turn into values, all without an error. The format says many things twice, so most of such damage can be
seen. Here: messages follow each other without a gap up to an end marker, and the footer of a file lists them and repeats the
schema. `arrow_batches` looks inside the batches.

Layouts: https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from podium.formats.flatbuffers import DamageError, FlatTable

MAGIC = b"ARROW1"
CONTINUATION = b"\xff\xff\xff\xff"
SCHEMA, DICTIONARY, BATCH = 1, 2, 3  # types of messages
LARGEST_METADATA = 1 << 30
FOOTER_BLOCK = np.dtype([("offset", "<i8"), ("metadata", "<i4"), ("padding", "<i4"), ("body", "<i8")])


@dataclass(frozen=True)
class ArrowMessage:
    """One message: its type and version, where it and its body begin, how long the body is, and its metadata."""

    type: int
    version: int
    offset: int
    body_start: int
    body_length: int
    header: FlatTable
    notes: dict[bytes, bytes]

    @property
    def batch(self) -> FlatTable:
        """Return the record batch, which a dictionary message holds too."""
        inside = self.header.table(1) if self.type == DICTIONARY else self.header
        if inside is None:
            raise DamageError("a dictionary has no values")
        return inside

    @property
    def n_rows(self) -> int:
        """Return the number of rows of the record batch."""
        return self.batch.number(0, "<q")


@dataclass(frozen=True)
class ArrowLayout:
    """What an IPC file or stream holds: its schema, and its messages in the order in which they stand.

    Attributes:
        schema: The schema, from the footer of a file and from the first message of a stream.
        first_message: The bytes of the message with the schema that a file or stream begins with.
        messages: The messages that follow it.
        is_file: Whether this is a file with a footer, not a stream.
    """

    schema: FlatTable
    first_message: bytes
    messages: Sequence[ArrowMessage]
    is_file: bool

    @property
    def batches(self) -> list[ArrowMessage]:
        """Return the messages that hold rows."""
        return [message for message in self.messages if message.type == BATCH]


def read_layout(file: IO[bytes]) -> ArrowLayout:
    """Read the metadata of an IPC file or stream; raise a DamageError if parts of it contradict each other."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    layout = _file_layout(file, size) if file.read(len(MAGIC)) == MAGIC else _stream_layout(file, size)
    if layout.schema.number(0, "<h") != 0:
        raise DamageError("the schema says that its numbers are big-endian, which is not supported")
    known = set(_dictionary_ids(layout.schema))
    for message in layout.messages:
        if message.type == DICTIONARY and message.header.number(0, "<q") not in known:
            raise DamageError("a dictionary belongs to no column of the schema")
    return layout


def _stream_layout(file: IO[bytes], size: int) -> ArrowLayout:
    messages, end, is_ended = _walk(file, 0, size)
    if not messages or messages[0].type != SCHEMA:
        raise DamageError("it does not begin with a schema")
    if not is_ended:
        raise DamageError("it is cut short: there is no end marker")
    if end != size:
        raise DamageError(f"{size - end} bytes follow the end marker")
    return ArrowLayout(messages[0].header, messages[0].header.data, messages[1:], is_file=False)


def _file_layout(file: IO[bytes], size: int) -> ArrowLayout:
    file.seek(max(0, size - 4 - len(MAGIC)))
    tail = file.read()
    length = int.from_bytes(tail[:4], "little", signed=True)
    footer_start = size - 4 - len(MAGIC) - length
    if tail[4:] != MAGIC or length <= 0 or footer_start < 8:
        raise DamageError("it is cut short or damaged: it does not end with a footer")
    file.seek(footer_start)
    footer = FlatTable.root(file.read(length))
    schema = footer.table(1)
    listed = np.concatenate([footer.structs(2, FOOTER_BLOCK), footer.structs(3, FOOTER_BLOCK)])
    if schema is None:
        raise DamageError("its footer has no schema")
    start = int(listed["offset"].min()) if len(listed) else footer_start
    first, start = _first_schema(file, start)
    messages, end, _ = _walk(file, start, footer_start)
    if end != footer_start:
        raise DamageError("bytes between the last message and the footer belong to no message")
    if list(_fields(first)) != list(_fields(schema)):
        raise DamageError("the schema at the beginning and the one in the footer differ")
    _check_footer(footer, messages)
    return ArrowLayout(schema, first.data, messages, is_file=True)


def _first_schema(file: IO[bytes], first_block: int) -> tuple[FlatTable, int]:
    """Return the schema that a file begins with, and where the message after it begins."""
    file.seek(8)
    head = file.read(max(0, first_block - 8))
    padding = len(head) - len(head.lstrip(b"\0"))
    padding -= padding % 8  # a writer may align the first message to more than 8 bytes
    try:
        messages, end, _ = _walk(file, 8 + padding, first_block)
    except DamageError:  # polars writes this message without its length
        messages, end = [_parse_message(head[padding:], 8, first_block)], first_block
    if len(messages) != 1 or messages[0].type != SCHEMA:
        raise DamageError("it does not begin with a schema")
    return messages[0].header, end


def _check_footer(footer: FlatTable, messages: Sequence[ArrowMessage]) -> None:
    for slot, type_ in ((2, DICTIONARY), (3, BATCH)):
        blocks = footer.structs(slot, FOOTER_BLOCK)
        listed = sorted(
            zip(blocks["offset"].tolist(), blocks["metadata"].tolist(), blocks["body"].tolist(), strict=True)
        )
        found = [
            (message.offset, message.body_start - message.offset, message.body_length)
            for message in messages
            if message.type == type_
        ]
        if listed != found:
            raise DamageError(f"its footer lists {len(listed)} batches that are not the {len(found)} batches there are")


def _walk(file: IO[bytes], start: int, limit: int) -> tuple[list[ArrowMessage], int, bool]:
    """Return the messages from `start` on, where they end, and whether an end marker stands there."""
    messages: list[ArrowMessage] = []
    position = start
    while position < limit:
        file.seek(position)
        word = file.read(4)
        prefix = 4
        if word == CONTINUATION:  # files from before Arrow 0.15 do without
            word, prefix = file.read(4), 8
        length = int.from_bytes(word, "little", signed=True)
        if length == 0 and len(word) == 4:
            return messages, position + prefix, True
        if not 0 < length <= min(limit - position - prefix, LARGEST_METADATA):
            raise DamageError(f"the message at byte {position} is damaged or cut short")
        message = _parse_message(file.read(length), position, position + prefix + length)
        position = message.body_start + message.body_length
        if message.body_length < 0 or position > limit:
            raise DamageError(f"the body of the message at byte {message.offset} is cut short")
        if message.type not in (DICTIONARY, BATCH) and not (message.type == SCHEMA and not messages):
            raise DamageError(f"the message at byte {message.offset} is of a type that has no place there")
        messages.append(message)
    return messages, position, False


def _parse_message(metadata: bytes, offset: int, body_start: int) -> ArrowMessage:
    message = FlatTable.root(metadata)
    header = message.table(2)
    if header is None:
        raise DamageError(f"the message at byte {offset} is empty")
    notes = {note.text(0): note.text(1) for note in message.tables(4)}
    version = message.number(0, "<h")
    return ArrowMessage(message.number(1, "<B"), version, offset, body_start, message.number(3, "<q"), header, notes)


def _fields(schema: FlatTable, slot: int = 1, depth: int = 0) -> Iterator[tuple[Any, ...]]:
    """Yield name, type and dictionary of each field of a schema and of the fields inside it."""
    if depth > 64:
        raise DamageError("its schema is nested too deeply")
    for field in schema.tables(slot):
        dictionary = field.table(4)
        yield depth, field.text(0), field.number(2, "<B"), None if dictionary is None else dictionary.number(0, "<q")
        yield from _fields(field, 5, depth + 1)


def _dictionary_ids(schema: FlatTable) -> Iterator[int]:
    return (id for *_, id in _fields(schema) if id is not None)
