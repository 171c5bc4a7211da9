"""AdaRank as its paper writes it: the twin that the schedule `reweighting` must equal round by round."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import podium


def candidates(X: np.ndarray, thresholds: dict[int, list[float]] | None) -> list[tuple[int, float | None, int]]:
    """(feature, threshold or None, sign) of every weak ranker."""
    if thresholds is None:
        return [(f, None, sign) for f in range(X.shape[1]) for sign in (1, -1)]
    return [(f, theta, sign) for f in range(X.shape[1]) for theta in thresholds[f] for sign in (1, -1)]


def weak_scores(X: np.ndarray, ranker: tuple[int, float | None, int]) -> np.ndarray:
    feature, theta, sign = ranker
    if theta is None:
        return sign * X[:, feature]
    return np.array([float((x > theta) == (sign > 0)) for x in X[:, feature]])


def adarank(
    X: np.ndarray, data: podium.RankingData, metric: str, rounds: int, sharpness: float = 1.0, thresholds: Any = None
) -> list[tuple[tuple[int, float | None, int], float]]:
    """(weak ranker, weight) of each round."""

    def values(scores: np.ndarray) -> np.ndarray:
        return podium.metric(metric).per_query(scores, data.labels, data.query_offsets)

    weak = candidates(X, thresholds)
    P, f, taken = [1 / data.n_queries] * data.n_queries, np.zeros(len(X)), []
    for _ in range(rounds):
        performance = [sum(p * z for p, z in zip(P, values(weak_scores(X, h)), strict=True)) for h in weak]
        best = max(range(len(weak)), key=lambda k: (round(performance[k], 12), -k))
        Z = values(weak_scores(X, weak[best]))
        right = sum(p * (1 + z) for p, z in zip(P, Z, strict=True))
        wrong = sum(p * (1 - z) for p, z in zip(P, Z, strict=True))
        alpha = 0.5 * math.log(right / wrong)
        f = f + alpha * weak_scores(X, weak[best])
        loss = [math.exp(-sharpness * z) for z in values(f)]
        P = [each / sum(loss) for each in loss]
        taken.append((weak[best], alpha))
    return taken
