"""Checkpoints: training that is stopped, in whatever way, goes on from one to the same bytes."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy.typing as npt

from podium.artifact.tensors import arrays_of, read_bytes, write_tensors
from podium.errors import FormatError, ParameterError
from podium.files import Output, check_outputs
from podium.kinds import CHECKPOINT_KIND, podium_header

Arrays = dict[str, npt.NDArray[Any]]
REMEDY = "remove the file to begin anew"


@dataclass
class Checkpoint:
    """A file that training writes as it goes, at the end of an epoch and at most every `seconds`.

    If the file is there already and was written for the same data and settings, training goes on from it; for others it
    is an error. It stays when training ends: remove it once the model is saved.
    """

    path: str | os.PathLike[str]
    seconds: float = 5.0
    _written: float = field(default=float("-inf"), repr=False)

    def read(self, identity: dict[str, str], *, epochs: int | None = None) -> tuple[dict[str, Any], Arrays] | None:
        """(numbers, arrays) of a file written for the same training, or None where there is no file.

        `epochs` is where training shall end: a file written after more of them cannot be gone on from.
        """
        if not Path(self.path).exists():
            check_outputs([Output(self.path, "checkpoint")])
            return None
        raw = read_bytes(self.path)
        header = podium_header(raw)
        arrays = None if header is None or header.get("kind") != CHECKPOINT_KIND else arrays_of(raw, header)
        if header is None or arrays is None:
            raise FormatError(self.path, f"is not a checkpoint, or is damaged; {REMEDY}")
        found: dict[str, str] = header["identity"]
        numbers: dict[str, Any] = header["numbers"]
        for name in dict.fromkeys((*identity, *found)):
            value = identity.get(name)
            if found.get(name) != value:
                raise ParameterError(
                    f"{self.path} was written with another {name}: {found.get(name)} there, {value} now; {REMEDY}, or "
                    "train with the settings it was written for"
                )
        if epochs is not None and numbers["epoch"] > epochs:
            raise ParameterError(
                f"{self.path} was written after epoch {numbers['epoch']}, and training shall end after epochs={epochs}; "
                f"{REMEDY}, or allow more epochs"
            )
        return numbers, arrays

    @property
    def due(self) -> bool:
        """Whether the file was last written long enough ago."""
        return time.monotonic() - self._written >= self.seconds

    def write(self, identity: dict[str, str], numbers: dict[str, Any], arrays: Arrays) -> None:
        """Writes the file, whole or not at all."""
        write_tensors(
            self.path, "checkpoint", {"kind": CHECKPOINT_KIND, "identity": identity, "numbers": numbers}, arrays
        )
        self._written = time.monotonic()
