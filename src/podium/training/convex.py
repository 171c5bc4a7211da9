"""What every convex solver shares: the oracle it asks, the verdict it gives, and sums that no thread count can change."""

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
    """How a solver stands after a step."""

    GOING = "going"  # another step will help
    CONVERGED = "converged"  # the tolerance asked for is met
    STALLED = "stalled"  # no step lowers the value any more in 64-bit numbers; the tolerance is not met

    @property
    def done(self) -> bool:
        """Whether to stop stepping."""
        return self is not SolverStatus.GOING


def dot(a: Vector, b: Vector) -> float:
    """Σ a_i b_i, summed pairwise on one thread: BLAS would give other bits for other numbers of threads."""
    return float(np.add.reduce(a * b))


def combine(weights: Vector, rows: Vector) -> Vector:
    """Σ_i weights_i rows_i, added in the order of the rows."""
    return np.asarray(np.add.reduce(weights[:, None] * rows, axis=0), np.float64)


def starting_point(start: npt.ArrayLike) -> Vector:
    """A copy of the point to start from: one row of finite numbers."""
    w = np.array(start, np.float64)
    if w.ndim != 1 or not np.isfinite(w).all():
        raise DataError(f"start has shape {w.shape} or values that are not finite; one row of finite numbers is needed")
    return w


def evaluate(oracle: Oracle, w: Vector) -> tuple[float, Vector]:
    """What the oracle says at w, copied; value infinity where it, its gradient or w itself is not finite."""
    if not np.isfinite(w).all():
        return np.inf, np.zeros_like(w)
    value, gradient = oracle(w)
    copied = np.array(gradient, np.float64)
    if copied.shape != w.shape:
        raise DataError(f"the oracle gave a gradient of shape {copied.shape}; {w.shape} is needed")
    if not (np.isfinite(value) and np.isfinite(copied).all()):
        return np.inf, np.zeros_like(w)
    return float(value), copied


def regularized(risk: Oracle, strength: float) -> Oracle:
    """½·strength·‖w‖² + risk(w), for solvers of smooth functions."""

    def objective(w: Vector) -> tuple[float, Vector]:
        value, gradient = risk(w)
        return value + 0.5 * strength * dot(w, w), gradient + strength * w

    return objective
