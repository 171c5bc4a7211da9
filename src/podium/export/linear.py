"""Linear models and nets as engines take them: one normalizer per feature, float32 numbers, no place for a missing value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from podium.export.changes import MISSING_AS_ZERO, Changes
from podium.export.source import Layer, layers_of, refuse
from podium.models.net import Net

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Standardized:
    """What an engine computes: ((x − mean) / deviation) for every feature, then layers.

    Attributes:
        mean, deviation: one number per feature; 0 and 1 leave a feature as it is.
        layers: of the first layer, weights of features that do not vary are 0.
    """

    mean: Floats
    deviation: Floats
    layers: list[Layer]

    def has_normalizer(self, feature: int) -> bool:
        """Whether a feature is changed at all."""
        return bool(self.mean[feature] != 0 or self.deviation[feature] != 1)


def standardized(net: Net, format: str, changes: Changes) -> Standardized:
    """Return a net whose inputs are standardized; where the engine has only 0 for a missing value, that must be allowed."""
    varies = net.map.scale != 0
    inputs_at_zero = net.map(np.zeros((1, net.n_features), np.float32))[0]
    if not np.array_equal(inputs_at_zero, net.map.filled):
        changes.need(
            MISSING_AS_ZERO, format, "has no place for missing values, for which the model has values of its own"
        )
    first, *rest = layers_of(net)
    weights = np.where(varies[:, None], first.weights, 0.0)
    mean = np.where(varies, net.map.center, 0.0)
    deviation = np.where(varies, 1 / np.where(varies, net.map.scale, 1.0), 1.0)
    return Standardized(mean, deviation, [Layer(weights, first.bias, first.activation), *rest])


def without_bias(model: Standardized, format: str) -> Standardized:
    """Return a linear model whose bias is part of one feature's mean: w·(x − m)/d + b = w·(x − (m − b·d/w))/d."""
    layer = model.layers[0]
    bias, weights = float(layer.bias[0]), layer.weights[:, 0]
    if bias == 0:
        return model
    if not weights.any():
        raise refuse(format, "holds weights only, and every weight of the model is 0")
    strongest = int(np.argmax(np.abs(weights / model.deviation)))
    mean = model.mean.copy()
    mean[strongest] -= bias * model.deviation[strongest] / weights[strongest]
    return Standardized(mean, model.deviation, [Layer(layer.weights, np.zeros(1), layer.activation)])
