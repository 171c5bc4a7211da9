"""Which round to keep, given the validation values so far."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def best_round(values: Floats, smoothing: int) -> int:
    """Return the round, counted from 1, whose smoothed value is highest; the first of equals.

    The same rule holds while training runs, when it is interrupted and when it ends: the result depends on the values alone.
    """
    first = first_choice(len(values), smoothing)
    return first + int(np.argmax(smoothed(values, _width(len(values), smoothing))[first - 1 :]))


def first_choice(rounds: int, smoothing: int) -> int:
    """Return the first round that can be kept after so many rounds: one with half of its neighbors on its left.

    A mean of few values varies more than a mean of many. The first rounds have few neighbors and would often win by chance.
    """
    return (_width(rounds, smoothing) + 1) // 2 + 1


def smoothed(values: Floats, width: int) -> Floats:
    """Return each value's mean with up to `width` neighbors on either side, relative to the first and in units of the largest.

    Near the first round, where the curve is steep, the window shrinks on both sides alike: no round is credited with what came
    later. At the last round only earlier values are known, and the window keeps them, because a single value is best by chance.
    Means are rounded, so that means of equal values are equal whatever the metric's scale.
    """
    apart = values - values[0]
    largest = float(np.abs(apart).max()) or 1.0
    sums = np.concatenate([[0.0], np.cumsum(apart / largest)])
    at = np.arange(len(values))
    half = np.minimum(width, at)
    low, high = at - half, np.minimum(at + half + 1, len(values))
    return np.asarray(np.round((sums[high] - sums[low]) / (high - low), 11))


def _width(rounds: int, smoothing: int) -> int:
    return min(smoothing, rounds // 10)
