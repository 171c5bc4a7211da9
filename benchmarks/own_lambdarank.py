"""LambdaRank for NDCG@10 as a user would write it: functions of one query, the same formula as `lambdarank(ndcg@10)`.

Force σρ·|ΔZ| with ρ = 1/(1 + e^o), curvature ρ(1 − ρ)·|ΔZ|, o the winner's score less the loser's, over pairs whose labels
differ; |ΔZ| = |gain_i − gain_j| · |discount_i − discount_j| / best DCG@10, the gain 2^label − 1, the discount 1/log2(1 + place).
"""

from __future__ import annotations

import math

import numpy as np

CUTOFF = 10


def in_loops(scores, labels):  # type: ignore[no-untyped-def]
    """Plain loops, for Numba: only pairs with a document among the first ten can change the metric."""
    n, gains = len(scores), 2.0**labels - 1
    force, curvature, discounts = np.zeros(n), np.zeros(n), np.zeros(n)
    for place in range(min(CUTOFF, n)):
        discounts[place] = 1 / math.log2(place + 2)
    best = (np.sort(gains)[::-1] * discounts).sum()
    if best <= 0:
        return force, curvature
    order = np.argsort(-scores, kind="mergesort")
    for a in range(min(CUTOFF, n)):
        i = order[a]
        for b in range(a + 1, n):
            j = order[b]
            if labels[i] != labels[j]:
                winner, loser = (i, j) if labels[i] > labels[j] else (j, i)
                rho = 1 / (1 + math.exp(scores[winner] - scores[loser]))
                change = (gains[winner] - gains[loser]) * (discounts[a] - discounts[b]) / best
                force[winner] += rho * change
                force[loser] -= rho * change
                curvature[i] += rho * (1 - rho) * change
                curvature[j] += rho * (1 - rho) * change
    return force, curvature


def in_arrays(scores, labels):  # type: ignore[no-untyped-def]
    """Whole arrays, for NumPy."""
    n, gains = len(scores), 2.0**labels - 1
    discounts = np.where(np.arange(n) < CUTOFF, 1 / np.log2(np.arange(n) + 2), 0)
    best = np.sort(gains)[::-1] @ discounts
    if best <= 0:
        return np.zeros(n), np.zeros(n)
    first = np.argsort(-scores, kind="stable")
    at = np.empty(n)
    at[first] = discounts
    top = first[:CUTOFF]
    change = np.abs(gains[top, None] - gains) * np.abs(at[top, None] - at) / best
    change[:, top] = np.triu(change[:, top])  # a pair among the first ten counts once
    wins = np.sign(labels[top, None] - labels)
    rho = 1 / (1 + np.exp(wins * (scores[top, None] - scores)))
    push, bend = wins * rho * change, rho * (1 - rho) * change
    force, curvature = -push.sum(axis=0), bend.sum(axis=0)
    force[top] += push.sum(axis=1)
    curvature[top] += bend.sum(axis=1)
    return force, curvature
