"""Checkpoints: a training that was stopped resumes from one and gives an identical model."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from podium.artifact.tensors import arrays_of, read_bytes, write_tensors
from podium.errors import FormatError, ParameterError
from podium.files import Output, check_outputs
from podium.kinds import CHECKPOINT_KIND, podium_header
from podium.training.progress import check_numbers

Arrays = dict[str, npt.NDArray[Any]]
REMEDY = "{start_over}"


@dataclass
class Checkpoint:
    """A file that training writes as it goes, at the end of an epoch and at most every `seconds`.

    If the file exists and was written for the same data and settings, training resumes from it; if it was written for
    others, an error is raised. The file remains when training ends: remove it after saving the model.

    Args:
        path: the file.
        seconds: minimum number of seconds between two writings.
    """

    path: str | os.PathLike[str]
    seconds: float = 5.0
    checks_identity: ClassVar[bool] = (
        True  # whether reading compares what the file was written for with what trains now
    )
    _written: float = field(default=float("-inf"), init=False, repr=False)

    def read(self, identity: dict[str, str], *, epochs: int | None = None) -> tuple[dict[str, Any], Arrays] | None:
        """Return (numbers, arrays) of a file that was written for the same training, or None if there is no file.

        `epochs` is the maximum number of epochs. Training cannot resume from a file that was written after more of them.
        """
        if not Path(self.path).exists():
            check_outputs([Output(self.path, "checkpoint")])
            return None
        raw = read_bytes(self.path)
        header = podium_header(raw)
        arrays = None if header is None or header.get("kind") != CHECKPOINT_KIND else arrays_of(raw, header)
        if header is None or arrays is None:
            raise FormatError(self.path, "is not a checkpoint, or is damaged", remedy=REMEDY)
        found, numbers = self._checked(header)
        for name in dict.fromkeys((*identity, *found)):
            value = identity.get(name)
            if found.get(name) != value:
                rule = f"was written with another {name}: {found.get(name)} there, {value} now"
                remedy = f"{REMEDY}, or train with the settings it was written for"
                raise ParameterError("checkpoint", os.fspath(self.path), rule, remedy)
        if epochs is not None and numbers["epoch"] > epochs:
            rule = f"was written after epoch {numbers['epoch']}, and training is to end after epoch {epochs}"
            raise ParameterError("checkpoint", os.fspath(self.path), rule, f"{REMEDY}, or allow more epochs")
        return numbers, arrays

    def _checked(self, header: dict[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
        """Return the identity and the numbers of a header, if they can be those of a training."""
        identity, numbers = header.get("identity"), header.get("numbers")
        if not isinstance(identity, dict) or not all(isinstance(value, str) for value in identity.values()):
            raise FormatError(self.path, "is a checkpoint that does not say what it was written for", remedy=REMEDY)
        try:
            if not isinstance(numbers, dict):
                raise ValueError("it has no progress")
            check_numbers(numbers)
        except ValueError as error:
            raise FormatError(
                self.path, f"is a checkpoint with a part missing or wrong: {error}", remedy=REMEDY
            ) from None
        return identity, numbers

    @property
    def due(self) -> bool:
        """Return whether the file was last written long enough ago."""
        return time.monotonic() - self._written >= self.seconds

    def write(self, identity: dict[str, str], numbers: dict[str, Any], arrays: Arrays) -> None:
        """Write the file, whole or not at all."""
        write_tensors(
            self.path, "checkpoint", {"kind": CHECKPOINT_KIND, "identity": identity, "numbers": numbers}, arrays
        )
        self._written = time.monotonic()


def check_state(found: Arrays, fresh: Arrays) -> None:
    """Check the arrays of a checkpoint against those that a training has before its first epoch.

    Names, types and dimensions must be the same. Sizes must be too, except sizes of at most 1, which may grow. Values must
    be finite if those of the fresh training are. The ValueError says which array is wrong.
    """
    for name in sorted({*found, *fresh}):
        if name not in found or name not in fresh:
            raise ValueError(f"the array {name} is {'missing' if name in fresh else 'unknown'}")
        ours, theirs = fresh[name], found[name]
        if theirs.dtype != ours.dtype or theirs.ndim != ours.ndim:
            raise ValueError(f"the array {name} has shape {theirs.shape} of {theirs.dtype}; expected {ours.dtype}")
        if any(size > 1 and size != other for size, other in zip(ours.shape, theirs.shape, strict=True)):
            raise ValueError(f"the array {name} has shape {theirs.shape}; expected {ours.shape}")
        if ours.dtype.kind == "f" and np.isfinite(ours).all() and not np.isfinite(theirs).all():
            raise ValueError(f"the array {name} holds a number that is not finite")


def check_loaded(found: Arrays, now: Arrays) -> None:
    """Check that a resumed training has exactly the state that the checkpoint holds."""
    for name, value in now.items():
        if found[name].shape != value.shape or not np.array_equal(
            found[name], value, equal_nan=value.dtype.kind == "f"
        ):
            raise ValueError(f"the array {name} does not match the others")
