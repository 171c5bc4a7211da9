"""What training shows of itself: a row an epoch, callbacks that see it, and the state a checkpoint keeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Epoch:
    """One row of the training log.

    Attributes:
        epoch: counted from 1.
        train: the metric on the training data, of the scores each query had when its turn came.
        valid: the metric on the validation data at the end of the epoch, or None.
        cost: the mean cost of a query where it was asked for, or None.
        learning_rate: that was used.
        restart: how often the weights had been drawn anew.
        best: whether it is the best epoch so far.
        seconds: since training began, or went on from a checkpoint.
        also: other metrics on the validation data that were asked for, by name; None where none were.
        best_epoch: which epoch is the best so far, where that is not this one or the last that was: smoothing may go
            back to an earlier one. None elsewhere.
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
        """The row as JSON takes it."""
        left_out = {name for name in ("also", "best_epoch") if getattr(self, name) is None}
        return {name: value for name, value in asdict(self).items() if name not in left_out}


Callback = Callable[[Epoch], bool | None]


@dataclass(frozen=True)
class Progress:
    """Where training stands at the end of an epoch; with the steps' own state it is all a checkpoint needs.

    Attributes:
        rate: that the next epoch will use.
        best_value: what the best epoch was judged by, counted so that more is better; its number, its parameters and how
            near they are to the optimum stand beside it.
        since_best: epochs since then, whatever weights they began from.
        restart: how often the weights have been drawn anew.
        run_value: the best judgement since they were last drawn.
        since_rise: epochs since then.
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
    log: tuple[Epoch, ...] = ()

    def numbers(self) -> dict[str, Any]:
        """Everything but the vector, as JSON."""
        out = {name: value for name, value in self.__dict__.items() if name not in ("best_vector", "log")}
        return {**out, "log": [row.to_dict() for row in self.log]}

    @classmethod
    def of(cls, numbers: dict[str, Any], best_vector: Floats) -> Progress:
        """Progress from what `numbers` gave."""
        log = tuple(Epoch(**row) for row in numbers["log"])
        return cls(**{**numbers, "log": log}, best_vector=best_vector)

    def moved(self, **changes: Any) -> Progress:
        """The same with some values changed."""
        return replace(self, **changes)
