"""Mapping a file into memory, so that a file which becomes shorter while it is in use is an error and not a crash.

Where that cannot be arranged, such as outside the main thread, the file is read instead.
"""

from __future__ import annotations

import mmap
import os
import signal
import threading
import weakref
from collections.abc import Sequence
from types import FrameType
from typing import IO

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.errors import FormatError

Bytes = npt.NDArray[np.uint8]

_paths: dict[int, str] = {}  # watched mappings, by their place in the core


def map_file(path: str | os.PathLike[str], file: IO[bytes], size: int) -> Bytes:
    """Return the first `size` bytes of an open file, mapped if possible; they cannot be written to."""
    if _can_handle_bus_errors():
        pages = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
        found = np.frombuffer(pages, np.uint8)
        place = _core.watch_mapping(found.ctypes.data, size)
        if place >= 0:
            _paths[place] = os.fspath(path)
            weakref.finalize(pages, _forget, place).atexit = False
            return found
    return _read(path, file, size)


def map_parts(parts: Sequence[tuple[str | os.PathLike[str], IO[bytes], int, int]]) -> Bytes:
    """Return pieces of open files, one after the other without a gap, mapped if possible; they cannot be written to.

    Each piece is given as (path, file, offset, size), and must lie in its page as the end of the one before does.
    """
    if not _can_handle_bus_errors():
        read = [_read(path, file, offset + size)[offset:] for path, file, offset, size in parts]
        return np.concatenate([np.empty(0, np.uint8), *read])
    found = np.asarray(_core.map_parts([(file.fileno(), offset, size) for _, file, offset, size in parts]))
    found.flags.writeable = False
    at = found.ctypes.data
    for path, _, _, size in parts:
        place = _core.watch_mapping(at, size) if size else -1
        at += size
        if place >= 0:
            _paths[place] = os.fspath(path)
            weakref.finalize(found, _forget, place).atexit = False
    return found


def _can_handle_bus_errors() -> bool:
    """Return whether a truncated mapping ends in an exception, and see to it if this has not been done yet."""
    if threading.current_thread() is not threading.main_thread():
        return False
    handler = signal.getsignal(signal.SIGBUS)
    if handler is not _raise_shorter:
        if handler is not signal.SIG_DFL:
            return False  # it belongs to the program that Podium runs in
        _core.handle_bus_errors(keep_before=True)
        signal.signal(signal.SIGBUS, _raise_shorter)  # which takes the place of the core's handler
    _core.handle_bus_errors(keep_before=False)
    return True


def _raise_shorter(number: int, frame: FrameType | None) -> None:
    for place in _core.lost_mappings().tolist():
        path = _paths.pop(place, None)
        if path is not None:
            raise FormatError(
                path,
                "became shorter while it was in use, so that rows are missing; restore the file, and read it again when nobody "
                "writes to it",
            )


def _forget(place: int) -> None:
    _core.forget_mapping(place)
    _paths.pop(place, None)


def _read(path: str | os.PathLike[str], file: IO[bytes], size: int) -> Bytes:
    found = np.empty(size, np.uint8)
    file.seek(0)
    done = 0
    while done < size and (read := file.readinto(found[done:])):  # type: ignore[attr-defined]
        done += read
    if done < size:
        raise FormatError(path, "became shorter while it was being read; read it again when nobody writes to it")
    found.flags.writeable = False
    return found
