"""What the convex solvers share: the oracle, the status after a step, and sums that do not depend on the number of threads."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import numpy as np
import numpy.typing as npt

from podium.errors import DataError

Vector = npt.NDArray[np.float64]
State = dict[str, npt.NDArray[np.float64]]
Oracle = Callable[[Vector], tuple[float, Vector]]  # w -> (value, gradient or subgradient)


class SolverStatus(Enum):
    """The status of a solver after a step."""

    GOING = "going"  # another step can improve the value
    CONVERGED = "converged"  # the tolerance is met
    STALLED = "stalled"  # no step lowers the value in 64-bit numbers, but the tolerance is not met

    @property
    def done(self) -> bool:
        """Whether the solver has finished."""
        return self is not SolverStatus.GOING


def dot(a: Vector, b: Vector) -> float:
    """Return Σ a_i b_i, summed pairwise. The bits of a BLAS depend on the processor and the number of threads."""
    return float(np.add.reduce(a * b))


def combine(weights: Vector, rows: Vector) -> Vector:
    """Return Σ_i weights_i rows_i, added in the order of the rows."""
    return np.asarray(np.add.reduce(weights[:, None] * rows, axis=0), np.float64)


def starting_point(start: npt.ArrayLike) -> Vector:
    """Return a copy of the initial point after checking that it is one row of finite numbers."""
    w = np.array(start, np.float64)
    if w.ndim != 1 or not np.isfinite(w).all():
        raise DataError(f"start has shape {w.shape} or values that are not finite; expected one row of finite numbers")
    return w


def evaluate(oracle: Oracle, w: Vector) -> tuple[float, Vector]:
    """Return a copy of the oracle's answer at w; the value is infinite if it, its gradient or w itself is not finite."""
    if not np.isfinite(w).all():
        return np.inf, np.zeros_like(w)
    value, gradient = oracle(w)
    copied = np.array(gradient, np.float64)
    if copied.shape != w.shape:
        raise DataError(f"the oracle returned a gradient of shape {copied.shape}; expected {w.shape}")
    if not (np.isfinite(value) and np.isfinite(copied).all()):
        return np.inf, np.zeros_like(w)
    return float(value), copied


def regularized(risk: Oracle, strength: float) -> Oracle:
    """Return the oracle of ½·strength·‖w‖² + risk(w), for solvers of smooth functions."""

    def objective(w: Vector) -> tuple[float, Vector]:
        value, gradient = risk(w)
        return value + 0.5 * strength * dot(w, w), gradient + strength * w

    return objective
