"""The file: safetensors, whose metadata has one entry, `podium`: the header as JSON.

    format       the version of this layout, 1; every reader reads every older one
    library      the version of Podium that wrote it
    sha256       of the arrays' bytes, so that a damaged file is never scored with
    ranker, parameters, force, model, metric, features, data, training        what it is and how it came about

The same ranker gives the same bytes: no time, no machine, no number of threads is in it.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load, save

from podium.errors import FormatError
from podium.files import replacing

FORMAT = 1
KEY = "podium"
Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Artefact:
    """A header (JSON) and named arrays."""

    header: dict[str, Any]
    arrays: Arrays


def save_artefact(path: str | os.PathLike[str], artefact: Artefact) -> None:
    """Writes the file whole, or not at all."""
    arrays = {name: np.ascontiguousarray(value) for name, value in sorted(artefact.arrays.items())}
    header = {"format": FORMAT, **artefact.header, "sha256": _digest(arrays)}
    text = json.dumps(header, sort_keys=True, ensure_ascii=False, allow_nan=False)
    with replacing(path) as file:
        file.write(save(arrays, {KEY: text}))


def load_artefact(path: str | os.PathLike[str]) -> Artefact:
    """The header and arrays of a file; a FormatError for a file that is another thing, damaged or too new."""
    raw = Path(path).read_bytes()
    text = _header_text(raw)
    if text is None:
        raise FormatError(path, "is not a Podium model; models are written by ranker.save or podium train")
    try:
        header = json.loads(text)
        arrays = {name: np.asarray(value) for name, value in load(raw).items()}
        version = header["format"]
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise FormatError(path, f"is a damaged Podium model ({error}); copy or train it again") from None
    if not isinstance(version, int) or version > FORMAT:
        raise FormatError(
            path, f"has format {version}, and this Podium reads up to {FORMAT}; install a newer Podium to read it"
        )
    if header.get("sha256") != _digest(arrays):
        raise FormatError(path, "is a damaged Podium model (its checksum does not match); copy or train it again")
    return Artefact(header, arrays)


def is_artefact(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as a model does."""
    try:
        with Path(path).open("rb") as file:
            begin = file.read(8)
            size = int.from_bytes(begin, "little")
            return len(begin) == 8 and size < 1 << 30 and _header_text(begin + file.read(size)) is not None
    except OSError:
        return False


def _header_text(raw: bytes) -> str | None:
    """The header as it stands in the file, or None where there is none."""
    size = int.from_bytes(raw[:8], "little")
    try:
        text = json.loads(raw[8 : 8 + size])["__metadata__"][KEY]
        return text if isinstance(text, str) and "format" in json.loads(text) else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _digest(arrays: Arrays) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        value = arrays[name]
        digest.update(f"{name} {value.dtype.str} {value.shape}\n".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    return digest.hexdigest()
