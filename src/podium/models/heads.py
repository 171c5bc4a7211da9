"""From what a model gives for a document to the one number it is ranked by."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def to_scores(outputs: Floats) -> Floats:
    """One output is the score; several are log odds of the levels, and the score is the expected gain Σ_k p_k (2^k − 1).

    [McRank]
    """
    if outputs.ndim == 1:
        return outputs
    shares = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    gains = 2.0 ** np.arange(outputs.shape[1]) - 1
    return np.asarray((shares * gains).sum(axis=1) / shares.sum(axis=1))
