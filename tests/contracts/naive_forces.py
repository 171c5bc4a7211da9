"""Slow and simple versions of the forces, which the core's kernels must equal: one query, plain loops."""

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
    if force.name == "pairwise_regression":
        return target - o, 1
    raise AssertionError(force)


def lambda_pull(force: Force, o: float, delta: float) -> tuple[float, float]:
    if force.name == "step":
        return (abs(delta) if o < force.parameter("margin") else 0.0), 0.0
    sigma = float(force.parameter("sigma"))
    rho = 1 / (1 + math.exp(sigma * o)) if sigma * o < 700 else 0.0
    return sigma * rho * abs(delta), sigma**2 * rho * (1 - rho) * abs(delta)


def over_pairs(force: Force, scores: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    acting = force.acting
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
                gap = labels[i] - labels[j]
                f, w = pull(acting, o, gap if acting.name == "pairwise_regression" else 0.5 if tied else 1.0)
            total += 2 * f
            out[i] += f
            out[j] -= f
            bend[i] += w
            bend[j] += w
    if acting.parameter("normalize", False) and total > 0:
        out, bend = out * math.log2(1 + total) / total, bend * math.log2(1 + total) / total
    return out, bend


def by_moving(force: Force, scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """finite_difference: the metric computed twice per document, with its score raised and lowered."""
    n, asked = len(scores), force.metric
    assert asked is not None
    step = force.parameter("step") * (np.std(scores) if scores.max() > scores.min() else 1.0)

    def value(moved: np.ndarray) -> float:
        found = float(asked.per_query(moved, labels, [0, n])[0])
        return 0.0 if math.isnan(found) else found

    slopes = np.array([(value(scores + step * e) - value(scores - step * e)) / (2 * step) for e in np.eye(n)])
    return (slopes - slopes.mean()) * (1 if asked.higher_is_better else -1)


def squared(force: Force, score: float, label: int, own: np.ndarray) -> tuple[float, float]:
    return label - score, 1.0


def ordinal(force: Force, score: float, label: int, own: np.ndarray) -> tuple[float, float]:
    reached = [0.0, *(1 / (1 + math.exp(score - threshold)) for threshold in own), 1.0]
    lower, upper = reached[label], reached[label + 1]
    return upper + lower - 1, upper * (1 - upper) + lower * (1 - lower)


def prank(force: Force, score: float, label: int, own: np.ndarray) -> tuple[float, float]:
    sides = [1 if label > level else -1 for level in range(len(own))]
    return float(sum(z for z, b in zip(sides, own, strict=True) if z * (score - b) <= 0)), 0.0


def multiclass(force: Force, scores: np.ndarray, label: int, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    shares = np.exp(scores) / np.exp(scores).sum()
    return np.eye(len(scores))[label] - shares, shares * (1 - shares)


# (force, curvature) of one document, given its score or scores, its label, and the force's own parameters.
POINT_TWINS = {"squared": squared, "ordinal": ordinal, "prank": prank, "multiclass": multiclass}


def swap(asked, scores: np.ndarray, labels: np.ndarray, i: int, j: int) -> float:
    """Return by how much the metric rises if i and j change places, by computing it twice."""
    order = sorted(range(len(scores)), key=lambda k: (-scores[k], k))
    changed = [j if k == i else i if k == j else k for k in order]

    def value(ranking: list[int]) -> float:
        places = np.empty(len(ranking))
        places[ranking] = np.arange(len(ranking), 0, -1)
        return float(metric(asked).per_query(places, labels, [0, len(labels)])[0])

    return value(changed) - value(order)
