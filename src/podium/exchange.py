"""How the workers of one training, each with whole queries of its own, agree on numbers over all of them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class Exchange(ABC):
    """What one worker calls to learn a number over all workers.

    All workers make the same calls in the same order, with arrays of the same size, and get the same results. No result depends
    on the order or the number of the workers: integers are added, and sums of floats are those of `math.fsum`, which are exact
    before they are rounded once.
    """

    is_alone = False  # whether there is only one worker

    def begin(self, round: int) -> None:
        """Say which round begins; calls before the first belong to the preparation. A replaced worker repeats whole rounds."""
        return

    @abstractmethod
    def gather(self, own: Any) -> list[Any]:
        """Return what every worker gives."""

    @abstractmethod
    def combine(self, sums: Integers, maxima: Floats) -> None:
        """Replace each of `sums` by its sum over the workers, and each of `maxima` by the largest of the workers.

        The core calls this with views of its memory.
        """

    def total(self, *counts: int) -> list[int]:
        """Return the sums of counts over the workers."""
        numbers = np.array(counts, np.int64)
        self.combine(numbers, np.empty(0))
        return [int(number) for number in numbers]

    def largest(self, number: float) -> float:
        """Return the largest of the workers' numbers."""
        numbers = np.array([number], np.float64)
        self.combine(np.empty(0, np.int64), numbers)
        return float(numbers[0])

    def any(self, flag: bool) -> bool:
        """Return whether the flag of any worker is set."""
        return self.total(int(flag))[0] > 0

    def fsum(self, *columns: Sequence[float]) -> list[float]:
        """Return the sum of each column over all workers, as `math.fsum` of all of its numbers would."""
        parts = self.gather([exact_sum(column) for column in columns])
        return [math.fsum(number for part in parts for number in part[k]) for k in range(len(columns))]

    def mean(self, values: Floats) -> float | None:
        """Return the mean of the values of all workers; None if there are no values."""
        parts = self.gather((exact_sum(values.tolist()), len(values)))
        count = sum(part[1] for part in parts)
        return math.fsum(number for part in parts for number in part[0]) / count if count else None


class Alone(Exchange):
    """The exchange of a training in one process, which has nothing to do."""

    is_alone = True

    def gather(self, own: Any) -> list[Any]:
        """Return what was given."""
        return [own]

    def combine(self, sums: Integers, maxima: Floats) -> None:
        """Leave the numbers as they are."""

    def fsum(self, *columns: Sequence[float]) -> list[float]:
        """Return the sums of columns."""
        return [math.fsum(column) for column in columns]

    def mean(self, values: Floats) -> float | None:
        """Return the mean; None if there are no values."""
        return math.fsum(values.tolist()) / len(values) if len(values) else None


ALONE = Alone()


def exact_sum(values: Sequence[float]) -> list[float]:
    """Return a few numbers whose sum is exactly that of the values, so that sums of parts can be added without rounding."""
    rest, parts = list(values), list[float]()
    while (part := math.fsum(rest)) != 0.0 and math.isfinite(part):
        parts.append(part)
        rest.append(-part)
    return parts if math.isfinite(part) else [part]
