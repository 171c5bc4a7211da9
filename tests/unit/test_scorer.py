"""The scorer by itself: a linear model whose weights are given, so that every expected score is arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

import podium
from podium.models import restore_model
from podium.scoring import Scorer

HUGE = 1e300  # a weight; times the largest float32 it is beyond the largest float64


def linear(*weights: float, outputs: int = 1) -> Scorer:
    """Return the scorer of s = w·x; of several outputs, all but the first are 0."""
    table = np.zeros((len(weights), outputs))
    table[:, 0] = weights
    arrays = {
        "layer1.weights": table,
        "layer1.bias": np.zeros(outputs),
        "inputs.center": np.zeros(len(weights)),
        "inputs.scale": np.ones(len(weights)),
        "inputs.filled": np.zeros(len(weights)),
    }
    settings = {"widths": [len(weights), outputs], "activation": "tanh"}
    return Scorer(restore_model("linear", settings, arrays))


def test_scores_are_in_the_callers_row_order() -> None:
    X = [[1, 0], [0, 1], [2, 2], [0, 3]]
    data = podium.RankingData(X, [0, 0, 0, 0], ["b", "a", "b", "a"])
    for rows in (X, data):
        assert linear(1, 10).scores(rows).tolist() == [1, 10, 22, 30]


@pytest.mark.parametrize(
    ("weights", "row"),
    [((HUGE, 0), [3e38, 0]), ((-HUGE, 0), [3e38, 0]), ((HUGE, -HUGE), [3e38, 3e38])],
    ids=["infinite", "minus infinite", "not a number"],
)
def test_a_score_that_is_not_finite_is_refused_by_its_row(weights: tuple[float, ...], row: list[float]) -> None:
    scorer = linear(*weights)
    X = np.array([[1, 0], [0, 0], row, [2, 0]], np.float32)
    assert np.isfinite(scorer.scores(X[:2])).all()
    with pytest.raises(podium.DataError, match="the score of row 2 is not finite; its features are too large"):
        scorer.scores(X)
    mixed = podium.RankingData(X, np.zeros(4), ["b", "a", "b", "a"])  # the queries are not contiguous in these rows
    with pytest.raises(podium.DataError, match="the score of row 2 is not finite"):
        scorer.scores(mixed)


def test_one_of_several_outputs_that_is_not_finite_is_refused() -> None:
    scorer = linear(-HUGE, outputs=3)  # a level with log odds of −∞ would still give a finite expected gain
    assert scorer.scores([[0.0]]).tolist() == [pytest.approx((0 + 1 + 3) / 3)]
    with pytest.raises(podium.DataError, match="the score of row 1 is not finite"):
        scorer.scores([[0.0], [3e38]])
