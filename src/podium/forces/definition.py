"""What a force is to the table of forces: its definition, its parameters, and how the core is told of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from podium.data.conversion import as_number
from podium.errors import ParameterError, short_repr
from podium.metrics.parameters import Parameter, Value


def _above_zero(name: str, given: object) -> Value:
    number = as_number(given)
    if number is None or not 0 < number < math.inf:
        raise ParameterError(f"{name}={short_repr(given)} must be a number above 0")
    return number


def _not_negative(name: str, given: object) -> Value:
    number = as_number(given)
    if number is None or not 0 <= number < math.inf:
        raise ParameterError(f"{name}={short_repr(given)} must be a number of at least 0")
    return number


def _truth(name: str, given: object) -> Value:
    if not isinstance(given, bool):
        raise ParameterError(f"{name}={short_repr(given)} must be True or False")
    return given


def _places(name: str, given: object) -> Value:
    number = as_number(given)
    if number is None or number != int(number) or not 0 <= number < 2**31:
        raise ParameterError(f"{name}={short_repr(given)} must be a number of places; 0 for the whole list")
    return int(number)


def _one_of(*choices: str) -> Callable[[str, object], Value]:
    def check(name: str, given: object) -> Value:
        if not isinstance(given, str) or given not in choices:
            raise ParameterError(f"{name}={short_repr(given)} must be one of {', '.join(map(repr, choices))}")
        return given

    return check


def _count(name: str, given: object) -> Value:
    number = as_number(given)
    if number is None or number != int(number) or not 1 <= number <= 1000:
        raise ParameterError(f"{name}={short_repr(given)} must be a whole number from 1 to 1000")
    return int(number)


SIGMA = Parameter("sigma", 1, "steepness of the logistic", _above_zero)
MARGIN = Parameter("margin", 1, "how far above a document should stand", _above_zero)
STEP_MARGIN = Parameter("margin", 0, "the force acts while the gap is below this", _not_negative)
TRUNCATION = Parameter("truncation", 0, "only pairs with a document among the first this many; 0 for all", _places)
NORMALIZE = Parameter(
    "normalize", False, "scale a query's forces by log₂(1 + S)/S, S = 2 Σ |force| over its pairs", _truth
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
TOPOLOGY = Parameter(
    "topology",
    "full",
    "which preferences meet: 'full' all, 'random' each with some partners, 'independent' none",
    _one_of("full", "independent", "random"),
)
W1 = Parameter("w1", 1, "steepness in the gap of the first preference of a pair", _above_zero)
W2 = Parameter("w2", 1, "steepness in the gap of the second", _above_zero)
PARTNERS = Parameter("partners", 5, "'random': others that each preference meets in a draw", _count)
PARTNER_DRAWS = Parameter("draws", 3, "'random': draws of the partners, averaged", _count)
SCALE = Parameter(
    "scale",
    "mean",
    "'mean' divides by the weight of all terms, so that a query's size does not count; 'sum' is the plain sum",
    _one_of("mean", "sum"),
)
METHOD = Parameter(
    "method",
    "auto",
    "'full': 'exact' term by term, 'chebyshev' by interpolation, 'auto' the faster",
    _one_of("auto", "exact", "chebyshev"),
)
TIES = Parameter("ties", False, "train on equal labels too, with target ½", _truth)


@dataclass(frozen=True)
class Definition:
    """One row of the table of forces.

    `takes` is what stands first inside the parentheses of the name: a metric, a force or nothing. `over` is what it sums
    over: pairs of documents, pairs of preferences between documents, whole lists, or documents alone. `labels` says
    which labels it is defined on.
    """

    name: str
    summary: str
    formula: str
    source: str
    parameters: tuple[Parameter, ...] = ()
    takes: Literal["metric", "force"] | None = None
    leading: str | None = None  # a parameter that may stand first in the parentheses without its name
    learnable: tuple[str, ...] = ()  # parameters that Force.compute may be given in each call, and gives the slopes of
    over: Literal["pairs", "preferences", "lists", "points"] = "pairs"
    has_cost: bool = True
    labels: Literal["any", "not negative", "levels"] = "any"
    draws: bool = False  # whether it draws random numbers, anew each round
