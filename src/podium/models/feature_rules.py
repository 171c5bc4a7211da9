"""Rules that change single features before trees use them, for models that other libraries trained.

Podium's own trees use features as they are. Other libraries have rules of their own, which an imported model keeps:

    0  taken as it is
    1  a value from −1e-35 to 1e-35 counts as missing (LightGBM with zero_as_missing)
    2  a category: the fraction is cut off, so that −0.5 and 0.5 are 0 (LightGBM)
    3  a category: rounded down, and a value that is no known category counts as −1 and not as missing (XGBoost)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.errors import DataError

AS_IS, ZERO_IS_MISSING, CUT_TO_WHOLE, FLOOR_OR_OTHER = range(4)
ZERO_THRESHOLD = float(np.float32(1e-35))
OTHER_CATEGORY = -1.0


class FeatureRules:
    """The rules of the features that have one."""

    def __init__(
        self, rules: npt.NDArray[np.uint8], n_features: int, categories: Mapping[int, npt.NDArray[np.float32]]
    ) -> None:
        if rules.shape != (n_features,):
            raise DataError(f"the rules have shape {rules.shape}, but there are {n_features} features")
        self.rules, self.categories = rules, categories
        self.columns = np.flatnonzero(rules)
        for column in self.columns.tolist():
            rule = int(rules[column])
            if rule > FLOOR_OR_OTHER or (rule >= CUT_TO_WHOLE) != (column in categories):
                raise DataError(f"feature {column} cannot have the rule {rule}")

    def __bool__(self) -> bool:
        return bool(len(self.columns))

    def apply(self, features: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the features as the trees see them; the array itself if no rule changes a value."""
        changed: npt.NDArray[Any] | None = None
        for column in self.columns.tolist():
            before = features[:, column].astype(np.float32)
            after = self._applied(column, before)
            if not np.array_equal(before, after, equal_nan=True):
                changed = features.astype(np.float32) if changed is None else changed
                changed[:, column] = after
        return features if changed is None else changed

    def _applied(self, column: int, values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        rule = int(self.rules[column])
        if rule == ZERO_IS_MISSING:
            return np.where(np.abs(values) <= ZERO_THRESHOLD, np.float32(np.nan), values)
        if rule == CUT_TO_WHOLE:
            return np.trunc(values)
        floors = np.floor(values)
        strange = ~np.isnan(floors) & ~np.isin(floors, self.categories[column])
        return np.where(strange, np.float32(OTHER_CATEGORY), floors)
