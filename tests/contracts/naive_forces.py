"""Slow, obvious forces: the twins that the core's kernels must equal. One query, plain loops."""

from __future__ import annotations

import math

import numpy as np

from podium import metric
from podium.forces import Force


def pull(force: Force, o: float, target: float) -> tuple[float, float]:
    """(force on the winner, curvature) of one pair."""
    sigma, margin = float(force.parameter("sigma")), float(force.parameter("margin"))
    if force.name == "ranknet":
        rho = 1 / (1 + math.exp(sigma * o)) if sigma * o < 700 else 0.0
        return sigma * (target - 1 + rho), sigma**2 * rho * (1 - rho)
    if force.name == "spring":
        return (1, 0) if o < 0 else (margin - o, 1) if o <= margin else (0, 0)
    if force.name == "hinge":
        return (1, 0) if o < margin else (0, 0)
    if force.name == "squared_hinge":
        return (2 * (margin - o), 2) if o < margin else (0, 0)
    if force.name == "exponential":
        return (math.exp(-o), math.exp(-o)) if o >= -60 else (math.exp(60), 0)
    raise AssertionError(force)


def lambda_pull(force: Force, o: float, delta: float) -> tuple[float, float]:
    if force.name == "step":
        return (abs(delta) if o < force.parameter("margin") else 0.0), 0.0
    sigma = float(force.parameter("sigma"))
    rho = 1 / (1 + math.exp(sigma * o)) if sigma * o < 700 else 0.0
    return sigma * rho * abs(delta), sigma**2 * rho * (1 - rho) * abs(delta)


def over_pairs(force: Force, scores: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    acting = force.inner or force
    n, total = len(scores), 0.0
    most = acting.parameter("truncation", 0) or n
    damps = acting.parameter("damping", False) and len(set(scores)) > 1
    order = sorted(range(n), key=lambda i: (-scores[i], i))
    position = {document: place for place, document in enumerate(order)}
    out, bend = np.zeros(n), np.zeros(n)
    for i in range(n):
        for j in range(n):
            tied = i < j and labels[i] == labels[j] and bool(acting.parameter("ties", False))
            if not (labels[i] > labels[j] or tied):
                continue
            if force.inner is not None and abs(position[i] - position[j]) != 1:
                continue
            o = scores[i] - scores[j]
            if acting.metric is not None:
                if min(position[i], position[j]) >= most:
                    continue
                delta = swap(acting.metric, scores, labels, i, j)
                f, w = lambda_pull(acting, o, delta / (0.01 + abs(o)) if damps else delta)
            else:
                f, w = pull(acting, o, 0.5 if tied else 1.0)
            total += 2 * f
            out[i] += f
            out[j] -= f
            bend[i] += w
            bend[j] += w
    if acting.parameter("normalise", False) and total > 0:
        out, bend = out * math.log2(1 + total) / total, bend * math.log2(1 + total) / total
    return out, bend


def swap(asked, scores: np.ndarray, labels: np.ndarray, i: int, j: int) -> float:
    """What the metric gains when i and j change places, by computing it twice."""
    order = sorted(range(len(scores)), key=lambda k: (-scores[k], k))
    changed = [j if k == i else i if k == j else k for k in order]

    def value(ranking: list[int]) -> float:
        places = np.empty(len(ranking))
        places[ranking] = np.arange(len(ranking), 0, -1)
        return float(metric(asked).per_query(places, labels, [0, len(labels)])[0])

    return value(changed) - value(order)
