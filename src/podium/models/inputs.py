"""From features to inputs: x̂ = (x − center) · scale, and a fixed value if a feature is missing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data import RankingData
from podium.data.canonical import canonical_order
from podium.data.categories import refuse_categories
from podium.errors import DataError
from podium.parameters import Settings, setting
from podium.rules import Flag

Floats = npt.NDArray[np.float64]


@dataclass(kw_only=True, eq=False, repr=False)
class InputSettings(Settings):
    """How features are scaled before a model sees them."""

    standardize: bool | None = setting(
        True,
        Flag(),
        "Whether every feature is first scaled to mean 0 and variance 1.",
        none="standardize unless all features already lie in [-1, 1], where their scale carries meaning",
        fixed_by_first_call=True,
    )

    name: ClassVar[str]  # of the model

    def resolved_inputs(self, data: RankingData) -> Self:
        """Return the same settings with `standardize` chosen, after checking that every feature is a number."""
        refuse_categories(data, f"the model {self.name}")
        return self if self.standardize is not None else replace(self, standardize=not on_one_scale(data))


def on_one_scale(data: RankingData) -> bool:
    """Return whether every value lies in [-1, 1]; missing values do not count."""
    return bool(np.fmax.reduce(data.features, axis=None) <= 1 and np.fmin.reduce(data.features, axis=None) >= -1)


@dataclass(frozen=True)
class InputMap:
    """One center, scale and fill value per feature, computed from the training documents and saved with the model."""

    center: Floats
    scale: Floats
    filled: Floats

    @classmethod
    def identity(cls, n_features: int) -> InputMap:
        """Return the map that keeps features as they are and replaces missing ones by 0."""
        return cls(np.zeros(n_features), np.ones(n_features), np.zeros(n_features))

    @classmethod
    def of(cls, data: RankingData, *, standardize: bool, num_threads: int = 1) -> InputMap:
        """Return the map to mean 0 and variance 1 over the training documents, or of features as they are; missing ones become the mean.

        When standardized, a feature that is constant or always missing becomes 0.
        """
        features = np.ascontiguousarray(data.features)
        offsets, order = np.ascontiguousarray(data.query_offsets), canonical_order(data)
        mean, deviation = _core.column_moments(features, offsets, order, num_threads)
        if not standardize:
            return cls(np.zeros(data.n_features), np.ones(data.n_features), mean)
        varies = deviation > 1e-7 * np.abs(mean)
        return cls(mean, np.where(varies, 1 / np.where(varies, deviation, 1.0), 0.0), np.zeros(data.n_features))

    def __call__(self, features: npt.NDArray[np.float32]) -> Floats:
        """Return the inputs of every row, in float64."""
        moved = (features.astype(np.float64) - self.center) * self.scale
        return np.where(np.isnan(moved), self.filled, moved)

    @property
    def arrays(self) -> dict[str, Floats]:
        """The three arrays by the names under which they are saved."""
        return {"inputs.center": self.center, "inputs.scale": self.scale, "inputs.filled": self.filled}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any], n_features: int) -> InputMap:
        """Return the map of saved arrays."""
        return cls(*(saved(arrays, f"inputs.{part}", n_features) for part in ("center", "scale", "filled")))


def saved(arrays: dict[str, Any], name: str, *shape: int | None) -> Floats:
    """Return a saved array as float64 after checking its shape (None: any length), which the core relies on."""
    found = np.ascontiguousarray(arrays[name], np.float64)
    if found.ndim != len(shape) or any(want not in (None, have) for want, have in zip(shape, found.shape, strict=True)):
        raise DataError(f"{name} has shape {found.shape}; expected {shape}")
    return found
