"""A compact column of strings: one block of UTF-8 and the offset of each string in it, which can be mapped from a file."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from podium.data.arrays import library_of
from podium.data.grouping import is_missing
from podium.errors import DataError, short_repr


class Strings:
    """An immutable column of strings: `data[offsets[i]:offsets[i + 1]]` is string i in UTF-8."""

    __slots__ = ("data", "offsets")

    def __init__(self, offsets: npt.NDArray[np.int64], data: npt.NDArray[np.uint8]) -> None:
        self.offsets, self.data = offsets.view(), data.view()
        self.offsets.flags.writeable = self.data.flags.writeable = False

    @classmethod
    def of(cls, values: Iterable[object], name: str = "ids") -> Strings:
        """Make a column of the text of each value; bytes are decoded as UTF-8, and missing values (None, NaN, NA) are refused."""
        if isinstance(values, Strings):
            return values
        encoded = []
        if library_of(values) == "pyarrow" and hasattr(values, "to_pylist"):
            values = values.to_pylist()
        try:
            for row, value in enumerate(values):
                if isinstance(value, str):
                    encoded.append(value.encode())
                elif is_missing(value):
                    raise DataError(f"{name}: row {row} has {value!s}; every row needs an id")
                else:
                    encoded.append((str(value, "utf-8") if isinstance(value, bytes) else str(value)).encode())
        except UnicodeError as error:
            raise DataError(f"{name}: an id is not Unicode text: {error}") from None
        except TypeError as error:
            raise DataError(f"{name}={short_repr(values)} must be a list of ids, one per row: {error}") from None
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(text) for text in encoded], out=offsets[1:])
        return cls(offsets, np.frombuffer(b"".join(encoded), np.uint8))

    def __reduce__(self) -> tuple[Any, ...]:
        held = self.compact()
        return Strings, (held.offsets, held.data)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int | np.integer[Any]) -> str: ...
    @overload
    def __getitem__(self, index: slice | npt.NDArray[Any]) -> Strings: ...
    def __getitem__(self, index: int | np.integer[Any] | slice | npt.NDArray[Any]) -> str | Strings:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step == 1:
                return Strings(self.offsets[start : max(start, stop) + 1], self.data)
            index = np.arange(start, stop, step)
        if isinstance(index, np.ndarray):
            return self._take(np.flatnonzero(index) if index.dtype == bool else index)
        position = int(index) + (len(self) if index < 0 else 0)
        if not 0 <= position < len(self):
            raise IndexError(f"string {index} of {len(self)}")
        return self.data[self.offsets[position] : self.offsets[position + 1]].tobytes().decode()

    def _take(self, rows: npt.NDArray[np.integer[Any]]) -> Strings:
        starts, lengths = self.offsets[:-1][rows], np.diff(self.offsets)[rows]
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        source = np.arange(offsets[-1], dtype=np.int64) + np.repeat(starts - offsets[:-1], lengths)
        return Strings(offsets, self.data[source])

    def __iter__(self) -> Iterator[str]:
        return (text.decode() for text in self.encoded())

    def encoded(self) -> Iterator[bytes]:
        """Yield each string in UTF-8."""
        text = self.data[self.offsets[0] : self.offsets[-1]].tobytes()
        ends = (self.offsets - self.offsets[0]).tolist()
        return (text[a:b] for a, b in itertools.pairwise(ends))

    def repeats(self) -> npt.NDArray[np.bool_]:
        """Return whether each string but the first equals the one before it."""
        lengths = np.diff(self.offsets)
        same: npt.NDArray[np.bool_] = lengths[1:] == lengths[:-1]
        rows = np.flatnonzero(same)
        left, right = self._take(rows), self._take(rows + 1)
        differing = np.append(0, np.cumsum(left.data != right.data))[left.offsets]
        same[rows] = differing[1:] == differing[:-1]
        return same

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        values = np.empty(len(self), object)
        values[:] = list(self)
        return values if dtype is None else values.astype(dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Strings):
            return NotImplemented
        return self.compact()._key() == other.compact()._key()

    def __hash__(self) -> int:
        return hash(self.compact()._key())

    def _key(self) -> tuple[bytes, bytes]:
        return self.offsets.tobytes(), self.data.tobytes()

    def compact(self) -> Strings:
        """Return the same strings with no bytes before the first or after the last, as files hold them."""
        first, last = int(self.offsets[0]), int(self.offsets[-1])
        if first == 0 and last == len(self.data):
            return self
        return Strings(self.offsets - first, self.data[first:last])

    def __repr__(self) -> str:
        shown = ", ".join(repr(text) for text in self[:5])
        return f"Strings({len(self)}: {shown}{', …' if len(self) > 5 else ''})"
