"""PRank as published, one document and one threshold at a time; kernels become explicit features."""

from __future__ import annotations

import itertools

import numpy as np

MASK = 2**64 - 1


def learn(x: np.ndarray, levels: np.ndarray, n_levels: int, taken: np.ndarray | None = None, kernel=None, scale=1.0):
    """Return (weights or α by document, thresholds, errors in levels by mistaken document) after one pass over the rows."""
    b = np.zeros(n_levels - 1)
    w = np.zeros(len(x) if kernel else x.shape[1])
    mistakes = {}
    for i in range(len(x)):
        if taken is not None and not taken[i]:
            continue
        s = sum(w[k] * kernel(x[k], x[i]) for k in range(i)) if kernel else w @ x[i]
        found = next((r for r in range(len(b)) if s - b[r] < 0), len(b))
        if found == levels[i]:
            continue
        mistakes[i] = abs(found - int(levels[i]))
        tau = np.zeros(len(b))
        for r in range(len(b)):
            y = 1 if levels[i] > r else -1
            tau[r] = y if (s - b[r]) * y <= 0 else 0
        if kernel:
            w[i] += tau.sum()
        else:
            w += tau.sum() * scale * x[i]
        b -= tau
        assert (np.diff(b) >= 0).all()
    return w, b, mistakes


def quadratic_features(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return 1, x_i, x_i², x_i·x_j, and how often each occurs in (1 + x·x′)²: once, twice, once, twice."""
    pairs = [x[:, i] * x[:, j] for i, j in itertools.combinations(range(x.shape[1]), 2)]
    often = np.repeat([1.0, 2.0, 1.0, 2.0], [1, x.shape[1], x.shape[1], len(pairs)])
    return np.column_stack([np.ones(len(x)), x, x**2, *pairs]), often


def scatter(x: int) -> int:
    """SplitMix64's finalizer."""
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def coin(seed: int, round: int, key: int, perceptron: int) -> float:
    """Return the number that decides whether a perceptron uses a document."""
    return (scatter(scatter(scatter(scatter(seed) ^ round) ^ key) ^ perceptron) >> 11) * 2.0**-53
