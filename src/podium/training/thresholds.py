"""Parameters that a force learns itself: rising thresholds, held as the first and the logs of the steps between them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.forces import Force

Floats = npt.NDArray[np.float64]


def starting_parameters(force: Force, data: RankingData) -> Floats:
    """Thresholds at which every score 0 has the labels' own frequencies."""
    count = force.n_parameters(data)
    if count == 0:
        return np.empty(0)
    labels = np.sort(data.labels)
    below = np.searchsorted(labels, np.arange(count), side="right")  # documents of level k or less
    share = (below + 0.5) / (len(labels) + 1)
    thresholds = np.log(share / (1 - share))
    return np.concatenate([thresholds[:1], np.log(np.maximum(np.diff(thresholds), 1e-2))])


def rising_thresholds(held: Floats) -> Floats:
    """The thresholds of parameters as they are held."""
    return np.cumsum(np.concatenate([held[:1], np.exp(np.clip(held[1:], -30, 30))]))
