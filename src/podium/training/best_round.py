"""Which round to keep, given the validation values so far."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from podium import _core

Floats = npt.NDArray[np.float64]


def best_round(values: Floats, smoothing: int) -> int:
    """Return the round, counted from 1, whose smoothed value is highest; the first of equals.

    Each value is averaged with up to `smoothing` neighbors on either side, at most a tenth of the rounds. Near the first round,
    where the curve is steep, the window shrinks on both sides alike: no round is credited with what came later. At the last round
    only earlier values are known, and the window keeps them, because a single value is best by chance.

    The same rule holds while training runs, when it is interrupted and when it ends: the result depends on the values alone.
    """
    return _core.best_round(values, _width(len(values), smoothing), first_choice(len(values), smoothing))


def first_choice(rounds: int, smoothing: int) -> int:
    """Return the first round that can be kept after so many rounds: one with half of its neighbors on its left.

    A mean of few values varies more than a mean of many. The first rounds have few neighbors and would often win by chance.
    """
    return (_width(rounds, smoothing) + 1) // 2 + 1


def _width(rounds: int, smoothing: int) -> int:
    return min(smoothing, rounds // 10)
