"""Preferences between pairs of documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data.arrays import real_numbers, refuse_masked
from podium.errors import DataError


@dataclass(frozen=True, eq=False)
class Pairs:
    """Preferences: `winner[k]` should rank above `loser[k]` with `probability[k]`; the pair counts `weight[k]` times.

    Pairs may be incomplete, contradictory or cyclic, but the rows of a pair must be two documents of one query.

    Attributes:
        winner: One row number of the data per pair.
        loser: One row number of the data per pair.
        probability: The probability that the winner is better.
        weight: How much the pair counts.
    """

    winner: npt.NDArray[np.int64]
    loser: npt.NDArray[np.int64]
    probability: npt.NDArray[np.float64]
    weight: npt.NDArray[np.float64]

    @classmethod
    def of(
        cls,
        winner: npt.ArrayLike,
        loser: npt.ArrayLike,
        probability: npt.ArrayLike = 1.0,
        weight: npt.ArrayLike = 1.0,
    ) -> Pairs:
        """Make pairs of arrays or single values; probability and weight are 1 by default."""
        rows = []
        for name, given_rows in (("winner", winner), ("loser", loser)):
            side = np.atleast_1d(np.asarray(refuse_masked(f"pairs: {name}", given_rows, "give a row number")))
            rows.append(side)
            if side.ndim != 1 or (side.size and side.dtype.kind not in "iu"):
                raise DataError(
                    f"pairs: {name} must be a flat array of row numbers, not {side.dtype} of shape {side.shape}"
                )
        if len(rows[0]) != len(rows[1]):
            raise DataError(f"pairs: {len(rows[0])} winners but {len(rows[1])} losers; each pair needs one of each")
        values = []
        for name, given in (("probability", probability), ("weight", weight)):
            value = _as_floats(name, given)
            if value.ndim > 1 or (value.ndim == 1 and len(value) != len(rows[0])):
                raise DataError(
                    f"pairs: {name} has shape {value.shape} for {len(rows[0])} pairs; give one value or one per pair"
                )
            values.append(np.ascontiguousarray(np.broadcast_to(value, rows[0].shape)))
        pairs = cls(rows[0].astype(np.int64), rows[1].astype(np.int64), *values)
        pairs.check()
        return pairs

    def __post_init__(self) -> None:
        for name in ("winner", "loser", "probability", "weight"):
            held = np.asarray(getattr(self, name)).view()
            held.flags.writeable = False
            object.__setattr__(self, name, held)

    def __reduce__(self) -> tuple[Any, ...]:
        return Pairs, (self.winner, self.loser, self.probability, self.weight)

    def check(self) -> None:
        """Check that every pair has two different rows, a probability and a weight, each in its range."""
        for name, kinds in (("winner", "iu"), ("loser", "iu"), ("probability", "f"), ("weight", "f")):
            held = getattr(self, name)
            if held.shape != (len(self),) or held.dtype.kind not in kinds:
                raise DataError(
                    f"pairs: {name} is {held.dtype} of shape {held.shape} for {len(self)} winners; make pairs with Pairs.of"
                )
        same = self.winner == self.loser
        if same.any():
            k = int(np.argmax(same))
            raise DataError(f"pairs: pair {k} prefers row {self.winner[k]} to itself; leave it out")
        for name, bad, rule in (
            ("probability", ~((self.probability >= 0) & (self.probability <= 1)), "must lie in [0, 1]"),
            ("weight", ~((self.weight >= 0) & np.isfinite(self.weight)), "must be finite and not negative"),
        ):
            if bad.any():
                k = int(np.argmax(bad))
                raise DataError(f"pairs: {name}[{k}] = {getattr(self, name)[k]} {rule}")

    def renumbered(self, rows: npt.NDArray[np.int64]) -> Pairs:
        """Return the same pairs with row r called rows[r]."""
        return Pairs(rows[self.winner], rows[self.loser], self.probability, self.weight)

    def __len__(self) -> int:
        return len(self.winner)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pairs):
            return NotImplemented
        names = ("winner", "loser", "probability", "weight")
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    __hash__ = None  # type: ignore[assignment]  # arrays inside


def _as_floats(name: str, given: npt.ArrayLike) -> npt.NDArray[np.float64]:
    try:
        return real_numbers(given, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"pairs: {name} must be numbers: {error}") from None
