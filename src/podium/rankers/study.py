"""A study in a file: JSON lines, its settings first, then a line for every trial that is done."""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from podium.errors import FormatError, ParameterError, is_integer
from podium.files import Output, atomic_write, check_outputs
from podium.kinds import STUDY_KIND

REMEDY = "remove the file to begin anew"


@dataclass(frozen=True)
class Trial:
    """Parameters that were tried, and how they did.

    Attributes:
        number: from 1; with the study's seed and ranges it says the parameters.
        rung: how often it had been chosen to go on before, by successive halving; 0 without.
        epochs: it was allowed.
        parameters: as drawn.
        value: the metric on the validation data; None where training failed.
        best_epoch: of that value.
        seconds: that training took.
        error: why training failed, or None.
    """

    number: int
    rung: int
    epochs: int
    parameters: dict[str, Any]
    value: float | None = None
    best_epoch: int | None = None
    seconds: float = 0.0
    error: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the trial as JSON takes it."""
        return asdict(self)

    @classmethod
    def of(cls, row: dict[str, Any]) -> Trial:
        """Return the trial that `to_dict` gave; TypeError or ValueError if it can be no trial."""
        trial = cls(**row)
        counts = [trial.number, trial.rung, trial.epochs, *([] if trial.best_epoch is None else [trial.best_epoch])]
        numbers = [trial.seconds, *([] if trial.value is None else [trial.value])]
        if not all(is_integer(count) and 0 <= count < 2**53 for count in counts):
            raise ValueError("a number of a trial is no count")
        if not all(isinstance(number, int | float) and math.isfinite(number) for number in numbers):
            raise ValueError("a number of a trial is not finite")
        if not isinstance(trial.parameters, dict) or (trial.value is None) != isinstance(trial.error, str):
            raise ValueError("a trial has neither a value nor an error, or both")
        return trial


class Study:
    """The trials done so far, by number and rung; each new one is on the disk before the next begins.

    A file with trials of other settings is refused, unless `fresh` asks to begin anew: then it is replaced when the first
    trial is done, and not before. The last line of a run that was cut off in the middle of it is dropped.
    """

    def __init__(self, path: str | os.PathLike[str] | None, settings: dict[str, str], *, fresh: bool = False) -> None:
        self.path = None if path is None else Path(path)
        self.done: dict[tuple[int, int], Trial] = {}
        there = self.path is not None and self.path.exists()
        if self.path is not None and (fresh or not there):
            check_outputs([Output(self.path, "study")])
        self.is_new = self.path is None or not there or fresh or not self._read(self.path, settings)
        self._head: bytes | None = _line({"kind": STUDY_KIND, "settings": settings}) if self.is_new else None
        if not (fresh and there):
            self._begin()

    def _begin(self) -> None:
        if self.path is not None and self._head is not None:
            with atomic_write(self.path, "study") as file:
                file.write(self._head)
        self._head = None

    def _read(self, path: Path, settings: dict[str, str]) -> bool:
        """Takes in the trials; False where there are none and the settings were others."""
        raw = path.read_bytes()
        whole = raw[: raw.rfind(b"\n") + 1]
        try:
            first, *rows = [json.loads(line) for line in whole.splitlines()]
            if first["kind"] != STUDY_KIND:
                raise ValueError
            found: dict[str, str] = dict(first["settings"])
            trials = [Trial.of(row) for row in rows]
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            raise FormatError(path, f"is not a study, or is damaged; {REMEDY}") from None
        for name in [*settings, *found]:
            if found.get(name) != settings.get(name):
                if not trials:
                    return False
                raise ParameterError(
                    f"{path} was begun with another {name}: {found.get(name)} there, {settings.get(name)} now; {REMEDY}, "
                    "or give the settings it was begun with"
                )
        self.done = {(trial.number, trial.rung): trial for trial in trials}
        if len(whole) < len(raw):
            os.truncate(path, len(whole))
        return True

    def add(self, trial: Trial) -> None:
        """Keeps a trial."""
        self.done[trial.number, trial.rung] = trial
        self._begin()
        if self.path is not None:
            with self.path.open("ab") as file:
                file.write(_line(trial.to_dict()))
                file.flush()
                os.fsync(file.fileno())


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, default=str).encode() + b"\n"
