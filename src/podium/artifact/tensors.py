"""Arrays and what is said about them in one file: safetensors, whose metadata has one entry, `podium`: a JSON header.

The header holds the SHA-256 of all the rest of it and of the arrays, so that a damaged file is never used.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load, save

from podium.errors import FormatError
from podium.files import atomic_write
from podium.kinds import METADATA_KEY

Arrays = dict[str, npt.NDArray[Any]]
Header = dict[str, Any]


def write_tensors(path: str | os.PathLike[str], kind: str, header: Header, arrays: Arrays) -> None:
    """Writes the file whole, or not at all; the same header and arrays give the same bytes."""
    kept = {name: np.ascontiguousarray(value) for name, value in sorted(arrays.items())}
    text = _dump({**header, "sha256": _digest(header, kept)})
    with atomic_write(path, kind) as file:
        file.write(save(kept, {METADATA_KEY: text}))


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The file's bytes, or the clear sentence why not."""
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise FormatError(path, "there is no such file; check the path") from None
    except IsADirectoryError:
        raise FormatError(path, "is a directory; give the path of a file") from None
    except OSError as error:
        raise FormatError(path, f"cannot be read: {error.strerror or error}") from None


def arrays_of(raw: bytes, header: Header) -> Arrays | None:
    """The arrays, if they and the header are as they were written; else None."""
    rest = {name: value for name, value in header.items() if name != "sha256"}
    try:
        arrays = {name: np.asarray(value) for name, value in load(raw).items()}
        return arrays if header.get("sha256") == _digest(rest, arrays) else None
    except (SafetensorError, ValueError, KeyError, TypeError):
        return None


def _dump(header: Header) -> str:
    return json.dumps(header, sort_keys=True, allow_nan=False)


def _digest(header: Header, arrays: Arrays) -> str:
    digest = hashlib.sha256(f"{_dump(header)}\n".encode())
    for name in sorted(arrays):
        value = arrays[name]
        digest.update(f"{name} {value.dtype.str} {value.shape}\n".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    return digest.hexdigest()
