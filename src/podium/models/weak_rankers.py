"""Weak rankers: a finite set of simple rankers, from which boosting takes one per round and adds it with a weight."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data import RankingData
from podium.data.hashing import query_hashes
from podium.models.growing import BIN_SAMPLE_DOCUMENTS, bin_sample
from podium.models.inputs import InputMap
from podium.models.model import Features, Floats, Model
from podium.models.net import Net
from podium.models.trees import TreeModel, forest_of


class WeakRankers(ABC):
    """A numbered set of rankers h, and the model of a weighted sum of them."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rankers."""

    @abstractmethod
    def scores(self, number: int, features: Features) -> Floats:
        """Return h(x) of every row."""

    @abstractmethod
    def describe(self, number: int) -> dict[str, Any]:
        """Return what h is, as JSON takes it."""

    @abstractmethod
    def model(self, numbers: Sequence[int], weights: Sequence[float]) -> Model:
        """Return Σ weight · h as a model."""


class FeatureRankers(WeakRankers):
    """h(x) = x̂_f and h(x) = −x̂_f for every feature f; ranker 2f and ranker 2f + 1."""

    def __init__(self, map: InputMap) -> None:
        self.map = map

    def __len__(self) -> int:
        return 2 * len(self.map.center)

    def scores(self, number: int, features: Features) -> Floats:
        """Return the input of the feature, or its negative."""
        at = slice(number // 2, number // 2 + 1)
        alone = InputMap(self.map.center[at], self.map.scale[at], self.map.filled[at])
        return _sign(number) * alone(features[:, at])[:, 0]

    def describe(self, number: int) -> dict[str, Any]:
        """Return the feature's column and the sign."""
        return {"feature": number // 2, "sign": _sign(number)}

    def model(self, numbers: Sequence[int], weights: Sequence[float]) -> Net:
        """Return the linear model."""
        vector = np.zeros(len(self.map.center) + 1)  # the last is the bias
        for number, weight in zip(numbers, weights, strict=True):
            vector[number // 2] += _sign(number) * weight
        return Net((len(self.map.center), 1), "tanh", self.map, vector)


class StumpRankers(WeakRankers):
    """h(x) = [x_f > θ] and h(x) = [x_f ≤ θ] for every feature f and some thresholds θ; a missing value is below all."""

    def __init__(self, data: RankingData, sample: npt.NDArray[np.int64], max_bins: int, num_threads: int) -> None:
        features, none = np.ascontiguousarray(data.features), np.zeros(data.n_features, np.uint8)
        bins = _core.make_bins([features], [sample], max_bins, none, num_threads)
        cuts = [np.asarray(bins.cuts(feature), np.float32) for feature in range(data.n_features)]
        self.n_features = data.n_features
        self.feature = np.repeat(np.arange(data.n_features), [len(each) for each in cuts])
        self.threshold = np.concatenate([np.empty(0, np.float32), *cuts])
        above = [int(np.count_nonzero(features[:, f] > t)) for f, t in zip(self.feature, self.threshold, strict=True)]
        self.documents = np.array([(len(features) - count, count) for count in above], np.int64).reshape(-1, 2)

    def __len__(self) -> int:
        return 2 * len(self.feature)

    def scores(self, number: int, features: Features) -> Floats:
        """Return 1 on the side of the threshold that the stump prefers, and 0 on the other."""
        above = features[:, self.feature[number // 2]] > self.threshold[number // 2]
        return np.asarray(above if _sign(number) > 0 else ~above, np.float64)

    def describe(self, number: int) -> dict[str, Any]:
        """Return the feature's column, the threshold, and 1 for documents above it or −1 for those below."""
        at = number // 2
        return {
            "feature": int(self.feature[at]),
            "threshold": float(self.threshold[at]),
            "sign": _sign(number),
        }

    def model(self, numbers: Sequence[int], weights: Sequence[float]) -> TreeModel:
        """Return one tree per threshold in use, in the order in which they were taken."""
        values: dict[int, Floats] = {}
        for number, weight in zip(numbers, weights, strict=True):
            values.setdefault(number // 2, np.zeros(2))[int(_sign(number) > 0)] += weight
        trees = [self._tree(at, value) for at, value in values.items()]
        return TreeModel(forest_of(trees, np.zeros(1), {}), self.n_features, 1)

    def _tree(self, at: int, value: Floats) -> dict[str, npt.NDArray[Any]]:
        return {
            "feature": np.array([self.feature[at]], np.int32),
            "threshold": self.threshold[at : at + 1],
            "left": np.array([-1], np.int32),
            "right": np.array([-2], np.int32),
            "missing_left": np.array([1], np.uint8),
            "set": np.array([-1], np.int32),
            "gain": np.array([np.abs(value).sum()]),
            "value": value,
            "documents": self.documents[at],
            "sets": np.empty(0, np.uint64),
        }


def stump_rankers(data: RankingData, max_bins: int, num_threads: int) -> StumpRankers:
    """Return the stumps at the bounds of the bins of every feature."""
    sample = bin_sample(data, query_hashes(data.query_ids, 0), BIN_SAMPLE_DOCUMENTS)
    return StumpRankers(data, sample, max_bins, num_threads)


def _sign(number: int) -> int:
    return 1 if number % 2 == 0 else -1
