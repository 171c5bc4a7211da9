"""Theorem 1: the posteriors of neighbors along any order of the documents fix every pair's posterior, and back.

[RankNet, §3; Ranking as Function Approximation, §5.1]
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from podium.data.conversion import as_number, as_numbers
from podium.errors import DataError, ParameterError, short_repr
from podium.posteriors.odds import Floats, ScaledOdds, as_probabilities, check_undetermined, limited

Ints = npt.NDArray[np.int64]
BLOCK_ENTRIES = 1 << 18  # pairs completed at a time, so that a large table needs little memory besides itself


def complete(adjacent: npt.ArrayLike, order: npt.ArrayLike | None = None, *, undetermined: str = "error") -> Floats:
    """Every pair's posterior from those of neighbors: P[i, j] = P(i ▷ j), ½ where i = j. [Theorem 1]

    The odds of a pair are the product of the odds of the steps between its documents. Equal steps P give
    Δⁿ / (1 + Δⁿ) at n steps, Δ = P / (1 − P). [Lemma 1]

    Args:
        adjacent: adjacent[k] = P(order[k] ▷ order[k + 1]); one fewer than there are documents. 0 and 1 are limits.
        order: a permutation of the documents 0, 1, …; by default in that order.
        undetermined: a pair with both a certain step up (1) and a certain step down (0) between its documents may
            stand any way: 'error' refuses it, 'nan' gives NaN for it.
    """
    check_undetermined(undetermined)
    steps = as_probabilities("adjacent", adjacent)
    if steps.ndim != 1:
        raise DataError(f"adjacent has shape {steps.shape}; give one probability for each two neighbors")
    places = _as_order(order, len(steps) + 1)
    odds = _running_product(ScaledOdds.of(steps))
    ups, downs = (np.append(0, np.cumsum(steps == limit)) for limit in (1, 0))
    posteriors = np.empty((len(places), len(places)))
    for start in range(0, len(places), rows := max(1, BLOCK_ENTRIES // len(places))):
        block = slice(start, start + rows)
        along = (odds[None, :] / odds[block, None]).probability()
        up, down = ups[None, :] - ups[block, None], downs[None, :] - downs[block, None]
        mixed = (up != 0) & (down != 0)
        if undetermined == "error" and mixed.any():
            a, b = np.argwhere(mixed)[0].tolist()
            raise DataError(
                f"documents {places[start + a]} and {places[b]} have an undetermined probability: between them the order has a certain step "
                "up and a certain step down; keep probabilities inside (0, 1), choose an order in which certain winners "
                "come first, or pass undetermined='nan'"
            )
        posteriors[np.ix_(places[block], places)] = limited(along, up - down, mixed)
    return posteriors


def adjacencies(posteriors: npt.ArrayLike, order: npt.ArrayLike | None = None, *, tolerance: float = 1e-6) -> Floats:
    """The posteriors of neighbors along an order: those that `complete` gives the whole table back from. [Theorem 1]

    Args:
        posteriors: P[i, j] = P(i ▷ j) for every pair; the diagonal is not looked at. NaN is a pair that is undetermined.
        order: a permutation of the documents 0, 1, …; by default in that order.
        tolerance: how far an entry may differ from the value that the neighbors determine. A table that differs more has no
            scores behind it and is refused; `consistency` measures how far it is off.
    """
    allowed = as_number(tolerance)
    if allowed is None or not 0 <= allowed <= 1:
        raise ParameterError("tolerance", tolerance, "must be a probability in [0, 1]")
    table = as_numbers("posteriors", posteriors).reshape(np.shape(posteriors)).copy()
    if table.ndim != 2 or len(set(table.shape)) != 1 or not table.size:
        raise DataError(f"posteriors have shape {table.shape}; give a square table, one row and column per document")
    np.fill_diagonal(table, 0.5)
    undetermined = np.isnan(table)
    as_probabilities("posteriors", np.where(undetermined, 0.5, table))
    places = _as_order(order, len(table))
    steps = table[places[:-1], places[1:]]
    if np.isnan(steps).any():
        k = int(np.argmax(np.isnan(steps)))
        raise DataError(
            f"documents {places[k]} and {places[k + 1]} are neighbors in the order and their posterior is NaN; choose "
            "an order whose neighbors all have one"
        )
    _refuse_unlike(table, complete(steps, places, undetermined="nan"), allowed)
    return steps


def _refuse_unlike(table: Floats, completed: Floats, tolerance: float) -> None:
    """Raise a DataError unless a table is the one that its neighbors determine."""
    lost = np.isnan(completed) & ~np.isnan(table)
    if lost.any():
        i, j = np.argwhere(lost)[0].tolist()
        raise DataError(
            f"P[{i}, {j}] = {table[i, j]:g} cannot be had from neighbors in this order, which has both a certain step up "
            "and a certain step down between the two; choose an order in which certain winners come first"
        )
    gaps = np.where(np.isnan(completed), 0, np.abs(np.where(np.isnan(table), np.inf, table) - completed))
    i, j = np.unravel_index(int(np.argmax(gaps)), gaps.shape)
    if gaps[i, j] > tolerance:
        raise DataError(
            f"P[{i}, {j}] = {table[i, j]:g} where the neighbors along the order make it {completed[i, j]:g}: no scores give "
            "this table; see how far it is from any with consistency, or raise tolerance"
        )


def _running_product(odds: ScaledOdds) -> ScaledOdds:
    """1, Δ₀, Δ₀Δ₁, …: the quotient of two of them is off by no more roundings than there are steps between."""
    fractions, exponents = [0.5], [1]
    for fraction, exponent in zip(odds.fraction.tolist(), odds.exponent.tolist(), strict=True):
        product, shift = math.frexp(fractions[-1] * fraction)
        fractions.append(product)
        exponents.append(exponents[-1] + exponent + shift)
    return ScaledOdds(np.array(fractions), np.array(exponents))


def _as_order(order: npt.ArrayLike | None, count: int) -> Ints:
    """Return the order, after checking that it is a permutation of 0 … count − 1."""
    if order is None:
        return np.arange(count)
    given = np.asarray(order)
    if given.shape != (count,) or given.dtype.kind not in "iu":
        raise DataError(
            f"order is {given.dtype} of shape {given.shape}; {count} documents need the numbers 0 to {count - 1}, each once"
        )
    if (np.sort(given) != np.arange(count)).any():
        raise DataError(f"order={short_repr(given.tolist())} must hold each number from 0 to {count - 1} once")
    return given.astype(np.int64)
