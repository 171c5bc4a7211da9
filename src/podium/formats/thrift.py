"""Reading structs of Thrift's compact protocol: just enough to look at the footer of a Parquet file, with every access checked.

Protocol: https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

from typing import Any

from podium.formats.flatbuffers import DamageError

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
DEEPEST = 32

ThriftStruct = dict[int, Any]
"""The fields of a struct by their number: integers, Booleans, bytes, lists and structs."""


def read_struct(data: bytes) -> ThriftStruct:
    """Return the struct that the bytes begin with; a DamageError says that they are not one."""
    try:
        return _CompactReader(data).struct(0)
    except IndexError:
        raise DamageError("the footer is cut short") from None


class _CompactReader:
    """A position in bytes, and what is read from there on."""

    def __init__(self, data: bytes) -> None:
        self.data, self.position = data, 0

    def struct(self, depth: int) -> ThriftStruct:
        if depth > DEEPEST:
            raise DamageError("the footer is nested too deeply")
        fields: ThriftStruct = {}
        number = 0
        while head := self.data[self.position]:
            self.position += 1
            kind = head & 15
            number = number + (head >> 4) if head >> 4 else self.integer()
            if kind in (TRUE, FALSE):
                fields[number] = kind == TRUE
            else:
                fields[number] = self.value(kind, depth)
        self.position += 1
        return fields

    def value(self, kind: int, depth: int) -> Any:
        if I16 <= kind <= I64:
            return self.integer()
        if kind == BINARY:
            return self.bytes(self.varint())
        if kind == STRUCT:
            return self.struct(depth + 1)
        if kind in (LIST, SET):
            return self.list(depth)
        if kind in (BYTE, TRUE, FALSE):
            return self.bytes(1)[0]
        if kind == DOUBLE:
            return self.bytes(8)
        raise DamageError("the footer holds a value of an unknown type")  # Parquet has no maps

    def list(self, depth: int) -> list[Any]:
        head = self.bytes(1)[0]
        count, kind = head >> 4, head & 15
        if count == 15:
            count = self.varint()
        if count > len(self.data) - self.position:  # every element takes at least a byte
            raise DamageError("the footer is cut short")
        return [self.value(kind, depth) for _ in range(count)]

    def bytes(self, count: int) -> bytes:
        start, self.position = self.position, self.position + count
        if self.position > len(self.data):
            raise DamageError("the footer is cut short")
        return self.data[start : self.position]

    def varint(self) -> int:
        data, position = self.data, self.position
        value = shift = 0
        while (byte := data[position]) >= 128:
            value |= (byte & 127) << shift
            shift += 7
            position += 1
            if shift > 63:
                raise DamageError("a number in the footer is too long")
        self.position = position + 1
        return value | byte << shift

    def integer(self) -> int:
        """Return a signed integer, which is written with its sign in the lowest bit."""
        value = self.varint()
        return (value >> 1) ^ -(value & 1)
