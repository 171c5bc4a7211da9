"""float32 numbers next to others: thresholds that decide alike for every float32 value."""

from __future__ import annotations

import math

import numpy as np

LARGEST = float(np.finfo(np.float32).max)


def round32(value: float) -> float:
    """Return the nearest float32; what is too large becomes infinite."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def largest_at_most(value: float) -> float:
    """Return the largest float32 that is not above a number; −∞ if there is none."""
    nearest = round32(value)
    return nearest if nearest <= value else below(nearest)


def below(value: float) -> float:
    """Return the next float32 below a float32."""
    return _next(value, -math.inf)


def above(value: float) -> float:
    """Return the next float32 above a float32."""
    return _next(value, math.inf)


def _next(value: float, toward: float) -> float:
    with np.errstate(over="ignore", under="ignore"):
        return float(np.nextafter(np.float32(value), np.float32(toward)))


def short32(value: float) -> float:
    """Return the number that prints with the fewest digits from which every reader gets the nearest float32."""
    return float(str(np.float32(value)))
