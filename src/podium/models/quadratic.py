"""Quadratic functions: s = x̂ᵀ A x̂ + w·x̂ + b, one weight per feature and per product of two features."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data import RankingData
from podium.data.hashing import counter_uniform
from podium.errors import DataError
from podium.models.inputs import InputMap, InputSettings, saved
from podium.models.model import Features, Floats, GradientModel, GradientSpec, PerceptronForm
from podium.parameters import Search, setting
from podium.rules import Real

MOST_FEATURES = 10_000  # A then takes 800 MB


def scaled_map(data: RankingData, *, standardize: bool, width: float | None, num_threads: int) -> InputMap:
    """Return the map of inputs divided by a width, √features by default: standardized documents then have a length of about 1."""
    map = InputMap.of(data, standardize=standardize, num_threads=num_threads)
    by = math.sqrt(data.n_features) if width is None else width
    return InputMap(map.center, map.scale / by, map.filled / by)


class QuadraticModel(GradientModel):
    """s = x̂ᵀ A x̂ + w·x̂ + b, with one A, w and b per output."""

    def __init__(self, map: InputMap, vector: Floats, n_outputs: int = 1) -> None:
        self.map, self.n_features, self.n_outputs = map, len(map.center), n_outputs
        self.vector = vector

    @property
    def vector(self) -> Floats:
        """A [features × features], w and b of every output."""
        return self._vector

    @vector.setter
    def vector(self, values: Floats) -> None:
        size = self.n_outputs * (self.n_features**2 + self.n_features + 1)
        if values.shape != (size,):
            raise DataError(f"{values.shape} parameters for {self.n_features} features; expected {size}")
        self._vector = np.ascontiguousarray(values, np.float64)

    @property
    def penalized(self) -> Floats:
        """1 for all parameters except b."""
        mask = np.ones((self.n_outputs, self.n_features**2 + self.n_features + 1))
        mask[:, -1] = 0
        return mask.reshape(-1)

    def scores(self, features: Features, *, num_threads: int = 1) -> Floats:
        """Return x̂ᵀ A x̂ + w·x̂ + b of every row, computed in blocks of rows and of A."""
        self.check_features(features)
        rows, map = np.ascontiguousarray(features, np.float32), self.map
        parts = [
            _core.quadratic_scores(np.ascontiguousarray(part), rows, map.center, map.scale, map.filled, num_threads)
            for part in self.vector.reshape(self.n_outputs, -1)
        ]
        return parts[0] if self.n_outputs == 1 else np.stack(parts, axis=1)

    def backward(self, features: Features, force: Floats, *, num_threads: int = 1) -> Floats:
        """Return Σ_i λ_i x̂ x̂ᵀ, Σ_i λ_i x̂ and Σ_i λ_i."""
        self.check_features(features)
        rows, map = np.ascontiguousarray(features, np.float32), self.map
        table = np.asarray(force, np.float64).reshape(len(rows), self.n_outputs)
        return np.concatenate(
            [
                _core.quadratic_backward(
                    rows, map.center, map.scale, map.filled, np.ascontiguousarray(table[:, k]), num_threads
                )
                for k in range(self.n_outputs)
            ]
        )

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return A, w and b of every output, and the map of inputs."""
        d = self.n_features
        table = self.vector.reshape(self.n_outputs, -1)
        return {
            **self.map.arrays,
            "matrix": table[:, : d * d].reshape(-1, d, d),
            "linear": table[:, d * d : -1],
            "bias": table[:, -1],
        }

    def settings(self) -> dict[str, Any]:
        """Return nothing: the arrays suffice."""
        return {}

    @classmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> QuadraticModel:
        """Return the function of saved arrays."""
        linear = saved(arrays, "linear", None, None)
        outputs, d = linear.shape
        matrix, bias = saved(arrays, "matrix", outputs, d, d), saved(arrays, "bias", outputs)
        table = np.concatenate([matrix.reshape(outputs, -1), linear, bias[:, None]], axis=1)
        return cls(InputMap.from_arrays(arrays, d), table.reshape(-1), outputs)


@dataclass(kw_only=True, eq=False, repr=False)
class WidthSettings(InputSettings):
    """Settings of models whose inputs are divided by a width."""

    width: float | None = setting(
        None,
        Real(above=0),
        "Number by which the inputs are divided, so that a standardized document has a length of about 1.",
        none="√features",
        search=Search(0.1, 100.0, log=True),
        fixed_by_first_call=True,
    )


@dataclass(kw_only=True, eq=False, repr=False)
class QuadraticSpec(WidthSettings, GradientSpec):
    """One weight per feature and one per product of two features."""

    name = "quadratic"
    summary = "One weight per feature and one per product of two features: quadratic."
    formula = "s = x̂ᵀ A x̂ + w · x̂ + b, x̂ divided by `width`, √features unless given"
    model = QuadraticModel

    @property
    def perceptron(self) -> PerceptronForm:
        """One weight per feature and per product of two features."""
        from podium.models.perceptrons import WholeQuadratic

        def make(map: InputMap, thresholds: int, supports: int) -> WholeQuadratic:
            check_features(len(map.center))
            return WholeQuadratic(map, thresholds)

        return PerceptronForm(make, frozenset({"standardize", "width"}))

    def resolve(self, data: RankingData) -> Self:
        """Choose whether to standardize."""
        return self.resolved_inputs(data)

    def start(
        self, data: RankingData, *, n_outputs: int, seed: int, restart: int = 0, num_threads: int = 1
    ) -> QuadraticModel:
        """Return the function 0, or a random one after a restart."""
        check_features(data.n_features)
        map = scaled_map(data, standardize=bool(self.standardize), width=self.width, num_threads=num_threads)
        size = n_outputs * (data.n_features**2 + data.n_features + 1)
        model = QuadraticModel(map, np.zeros(size), n_outputs)
        if restart:
            drawn = 2 * counter_uniform(seed, 1000 * restart, size) - 1
            model.vector = model.penalized * drawn / math.sqrt(max(data.n_features, 1))
        return model


def check_features(count: int) -> None:
    """Raise an error if A, with one number per pair of features, is too large to be stored."""
    if count > MOST_FEATURES:
        raise DataError(
            f"{count} features have {count**2} products, and a quadratic function is stored whole up to {MOST_FEATURES} "
            "features; choose among the features, or use QuadraticPRank(form='kernel'), or the model kernel(poly) of other rankers"
        )
