"""Reading tables of a flatbuffer: just enough to look at the metadata of Arrow files, with every access checked."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt


class DamageError(ValueError):
    """The bytes of a file contradict each other."""


class FlatTable:
    """One table of a flatbuffer. Slots are numbered as the fields of the table are declared in its schema."""

    def __init__(self, data: bytes, position: int) -> None:
        self.data, self.position = data, position
        start = position - int(self._unpack("<i", position))
        self._slots_start = start + 4
        self._n_slots = (int(self._unpack("<H", start)) - 4) // 2

    @classmethod
    def root(cls, data: bytes) -> FlatTable:
        """Return the table that a buffer begins with."""
        return cls(data, _unpack(data, "<I", 0))

    def _unpack(self, kind: str, position: int) -> Any:
        return _unpack(self.data, kind, position)

    def _field(self, slot: int) -> int | None:
        """Return where the value of a slot is; None if the table leaves it out."""
        if slot >= self._n_slots:
            return None
        offset = self._unpack("<H", self._slots_start + 2 * slot)
        return self.position + offset if offset else None

    def number(self, slot: int, kind: str, default: int = 0) -> int:
        """Return a number; `kind` is its type as the struct module spells it, such as "<q" for 64 bits."""
        place = self._field(slot)
        return default if place is None else int(self._unpack(kind, place))

    def table(self, slot: int) -> FlatTable | None:
        """Return a table that this one refers to."""
        place = self._field(slot)
        return None if place is None else FlatTable(self.data, place + self._unpack("<I", place))

    def tables(self, slot: int) -> list[FlatTable]:
        """Return a vector of tables."""
        start, count = self._vector(slot, 4)
        places = range(start, start + 4 * count, 4)
        return [FlatTable(self.data, place + self._unpack("<I", place)) for place in places]

    def text(self, slot: int) -> bytes:
        """Return a string as its bytes."""
        start, count = self._vector(slot, 1)
        return self.data[start : start + count]

    def structs(self, slot: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return a vector of structs of fixed size."""
        kind = np.dtype(dtype)
        start, count = self._vector(slot, kind.itemsize)
        return np.frombuffer(self.data, kind, count, start) if count else np.empty(0, kind)

    def _vector(self, slot: int, item_size: int) -> tuple[int, int]:
        place = self._field(slot)
        if place is None:
            return 0, 0
        start = place + self._unpack("<I", place)
        count = int(self._unpack("<I", start))
        if start + 4 + count * item_size > len(self.data):
            raise DamageError("a vector goes beyond the end of its buffer")
        return start + 4, count


def _unpack(data: bytes, kind: str, position: int) -> Any:
    if position < 0:
        raise DamageError("an offset points before the start of its buffer")
    try:
        return struct.unpack_from(kind, data, position)[0]
    except struct.error:
        raise DamageError("an offset points beyond the end of its buffer") from None
