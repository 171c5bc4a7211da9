"""What a user wrote: one Python function of one query, its cost if declared, and the name by which both are found."""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.errors import DataError, ParameterError, short_repr
from podium.forces.compiling import Compiled, compiled

Floats = npt.NDArray[np.float64]
Function = Callable[[Floats, Floats], Any]
UNNAMED = "unnamed"  # stands for the module where there is none to import the function from
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
        for name, function in (("force", self.function), ("cost", self.cost)):
            if function is not None and not callable(function):
                raise ParameterError(name, function, "must be a function of (scores, labels)")
            try:
                hash(function)
            except TypeError:
                raise ParameterError(name, function, "must be hashable", "wrap it in a function") from None
        if self.compile is not None and not isinstance(self.compile, bool):
            raise ParameterError("compile", self.compile, "must be True, False or None (compile if Numba can)")

    @property
    def name(self) -> str:
        """`module:function`, with what differs from what is found there; `unnamed:…` where nothing can be found."""
        found = _found_again(self.function)
        if found is None or (self.cost is not None and _found_again(self.cost) is None):
            return f"{UNNAMED}:{_qualified(self.function)}"
        inside = []
        if self.cost is not found.cost:
            inside.append(f"cost={None if self.cost is None else _path(self.cost)!r}")
        if self.compile is not found.compile:
            inside.append(f"compile={self.compile}")
        return _path(self.function) + (f"({', '.join(inside)})" if inside else "")

    @property
    def called(self) -> str:
        """`module:function`, as messages call it."""
        return self.name.partition("(")[0]

    @property
    def is_importable(self) -> bool:
        """Whether the name finds the same function again."""
        return not self.name.startswith(f"{UNNAMED}:")

    def compiled(self) -> tuple[Compiled | None, Compiled | None]:
        """Force and cost as Numba compiled them; None for what runs as Python."""
        of_cost = None if self.cost is None else compiled(self.cost, "cost", self.compile)
        return compiled(self.function, "force", self.compile), of_cost

    def core(self) -> _core.CustomForce:
        """The force as the core calls it, from any thread."""
        of_force, of_cost = self.compiled()
        return _core.CustomForce(
            self.checked_force,
            None if self.cost is None else self.checked_cost,
            compiled_force=of_force.address if of_force else 0,
            compiled_cost=of_cost.address if of_cost else 0,
            compiled=(of_force, of_cost),
        )

    def checked_force(self, scores: Floats, labels: Floats) -> tuple[Floats, Floats]:
        """What the function gives for one query, if it is two arrays of finite numbers, one a document."""
        n = len(scores)
        answer = self._asked("force", self.function, scores, labels)
        try:
            force, curvature = answer
        except (TypeError, ValueError):
            raise DataError(
                f"{self.called}: gave {short_repr(answer)}; it must give two arrays, (force, curvature), of {n} numbers each"
            ) from None
        return self._column("force", force, n), self._positive(self._column("curvature", curvature, n))

    def checked_cost(self, scores: Floats, labels: Floats) -> float:
        """What the cost gives for one query, if it is one finite number."""
        assert self.cost is not None
        answer = self._asked("cost", self.cost, scores, labels)
        try:
            cost = float(answer)
        except (TypeError, ValueError):
            raise DataError(f"{self.called}: the cost gave {short_repr(answer)}; it must give one number") from None
        if not np.isfinite(cost):
            raise DataError(f"{self.called}: the cost gave {cost}; it must be finite")
        return cost

    def _asked(self, part: str, function: Function, scores: Floats, labels: Floats) -> Any:
        try:
            return function(scores, labels)
        except Exception as error:
            query = f"scores {short_repr(scores.tolist())} and labels {short_repr(labels.tolist())}"
            error.add_note(f"In the {part} of {self.called}, on a query with {query}")
            raise

    def _column(self, part: str, values: Any, n: int) -> Floats:
        try:
            column = np.ascontiguousarray(np.asarray(values, np.float64))
        except (TypeError, ValueError):
            raise DataError(
                f"{self.called}: the {part} is {short_repr(values)}; it must be an array of numbers"
            ) from None
        if np.shape(values) != (n,):
            raise DataError(
                f"{self.called}: the {part} has shape {np.shape(values)} for a query of {n} documents; give one number a "
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


def _qualified(function: Function) -> str:
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def _path(function: Function) -> str:
    return f"{function.__module__}:{_qualified(function)}"


def _found_again(function: Function) -> CustomFunction | None:
    """What its module and name lead to, if that is this function or a force made of it."""
    place: Any = sys.modules.get(getattr(function, "__module__", None) or "")
    for part in _qualified(function).split("."):
        place = getattr(place, part, None)
    if place is function:
        return CustomFunction(function)
    custom = getattr(place, "custom", None)
    return custom if isinstance(custom, CustomFunction) and custom.function is function else None


def find_function(path: str) -> Any:
    """What `module:function` names: a function, or a force made of one."""
    name, _, qualified = path.partition(":")
    if name == UNNAMED:
        raise ParameterError(
            f"force {path!r} was a function that no module names (a lambda, or one defined inside another function), so it "
            "cannot be found again; give the function itself, or define it at the top of a module and write module:function"
        )
    place: Any = _module(name, path)
    for part in qualified.split("."):
        inside = place
        place = getattr(inside, part, None)
        if place is None:
            near = difflib.get_close_matches(part, [key for key, value in vars(inside).items() if callable(value)], n=1)
            hint = f"; did you mean {name}:{near[0]}?" if near else ""
            raise ParameterError(f"force {path!r}: {name} has no function {part!r}{hint}")
    return place


def _module(name: str, path: str) -> ModuleType:
    if "/" in name or name.startswith(".") or name.endswith(".py"):
        plain = name.removesuffix(".py").rpartition("/")[2].lstrip(".")
        raise ParameterError(
            f"force {path!r}: {name!r} is the name of a file, and a module is needed: write {plain}:{path.rpartition(':')[2]} "
            "in the folder where the file is"
        )
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(f"{error.name}.")):
            error.add_note(f"In the module {name}")  # it is there, and misses another
            raise
        raise ParameterError(
            f"force {path!r}: there is no module {error.name!r} on Python's path (the command line looks in the current "
            "folder first)"
        ) from None
    except Exception as error:
        error.add_note(f"In the module {name}")
        raise
