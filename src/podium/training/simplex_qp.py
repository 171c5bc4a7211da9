"""The dual of a cutting plane model: a small quadratic program on the simplex, by an active set.

    minimize ½ αᵀHα − cᵀα over α ≥ 0, Σα = 1,   H positive semidefinite

The working set contains the shares that may be positive. The minimum on it is the solution of one linear system. A share that
would become negative stops the step and leaves the set. At the minimum, the share with the lowest price enters the set if
that price is below the common price of the set. Starting from the previous solution, a new plane needs a few such systems.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from podium.training.convex import Vector

RIDGE = 1e-14  # share of the largest diagonal entry that is added, so that systems of dependent planes can be solved
PRICE_NOISE = 1e-13  # prices that differ relatively by less than this are equal
LARGEST_ROUNDS = 1000


def solve_on_simplex(H: Vector, c: Vector, start: Vector) -> Vector:
    """Return the minimum, starting from a feasible `start`; the result is always feasible."""
    alpha = start.copy()
    working = alpha > 0
    for _ in range(LARGEST_ROUNDS):
        price = prices(H, c, alpha)
        alpha, blocked = _move(H, price, alpha, working)
        if blocked:
            continue
        price = prices(H, c, alpha)
        common = float(np.add.reduce(price * alpha))
        scale = float(np.abs(price).max())
        entering = int(np.argmin(price))
        if working[entering] or price[entering] >= common - PRICE_NOISE * scale:
            break
        working[entering] = True
    return alpha


def prices(H: Vector, c: Vector, alpha: Vector) -> Vector:
    """Return Hα − c, the derivative of the objective by each share."""
    used = np.flatnonzero(alpha)
    return np.asarray(np.add.reduce(H[:, used] * alpha[used], axis=1) - c, np.float64)


def _move(H: Vector, price: Vector, alpha: Vector, working: npt.NDArray[np.bool_]) -> tuple[Vector, bool]:
    """Move towards the minimum on the working set until a share becomes 0; return the shares and whether one stopped the step.

    The largest share is 1 minus the others, which removes the constraint from the system.
    """
    inside = np.flatnonzero(working)
    last = inside[np.argmax(alpha[inside])]
    others = inside[inside != last]
    if not len(others):
        return alpha, False
    bend = H[np.ix_(others, others)] - H[others, last][:, None] - H[last, others] + H[last, last]
    direction = np.zeros_like(alpha)
    direction[others] = solve_positive(bend, price[last] - price[others])
    direction[last] = -np.add.reduce(direction[others])
    falling = inside[direction[inside] < 0]
    limits = alpha[falling] / -direction[falling]
    blocked = len(limits) > 0 and float(limits.min()) < 1.0
    moved = alpha + (float(limits.min()) if blocked else 1.0) * direction
    if blocked:
        stop = falling[np.argmin(limits)]
        moved[stop], working[stop] = 0.0, False
    moved = np.maximum(moved, 0.0)
    return moved / np.add.reduce(moved), blocked


def solve_positive(M: Vector, r: Vector) -> Vector:
    """Return x with Mx = r for a positive semidefinite M, by elimination in a fixed order.

    LAPACK would be faster, but its bits depend on the processor and the number of threads.
    """
    n = len(r)
    ridge = RIDGE * float(M.diagonal().max()) or 1.0
    table = np.concatenate([M, r[:, None]], axis=1)
    table[np.arange(n), np.arange(n)] += ridge
    for i in range(n):
        table[i, i] = max(table[i, i], ridge)  # rounding can make the pivot of a dependent row negative
        table[i + 1 :, i + 1 :] -= (table[i + 1 :, i] / table[i, i])[:, None] * table[i, i + 1 :]
    x = table[:, n].copy()
    for i in reversed(range(n)):
        x[i] /= table[i, i]
        x[:i] -= table[:i, i] * x[i]
    return x
