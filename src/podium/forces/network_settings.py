"""Settings of cumulative distribution networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.errors import is_integer
from podium.forces.definition import POSITIVE
from podium.forces.network_inputs import NamedFunction
from podium.parameters import Parameter
from podium.rules import Choice, Custom, Flag, Integer, Real, Rule, Tuple

TOPOLOGIES = ("full", "independent", "random", "shared", "winner")


@dataclass(frozen=True)
class PerComponent(Rule):
    """A number that all functions of the network share, or a number for each of them."""

    of: Real

    @property
    def text(self) -> str:  # type: ignore[override]
        """The rule in words."""
        return f"{self.of.text}, or a list of such numbers, one per component"

    def convert(self, value: Any) -> float | tuple[float, ...]:
        """Return a number, or a tuple of them."""
        if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
            if not len(value):
                raise ValueError
            return tuple(self.of.convert(each) for each in value)
        return self.of.convert(value)


class Topology(Choice):
    """One of some words, or a function of yours."""

    def check(self, name: str, value: Any, remedy: str = "") -> Any:
        """Return the word, or the function."""
        if isinstance(value, NamedFunction) or callable(value) or (isinstance(value, str) and ":" in value):
            return NamedFunction.of(value, name)
        return super().check(name, value, remedy)


@dataclass(frozen=True)
class NoiseScale(Rule):
    """A feature by name or number, or a function of yours."""

    text = "must be a feature's name or number, or a function of the features of a query"

    def convert(self, value: Any) -> Any:
        """Return a name, a number, or the function."""
        if isinstance(value, NamedFunction) or callable(value) or (isinstance(value, str) and ":" in value):
            return NamedFunction.of(value, "noise_scale")
        return _feature(value)


def _feature(value: Any) -> int | str:
    if isinstance(value, str) and value:
        return value
    if not is_integer(value) or value < 0:
        raise ValueError
    return int(value)


TOPOLOGY = Parameter(
    "topology",
    "full",
    Topology(*TOPOLOGIES),
    "Which preferences are coupled by a function: 'full' every two, 'shared' every two that share a document, 'random' each with a "
    "few partners, 'independent' none; 'winner' couples all preferences of one winner at once. A function of yours, or "
    "module:function, says which pairs of preferences of a query are coupled.",
)
FUNCTION = Parameter(
    "function",
    "sigmoid",
    Choice("sigmoid", "gaussian"),
    "The distribution function that couples two preferences: 'sigmoid' 1/(1 + e^{−x} + e^{−y}), or 'gaussian' Φ₂(x, y; ρ), that of "
    "two normal variables with correlation rho.",
)
COMPONENTS = Parameter(
    "components",
    1,
    Integer(1, 16),
    "Number of functions that are multiplied with each other, each with w1, w2 and rho of its own.",
)
W1 = Parameter("w1", 1, PerComponent(POSITIVE), "Steepness in the gap of the first preference of a pair.")
W2 = Parameter("w2", 1, PerComponent(POSITIVE), "Steepness in the gap of the second preference of a pair.")
RHO = Parameter(
    "rho",
    0.5,
    PerComponent(Real(least=0, below=1, integer_kept=True)),
    "With function 'gaussian': correlation of the two preferences of a pair.",
)
TIE = Parameter("tie", False, Flag(), "Whether w1 and w2 share one value.")
LEARN = Parameter(
    "learn",
    True,
    Flag(),
    "Whether w1, w2, rho and the weights of the noise are learned together with the model. Otherwise they keep their values, which are "
    "1, 1 and 0.5 unless the force is given others.",
)
NOISE_SCALE = Parameter(
    "noise_scale",
    None,
    NoiseScale(),
    "Scale of each document's noise: a feature, or a function of yours of the features of a query. The gap of two documents is "
    "divided by the root mean square of their scales.",
    none="the same scale for all documents",
)
NOISE_FEATURES = Parameter(
    "noise_features",
    (),
    Tuple(Custom(_feature, "must be a feature's name or number"), "must be features, by name or number", empty=True),
    "Features that the scale of a document's noise is learned from, as e^{Σ weight · feature}; features are standardized in each "
    "query.",
)
PARTNERS = Parameter(
    "partners",
    5,
    Integer(1, 1000),
    "With topology 'random': number of partners of each preference per sample.",
)
PARTNER_DRAWS = Parameter(
    "draws",
    3,
    Integer(1, 1000),
    "With topology 'random': number of samples of the partners over which the force is averaged.",
)
SCALE = Parameter(
    "scale",
    "mean",
    Choice("mean", "sum"),
    "Scale of the cost: 'mean' divides it by the weight of all terms, so that large queries do not count more; 'sum' does not.",
)
METHOD = Parameter(
    "method",
    "auto",
    Choice("auto", "exact", "chebyshev"),
    "With topology 'full' or 'shared': 'exact' sums term by term, 'chebyshev' interpolates, 'auto' takes the faster of the two.",
)
