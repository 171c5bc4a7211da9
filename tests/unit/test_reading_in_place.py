"""A linear model in training reads features in place, with the bits of inputs that are computed first."""

from __future__ import annotations

import numpy as np
import pytest

import podium
from podium import _core
from podium.models import model
from podium.models.net import Net
from podium.training.steps import Task, make_descent

SIZES = [33, 1, 300, 8, 47]


def prepared(n_features: int, missing: float) -> Task:
    rng = np.random.default_rng(n_features)
    features = (3 + 2 * rng.normal(size=(sum(SIZES), n_features))).astype(np.float32)
    features[rng.random(features.shape) < missing] = np.nan
    data = podium.RankingData(features, rng.integers(0, 4, len(features)), np.repeat(np.arange(len(SIZES)), SIZES))
    return Task(podium.force("ranknet"), model("linear").start(data, n_outputs=1, seed=0), data, 0, 2)


def gradients(task: Task, weights: np.ndarray) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """The gradient of each query, that of all queries at once, and the scores."""
    descent, seen = make_descent(task), np.zeros(task.data.n_documents)
    descent.set_parameters(weights)
    each = np.arange(task.data.n_queries)
    settings = {"per_pair": False, "seed": 0, "round": 0, "seen": seen, "cost": False}
    alone = [descent.gradient(each[q : q + 1], **settings)[1] for q in each]
    seen[:] = 0
    return alone, descent.gradient(each, **settings)[1], seen


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("n_features", [1, 4, 7, 8, 9, 16, 31, 40, 41, 63, 64, 65, 72, 97, 136, 201])
def test_scores_and_gradients_have_the_bits_of_computed_inputs(n_features: int, missing: float) -> None:
    task = prepared(n_features, missing)
    weights = np.random.default_rng(1).normal(size=n_features + 1)
    net = Net((n_features, 1), "tanh", task.model.map, weights)
    features, scores = task.data.features, net.scores(task.data.features)
    force = task.force(scores, task.data)[0]
    expected = [
        net.backward(features[begin:end], force[begin:end])
        for begin, end in zip(task.data.query_offsets, task.data.query_offsets[1:], strict=False)
    ]
    x = np.where(np.isnan(features), net.map.filled, (features.astype(float) - net.map.center) * net.map.scale)
    np.testing.assert_allclose(
        sum(expected)[:-1], force @ x, rtol=0, atol=1e-12 * np.abs(force) @ np.abs(x).max(axis=1)
    )
    try:
        for use in (_core.use_avx512, _core.use_avx2, lambda _: None):
            alone, together, seen = gradients(task, weights)
            assert seen.tobytes() == scores.tobytes()
            assert [g.tobytes() for g in alone] == [g.tobytes() for g in expected]
            assert together.tobytes() == sum(expected[1:], expected[0]).tobytes()
            use(False)
    finally:
        _core.use_avx2(True)
        _core.use_avx512(True)
