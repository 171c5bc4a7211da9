"""Intervals of a mean over queries: their formulas, their coverage, and that the order of queries does not matter."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from podium.data import RankingData
from podium.errors import ParameterError
from podium.evaluation import compare, evaluate
from podium.evaluation.intervals import bootstrap_interval, check_draws, normal_interval, student_interval, within
from podium.metrics import custom_metric

Draw = Callable[[np.random.Generator, int], np.ndarray]
# What values of metrics look like: spread out, skewed, piled up at both ends, a few levels, reciprocal ranks 1 to 5.
SHAPES: dict[str, tuple[Draw, float]] = {
    "beta(2, 1)": (lambda rng, n: rng.beta(2, 1, n), 2 / 3),
    "beta(1, 3)": (lambda rng, n: rng.beta(1, 3, n), 1 / 4),
    "beta(.5, .5)": (lambda rng, n: rng.beta(0.5, 0.5, n), 1 / 2),
    "p@5": (lambda rng, n: rng.binomial(5, 0.4, n) / 5, 2 / 5),
    "mrr": (lambda rng, n: 1 / rng.integers(1, 6, n), (1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 5),
}


def covered(interval: Callable[[np.ndarray, int], tuple[float, float]], shape: str, n: int) -> float:
    """How often the interval of n values, which may use a seed, contains the true mean."""
    draw, mean = SHAPES[shape]
    rng, samples = np.random.default_rng(1), 1500
    hits = 0
    for seed in range(samples):
        low, high = interval(draw(rng, n), seed)
        hits += low - 1e-12 <= mean <= high + 1e-12
    return hits / samples


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [5, 10, 30])
def test_the_bootstrap_of_95_percent_covers_92_to_99(shape: str, n: int) -> None:
    share = covered(lambda x, seed: bootstrap_interval(x, 0.95, 400, seed, (0, 1)), shape, n)
    assert 0.92 <= share <= 0.99


@pytest.mark.parametrize(
    ("shape", "least"),
    # at 5, 10 and 30 values; the more skewed the values, the more of them Student's interval needs
    [("beta(2, 1)", (0.92, 0.93, 0.93)), ("p@5", (0.93, 0.93, 0.93)), ("mrr", (0.80, 0.87, 0.93))],
)
def test_students_interval_of_95_percent_covers_more_than_the_normal_one(shape: str, least: tuple[float, ...]) -> None:
    for n, bound in zip((5, 10, 30), least, strict=True):
        share = covered(lambda x, _: student_interval(x, 0.95), shape, n)
        assert bound <= share <= 0.97
        assert share >= covered(lambda x, _: normal_interval(x, 0.95), shape, n)
    assert covered(lambda x, _: normal_interval(x, 0.95), shape, 5) < 0.91


def test_students_interval_is_scipys() -> None:
    values = np.random.default_rng(0).random(12)
    expected = stats.t.interval(0.9, 11, values.mean(), stats.sem(values))
    assert student_interval(values, 0.9) == pytest.approx(expected)
    assert student_interval(1e300 * values, 0.9) == pytest.approx([1e300 * end for end in expected])
    z = 1.959963984540054 * stats.sem(values)
    assert normal_interval(values, 0.95) == pytest.approx((values.mean() - z, values.mean() + z))


def test_the_studentized_bootstrap_by_its_definition() -> None:
    values = np.sort(np.random.default_rng(1).random(8))
    drawn = values[np.random.default_rng(7).integers(0, 8, (500, 8))]
    spread = drawn.max(axis=1) > drawn.min(axis=1)
    t = np.where(spread, (drawn.mean(axis=1) - values.mean()) / (drawn.std(axis=1, ddof=1) / math.sqrt(8)), np.inf)
    t.sort()
    error = stats.sem(values)
    expected = (values.mean() - t[math.ceil(0.95 * 499)] * error, values.mean() - t[math.floor(0.05 * 499)] * error)
    assert bootstrap_interval(values, 0.9, 500, 7) == pytest.approx(expected)


def test_intervals_of_few_or_equal_values() -> None:
    for interval in (student_interval, normal_interval):
        assert np.isnan(interval(np.array([0.5]), 0.95)).all()
        assert np.isnan(interval(np.array([0.5, np.nan]), 0.95)).all()
        assert interval(np.full(7, 0.1), 0.95) == (0.1, 0.1)
        assert interval(np.zeros(3), 0.95) == (0.0, 0.0)
    assert np.isnan(bootstrap_interval(np.array([0.5]), 0.95, 100, 0)).all()
    assert bootstrap_interval(np.full(7, 0.1), 0.95, 100, 0) == (0.1, 0.1)
    # two values: half of all resamples have no spread, so that they bound nothing
    assert bootstrap_interval(np.array([0.2, 0.4]), 0.95, 100, 0, (0, 1)) == (0, 1)
    assert bootstrap_interval(np.array([0.2, 0.4]), 0.95, 100, 0) == (-math.inf, math.inf)


def shuffled(seed: int) -> tuple[list[tuple[np.ndarray, np.ndarray, np.ndarray]], list[int]]:
    rng = np.random.default_rng(seed)
    queries = [(np.full(6, q), rng.integers(0, 3, 6), rng.normal(size=6)) for q in range(40)]
    return queries, rng.permutation(40).tolist()


def test_intervals_do_not_depend_on_the_order_of_queries() -> None:
    queries, order = shuffled(0)
    results = []
    for each in (queries, [queries[k] for k in order]):
        qid, labels, scores = (np.concatenate(part) for part in zip(*each, strict=True))
        data = RankingData(np.zeros((len(qid), 1)), labels, qid)
        results.append(evaluate(scores, data, ["ndcg@5", "map", "mrr"], interval="student"))
    first, second = results
    for part in ("mean", "interval", "bootstrap_interval"):
        assert dict(getattr(first, part)) == dict(getattr(second, part))


def test_a_confidence_that_no_sample_can_give_is_refused() -> None:
    data = RankingData(np.zeros((4, 1)), [0, 1, 0, 1], [1, 1, 2, 2])
    for confidence in (0.9999999999999999, 0.99991, 1, 0):
        with pytest.raises(ParameterError, match=f"confidence={confidence}"):
            evaluate([1, 2, 3, 4], data, "map", confidence=confidence)
    assert evaluate([1, 2, 4, 3], data, "map", confidence=0.9999).interval["map"] == (0, 1)


def test_more_confidence_takes_more_draws() -> None:
    assert [check_draws(None, share) for share in (0.5, 0.95, 0.99, 0.999)] == [2000, 2000, 2000, 20000]
    assert check_draws(40, 0.95) == 40
    with pytest.raises(ParameterError, match=r"bootstrap=39 draws are too few for confidence=0\.95.*at least 40"):
        check_draws(39, 0.95)


def test_intervals_end_where_the_range_of_the_metric_does() -> None:
    """Values 1, 1, 1, 0.5: mean 0.875, SE 0.125, t(0.975; 3) = 3.1824, so that mean + t·SE is 1.2728."""
    data = RankingData(np.zeros((8, 1)), [1, 0] * 4, np.repeat([1, 2, 3, 4], 2))
    scores = [2, 1, 2, 1, 2, 1, 1, 2]
    result = evaluate(scores, data, "map")
    low, high = student_interval(result.per_query["map"], 0.95)
    assert (low, high) == pytest.approx((0.4772, 1.2728), abs=1e-4)
    assert result.interval["map"] == (low, 1)
    assert evaluate(scores, data, "map", interval="normal").interval["map"] == pytest.approx((0.63, 1.12), abs=1e-4)
    unbounded = custom_metric(lambda scores, labels: (1 + labels[0]) / 2, name="first", compile=False)
    assert evaluate(scores, data, unbounded).interval["first"] == pytest.approx((low, high))
    assert within((math.nan, math.nan), (0, 1)) == pytest.approx((math.nan, math.nan), nan_ok=True)
    pair = compare({"a": scores, "b": [1, 2, 1, 2, 1, 2, 2, 1]}, data, "pairwise_error").pairs[0]
    assert (pair.difference, pair.interval) == (-0.5, (-1, 1))  # -0.5 ± 3.1824 · 0.5 without the range


def test_the_normal_interval_is_a_named_choice() -> None:
    queries, _ = shuffled(1)
    qid, labels, scores = (np.concatenate(part) for part in zip(*queries, strict=True))
    data = RankingData(np.zeros((len(qid), 1)), labels, qid)
    result = evaluate(scores, data, "map", interval="normal")
    assert result.interval["map"] == normal_interval(result.per_query["map"], 0.95)
    assert result.to_dict()["interval_method"] == "normal"
    assert evaluate(scores, data, "map").interval["map"] == student_interval(result.per_query["map"], 0.95)
    with pytest.raises(ParameterError, match=r"unknown interval 'studnt'.*Did you mean 'student'"):
        evaluate(scores, data, "map", interval="studnt")
