"""Parameters of metrics, each with its default, its rule and what it means. Those of one family stand in its file."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass

from podium.data.conversion import as_number
from podium.errors import ParameterError

Value = str | float | int | tuple[float | int, ...]


@dataclass(frozen=True)
class Parameter:
    """One parameter of a metric.

    Attributes:
        name: its name, as Python spells it.
        default: its value if none is given.
        description: what it means.
        check: `check(name, given)` returns the value to keep, or raises ParameterError.
        examples: other values than the default, which the contract tests try.
    """

    name: str
    default: Value
    description: str
    check: Callable[[str, object], Value]
    examples: tuple[Value, ...] = ()


def one_of(*choices: str) -> Callable[[str, object], Value]:
    """Return the check of a parameter that is one of some words."""

    def check(name: str, given: object) -> Value:
        if not isinstance(given, str) or given not in choices:
            raise ParameterError(name, given, f"must be one of {', '.join(map(repr, choices))}")
        return str(given)

    return check


def number(low: float, high: float, rule: str, *, high_included: bool = True) -> Callable[[str, object], Value]:
    """Return the check of a parameter that is a number above `low` and at most (or below) `high`."""

    def check(name: str, given: object) -> Value:
        found = as_number(given)
        if found is None or not low < found <= high or abs(found) > sys.float_info.max:
            raise ParameterError(name, given, f"must {rule}")
        if found == high and not high_included:
            raise ParameterError(name, given, f"must {rule}")
        return found

    return check


REL = Parameter(
    "rel",
    1,
    "a label of at least this is relevant",
    number(-math.inf, math.inf, "be a finite number: the lowest label"),
    (2,),
)
EMPTY = Parameter(
    "empty",
    "zero",
    "a query without a relevant document counts 'zero' or 'one', or 'skip' leaves it out of the mean",
    one_of("zero", "one", "skip"),
    ("one", "skip"),
)
EMPTY_PAIRS = Parameter(
    "empty",
    "zero",
    "a query without two documents to tell apart counts 'zero' or 'one', or 'skip' leaves it out of the mean",
    one_of("zero", "one", "skip"),
    ("one", "skip"),
)
TIES = Parameter(
    "ties",
    "input",
    "equal scores: 'input' keeps the order given, 'trec_eval' takes the greater document id first, "
    "'average' gives the expected value over random orders",
    one_of("input", "trec_eval", "average"),
    ("average",),
)
CONVENTION = Parameter(
    "convention",
    "textbook",
    "whose definition where they differ: 'textbook', 'letor' or 'trec_eval'",
    one_of("textbook", "letor", "trec_eval"),
    ("letor",),
)

# What a parameter is under a convention if it is not given.
CONVENTION_DEFAULTS: dict[str, dict[str, Value]] = {
    "textbook": {},
    "letor": {},
    "trec_eval": {"gain": "linear", "ties": "trec_eval"},
}
