"""What a force is to the table of forces: its definition, its parameters, and how the core is told of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from podium.data.conversion import as_number
from podium.errors import ParameterError, shown
from podium.metrics.parameters import Parameter, Value


def _above_zero(name: str, given: object) -> Value:
    number = as_number(given)
    if number is None or not 0 < number < math.inf:
        raise ParameterError(f"{name}={shown(given)} must be a number above 0")
    return number


def _not_negative(name: str, given: object) -> Value:
    number = as_number(given)
    if number is None or not 0 <= number < math.inf:
        raise ParameterError(f"{name}={shown(given)} must be a number of at least 0")
    return number


def _truth(name: str, given: object) -> Value:
    if not isinstance(given, bool):
        raise ParameterError(f"{name}={shown(given)} must be True or False")
    return given


def _places(name: str, given: object) -> Value:
    number = as_number(given)
    if number is None or number != int(number) or not 0 <= number < 2**31:
        raise ParameterError(f"{name}={shown(given)} must be a number of places; 0 for the whole list")
    return int(number)


def _count(name: str, given: object) -> Value:
    number = as_number(given)
    if number is None or number != int(number) or not 1 <= number <= 1000:
        raise ParameterError(f"{name}={shown(given)} must be a whole number from 1 to 1000")
    return int(number)


SIGMA = Parameter("sigma", 1, "steepness of the logistic", _above_zero)
MARGIN = Parameter("margin", 1, "how far above a document should stand", _above_zero)
STEP_MARGIN = Parameter("margin", 0, "the force acts while the gap is below this", _not_negative)
TRUNCATION = Parameter("truncation", 0, "only pairs with a document among the first this many; 0 for all", _places)
NORMALISE = Parameter(
    "normalise", False, "scale a query's forces by log₂(1 + S)/S, S = 2 Σ |force| over its pairs", _truth
)
DAMPING = Parameter(
    "damping",
    False,
    "divide a pair's force by 0.01 + its gap in scores, unless all scores of the query are equal",
    _truth,
)
NOISE = Parameter(
    "noise", 0, "places are those of scores with noise of standard deviation π/√3 times this", _not_negative
)
DRAWS = Parameter("draws", 1, "draws of the noise, averaged", _count)
TIES = Parameter("ties", False, "train on equal labels too, with target ½", _truth)


@dataclass(frozen=True)
class Definition:
    """One row of the table of forces.

    `takes` is what stands first inside the parentheses of the name: a metric, a force or nothing. `labels` says which
    labels it is defined on.
    """

    name: str
    summary: str
    formula: str
    source: str
    parameters: tuple[Parameter, ...] = ()
    takes: Literal["metric", "force"] | None = None
    over: Literal["pairs", "lists", "points"] = "pairs"
    has_cost: bool = True
    labels: Literal["any", "not negative", "levels"] = "any"
    draws: bool = False  # whether it draws random numbers, anew each round
