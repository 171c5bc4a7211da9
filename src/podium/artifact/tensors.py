"""Arrays and a JSON header in one safetensors file; the header is the entry `podium` of its metadata.

The header holds the SHA-256 of the rest of the header and of the arrays, so that a damaged file is never used.

Arrays are views of the file's bytes. Large files are read into memory that comes directly from the operating system: the reader
of safetensors copies each array, and the allocator keeps freed memory per thread, so that a service that loads a model of
1.2 MB in sixteen threads would keep 45 MB.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save

from podium.errors import FormatError
from podium.files import atomic_write
from podium.kinds import METADATA_KEY

Arrays = dict[str, npt.NDArray[Any]]
Header = dict[str, Any]
Buffer = bytes | mmap.mmap
OWN_PAGES_BYTES = 1 << 17
TYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "U64": "<u8", "I32": "<i4", "U32": "<u4", "I16": "<i2", "U16": "<u2"}
TYPES |= {"I8": "i1", "U8": "u1", "BOOL": "?", "F16": "<f2"}


def write_tensors(path: str | os.PathLike[str], kind: str, header: Header, arrays: Arrays) -> None:
    """Write the file, whole or not at all; the same header and arrays give the same bytes."""
    kept = {name: np.ascontiguousarray(value) for name, value in sorted(arrays.items())}
    text = _dump({**header, "sha256": _digest(header, kept)})
    with atomic_write(path, kind) as file:
        file.write(save(kept, {METADATA_KEY: text}))


def read_bytes(path: str | os.PathLike[str]) -> Buffer:
    """Return the file's bytes, or raise a FormatError that says why they cannot be read."""
    try:
        with Path(path).open("rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if size < OWN_PAGES_BYTES:
                return file.readall()
            pages = mmap.mmap(-1, size)
            return pages if _fill(file, pages) == size else pages[:0]
    except FileNotFoundError:
        raise FormatError(path, "there is no such file; check the path") from None
    except IsADirectoryError:
        raise FormatError(path, "is a directory; give the path of a file") from None
    except OSError as error:
        raise FormatError(path, f"cannot be read: {error.strerror or error}") from None


def _fill(file: io.FileIO, pages: mmap.mmap) -> int:
    """Read the file into memory, up to the end of either, and return the number of bytes."""
    done = 0
    with memoryview(pages) as room:
        while done < len(room) and (read := file.readinto(room[done:])):
            done += read
    return done


def arrays_of(raw: Buffer, header: Header) -> Arrays | None:
    """Return the arrays if they and the header are unchanged, otherwise None."""
    rest = {name: value for name, value in header.items() if name != "sha256"}
    size = 8 + int.from_bytes(raw[:8], "little")
    try:
        entries = {name: entry for name, entry in json.loads(raw[8:size]).items() if name != "__metadata__"}
        arrays = {name: _view(raw, size, entry) for name, entry in entries.items()}
        if size + sum(array.nbytes for array in arrays.values()) != len(raw):
            return None
        return arrays if header.get("sha256") == _digest(rest, arrays) else None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None


def _view(raw: Buffer, start: int, entry: dict[str, Any]) -> npt.NDArray[Any]:
    """Return one array; raise ValueError if it lies outside the file or its size contradicts its shape."""
    kind, (begin, end), shape = np.dtype(TYPES[entry["dtype"]]), entry["data_offsets"], entry["shape"]
    if not 0 <= begin <= end <= len(raw) - start or any(size < 0 for size in shape):
        raise ValueError("an array lies outside the file")
    if math.prod(shape) * kind.itemsize != end - begin:
        raise ValueError("an array has another size than its shape says")
    array = np.frombuffer(raw, kind, math.prod(shape), start + begin).reshape(shape)
    return array if array.flags.aligned else array.copy()


def _dump(header: Header) -> str:
    return json.dumps(header, sort_keys=True, allow_nan=False)


def _digest(header: Header, arrays: Arrays) -> str:
    digest = hashlib.sha256(f"{_dump(header)}\n".encode())
    for name in sorted(arrays):
        value = arrays[name]
        digest.update(f"{name} {value.dtype.str} {value.shape}\n".encode())
        digest.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
