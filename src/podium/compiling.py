"""Compile a user's function with Numba, if the extra `podium[numba]` is installed: the core then calls it without Python.

Indices are checked, so that a function that reads past the end of its arrays raises an IndexError as it does in Python.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import inspect
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from podium.errors import MissingExtraError, ParameterError

# A force returns two arrays; a cost and a metric return one number.
Part = Literal["force", "cost", "metric"]
COMPILING = threading.Lock()  # Numba's settings and Python's warning filters belong to the whole process


@dataclass(frozen=True)
class Compiled:
    """Machine code of one function; the address is valid for as long as this object exists."""

    kernel: Any  # Numba's own object, which owns the code

    @property
    def address(self) -> int:
        """Return the address at which the core calls the function."""
        return int(self.kernel.address)


def compiled(function: Callable[..., Any], part: Part, wish: bool | None) -> Compiled | None:
    """Return the compiled function, or None if `wish` is False, or if it is None and the function cannot be compiled."""
    if wish is False:
        return None
    if importlib.util.find_spec("numba") is None:
        if wish:
            raise MissingExtraError("compile=True needs Numba, which is not installed: pip install 'podium[numba]'")
        return None
    found = _attempt(function, part)
    if isinstance(found, Compiled):
        return found
    name = getattr(function, "__qualname__", repr(function))
    if wish:
        raise ParameterError(
            "compile", True, f"cannot be met for {name}: Numba says: {found}", "give {compile=None} to run it as Python"
        )
    _warn(name, found, function)
    return None


@functools.lru_cache(maxsize=64)
def _warn(name: str, reason: str, function: object) -> None:
    """Warn once about each function that it runs as Python."""
    warnings.warn(
        f"{name} cannot be compiled by Numba and runs as plain Python, one query at a time; say compile=False to leave it "
        f"at that. Numba says: {reason}",
        stacklevel=6,
    )


@functools.lru_cache(maxsize=64)
def _attempt(function: Callable[..., Any], part: Part) -> Compiled | str:
    """Return the compiled function, or the reason why it cannot be compiled."""
    try:
        import numba

        with COMPILING, warnings.catch_warnings(), _checked_indices(numba):
            warnings.simplefilter("ignore")
            options = dict(getattr(function, "targetoptions", {"error_model": "numpy"}))
            _recompile_helpers(function, set())
            ready = numba.njit(getattr(function, "py_func", function), **{**options, "boundscheck": True})
            return Compiled(_force_kernel(numba, ready) if part == "force" else _number_kernel(numba, ready))
    except Exception as error:  # a compiler can fail in more ways than it lists, and Python is there to fall back on
        return next(filter(None, map(str.strip, _reason(str(error)))), type(error).__name__)


@contextlib.contextmanager
def _checked_indices(numba: Any) -> Iterator[None]:
    """While this lasts, whatever Numba compiles checks its indices, helpers that a function calls included."""
    before, numba.config.BOUNDSCHECK = numba.config.BOUNDSCHECK, 1
    try:
        yield
    finally:
        numba.config.BOUNDSCHECK = before


def _recompile_helpers(function: Any, done: set[int]) -> None:
    """Compile the functions again that this one calls and that their owner has compiled already, without checks."""
    plain = getattr(function, "py_func", function)
    for helper in inspect.getclosurevars(plain)[:2]:
        for value in helper.values():
            if hasattr(value, "recompile") and hasattr(value, "py_func") and id(value) not in done:
                done.add(id(value))
                _recompile_helpers(value, done)
                if value.signatures:
                    value.recompile()


def _reason(text: str) -> list[str]:
    """Return the lines that say what is wrong, without colors and without Numba's account of its stages."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    lines = [line for line in plain.splitlines() if not line.startswith("Failed in nopython mode pipeline")]
    return [line for line in lines if not line.strip().startswith(("During:", "File ", "-"))]


# Both kernels return 0, or 1 if the function raised an exception or returned what it must not: then the core calls the
# Python function, which says what is wrong. The function gets copies of its arguments and may write into them.


def _force_kernel(numba: Any, function: Any) -> Any:
    number = numba.types.CPointer(numba.types.double)
    whole = numba.types.int64

    @numba.njit(error_model="numpy")
    def compute(n, scores, labels, force, curvature):  # type: ignore[no-untyped-def]
        pushed, bent = function(numba.carray(scores, (n,)).copy(), numba.carray(labels, (n,)).copy())
        if len(pushed) != n or len(bent) != n:
            return 1
        forces, curvatures = numba.carray(force, (n,)), numba.carray(curvature, (n,))
        for i in range(n):
            forces[i] = pushed[i]
            curvatures[i] = bent[i]
            if not (np.isfinite(forces[i]) and np.isfinite(curvatures[i]) and curvatures[i] >= 0):
                return 1
        return 0

    @numba.cfunc(whole(whole, number, number, number, number), error_model="numpy")
    def kernel(n, scores, labels, force, curvature):  # type: ignore[no-untyped-def]
        status = 1
        try:
            status = compute(n, scores, labels, force, curvature)
        except Exception:
            status = 1
        return status

    return kernel


def _number_kernel(numba: Any, function: Any) -> Any:
    number = numba.types.CPointer(numba.types.double)
    whole = numba.types.int64

    @numba.njit(error_model="numpy")
    def compute(n, scores, labels, number_out):  # type: ignore[no-untyped-def]
        numbers = numba.carray(number_out, (1,))
        numbers[0] = function(numba.carray(scores, (n,)).copy(), numba.carray(labels, (n,)).copy())
        return 0 if np.isfinite(numbers[0]) else 1

    @numba.cfunc(whole(whole, number, number, number), error_model="numpy")
    def kernel(n, scores, labels, number_out):  # type: ignore[no-untyped-def]
        status = 1
        try:
            status = compute(n, scores, labels, number_out)
        except Exception:
            status = 1
        return status

    return kernel
