"""What a metric can be told: each parameter with its default, its rule and the remedy."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from podium.data.conversion import as_number
from podium.errors import ParameterError, short_repr

Value = str | float | int | tuple[float | int, ...]


@dataclass(frozen=True)
class Parameter:
    """One parameter: `check(name, given)` gives the value to keep, or raises ParameterError."""

    name: str
    default: Value
    description: str
    check: Callable[[str, object], Value]


def _one_of(*choices: str) -> Callable[[str, object], Value]:
    def check(name: str, given: object) -> Value:
        if not isinstance(given, str) or given not in choices:
            raise ParameterError(f"{name}={short_repr(given)} must be one of {', '.join(map(repr, choices))}")
        return str(given)

    return check


def _number(low: float, high: float, rule: str) -> Callable[[str, object], Value]:
    """A number strictly above `low` and at most `high`."""

    def check(name: str, given: object) -> Value:
        number = as_number(given)
        if number is None or not low < number <= high or abs(number) > sys.float_info.max:
            raise ParameterError(f"{name}={short_repr(given)} must be {rule}")
        return number

    return check


def _gain(name: str, given: object) -> Value:
    if isinstance(given, str):
        if given in ("exponential", "linear"):
            return given
    elif isinstance(given, Sequence | np.ndarray) and not isinstance(given, bytes | bytearray | memoryview):
        gains = tuple(as_number(value) for value in given) if not isinstance(given, np.ndarray) or given.ndim else ()
        kept = tuple(gain for gain in gains if gain is not None and 0 <= gain <= sys.float_info.max)
        if gains and len(kept) == len(gains):
            return kept
    raise ParameterError(
        f"{name}={short_repr(given)} must be 'exponential', 'linear' or one gain ≥ 0 for each label 0, 1, …, as in (0, 1, 3, 7)"
    )


def _persistence(name: str, given: object) -> Value:
    number = as_number(given)
    if number is None or not 0 < number < 1:
        raise ParameterError(f"{name}={short_repr(given)} must lie between 0 and 1, both excluded")
    return number


GAIN = Parameter(
    "gain",
    "exponential",
    "what a label is worth: 'exponential' 2^l − 1, 'linear' l, or a gain for each whole label as in (0, 1, 3, 7)",
    _gain,
)
REL = Parameter(
    "rel", 1, "a label of at least this is relevant", _number(-math.inf, math.inf, "a finite number: the lowest label")
)
MAX = Parameter(
    "max", 4, "the largest label there can be", _number(0, 50, "a number above 0 and at most 50: the largest label")
)
PERSISTENCE = Parameter("persistence", 0.8, "the chance that the reader looks at one more document", _persistence)
EMPTY = Parameter(
    "empty",
    "zero",
    "a query without a relevant document counts 'zero' or 'one', or 'skip' leaves it out of the mean",
    _one_of("zero", "one", "skip"),
)
EMPTY_PAIRS = Parameter(
    "empty",
    "zero",
    "a query without two documents to tell apart counts 'zero' or 'one', or 'skip' leaves it out of the mean",
    _one_of("zero", "one", "skip"),
)
TIES = Parameter(
    "ties",
    "input",
    "equal scores: 'input' keeps the order given, 'trec_eval' takes the greater document id first, "
    "'average' gives the expected value over random orders",
    _one_of("input", "trec_eval", "average"),
)
CONVENTION = Parameter(
    "convention",
    "textbook",
    "whose definition where they differ: 'textbook', 'letor' or 'trec_eval'",
    _one_of("textbook", "letor", "trec_eval"),
)

# Where a convention changes what a parameter is when nobody says.
CONVENTION_DEFAULTS: dict[str, dict[str, Value]] = {
    "textbook": {},
    "letor": {},
    "trec_eval": {"gain": "linear", "ties": "trec_eval"},
}
