"""Model files: the header says what the model is and how it was trained.

    format       the version of this layout, 2; every reader reads every older one
    library      the version of Podium that wrote it
    sha256       of the rest of the header and of the arrays
    ranker, parameters, force, model, metric, features, data, training, more

The same ranker gives the same bytes: the file holds no time, machine or number of threads.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podium.artifact.tensors import Arrays, arrays_of, read_bytes, write_tensors
from podium.artifact.upgrade import upgrade
from podium.errors import FormatError, is_integer, short_repr
from podium.kinds import FOREIGN_MODELS, HEAD_BYTES, KINDS, kind_of, podium_header, recognize

FORMAT = 2


@dataclass(frozen=True)
class Artifact:
    """A header (JSON) and named arrays."""

    header: dict[str, Any]
    arrays: Arrays


def save_artifact(path: str | os.PathLike[str], artifact: Artifact) -> None:
    """Write the file, whole or not at all."""
    write_tensors(path, "model", {"format": FORMAT, **artifact.header}, artifact.arrays)


def load_artifact(path: str | os.PathLike[str]) -> Artifact:
    """Return the header and arrays of a file; raise FormatError if it is no model, damaged or too new."""
    raw = read_bytes(path)
    header = podium_header(raw)
    if header is None or "format" not in header:
        kind = recognize(path, bytes(raw[:HEAD_BYTES]))
        if kind in FOREIGN_MODELS:
            raise FormatError(
                path, f"is {KINDS[kind].noun}, which is not a Podium model; podium import turns it into one"
            )
        raise FormatError(
            path, "is not a Podium model, or is damaged; models are written by ranker.save or podium train"
        )
    version = header["format"]
    if is_integer(version) and version > FORMAT:
        raise FormatError(
            path,
            f"has format {short_repr(version)}, but this Podium reads formats up to {FORMAT}; install a newer Podium to read it",
        )
    arrays = arrays_of(raw, header)
    if arrays is None or not is_integer(version) or version < 1:
        raise FormatError(path, "is a damaged Podium model (its checksum does not match); copy or train it again")
    return Artifact(*upgrade(header, arrays))


def is_artifact(path: str | os.PathLike[str]) -> bool:
    """Return whether a file begins as a model does."""
    try:
        return Path(path).is_file() and kind_of(path) == "model"
    except OSError:
        return False
