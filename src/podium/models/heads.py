"""From the outputs of a model to the one score that a document is ranked by."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from podium import _core

Floats = npt.NDArray[np.float64]


def to_scores(outputs: Floats) -> Floats:
    """Return one score per document.

    A single output is the score. Several are log odds of the levels, and the score is the expected gain Σ_k p_k (2^k − 1).
    [McRank]
    """
    if outputs.ndim == 1:
        return outputs
    shares = np.ascontiguousarray(outputs - outputs.max(axis=1, keepdims=True))
    _core.exponentiate(shares.reshape(-1), 1)
    gains = 2.0 ** np.arange(outputs.shape[1]) - 1
    return np.asarray((shares * gains).sum(axis=1) / shares.sum(axis=1))
