"""A user's function as machine code, where the extra `podium[numba]` is installed: it then needs no Python to run."""

from __future__ import annotations

import functools
import importlib.util
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from podium.errors import MissingExtraError, ParameterError

# A force gives two arrays; a cost and a metric give one number.
Part = Literal["force", "cost", "metric"]


@dataclass(frozen=True)
class Compiled:
    """Machine code of one function; the address is good for as long as this is kept."""

    kernel: Any  # Numba's own object, which owns the code

    @property
    def address(self) -> int:
        """Where the core calls it."""
        return int(self.kernel.address)


def compiled(function: Callable[..., Any], part: Part, wish: bool | None) -> Compiled | None:
    """The function compiled, or None where it is not wished for, or may be left and cannot be done."""
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
    """Says once of each function that it runs as Python."""
    warnings.warn(
        f"{name} cannot be compiled by Numba and runs as plain Python, one query at a time; say compile=False to leave it "
        f"at that. Numba says: {reason}",
        stacklevel=6,
    )


@functools.lru_cache(maxsize=64)
def _attempt(function: Callable[..., Any], part: Part) -> Compiled | str:
    """The compiled function, or why it cannot be."""
    try:
        import numba

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ready = function if hasattr(function, "py_func") else numba.njit(error_model="numpy")(function)
            return Compiled(_force_kernel(numba, ready) if part == "force" else _number_kernel(numba, ready))
    except Exception as error:  # a compiler can fail in more ways than it lists, and Python is there to fall back on
        return next(filter(None, map(str.strip, _reason(str(error)))), type(error).__name__)


def _reason(text: str) -> list[str]:
    """The lines that say what is wrong, without colors and Numba's account of the stages it went through."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    lines = [line for line in plain.splitlines() if not line.startswith("Failed in nopython mode pipeline")]
    return [line for line in lines if not line.strip().startswith(("During:", "File ", "-"))]


# Both kernels give 0, or 1 where the function raised or gave what it must not: then the core asks the Python function,
# which says what is wrong. The function gets copies: what it writes into them is its own affair.


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
