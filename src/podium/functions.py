"""Functions that users write: how they are found by the name `module:function`, and how they are called."""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.errors import ParameterError, short_numbers

Floats = npt.NDArray[np.float64]
Function = Callable[[Floats, Floats], Any]
UNNAMED = "unnamed"  # stands for the module of a function that cannot be imported


def check_function(parameter: str, function: Function, compile: bool | None) -> None:
    """Check that a function can be called and hashed, and that `compile` is True, False or None."""
    if not callable(function):
        raise ParameterError(parameter, function, "must be a function of (scores, labels)")
    try:
        hash(function)
    except TypeError:
        raise ParameterError(parameter, function, "must be hashable", "wrap it in a function") from None
    if compile is not None and not isinstance(compile, bool):
        raise ParameterError("compile", compile, "must be True, False or None (compile if Numba can)")


def call(function: Function, scores: Floats, labels: Floats, where: str) -> Any:
    """Call a user's function of one query; an error that it raises says where, and on which query.

    A function that its owner compiled with Numba is called as Python, which checks indices and gives errors a traceback.
    """
    try:
        return getattr(function, "py_func", function)(scores, labels)
    except SystemExit as end:  # it would end the program as if all went well
        failure = RuntimeError(f"the function called sys.exit({end.code!r})")
        failure.add_note(_place(where, scores, labels))
        raise failure from None
    except Exception as error:
        error.add_note(_place(where, scores, labels))
        raise


def _place(where: str, scores: Floats, labels: Floats) -> str:
    query = f"scores {short_numbers(scores.tolist())} and labels {short_numbers(labels.tolist())}"
    return f"In {where}, on a query with {query}"


def qualified_name(function: Function) -> str:
    """Return the name of a function inside its module."""
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def path_of(function: Function) -> str:
    """Return `module:function`."""
    return f"{function.__module__}:{qualified_name(function)}"


def printed_path(function: Function) -> str:
    """Return `module:function` if that leads to the function, and `unnamed:function` otherwise."""
    return path_of(function) if found_at(function) is function else f"{UNNAMED}:{qualified_name(function)}"


def found_at(function: Function) -> Any:
    """Return what the function's module and name lead to: the function, an object made of it, or something else."""
    place: Any = sys.modules.get(getattr(function, "__module__", None) or "")
    for part in qualified_name(function).split("."):
        place = getattr(place, part, None)
    return place


def find_function(path: str, kind: str) -> Any:
    """Return what `module:function` names; `kind` is what it should be, for error messages."""
    name, _, qualified = path.partition(":")
    if name == UNNAMED:
        raise ParameterError(
            kind,
            path,
            "was a function that no module names (a lambda, or one defined inside another function), so it cannot be found again",
            "give the function itself, or define it at the top of a module and write module:function",
        )
    place: Any = _module(name, path, kind)
    for part in qualified.split("."):
        inside = place
        place = getattr(inside, part, None)
        if place is None:
            near = difflib.get_close_matches(part, [key for key, value in vars(inside).items() if callable(value)], n=1)
            hint = f"did you mean {name}:{near[0]}?" if near else ""
            raise ParameterError(kind, path, f"cannot be found: {name} has no function {part!r}", hint)
    return place


def _module(name: str, path: str, kind: str) -> ModuleType:
    if "/" in name or name.startswith(".") or name.endswith(".py"):
        plain = name.removesuffix(".py").rpartition("/")[2].lstrip(".")
        remedy = f"write {plain}:{path.rpartition(':')[2]} in the folder where the file is"
        raise ParameterError(kind, path, f"must name a module, and {name!r} is the name of a file", remedy)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(f"{error.name}.")):
            error.add_note(f"In the module {name}")  # it is there, and misses another
            raise
        rule = f"cannot be found: there is no module {error.name!r} on Python's path"
        raise ParameterError(kind, path, rule, "the command line looks in the current folder first") from None
    except Exception as error:
        error.add_note(f"In the module {name}")
        raise
