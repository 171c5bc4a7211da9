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
NumberedRows = tuple[Integers, Floats]


class Exchange(ABC):
    """What one worker calls to learn a number over all workers.

    All workers make the same calls in the same order, with arrays of the same size, and get the same results. No result depends
    on the order or the number of the workers: integers are added, and sums of floats are those of `math.fsum`, which are exact
    before they are rounded once, or follow an order that the callers give.
    """

    is_alone = False  # whether there is only one worker
    number = 0  # of this worker: where `gather` puts what it gives

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

    def share(self, value: Any | None) -> Any:
        """Return the value of the only worker that gives one."""
        return next(each for each in self.gather(value) if each is not None)

    def add_in_order(self, start: Floats, places: Integers, rows: Floats) -> Floats:
        """Return `start` plus the rows of all workers, added one by one in the order of their places.

        Args:
            start: the same at all workers.
            places: from 0 on, and different at all workers.
            rows: one row per place.
        """
        return ordered_sum(self.gather(self.numbered(start, places, rows)))

    def numbered(self, start: Floats, places: Integers, rows: Floats) -> NumberedRows:
        """Return what `ordered_sum` takes from this worker: the first worker brings the start."""
        if self.number > 0:
            return places, rows
        return np.concatenate([[-1], places]), np.concatenate([start[None], rows])

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


def ordered_sum(parts: Sequence[NumberedRows]) -> Floats:
    """Return the sum of the rows of all parts, added one by one in the order of their numbers."""
    numbers, rows = np.concatenate([part[0] for part in parts]), [row for part in parts for row in part[1]]
    order = np.argsort(numbers).tolist()
    total = np.array(rows[order[0]])
    for k in order[1:]:
        total += rows[k]
    return total


def exact_sum(values: Sequence[float]) -> list[float]:
    """Return a few numbers whose sum is exactly that of the values, so that sums of parts can be added without rounding."""
    rest, parts = list(values), list[float]()
    while (part := math.fsum(rest)) != 0.0 and math.isfinite(part):
        parts.append(part)
        rest.append(-part)
    return parts if math.isfinite(part) else [part]
