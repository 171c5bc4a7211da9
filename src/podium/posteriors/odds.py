"""Probabilities, odds and log odds, exact at both ends.

A pair's odds are Δ = P / (1 − P). Along a chain of documents odds multiply, so log odds add. Products of many odds leave
the range of a float long before their ratio does, so they are kept as a fraction and a power of two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from podium.data.conversion import as_numbers
from podium.errors import DataError, ParameterError

Floats = npt.NDArray[np.float64]
LARGEST_EXPONENT = 4000  # past it every float is 0 or infinite


def as_probabilities(name: str, values: npt.ArrayLike) -> Floats:
    """Return numbers in [0, 1] as float64, of any shape."""
    given = as_numbers(name, values).reshape(np.shape(values))  # a column stays one, to be broadcast
    bad = ~((given >= 0) & (given <= 1))
    if bad.any():
        where = np.argwhere(bad)[0].tolist()
        place = f"[{', '.join(map(str, where))}]" if where else ""
        raise DataError(f"{name}{place} = {given[tuple(where)]} must lie in [0, 1]; it is a probability")
    return given


def log_odds(probability: npt.ArrayLike) -> Floats:
    """o = log(P / (1 − P)), to the last digits also at P = ½ and near 0 and 1; −∞ at 0 and ∞ at 1. [RankNet, eq 6]"""
    given = as_probabilities("probability", probability)
    with np.errstate(divide="ignore"):
        # about ½ the odds are about 1 and their logarithm would lose its digits; 2P − 1 is exact there
        far = np.abs(2 * given - 1) > 0.5
        return np.where(far, np.log(given / (1 - given)), 2 * np.arctanh(np.where(far, 0, 2 * given - 1)))[()]


def from_log_odds(log_odds: npt.ArrayLike) -> Floats:
    """P = 1 / (1 + e^{−o}), for any o, infinite too. [RankNet, eq 2]"""
    given = as_numbers("log_odds", log_odds).reshape(np.shape(log_odds))
    if np.isnan(given).any():
        raise DataError("log_odds holds NaN; give a number or an infinity for each pair")
    small: Floats = np.exp(-np.abs(given))
    rest = small / (1 + small)  # subtracted from 1 it is rounded once, where 1 / (1 + small) is rounded twice
    return np.where(given >= 0, 1 - rest, rest)[()]


def combine(first: npt.ArrayLike, second: npt.ArrayLike, *more: npt.ArrayLike, undetermined: str = "error") -> Floats:
    """P_ik = P_ij P_jk / (1 + 2 P_ij P_jk − P_ij − P_jk): log odds add along a chain. [RankNet, eq 5]

    Arrays are combined element by element. 0 and 1 are limits: certainty goes through a chain. A chain that holds both
    says nothing of its ends (both documents certainly beat the one between them, or lose to it), and the formula is
    0/0 there.

    Args:
        first: P_ij, that i stands above j.
        second: P_jk, that j stands above k.
        more: the steps that follow. Give a whole chain at once: the result is then rounded once, and not taken for
            certain where it is only near 1.
        undetermined: 'error' refuses a chain that holds both 0 and 1; 'nan' gives NaN for it.
    """
    check_undetermined(undetermined)
    steps = [as_probabilities(f"step {k}", given) for k, given in enumerate((first, second, *more))]
    try:
        steps = list(np.broadcast_arrays(*steps))
    except ValueError:
        shapes = ", ".join(str(step.shape) for step in steps)
        raise DataError(f"the steps have shapes {shapes}; give arrays of one shape, or single values") from None
    certain, impossible = (sum((step == limit).astype(np.int64) for step in steps) for limit in (1, 0))
    mixed = (certain > 0) & (impossible > 0)
    if undetermined == "error" and mixed.any():
        where = tuple(np.argwhere(mixed)[0].tolist())
        chain = ", ".join(f"{step[where]:g}" for step in steps)
        raise DataError(
            f"the chain {chain} holds a certain step up and a certain step down, so that the probability of its ends is undetermined; keep "
            f"probabilities inside (0, 1), or pass undetermined='nan'"
        )
    product = ScaledOdds.of(steps[0])
    for step in steps[1:]:
        product = product * ScaledOdds.of(step)
    return limited(product.probability(), certain - impossible, mixed)[()]


def check_undetermined(value: str) -> None:
    """Raise a ParameterError unless the value is 'error' or 'nan'."""
    if value not in ("error", "nan"):
        raise ParameterError("undetermined", value, "must be 'error' or 'nan'")


def limited(probability: Floats, certainty: npt.NDArray[np.int64], mixed: npt.NDArray[np.bool_]) -> Floats:
    """Return the probability; 1 or 0 if the chain has certain steps up or down, and NaN if it has both."""
    limits = np.where(certainty > 0, 1.0, 0.0)
    return np.where(mixed, np.nan, np.where(certainty != 0, limits, probability))


@dataclass(frozen=True)
class ScaledOdds:
    """Odds `fraction · 2^exponent`, fraction in [½, 2): products neither overflow nor lose digits."""

    fraction: Floats
    exponent: npt.NDArray[np.int64]

    @classmethod
    def of(cls, probability: Floats) -> ScaledOdds:
        """P / (1 − P); a certain step, whose odds are 0 or infinite, counts as 1 and has to be counted apart."""
        inside = np.where((probability > 0) & (probability < 1), probability, 0.5)
        fraction, exponent = np.frexp(inside / (1 - inside))
        return cls(fraction, exponent.astype(np.int64))

    def __mul__(self, other: ScaledOdds) -> ScaledOdds:
        fraction, shift = np.frexp(self.fraction * other.fraction)
        return ScaledOdds(fraction, self.exponent + other.exponent + shift)

    def __truediv__(self, other: ScaledOdds) -> ScaledOdds:
        """The quotient of two whose fractions lie in [½, 1), as products' do."""
        return ScaledOdds(self.fraction / other.fraction, self.exponent - other.exponent)

    def __getitem__(self, index: tuple[slice | None, slice | None]) -> ScaledOdds:
        return ScaledOdds(self.fraction[index], self.exponent[index])

    def probability(self) -> Floats:
        """Δ / (1 + Δ), from whichever of Δ and 1/Δ is small."""
        exponent = np.clip(self.exponent, -LARGEST_EXPONENT, LARGEST_EXPONENT).astype(np.int32)
        up = exponent > 0
        with np.errstate(under="ignore"):
            small: Floats = np.ldexp(np.where(up, 1 / self.fraction, self.fraction), -np.abs(exponent))
        rest = small / (1 + small)
        return np.where(up, 1 - rest, rest)
