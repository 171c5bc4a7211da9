"""Reading UBJSON, the binary JSON of XGBoost's models: every length is checked against the bytes that are there.

The layout is that of `UBJReader` in src/common/json.cc of dmlc/xgboost: big-endian numbers, lengths as numbers of any whole
type, arrays with `$` type and `#` count, with a count alone, or up to the closing bracket.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from podium.export.reading import require

NUMBERS = {"i": ">i1", "U": ">u1", "I": ">i2", "l": ">i4", "L": ">i8", "d": ">f4", "D": ">f8"}
WHOLE = "iUIlL"
MOST_DEPTH = 200


def read_ubjson(raw: bytes) -> Any:
    """Return the value that the bytes hold: dicts, lists, text, numbers, and arrays as NumPy arrays."""
    reader = _UbjsonReader(raw)
    value = reader.value(reader.marker(), 0)
    require(reader.at == len(raw), "there are bytes behind the end of the model")
    return value


class _UbjsonReader:
    def __init__(self, raw: bytes) -> None:
        self.raw, self.at = raw, 0

    def take(self, count: int) -> bytes:
        require(0 <= count <= len(self.raw) - self.at, "the file ends in the middle of a value")
        taken = self.raw[self.at : self.at + count]
        self.at += count
        return taken

    def marker(self) -> str:
        mark = "N"
        while mark == "N":  # no operation
            mark = chr(self.take(1)[0])
        return mark

    def peek(self) -> str:
        return chr(self.raw[self.at]) if self.at < len(self.raw) else ""

    def number(self, mark: str) -> Any:
        kind = np.dtype(NUMBERS[mark])
        return np.frombuffer(self.take(kind.itemsize), kind)[0].item()

    def length(self) -> int:
        mark = self.marker()
        require(mark in WHOLE, f"a length has the type {mark!r}")
        count = int(self.number(mark))
        require(0 <= count <= len(self.raw), "a length is larger than the file")
        return count

    def text(self) -> str:
        return self.take(self.length()).decode()

    def value(self, mark: str, depth: int) -> Any:
        require(depth < MOST_DEPTH, f"values are nested more than {MOST_DEPTH} deep")
        if mark == "{":
            return self.object(depth)
        if mark == "[":
            return self.array(depth)
        if mark == "S":
            return self.text()
        if mark in NUMBERS:
            return self.number(mark)
        if mark == "C":
            return struct.unpack("b", self.take(1))[0]
        require(mark in "ZTF", f"the byte {mark!r} begins no value")
        return {"Z": None, "T": True, "F": False}[mark]

    def object(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        count = self.count()
        while self.at < len(self.raw) and (len(found) < count if count is not None else self.peek() != "}"):
            key = self.text()
            require(key not in found, f"the key {key!r} is there twice")
            found[key] = self.value(self.marker(), depth + 1)
        if count is None:
            require(self.take(1) == b"}", "an object does not end")
        require(count in (None, len(found)), "an object does not end")
        return found

    def count(self) -> int | None:
        if self.peek() != "#":
            return None
        self.take(1)
        return self.length()

    def array(self, depth: int) -> Any:
        if self.peek() == "$":
            self.take(1)
            mark = chr(self.take(1)[0])
            require(mark in NUMBERS, f"an array has the type {mark!r}")
            require(self.take(1) == b"#", "an array with a type has no length")
            kind = np.dtype(NUMBERS[mark])
            return np.frombuffer(self.take(self.length() * kind.itemsize), kind)
        items: list[Any] = []
        count = self.count()
        while self.at < len(self.raw) and (len(items) < count if count is not None else self.peek() != "]"):
            items.append(self.value(self.marker(), depth + 1))
        if count is None:
            require(self.take(1) == b"]", "an array does not end")
        require(count in (None, len(items)), "an array does not end")
        return items
