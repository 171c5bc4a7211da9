"""The progress of training: one log row per epoch, callbacks that receive it, and the state that a checkpoint stores."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from podium.errors import is_integer, short_repr

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Epoch:
    """One row of the training log.

    Attributes:
        epoch: number of the epoch, counted from 1.
        train: metric on the training data, of the scores that each query had before its update.
        valid: metric on the validation data at the end of the epoch, or None.
        cost: mean cost per query if it was asked for, or None.
        learning_rate: learning rate that was used.
        restart: number of restarts from new random weights so far.
        best: whether this is the best epoch so far.
        seconds: seconds since training began or resumed from a checkpoint.
        also: other metrics on the validation data that were asked for, by name; None if there are none.
        best_epoch: the best epoch so far if it is neither this one nor the last one marked as best, because smoothing went
            back to an earlier one; else None.
    """

    epoch: int
    train: float | None
    valid: float | None
    cost: float | None
    learning_rate: float
    restart: int
    best: bool
    seconds: float
    also: dict[str, float | None] | None = None
    best_epoch: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON takes it."""
        left_out = {name for name in ("also", "best_epoch") if getattr(self, name) is None}
        return {name: value for name, value in asdict(self).items() if name not in left_out}


class EpochLog(Sequence[Epoch]):
    """The rows of the log up to some epoch.

    `appended` returns a log that is one row longer in constant time, however long it is: both share their rows.
    """

    def __init__(self, rows: Iterable[Epoch] = ()) -> None:
        self._rows = list(rows)
        self._length = len(self._rows)

    def appended(self, row: Epoch) -> EpochLog:
        """Return a log with one more row; this one stays as it is."""
        longer = EpochLog()
        longer._rows = self._rows if len(self._rows) == self._length else self._rows[: self._length]
        longer._rows.append(row)
        longer._length = self._length + 1
        return longer

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Epoch]:
        return itertools.islice(self._rows, self._length)

    def __getitem__(self, at: Any) -> Any:
        places = range(self._length)[at]
        return self._rows[places] if isinstance(places, int) else [self._rows[place] for place in places]


Callback = Callable[[Epoch], bool | None]


@runtime_checkable
class ScoreCallback(Protocol):
    """A callback that also receives the scores of the validation data at the end of every epoch, before the row of the log."""

    def __call__(self, row: Epoch) -> bool | None:
        """Receive a row of the log; returning True ends training."""

    def receive_scores(self, scores: Floats) -> None:
        """Receive one score per document of the validation data, in its grouped order. The array is reused."""


@dataclass(frozen=True)
class Progress:
    """The progress at the end of an epoch. Together with the state of the steps it is everything that a checkpoint needs.

    Attributes:
        rate: learning rate of the next epoch.
        best_value: the value by which the best epoch was chosen (higher is better). `best_epoch`, `best_vector` and `certificate`
            belong to the same epoch.
        since_best: number of epochs since then, including restarts.
        restart: number of restarts from new random weights.
        run_value: best value since the last restart.
        since_rise: number of epochs since then.
    """

    epoch: int = 0
    rate: float = 0.0
    best_value: float | None = None
    best_epoch: int = 0
    best_vector: Floats = field(default_factory=lambda: np.empty(0))
    certificate: dict[str, Any] | None = None
    since_best: int = 0
    restart: int = 0
    run_value: float | None = None
    since_rise: int = 0
    last_cost: float | None = None
    last_train: float | None = None
    log: EpochLog = field(default_factory=EpochLog)

    def numbers(self) -> dict[str, Any]:
        """Return everything but the vector, as JSON takes it."""
        out = {name: value for name, value in self.__dict__.items() if name not in ("best_vector", "log")}
        return {**out, "log": [row.to_dict() for row in self.log]}

    @classmethod
    def of(cls, numbers: dict[str, Any], best_vector: Floats) -> Progress:
        """Return the progress that `numbers` describe; raise ValueError if they or the vector are impossible."""
        check_numbers(numbers)
        if best_vector.ndim != 1 or best_vector.dtype != np.float64 or not np.isfinite(best_vector).all():
            raise ValueError("best_vector is not a vector of finite numbers")
        log = EpochLog(Epoch(**row) for row in numbers["log"])
        return cls(**{**numbers, "log": log}, best_vector=best_vector)

    def moved(self, **changes: Any) -> Progress:
        """Return the same with some values changed."""
        return Progress(**{**self.__dict__, **changes})


def _is_count(value: Any) -> bool:
    return is_integer(value) and 0 <= value < 2**53


def _is_finite(value: Any) -> bool:
    return (isinstance(value, float) and math.isfinite(value)) or (is_integer(value) and abs(value) < 2**53)


def _is_finite_or_none(value: Any) -> bool:
    return value is None or _is_finite(value)


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_finite_or_none(number) for number in value.values())


Check = Callable[[Any], bool]
PROGRESS_CHECKS: dict[str, Check] = {
    **dict.fromkeys(("epoch", "best_epoch", "since_best", "restart", "since_rise"), _is_count),
    **dict.fromkeys(("best_value", "run_value", "last_cost", "last_train"), _is_finite_or_none),
    "rate": _is_finite,
    "certificate": lambda value: value is None or isinstance(value, dict),
    "log": lambda value: isinstance(value, list) and all(isinstance(row, dict) for row in value),
}
EPOCH_CHECKS: dict[str, Check] = {
    **dict.fromkeys(("epoch", "restart"), _is_count),
    **dict.fromkeys(("train", "valid", "cost"), _is_finite_or_none),
    **dict.fromkeys(("learning_rate", "seconds"), _is_finite),
    "best": lambda value: isinstance(value, bool),
}
EPOCH_EXTRAS: dict[str, Check] = {"also": _is_table, "best_epoch": _is_count}


def check_numbers(numbers: dict[str, Any]) -> None:
    """Raise ValueError if these numbers cannot come from `Progress.numbers`; it says what is missing or impossible."""
    _check_values("the progress", numbers, PROGRESS_CHECKS, {})
    if len(numbers["log"]) != numbers["epoch"] or numbers["best_epoch"] > numbers["epoch"]:
        raise ValueError(f"epoch {numbers['epoch']} does not fit the log of {len(numbers['log'])} epochs")
    for number, row in enumerate(numbers["log"], 1):
        _check_values(f"row {number} of the log", row, EPOCH_CHECKS, EPOCH_EXTRAS)
        if row["epoch"] != number or row.get("best_epoch", 0) > number:
            raise ValueError(f"row {number} of the log is of epoch {row['epoch']}")


def _check_values(what: str, values: dict[str, Any], needed: dict[str, Check], extra: dict[str, Check]) -> None:
    for name in needed:
        if name not in values:
            raise ValueError(f"{what} has no {name}")
    for name, value in values.items():
        check = needed.get(name) or extra.get(name)
        if check is None:
            raise ValueError(f"{what} has an unknown {short_repr(name)}")
        if not check(value):
            raise ValueError(f"{what} has {name} {short_repr(value)}")
