"""The laws that a force can be tested against, at random points and at given ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from podium.data.hashing import check_seed
from podium.errors import ParameterError, is_integer
from podium.forces.force import Force
from podium.forces.laws import each
from podium.forces.laws.field import HIGHEST, Field, Point, Sample, given_point, random_points
from podium.forces.laws.slopes import slopes
from podium.forces.laws.verdict import Verdict
from podium.forces.laws.work import loops
from podium.metrics import Metric, metric

MOST_DRAWS = 100_000


def judge(
    force: Force,
    *,
    metric_name: str | Metric | None,
    points: Iterable[tuple[npt.ArrayLike, npt.ArrayLike]],
    draws: int,
    seed: int,
) -> Verdict:
    """Return the verdict on a force; `podium.laws` describes the arguments."""
    given = list(points)
    if not is_integer(draws) or not (0 if given else 1) <= draws <= MOST_DRAWS:
        rule = f"must be a whole number from 1 to {MOST_DRAWS}, the number of lists to draw; 0 needs points"
        raise ParameterError("draws", draws, rule)
    rng = np.random.default_rng(check_seed(seed))
    highest = max([HIGHEST, *(int(np.max(labels)) for _, labels in given if np.size(labels))])
    field = Field(force, seed=seed, highest=highest)
    asked = [given_point(field, scores, labels, key) for key, (scores, labels) in enumerate(given)]
    asked += random_points(field, draws, rng, first_key=len(asked))
    sample = Sample(field, asked)
    smooth, left_out = slopes(sample, rng)
    walked = [loop for loop in loops(field, _corners(asked, len(given), draws, rng)) if loop.settled]
    judged_by = metric(metric_name or force.acting.metric or "ndcg")
    of_a_cost = each.conservative(field, smooth, left_out, walked)
    findings = {
        "momentum": each.momentum(sample),
        "action_reaction": each.action_reaction(sample),
        "conservative": of_a_cost,
        "convex": each.convex(smooth, walked, has_cost=of_a_cost.holds),
        "consistent": each.consistent(sample, judged_by),
    }
    if force.has_cost:
        findings["cost"] = each.declared_cost(field, smooth)
    return Verdict(force, judged_by, len(asked), seed, findings)


def _corners(asked: Sequence[Point], n_given: int, draws: int, rng: np.random.Generator) -> list[list[Point]]:
    """Return triangles in the scores of some lists, including all given ones; with two scores a loop encloses nothing."""
    able = [point for point in asked[n_given:] if len(point.labels) > 2][: max(5, min(20, draws // 5))]
    out = []
    for point in [*(point for point in asked[:n_given] if len(point.labels) > 2), *able]:
        size = float(np.abs(point.scores).max()) or 1.0
        out.append([point, *(point.at(rng.normal(size=point.scores.shape) * size) for _ in range(2))])
    return out
