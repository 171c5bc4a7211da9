"""Decimal text and floating point, exact both ways: the shortest text that reads back as the same number."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data.grouping import text_array


def shortest(values: npt.NDArray[np.floating[Any]]) -> list[str]:
    """The shortest decimal of each number that reads back as the same number of the same type."""
    if values.dtype == np.float64:
        return [repr(value) for value in values.tolist()]
    return [str(value) for value in values]


def nearest_float32(values: npt.NDArray[np.float64], texts: Sequence[str]) -> npt.NDArray[np.float32]:
    """The float32 nearest to each decimal, given also as the float64 nearest to it.

    Rounding twice differs from rounding once only where the float64 stands exactly between two float32: there the
    text decides.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = values.astype(np.float32)
        error = values - rounded
        neighbor = np.nextafter(rounded, np.where(error > 0, np.float32(np.inf), np.float32(-np.inf)))
        half_way = (error != 0) & (2 * error == neighbor.astype(np.float64) - rounded)
    for k in np.flatnonzero(half_way).tolist():
        exact, middle = Decimal(texts[k].strip()), Decimal(float(values[k]))
        low, high = sorted((rounded[k], neighbor[k]))
        if exact != middle:
            rounded[k] = high if exact > middle else low
    return rounded


def is_canonical_integer(text: str) -> bool:
    """Whether the text is how an int64 prints, so that nothing is lost in reading it as one."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 19:
        return False
    return str(int(text)) == text and -(2**63) <= int(text) < 2**63


def ids_from_texts(texts: Sequence[str]) -> npt.NDArray[Any]:
    """Query ids as int64 where every text is how an int64 prints, else as text."""
    if all(map(is_canonical_integer, texts)):
        return np.array([int(text) for text in texts], np.int64)
    return text_array(texts)
