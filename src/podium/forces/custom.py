"""Forces of your own: one Python function of one query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import overload

from podium.errors import ParameterError, UnknownNameError, short_repr
from podium.forces.custom_function import CustomFunction
from podium.forces.definition import ForceDefinition
from podium.forces.force import Force
from podium.functions import Function, find_function
from podium.names import PrintedName

CUSTOM = ForceDefinition(
    name="custom",
    summary="A function of yours: (scores, labels) -> (force, curvature), one query at a time.",
    formula="as you write it",
    source="you",
    over="lists",
    has_cost=False,
)
OPTIONS = ("cost", "compile")


@overload
def custom_force(function: Function, *, cost: Function | None = None, compile: bool | None = None) -> Force: ...
@overload
def custom_force(
    function: None = None, *, cost: Function | None = None, compile: bool | None = None
) -> Callable[[Function], Force]: ...
def custom_force(
    function: Function | None = None, *, cost: Function | None = None, compile: bool | None = None
) -> Force | Callable[[Function], Force]:
    """Return the force of a function of yours, `(scores, labels) -> (force, curvature)` of one query; also a decorator.

    The function takes the scores and labels of one query as float64 arrays and returns two arrays of the same length: the
    force λ, positive if a document should rise, and the curvature w ≥ 0 for Newton steps (ones if you have none).
    `podium.force(function)` is the same without options, and `podium.force("module:function")` finds it by name.

    Args:
        function: the function of one query. Without it, `custom_force` is a decorator: the decorated name then stands for the
            force, and still reads back.
        cost: `(scores, labels) -> C` of one query, if the force is the negative gradient of a cost; then `Force.cost` works.
        compile: with the extra `podium[numba]`, functions are compiled and run on all threads without Python. None
            compiles what Numba can and warns about what it cannot, True insists, False runs as plain Python.
    """
    if function is None:
        return lambda decorated: custom_force(decorated, cost=cost, compile=compile)
    if isinstance(function, Force):
        raise ParameterError("function", function, "is a force already", "give the function that it is made of")
    return Force(CUSTOM, custom=CustomFunction(function, cost, compile))


def named_custom_force(parts: PrintedName) -> Force:
    """Return the force of `module:function`, perhaps with `(cost='module:function', compile=False)`."""
    if parts.first:
        remedy = "write it as module:function or module:function(compile=False)"
        raise ParameterError("force", f"{parts.base}({', '.join(parts.first)})", "cannot be read", remedy)
    found, options = find_function(parts.base, "force"), dict(parts.settings)
    for option in options:
        if option not in OPTIONS:
            raise UnknownNameError("option of a custom force", option, OPTIONS)
    if isinstance(options.get("cost"), str):
        options["cost"] = find_function(options["cost"], "cost")
    if isinstance(found, Force):
        if found.custom is None and options:
            rule = f"stands for {found!r}, which takes no options here"
            raise ParameterError("force", parts.base, rule, "leave the options out")
        return found if found.custom is None else Force(CUSTOM, custom=replace(found.custom, **options))
    if not callable(found):
        raise ParameterError("force", parts.base, f"is {short_repr(found)}", "name a function or a force")
    return Force(CUSTOM, custom=CustomFunction(found, **options))
