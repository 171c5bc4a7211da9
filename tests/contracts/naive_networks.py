"""A slow, obvious cumulative distribution network: the twin of the force structrank. One query, plain loops."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_ndtr

from podium.forces import Force

NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


@dataclass
class Term:
    """−log φ(x), its gradient and its matrix of second derivatives in x, and its slope in ρ."""

    value: float
    slope: np.ndarray
    bend: np.ndarray
    rho: float = 0.0


def sigmoid(x: np.ndarray) -> Term:
    """−log of 1 / (1 + Σ e^{−x}), of any number of variables."""
    value = float(np.logaddexp.reduce([0.0, *-x]))
    q = np.exp(-x - value)
    none = math.exp(-value)  # 1 − Σ q
    bend = -np.outer(q, q)
    for k in range(len(x)):
        bend[k, k] = q[k] * (none + q.sum() - q[k])
    return Term(value, -q, bend)


def log_bivariate(x: float, y: float, rho: float) -> float:
    """log Φ₂(x, y; ρ), by quadrature of φ(x − t) Φ((y − ρ(x − t)) / √(1 − ρ²)) over t ≥ 0, where x is the lower one."""
    x, y = min(x, y), max(x, y)
    rest, high = math.sqrt(1 - rho**2), max(x, 0.0)
    rate = max(-x, 1.0) / 2
    ends = {0.0, *np.linspace(0, min(90 / rate, high + 14), 24)}
    ends |= {t for t in x + np.linspace(-9, 9, 19) if 0 < t < max(ends)}  # around the peak of φ
    if rho > 0:  # where the second factor changes fastest
        ends |= {t for t in x - y / rho + rest / rho * np.linspace(-9, 9, 19) if 0 < t < max(ends)}
    cuts = np.array(sorted(ends))
    half = np.diff(cuts) / 2
    t = (cuts[:-1] + half)[:, None] + half[:, None] * NODES
    log = log_ndtr((y - rho * (x - t)) / rest) - (x - t) ** 2 / 2 - math.log(2 * math.pi) / 2
    most = log.max()
    return float(most + np.log((np.exp(log - most) * WEIGHTS * half[:, None]).sum()))


def gaussian(x: np.ndarray, rho: float) -> Term:
    """−log Φ of one variable, or of two with a correlation, by the textbook's derivatives."""
    log_phi = -(x**2) / 2 - math.log(2 * math.pi) / 2
    if len(x) == 1:
        value = -float(log_ndtr(x[0]))
        h = math.exp(log_phi[0] + value)
        return Term(value, np.array([-h]), np.array([[h * (h + x[0])]]))
    value, rest = -log_bivariate(x[0], x[1], rho), math.sqrt(1 - rho**2)
    u, v = (x[1] - rho * x[0]) / rest, (x[0] - rho * x[1]) / rest
    q = np.exp(log_phi + log_ndtr([u, v]) + value)
    density = math.exp(log_phi[0] - u**2 / 2 - math.log(2 * math.pi) / 2 - math.log(rest) + value)
    bend = np.outer(q, q) - density
    for k in range(2):
        bend[k, k] = q[k] * (q[k] + x[k]) + rho * density
    return Term(value, -q, bend, -density)


def groups(topology: str, edges: list[tuple[int, int]], joins: Any) -> list[tuple[int, ...]]:
    """Which edges meet, in which order."""
    count = range(len(edges))
    if topology == "independent":
        return [(e,) for e in count]
    if topology == "full":
        return [(e, f) for e in count for f in count if e != f]
    if topology == "shared":
        return [(e, f) for e in count for f in count if e != f and {*edges[e]} & {*edges[f]}]
    if topology == "winner":
        return [tuple(e for e in count if edges[e][0] == i) for i in sorted({winner for winner, _ in edges})]
    return [tuple(join) for join in joins]


def over_network(
    force: Force,
    scores: np.ndarray,
    labels: np.ndarray,
    values: np.ndarray,
    *,
    edges: list[tuple[int, int]] | None = None,
    weights: list[float] | None = None,
    documents: np.ndarray | None = None,
    joins: Any = (),
    scales: np.ndarray | None = None,
    inputs: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
    """(force, curvature, cost, force on the network's numbers). `weights` are those of edges, `documents` of documents."""
    n, topology = len(scores), "joins" if len(joins) else force.choice("topology")
    if edges is None:
        edges = [(i, j) for i in range(n) for j in range(n) if labels[i] > labels[j]]
    mass = np.ones(n) if documents is None else documents
    v = np.ones(len(edges)) if weights is None else np.asarray(weights)
    v = v * [mass[i] * mass[j] for i, j in edges]
    noise = np.zeros((n, 0)) if inputs is None else inputs
    sigma = (np.ones(n) if scales is None else scales) * np.exp(noise @ values[len(values) - noise.shape[1] :])
    out, bend, cost, slopes, total = np.zeros(n), np.zeros(n), 0.0, np.zeros(len(values)), 0.0
    count = int(force.parameter("components"))
    own = values[: len(values) - noise.shape[1]].reshape(count, -1)
    for meeting in groups(topology, edges, joins):
        # A winner of weight v is v winners, and each preference of weight v beside it is v preferences.
        times = mass[edges[meeting[0]][0]] if topology == "winner" else math.prod(v[e] for e in meeting)
        total += times
        gaps, moves, on_noise = [], [], []
        for e in meeting:
            i, j = edges[e]
            tau = math.sqrt((sigma[i] ** 2 + sigma[j] ** 2) / 2)
            gaps.append((scores[i] - scores[j]) / tau)
            moves.append((np.eye(n)[i] - np.eye(n)[j]) / tau)
            share = (sigma[i] ** 2 * noise[i] + sigma[j] ** 2 * noise[j]) / (sigma[i] ** 2 + sigma[j] ** 2)
            on_noise.append(-gaps[-1] * share)
        gaps, moves, on_noise = np.array(gaps), np.array(moves), np.array(on_noise)
        for k, numbers in enumerate(own):
            tied = topology in ("independent", "winner") or force.parameter("tie")
            steep = np.full(len(meeting), numbers[0]) if tied else numbers[:2]
            x = steep * gaps
            if force.choice("function") == "gaussian":
                term = gaussian(x, numbers[-1] if len(meeting) > 1 else 0.0)
            elif topology == "winner":
                term = sigmoid(x - np.log([v[e] / times for e in meeting]))
            else:
                term = sigmoid(x)
            pull = times * term.slope * steep
            cost += times * term.value
            out -= pull @ moves
            slopes[len(values) - noise.shape[1] :] -= pull @ on_noise
            turned = steep[:, None] * moves
            bend += times * np.einsum("ab,ai,bi->i", term.bend, turned, turned)
            on_each = times * term.slope * gaps
            at = k * own.shape[1]
            for a in range(len(meeting)):
                slopes[at + (0 if tied else a)] -= on_each[a]
            if force.choice("function") == "gaussian" and len(meeting) > 1:
                slopes[at + own.shape[1] - 1] -= times * term.rho
    share = total if force.choice("scale") == "mean" and total > 0 else 1.0
    return out / share, bend / share, cost / share, slopes / share
