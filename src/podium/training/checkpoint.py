"""Checkpoints: training that is stopped, in whatever way, goes on from one to the same bytes."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load, save

from podium.errors import FormatError, ParameterError
from podium.files import replacing

Arrays = dict[str, npt.NDArray[np.float64]]
KIND = "podium checkpoint 1"
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
        path = Path(self.path)
        if not path.exists():
            return None
        try:
            raw = path.read_bytes()
            arrays = load(raw)
            size = int.from_bytes(raw[:8], "little")
            header = json.loads(json.loads(raw[8 : 8 + size])["__metadata__"]["podium"])
            if header["kind"] != KIND:
                raise ValueError
            found, numbers = header["identity"], header["numbers"]
        except (SafetensorError, ValueError, KeyError, TypeError):
            raise FormatError(path, f"is not a checkpoint, or is damaged; {REMEDY}") from None
        for name, value in identity.items():
            if found.get(name) != value:
                raise ParameterError(
                    f"{path} was written with another {name}: {found.get(name)} there, {value} now; {REMEDY}, or train "
                    "with the settings it was written for"
                )
        if epochs is not None and numbers["epoch"] > epochs:
            raise ParameterError(
                f"{path} was written after epoch {numbers['epoch']}, and training shall end after epochs={epochs}; "
                f"{REMEDY}, or allow more epochs"
            )
        return numbers, arrays

    @property
    def due(self) -> bool:
        """Whether the file was last written long enough ago."""
        return time.monotonic() - self._written >= self.seconds

    def write(self, identity: dict[str, str], numbers: dict[str, Any], arrays: Arrays) -> None:
        """Writes the file, whole or not at all."""
        header = json.dumps({"kind": KIND, "identity": identity, "numbers": numbers})
        kept = {name: np.ascontiguousarray(value) for name, value in arrays.items()}
        with replacing(self.path) as file:
            file.write(save(kept, {"podium": header}))
        self._written = time.monotonic()
