"""Ordinal regression: one score, and increasing thresholds between the levels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from podium.forces import Force
from podium.rankers.pairs import NetRanker
from podium.rankers.ranker import preset_force


class OrdinalRegression(NetRanker):
    """P(label > k) = 1/(1 + e^{b_k − s}): the cumulative logistic link × linear or net. [McCullagh 1980]

    Attributes:
        thresholds_: the thresholds b_0 < b_1 < …, one fewer than there are levels.
    """

    def _force(self) -> Force:
        return preset_force(self, "ordinal")

    def predict_level(self, X: Any) -> npt.NDArray[np.int64]:
        """Return the most probable level of each row, in the caller's order."""
        scores = self.predict(X)
        above = 1 / (1 + np.exp(np.clip(self.thresholds_ - scores[:, None], -700, 700)))
        edges = np.pad(above, ((0, 0), (1, 1)), constant_values=((0, 0), (1, 0)))
        return np.asarray(np.argmax(edges[:, :-1] - edges[:, 1:], axis=1), np.int64)
