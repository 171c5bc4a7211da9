"""The schedule of feasible steps: parameters that are at least 0 and sum to at most a norm. [StructRank, eq 10 and §5]"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data.conversion import as_number
from podium.errors import ParameterError, is_integer, short_repr, unknown_name

Floats = npt.NDArray[np.float64]
MOST_STARTS = 1000
STEPS = ("shrink", "project")
REACH = 0.1  # of the norm: a projected step is no longer than that at first, since past the border lies θ = 0
HALVINGS = 30  # a step that is not feasible after so many is not taken


@dataclass(frozen=True)
class FeasibleSchedule:
    """An update a query over θ ≥ 0 with Σθ ≤ norm, θ the model's parameters and those that the force learns.

    Attributes:
        passes: over the data, from each start.
        norms: the most that θ may sum to; the first start is tried with each.
        starts: drawn at random; those past the first are tried with the norm that was best. The best epoch of all is kept.
        learning_rate: of the first pass.
        decay: what the rate is multiplied by after each pass.
        step: 'shrink' halves the rate of an update until it is feasible; 'project' takes the nearest feasible point.
        tie: whether the parameters that the force learns are one.
        early_stopping_rounds: go on to the next start after this many passes without progress.
        max_seconds: begin no pass after this long. What is trained then depends on the machine.
    """

    passes: int = 10
    starts: int = 3
    norms: tuple[float, ...] = (30.0,)
    learning_rate: float = 20.0
    decay: float = 0.5**0.5
    step: str = "project"
    tie: bool = False
    early_stopping_rounds: int | None = None
    max_seconds: float | None = None

    def __post_init__(self) -> None:
        for name, called in (("passes", "epochs"), ("starts", "starts"), ("early_stopping_rounds",) * 2):
            value = getattr(self, name)
            if value is None and name == "early_stopping_rounds":
                continue
            limit = MOST_STARTS if name == "starts" else None
            if not (is_integer(value) and value >= 1 and (limit is None or value <= limit)):
                never = "; None for never" if name == "early_stopping_rounds" else ""
                rule = "of at least 1" if limit is None else f"from 1 to {limit}"
                raise ParameterError(f"{called}={short_repr(value)} must be a whole number {rule}{never}")
            object.__setattr__(self, name, int(value))
        object.__setattr__(self, "norms", as_norms(self.norms))
        for name, most in (("learning_rate", np.inf), ("decay", 1.0), ("max_seconds", np.inf)):
            number = as_number(getattr(self, name))
            if getattr(self, name) is None and name == "max_seconds":
                continue
            if number is None or not 0 < number <= most or number == np.inf:
                rule = "above 0" if most == np.inf else f"above 0 and at most {most:g}"
                raise ParameterError(f"{name}={short_repr(getattr(self, name))} must be a number {rule}")
            object.__setattr__(self, name, float(number))
        if self.step not in STEPS:
            raise unknown_name("step", self.step, STEPS)
        if not isinstance(self.tie, bool):
            raise ParameterError(f"tie={short_repr(self.tie)} must be True or False")

    @property
    def epochs(self) -> int:
        """Passes in all, at most."""
        return self.passes * self.tries

    @property
    def tries(self) -> int:
        """Every norm from the first start, and every other start."""
        return len(self.norms) + self.starts - 1

    def begin(self, drawn: Floats, norm: float) -> Floats:
        """A start of numbers in [0, 1): scaled down to half the norm where it is larger, so that it can move."""
        total = float(np.add.reduce(drawn))
        return drawn * min(1.0, 0.5 * norm / total) if total > 0 else drawn

    def moved(self, theta: Floats, push: Floats, rate: float, norm: float) -> Floats:
        """θ + rate · push, made feasible."""
        if self.step == "project":
            length, reach = rate * float(np.add.reduce(np.abs(push))), REACH * norm * rate / self.learning_rate
            return nearest_feasible(theta + (rate * min(1.0, reach / length) if length > 0 else 0.0) * push, norm)
        for _ in range(HALVINGS):
            tried = theta + rate * push
            if (tried >= 0).all() and np.add.reduce(tried) <= norm:
                return tried
            rate /= 2
        return theta


def as_norms(given: Any) -> tuple[float, ...]:
    """One number above 0, or several."""
    several = isinstance(given, Sequence | np.ndarray) and not isinstance(given, str)
    numbers = [as_number(value) for value in (given if several else [given])]
    if not numbers or not all(number is not None and 0 < number < np.inf for number in numbers):
        raise ParameterError(f"norm={short_repr(given)} must be a number above 0, or several of them")
    return tuple(float(number) for number in numbers if number is not None)


def nearest_feasible(theta: Floats, norm: float) -> Floats:
    """The nearest point with θ ≥ 0 and Σθ ≤ norm. [Duchi et al. 2008]"""
    positive = np.maximum(theta, 0.0)
    if np.add.reduce(positive) <= norm:
        return positive
    falling = np.sort(theta)[::-1]
    excess = (np.cumsum(falling) - norm) / np.arange(1, len(theta) + 1)
    lowered = excess[np.flatnonzero(falling > excess)[-1]]
    return np.asarray(np.maximum(theta - lowered, 0.0), np.float64)
