"""The dual of a cutting plane model: a small quadratic program on the simplex, by an active set.

    minimize ½ αᵀHα − cᵀα over α ≥ 0, Σα = 1,   H positive semidefinite

The working set holds the shares that may be positive. On it the minimum is one linear system; a share that would turn
negative stops the move and leaves the set; at the minimum the share whose price is lowest enters it, if that is below the
common price of the set. From the previous solution a new plane costs a few such systems.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from podium.training.convex import Vector

RIDGE = 1e-14  # of the largest diagonal entry: keeps the system of dependent planes solvable, moves no solution visibly
PRICE_NOISE = 1e-13  # prices that differ relatively by less than this are equal
LARGEST_ROUNDS = 1000


def solve_on_simplex(H: Vector, c: Vector, start: Vector) -> Vector:
    """The minimum, from a feasible `start`; feasible wherever it stops."""
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
    """Hα − c: what a little more of each share would cost."""
    used = np.flatnonzero(alpha)
    return np.asarray(np.add.reduce(H[:, used] * alpha[used], axis=1) - c, np.float64)


def _move(H: Vector, price: Vector, alpha: Vector, working: npt.NDArray[np.bool_]) -> tuple[Vector, bool]:
    """Towards the minimum on the working set, as far as no share turns negative; whether one share stopped it.

    The largest share takes what the others leave of 1, so that the constraint drops out of the system.
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
    """x with Mx = r for a positive semidefinite M, by elimination in a fixed order on one thread.

    LAPACK would be faster and would give other bits for other numbers of threads.
    """
    n = len(r)
    ridge = RIDGE * float(M.diagonal().max()) or 1.0
    table = np.concatenate([M, r[:, None]], axis=1)
    table[np.arange(n), np.arange(n)] += ridge
    for i in range(n):
        table[i, i] = max(table[i, i], ridge)  # rounding can turn the pivot of a dependent row negative
        table[i + 1 :, i + 1 :] -= (table[i + 1 :, i] / table[i, i])[:, None] * table[i, i + 1 :]
    x = table[:, n].copy()
    for i in reversed(range(n)):
        x[i] /= table[i, i]
        x[:i] -= table[:i, i] * x[i]
    return x
