"""Your own force: one Python function of one query."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any, overload

from podium.errors import ParameterError, short_repr, unknown_name
from podium.forces.custom_function import CustomFunction
from podium.forces.definition import ForceDefinition
from podium.forces.force import Force
from podium.functions import Function, find_function

CUSTOM = ForceDefinition(
    name="custom",
    summary="A function of yours: (scores, labels) -> (force, curvature), one query at a time.",
    formula="as you write it",
    source="you",
    over="lists",
    has_cost=False,
)
NAMED = re.compile(r"\s*(?P<path>[^\s:()]+:[^\s:()]+)\s*(?P<inside>\(.*\))?\s*", re.DOTALL)


@overload
def custom_force(function: Function, *, cost: Function | None = None, compile: bool | None = None) -> Force: ...
@overload
def custom_force(
    function: None = None, *, cost: Function | None = None, compile: bool | None = None
) -> Callable[[Function], Force]: ...
def custom_force(
    function: Function | None = None, *, cost: Function | None = None, compile: bool | None = None
) -> Force | Callable[[Function], Force]:
    """The force of a function of yours, `(scores, labels) -> (force, curvature)` of one query; a decorator too.

    The function gets the scores and labels of one query as float64 arrays and gives two arrays as long: λ, positive
    where a document should rise, and the curvature w ≥ 0 for Newton steps (ones, where you have none).
    `podium.force(function)` is the same without options, and `podium.force("module:function")` finds it by name.

    Args:
        function: of one query. Without it, a decorator: the name then stands for the force, and still reads back.
        cost: `(scores, labels) -> C` of one query, if the force is the downhill of a cost; then `Force.cost` works.
        compile: with the extra `podium[numba]`, functions are compiled and run on all threads without Python. None
            compiles what Numba can and says so where it cannot, True insists, False runs as plain Python.
    """
    if function is None:
        return lambda decorated: custom_force(decorated, cost=cost, compile=compile)
    if isinstance(function, Force):
        raise ParameterError(f"{function!r} is a force already; give the function it is made of")
    return Force(CUSTOM, custom=CustomFunction(function, cost, compile))


def named_custom_force(name: str) -> Force | None:
    """The force of `module:function`, perhaps with `(cost='module:function', compile=False)`; None for other names."""
    parts = NAMED.fullmatch(name)
    if parts is None:
        return None
    found, options = find_function(parts["path"], "force"), _options(name, parts["inside"] or "()")
    if isinstance(found, Force):
        if found.custom is None and options:
            raise ParameterError(
                f"force {name!r}: {parts['path']} is {found!r}, which takes no options; leave them out"
            )
        return found if found.custom is None else Force(CUSTOM, custom=_changed(found.custom, options))
    if not callable(found):
        raise ParameterError(
            f"force {name!r}: {parts['path']} is {short_repr(found)}; it must be a function or a force"
        )
    return Force(CUSTOM, custom=_changed(CustomFunction(found), options))


def _options(name: str, inside: str) -> dict[str, Any]:
    try:
        call = ast.parse(f"force{inside}", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or any(keyword.arg is None for keyword in call.keywords):
            raise ValueError
        options = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise ParameterError(
            f"force {name!r} cannot be read; write it as module:function or module:function(compile=False)"
        ) from None
    for option in options:
        if option not in ("cost", "compile"):
            raise unknown_name("option of a custom force", option, ("cost", "compile"))
    if isinstance(options.get("cost"), str):
        options["cost"] = find_function(options["cost"], "force")
    return options


def _changed(custom: CustomFunction, options: dict[str, Any]) -> CustomFunction:
    return CustomFunction(custom.function, options.get("cost", custom.cost), options.get("compile", custom.compile))
