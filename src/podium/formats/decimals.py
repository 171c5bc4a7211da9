"""Decimal text and floating-point numbers: the shortest text that reads back as the same number, and exact rounding."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data.grouping import text_array

OVERFLOW = (
    2.0**128 - 2.0**103
)  # halfway between the largest float32 and 2**128: from here on a number is infinite as float32


def shortest(values: npt.NDArray[np.floating[Any]]) -> list[str]:
    """Return the shortest decimal of each number that reads back as the same number of the same type."""
    if values.dtype == np.float64:
        return [repr(value) for value in values.tolist()]
    return [str(value) for value in values]


def nearest_float32(values: npt.NDArray[np.float64], texts: Sequence[str]) -> npt.NDArray[np.float32]:
    """Return the float32 nearest to each decimal, which is given as the float64 nearest to it and as text.

    Rounding twice differs from rounding once only if the float64 lies exactly halfway between two float32. Then the text
    decides.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = values.astype(np.float32)
        error = values - rounded
        neighbor = np.nextafter(rounded, np.where(error > 0, np.float32(np.inf), np.float32(-np.inf)))
        half_way = (error != 0) & (2 * error == neighbor.astype(np.float64) - rounded)
    half_way |= np.abs(values) == OVERFLOW
    for k in np.flatnonzero(half_way).tolist():
        exact, middle = Decimal(texts[k].strip()), Decimal(float(values[k]))
        low, high = sorted((rounded[k], neighbor[k]))
        if exact != middle:
            rounded[k] = high if exact > middle else low
    return rounded


def overflows(value: float, text: str) -> bool:
    """Return whether a decimal, given as the float64 nearest to it and as text, is infinite as float32."""
    if abs(value) == OVERFLOW:
        return abs(Decimal(text.strip())) >= Decimal(OVERFLOW)
    return abs(value) > OVERFLOW


def is_canonical_integer(text: str) -> bool:
    """Return whether a text is how Python prints an int64, so that nothing is lost by reading it as one."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 19:
        return False
    return str(int(text)) == text and -(2**63) <= int(text) < 2**63


def ids_from_texts(texts: Sequence[str]) -> npt.NDArray[Any]:
    """Return query ids as int64 if every text is how Python prints an int64, otherwise as text."""
    if all(map(is_canonical_integer, texts)):
        return np.array([int(text) for text in texts], np.int64)
    return text_array(texts)
