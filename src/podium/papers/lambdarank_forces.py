"""LambdaRank (NIPS 2006), §6.2: ten forces, of which the paper took the last one.

Step potentials, springs, finite differences of NDCG and a smooth pairwise cost scaled by the NDCG a swap would gain; each
between all pairs of documents and between neighbors of the sorted list only. RankNet's own, which knows nothing of NDCG, is
there to compare with.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import podium
from podium.papers.experiment import Cells, Experiment, grid
from podium.papers.judging import MARKS, by_query, fitted, level_with_best, marked, values
from podium.papers.lambdarank_speed import PAPER
from podium.papers.report import Claim, Report, Spread, Table
from podium.papers.sets import Parts, artificial, yandex

Floats = npt.NDArray[np.float64]
METRIC = "ndcg@10"
REACH = 1.0  # how far a score is moved to see what NDCG does


def finite_difference(scores: Floats, labels: Floats) -> tuple[Floats, Floats]:
    """λ_i = (NDCG with s_i raised by REACH − NDCG with it lowered) / (2·REACH), less the mean of the query."""
    n = len(scores)
    order = np.argsort(-scores)
    gains = (2.0**labels - 1.0)[order]  # by place
    discounts = 1.0 / np.log2(np.arange(n) + 2.0)
    norm = (np.sort(gains)[::-1] * discounts).sum()
    force = np.zeros(n)
    if norm > 0:
        for place in range(n):
            score, change, now = scores[order[place]], 0.0, place
            while now > 0 and scores[order[now - 1]] < score + REACH:  # up: each one passed goes down a place
                now -= 1
                change += (gains[place] - gains[now]) * (discounts[now] - discounts[now + 1])
            now = place
            while now < n - 1 and scores[order[now + 1]] > score - REACH:  # down, the other way round
                now += 1
                change += (gains[place] - gains[now]) * (discounts[now - 1] - discounts[now])
            force[order[place]] = change / norm / (2.0 * REACH)
        force -= force.mean()
    return force, np.ones(n)


def neighbor_difference(scores: Floats, labels: Floats) -> tuple[Floats, Floats]:
    """λ of neighbors: the NDCG that their swap changes over the gap it takes, REACH at least; none past REACH if right."""
    n = len(scores)
    order = np.argsort(-scores)
    gains = (2.0**labels - 1.0)[order]
    discounts = 1.0 / np.log2(np.arange(n) + 2.0)
    norm = (np.sort(gains)[::-1] * discounts).sum()
    force = np.zeros(n)
    if norm > 0:
        for place in range(n - 1):
            upper, lower = order[place], order[place + 1]
            gap = scores[upper] - scores[lower]
            if gains[place + 1] > gains[place] or gap < REACH:
                swap = (gains[place + 1] - gains[place]) * (discounts[place] - discounts[place + 1])
                pull = swap / norm / max(gap, REACH)
                force[lower] += pull
                force[upper] -= pull
    return force, np.ones(n)


FORCES: dict[str, Any] = {
    "step, all pairs": "step(ndcg@10, margin=1)",
    "step, neighbors": "neighbors(step(ndcg@10, margin=1))",
    "step, no margin": "step(ndcg@10)",
    "spring, all pairs": "spring(margin=1)",
    "spring, neighbors": "neighbors(spring(margin=1))",
    "finite difference, all": finite_difference,
    "finite difference, neighbors": neighbor_difference,
    "RankNet, all pairs": "ranknet",
    "RankNet × ΔNDCG, neighbors": "neighbors(lambdarank(ndcg@10))",
    "RankNet × ΔNDCG, all pairs": "lambdarank(ndcg@10)",
}
LEVEL = 0.005
CHOSEN = "RankNet × ΔNDCG, all pairs"
RATES = (1e-4, 1e-3, 1e-2)


def parts_of(data: str, seed: int, size: int) -> Parts:
    """The set: a search engine's, or the paper's polynomial one with so many training queries."""
    if data == "yandex":
        return yandex(seed)
    return artificial("polynomial", seed, size, size // 2, size, levels=5)


def force_cell(data: str, force: str, seed: int, epochs: int, size: int) -> dict[str, Any]:
    """One force on a two-layer net; the learning rate that is best on validation counts."""
    parts = parts_of(data, seed, size)
    best: dict[str, Any] = {}
    for rate in RATES:
        ranker = podium.Ranker(
            force=FORCES[force],
            model="net(10)",
            metric=METRIC,
            seed=seed,
            num_threads=1,
            schedule=f"adam(rate={rate!r}, epochs={epochs})",
        )
        scores, _ = fitted(ranker, parts)
        if not best or ranker.best_value_ > best["valid"]:
            best = {
                "valid": ranker.best_value_,
                "learning_rate": rate,
                **values(scores, parts[2], [METRIC], keep=[METRIC]),
            }
    return best


def forces(cells: Cells) -> Report:
    """NDCG@10 of each force by set, with those that are level with the best."""
    sets = cells.axis("data")
    table: dict[str, list[str]] = {force: [] for force in FORCES}
    claims = []
    for data in sets:
        per_query: dict[str, Floats] = {}
        for force in FORCES:
            found = cells.where(data=data, force=force)
            if len(found) and len(found) == len(found.all):
                per_query[force] = by_query(found, METRIC, same=data == "yandex")
        if not per_query:
            for force in FORCES:
                table[force] += ["; ".join(cells.reasons(data=data)), "–"]
            continue
        best, level = level_with_best(per_query)
        for force in FORCES:
            found = cells.where(data=data, force=force)
            shown = Spread.of(per_query[force]).short_repr(4) if force in per_query else "; ".join(found.reasons())
            mark = marked(shown, force, best, level)
            valid = f"{found.numbers('valid').mean():.4f}" if force in per_query else "–"
            table[force] += [valid, mark]
        first = max(per_query, key=lambda name: float(cells.numbers("valid", data=data, force=name).mean()))
        if CHOSEN in per_query:
            claims.append(_claim(data, per_query, best, level, first))
    columns = ["force", *(f"{data}, {part}" for data in sets for part in ("validation", "test"))]
    rows = [[force, *row] for force, row in table.items()]
    return Report(tables=[Table("NDCG@10, net(10)", columns, rows)], claims=claims, notes=[MARKS])


def _claim(data: str, per_query: dict[str, Floats], best: str, level: list[str], first: str) -> Claim:
    """Level with the best: not significantly below it, and by less than LEVEL; significantly below it is not level."""
    gap = Spread.of(per_query[CHOSEN] - per_query[best])
    below = best != CHOSEN and CHOSEN not in level
    found = (
        "It is the highest on test"
        if best == CHOSEN
        else f"{gap.short_repr(4)} against the highest on test, {best}, "
        + ("which is significantly more" if below else f"not significantly less; level is taken as above −{LEVEL}")
    )
    return Claim(
        f"RankNet's cost scaled by the NDCG of the swap, over all pairs, is the best or level with it ({data})",
        not below and gap.mean > -LEVEL,
        f"{found}. Highest on validation: {first}.",
        close=best != CHOSEN and not below and gap.low <= -LEVEL <= gap.high,
    )


D_FORCES = Experiment(
    name="d-forces",
    paper=f"{PAPER}, §6.2",
    title="Nine forces made with NDCG in mind, and RankNet's.",
    work=force_cell,
    full=grid(data=("yandex", "polynomial"), force=tuple(FORCES), seed=range(3), epochs=100, size=1000),
    quick=grid(data=("yandex", "polynomial"), force=tuple(FORCES), seed=0, epochs=3, size=60),
    report=forces,
    more_data=("yandex",),
    minutes=8,
)
