"""Rows that are hard for trees: values on thresholds and beside them, missing values, zeros of both signs, tiny and huge ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from podium.models.trees import TreeModel, categories_of

HUGE = float(np.finfo(np.float32).max)
SPECIAL = [np.nan, 0.0, -0.0, 1e-45, -1e-45, 1e-40, 1e-36, -1e-36, 1e-35, -1e-35, 1.0, -1.0, HUGE, -HUGE]


def around(values: Any) -> list[float]:
    """The values, and the next float32 on either side of each."""
    found = np.unique(np.asarray(values, np.float32))
    with np.errstate(over="ignore"):
        both = np.concatenate(
            [found, np.nextafter(found, np.float32(np.inf)), np.nextafter(found, np.float32(-np.inf))]
        )
    return [float(value) for value in both if np.isfinite(value)]


def values_of(model: TreeModel, feature: int, *, fractions: bool) -> st.SearchStrategy[float]:
    """Values that a feature might have."""
    known = categories_of(model)
    if feature in known:
        whole = st.sampled_from([float(value) for value in known[feature]]) | st.integers(0, 40).map(float)
        strange = st.sampled_from([np.nan, -1.0, -7.0, 1e9, 2.0**24] + ([0.5, -0.5, 3.75, -3.75] if fractions else []))
        return whole | strange
    arrays = model.arrays()
    pool = SPECIAL + around(arrays["threshold"][arrays["feature"] == feature])
    return st.sampled_from(pool) | st.floats(width=32, allow_infinity=False)


def rows_of(model: TreeModel, *, fractions: bool = True) -> st.SearchStrategy[np.ndarray]:
    """A few rows for a model."""
    row = st.tuples(*(values_of(model, feature, fractions=fractions) for feature in range(model.n_features)))
    return st.lists(row, min_size=1, max_size=12).map(lambda rows: np.array(rows, np.float32))
