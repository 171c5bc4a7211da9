"""A user's function of one query, its cost if declared, and the name by which both are found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from podium import _core
from podium.compiling import Compiled, compiled
from podium.errors import DataError, short_repr
from podium.functions import UNNAMED, Floats, Function, call, check_function, found_at, path_of, qualified_name

ROUNDING = 1e-12  # a curvature below zero by less than this share of the largest is zero


@dataclass(frozen=True)
class CustomFunction:
    """A function `(scores, labels) -> (force, curvature)` of one query, and perhaps its cost `(scores, labels) -> C`.

    `compile` says whether Numba must (True), may (None) or must not (False) compile them.
    """

    function: Function
    cost: Function | None = None
    compile: bool | None = None

    def __post_init__(self) -> None:
        check_function("force", self.function, self.compile)
        if self.cost is not None:
            check_function("cost", self.cost, self.compile)

    @property
    def name(self) -> str:
        """`module:function`, with the options that differ from what is found there; `unnamed:…` if nothing can be found."""
        found = _found_again(self.function)
        if found is None or (self.cost is not None and _found_again(self.cost) is None):
            return f"{UNNAMED}:{qualified_name(self.function)}"
        inside = []
        if self.cost is not found.cost:
            inside.append(f"cost={None if self.cost is None else path_of(self.cost)!r}")
        if self.compile is not found.compile:
            inside.append(f"compile={self.compile}")
        return path_of(self.function) + (f"({', '.join(inside)})" if inside else "")

    @property
    def called(self) -> str:
        """`module:function`, as messages show it."""
        return self.name.partition("(")[0]

    @property
    def is_importable(self) -> bool:
        """Whether the name leads to the same function again."""
        return not self.name.startswith(f"{UNNAMED}:")

    def compiled(self) -> tuple[Compiled | None, Compiled | None]:
        """Return force and cost as Numba compiled them; None for one that runs as Python."""
        of_cost = None if self.cost is None else compiled(self.cost, "cost", self.compile)
        return compiled(self.function, "force", self.compile), of_cost

    def core(self) -> _core.CustomForce:
        """Return the force in the form that the core calls, from any thread."""
        of_force, of_cost = self.compiled()
        return _core.CustomForce(
            self.checked_force,
            None if self.cost is None else self.checked_cost,
            compiled_force=of_force.address if of_force else 0,
            compiled_cost=of_cost.address if of_cost else 0,
            compiled=(of_force, of_cost),
        )

    def checked_force(self, scores: Floats, labels: Floats) -> tuple[Floats, Floats]:
        """Return what the function gives for one query, after checking that it is two arrays of one finite number per document."""
        n = len(scores)
        answer = call(self.function, scores, labels, f"the force of {self.called}")
        try:
            force, curvature = answer
        except (TypeError, ValueError):
            raise DataError(
                f"{self.called}: gave {short_repr(answer)}; it must give two arrays, (force, curvature), of {n} numbers each"
            ) from None
        return self._column("force", force, n), self._positive(self._column("curvature", curvature, n))

    def checked_cost(self, scores: Floats, labels: Floats) -> float:
        """Return what the cost gives for one query, after checking that it is one finite number."""
        assert self.cost is not None
        answer = call(self.cost, scores, labels, f"the cost of {self.called}")
        try:
            cost = float(answer)
        except (TypeError, ValueError):
            raise DataError(f"{self.called}: the cost gave {short_repr(answer)}; it must give one number") from None
        if not np.isfinite(cost):
            raise DataError(f"{self.called}: the cost gave {cost}; it must be finite")
        return cost

    def _column(self, part: str, values: Any, n: int) -> Floats:
        try:
            column = np.ascontiguousarray(np.asarray(values, np.float64))
        except (TypeError, ValueError):
            raise DataError(
                f"{self.called}: the {part} is {short_repr(values)}; it must be an array of numbers"
            ) from None
        if np.shape(values) != (n,):
            raise DataError(
                f"{self.called}: the {part} has shape {np.shape(values)} for a query of {n} documents; give one number per "
                f"document, shape ({n},)"
            )
        if not np.isfinite(column).all():
            where = int(np.flatnonzero(~np.isfinite(column))[0])
            raise DataError(f"{self.called}: the {part} of document {where} is {column[where]}; it must be finite")
        return column

    def _positive(self, curvature: Floats) -> Floats:
        least = float(curvature.min())
        if least >= 0:
            return curvature
        if least < -ROUNDING * float(np.abs(curvature).max()):
            raise DataError(
                f"{self.called}: the curvature of document {int(curvature.argmin())} is {least:g}; it must be at least 0, "
                "since Newton steps divide by it: give np.maximum(curvature, 0), or np.ones for plain gradient steps"
            )
        return np.maximum(curvature, 0.0)


def _found_again(function: Function) -> CustomFunction | None:
    """Return what its module and name lead to, if that is this function or a force made of it."""
    place = found_at(function)
    if place is function:
        return CustomFunction(function)
    custom = getattr(place, "custom", None)
    return custom if isinstance(custom, CustomFunction) and custom.function is function else None
