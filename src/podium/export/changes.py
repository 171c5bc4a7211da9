"""What an export may change, if it is asked to: one table of names, and what each means for the scores.

A format that cannot express something is refused, with the name of the change that would make it possible. An allowed change
is part of the report, and verification compares with the model as changed.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from podium.errors import ParameterError, UnknownNameError
from podium.models.feature_rules import ZERO_THRESHOLD
from podium.models.trees import TreeModel

Features = npt.NDArray[np.float32]
MISSING_AS_ZERO = "missing-as-zero"
TINY_AS_ZERO = "tiny-as-zero"
NORMALIZED_INPUT = "normalized-input"
CHANGES = {
    MISSING_AS_ZERO: "a missing value counts as 0",
    TINY_AS_ZERO: "a value from −1e-35 to 1e-35 counts as 0",
    NORMALIZED_INPUT: "features must be rescaled within each query before they reach the engine",
}


class Changes:
    """The changes that are allowed, and those that an export turned out to need."""

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        self.allowed = tuple(allowed)
        self.made: list[str] = []
        for name in self.allowed:
            if name not in CHANGES:
                raise UnknownNameError("change", name, CHANGES)

    def need(self, name: str, format: str, why: str) -> None:
        """Make a change, or raise the error that names it if it is not allowed."""
        if name not in self.allowed:
            raise ParameterError("format", format, why, f"give {{allow={name!r}}}: {CHANGES[name]}")
        if name not in self.made:
            self.made.append(name)

    def apply(self, rows: Features) -> Features:
        """Return rows as the changed model would see them."""
        out = rows.copy()
        if MISSING_AS_ZERO in self.made:
            out[np.isnan(out)] = 0
        if TINY_AS_ZERO in self.made:
            out[np.abs(out) <= ZERO_THRESHOLD] = 0
        return out


def missing_is_zero(model: TreeModel) -> bool:
    """Return whether a missing value always goes where 0 would go."""
    arrays = model.arrays()
    if len(arrays["sets"]):
        return False
    return bool((arrays["missing_left"].astype(bool) == (arrays["threshold"] >= 0)).all())
