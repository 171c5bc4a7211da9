"""Bins of features: one bin per value if there are few values, equal shares if there are many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_trees import PLAIN, assert_identical, grow

import podium
from podium import _core


def cuts_of(values: Any, *, most=255, categorical=False, sample=None) -> np.ndarray:
    column = np.ascontiguousarray(np.asarray(values, np.float32).reshape(-1, 1))
    rows = np.arange(len(column)) if sample is None else np.asarray(sample)
    return _core.make_bins([column], [rows.astype(np.int64)], most, np.array([categorical], np.uint8), 1).cuts(0)


def shares(values: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    return np.bincount(np.searchsorted(cuts, values), minlength=len(cuts) + 1)


FLOATS = st.floats(width=32, allow_infinity=False, allow_nan=True)


@settings(max_examples=200, deadline=None)
@given(st.lists(FLOATS, min_size=1, max_size=60))
def test_each_of_few_values_has_a_bin_and_cuts_lie_half_way(values):
    cuts = cuts_of(values)
    known = np.unique(np.array([v for v in values if v == v], np.float32) + np.float32(0))
    assert len(cuts) == max(0, len(known) - 1)
    for low, cut, high in zip(known[:-1], cuts, known[1:], strict=True):
        assert low <= cut < high
        with np.errstate(over="ignore"):
            half = np.float32(low + (high - low) / np.float32(2))
        assert cut == (half if low <= half < high else low)


@pytest.mark.parametrize("most", [2, 3, 16, 17, 255])
def test_many_values_are_shared_out_equally(most):
    rng = np.random.default_rng(most)
    for values in (rng.normal(size=20_000), np.exp(3 * rng.normal(size=20_000)), np.round(rng.normal(size=20_000), 3)):
        values = values.astype(np.float32)
        cuts = cuts_of(values, most=most)
        assert (np.diff(cuts) > 0).all()
        found = shares(values, cuts)
        assert len(found) == most
        assert found.max() < 1.25 * len(values) / most
        assert found.min() > 0.75 * len(values) / most


@pytest.mark.parametrize("most", [4, 32, 255])
def test_heavy_values_have_a_bin_alone(most):
    rng = np.random.default_rng(most)
    n = 30_000
    values = rng.normal(size=n).astype(np.float32)
    heavy = np.float32([-50.0] if most == 4 else [-50.0, 0.0, 1.5])
    for value in heavy:
        values[rng.random(n) < 0.35] = value
    cuts = cuts_of(values, most=most)
    found = shares(values, cuts)
    assert len(found) <= most
    share = (~np.isin(values, heavy)).sum() / (most - len(heavy))
    for value in heavy:  # except for less than half a share just below it
        alone = (values == value).sum()
        assert alone <= found[np.searchsorted(cuts, value)] < alone + share
    others = np.delete(found, [np.searchsorted(cuts, value) for value in heavy])
    assert others.max() < 2.1 * share


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 20), st.lists(st.tuples(st.integers(-40, 40), st.integers(1, 200)), min_size=1, max_size=80))
def test_there_are_never_too_many_bins_and_none_is_empty(most, counted):
    values = np.repeat([value for value, _ in counted], [count for _, count in counted]).astype(np.float32)
    cuts = cuts_of(values, most=most)
    found = shares(values, cuts)
    assert len(found) == min(most, len(np.unique(values))) or len(found) < most
    assert (found > 0).all()
    heaviest = max(np.unique(values, return_counts=True)[1])
    assert found.max() <= max(heaviest, len(values) / most) * 3 + 1


def test_bins_follow_the_sample_alone_and_missing_has_its_own():
    values = np.r_[np.arange(10), np.nan, np.nan].astype(np.float32)
    np.testing.assert_array_equal(cuts_of(values, sample=[0, 2, 4, 10]), [1, 3])
    assert len(cuts_of([np.nan, np.nan])) == 0
    assert len(cuts_of([3.0, np.nan, 3.0])) == 0
    np.testing.assert_array_equal(cuts_of([-0.0, 0.0, 1.0, -0.0]), [0.5])
    with pytest.raises(ValueError, match="not there"):
        cuts_of(values, sample=[12])
    with pytest.raises(ValueError, match="from 2 to 255"):
        cuts_of(values, most=256)


def test_categories_are_their_own_bins_and_the_rarest_are_missing():
    rng = np.random.default_rng(0)
    values = np.r_[np.repeat(np.arange(300), 2), np.arange(0, 510, 2), [np.nan]].astype(np.float32)
    cuts = cuts_of(rng.permutation(values), categorical=True)
    assert len(cuts) == 255
    counts = {value: (values == value).sum() for value in np.unique(values[:-1])}
    kept = sorted(counts, key=lambda value: (-counts[value], value))[:255]
    np.testing.assert_array_equal(cuts, sorted(kept))


def stump(X: np.ndarray, force: np.ndarray, **spec: Any) -> dict:
    data = podium.RankingData(X, np.zeros(len(X)), np.zeros(len(X), int))
    return grow(data, force, np.ones(len(X)), **{"num_leaves": 2} | spec)


@pytest.mark.parametrize("values", [5, 16, 17, 18, 33, 200, 255, 256, 5000])
def test_every_document_goes_to_its_bin_with_and_without_avx2(values):
    """A tree with one leaf per bin shows each bin: a document's leaf is given by the thresholds around its value."""
    rng = np.random.default_rng(values)
    n = 6000
    X = rng.permutation(np.resize(rng.normal(size=values), n)).astype(np.float32).reshape(-1, 1)
    force = rng.normal(size=n)
    data = podium.RankingData(X, np.zeros(n), np.zeros(n, int))
    found = []
    for avx2 in (False, True):
        try:
            _core.use_avx2(avx2)
            found.append(grow(data, force, np.ones(n), num_leaves=300, rate=1.0))
        finally:
            _core.use_avx2(True)
    assert_identical(*found)
    cuts = np.sort(found[0]["threshold"])
    place = np.searchsorted(cuts, X[:, 0])
    expected = np.bincount(place, force) / np.bincount(place)
    assert len(found[0]["value"]) == len(cuts) + 1
    assert len(cuts) >= min(values, 255) * 0.8
    np.testing.assert_allclose(np.sort(found[0]["value"]), np.sort(expected), rtol=1e-9, atol=1e-12)


def test_signed_zeros_are_one_value():
    X = np.array([[-0.0], [0.0], [-0.0], [0.0], [1.0], [1.0]], np.float32)
    tree = stump(X, np.array([-1.0, 1, -1, 1, 2, 2]))
    assert tree["threshold"].tolist() == [0.5]
    assert len(stump(X[:4], np.array([-1.0, 1, -1, 1]))["value"]) == 1


def test_missing_values_go_to_the_side_that_gains_more():
    X = np.array([[0], [0], [1], [1], [np.nan], [np.nan]], np.float32)
    low, high = (stump(X, np.array([-1.0, -1, 1, 1, m, m])) for m in (-1.0, 1.0))
    assert (low["missing_left"].tolist(), high["missing_left"].tolist()) == ([1], [0])
    assert low["documents"].tolist() == [4, 2]
    alone = stump(X, np.array([1.0, 1, 1, 1, -3, -3]))  # all that is known against all that is not
    assert alone["documents"].tolist() == [4, 2]
    assert alone["threshold"].tolist() == [np.finfo(np.float32).max]
    assert alone["missing_left"].tolist() == [0]


def test_missing_values_never_seen_go_where_most_went():
    X = np.array([[0], [1], [1], [1]], np.float32)
    assert stump(X, np.array([3.0, -1, -1, -1]))["missing_left"].tolist() == [0]
    assert stump(-X, np.array([3.0, -1, -1, -1]))["missing_left"].tolist() == [1]


def test_constant_and_all_missing_features_are_never_split():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 4)).astype(np.float32)
    X[:, 0], X[:, 2] = 7, np.nan
    tree = stump(X, rng.normal(size=50), num_leaves=40)
    assert set(tree["feature"].tolist()) == {1, 3}
    for column in (0, 2):
        assert len(stump(X[:, [column]], rng.normal(size=50))["value"]) == 1


def test_infinities_are_refused():
    with pytest.raises(podium.DataError, match="infinite"):
        podium.RankingData(np.array([[np.inf], [1.0]]), [0, 1], [0, 0])


def test_max_bins_limits_the_thresholds():
    rng = np.random.default_rng(2)
    data = podium.RankingData(rng.normal(size=(500, 1)), np.zeros(500), np.zeros(500, int))
    tree = grow(data, rng.normal(size=500), np.ones(500), num_leaves=400, max_bins=6)
    assert len(set(tree["threshold"].tolist())) == len(tree["threshold"]) == 5


# ---- categories


def categorical_data(n_categories: int, n: int, seed=0, missing=0.0) -> tuple[podium.RankingData, np.ndarray]:
    rng = np.random.default_rng(seed)
    code = rng.integers(0, n_categories, n)
    effect = rng.permutation(np.linspace(-1, 1, n_categories))
    X = np.c_[code, rng.normal(size=n)].astype(np.float32)
    X[rng.random(n) < missing, 0] = np.nan
    return podium.RankingData(X, np.zeros(n), np.zeros(n, int)), effect[code]


def test_categories_without_an_order_need_few_leaves():
    data, effect = categorical_data(40, 2000)
    force = np.sign(effect)
    names = grow(data, force, np.ones(2000), num_leaves=2, rate=1.0, categorical=(0,))
    assert names["feature"].tolist() == [0]
    np.testing.assert_allclose(sorted(names["value"]), [-1, 1])  # one split separates them
    numbers = grow(data, force, np.ones(2000), num_leaves=2, rate=1.0)
    assert np.abs(numbers["value"]).max() < 0.9
    enough = grow(data, force, np.ones(2000), num_leaves=100, rate=1.0)
    assert len(enough["value"]) > 10


@pytest.mark.parametrize("missing", [False, True])
def test_the_split_of_categories_is_the_best_of_all_sets(missing):
    """With equal counts and curvatures the order by force is the order by mean, where the best set is a beginning.

    Missing values are a category like the others.
    """
    for seed in range(5):
        rng = np.random.default_rng(seed)
        code = np.repeat(np.arange(7), 10)
        force = rng.normal(size=7)[code] + 0.3 * rng.normal(size=70)
        X = np.where(missing & (code == 3), np.nan, code).astype(np.float32).reshape(-1, 1)
        data = podium.RankingData(X, np.zeros(70), np.zeros(70, int))
        tree = grow(data, force, np.ones(70), num_leaves=2, categorical=(0,))
        best = max(
            sum(force[side].sum() ** 2 / side.sum() for side in (inside, ~inside))
            for inside in (np.isin(code, [c for c in range(7) if mask >> c & 1]) for mask in range(1, 127))
        )
        assert tree["gain"][0] == pytest.approx(best - force.sum() ** 2 / 70, rel=1e-6)


def test_rare_categories_are_smoothed():
    """A category of one strong document does not come last in the order: a hundred weaker ones are more certain."""
    code = np.r_[np.zeros(100), np.ones(99), [2]]
    force = np.r_[np.full(100, 1.0), np.full(99, -1.0), [1.5]]
    data = podium.RankingData(code.reshape(-1, 1), np.zeros(200), np.zeros(200, int))
    tree = grow(data, force, np.ones(200), num_leaves=2, categorical=(0,), min_documents=100)
    assert tree["documents"].tolist() == [100, 100]  # only if it is in the middle of the order


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_unseen_categories_are_missing_ones(missing):
    data, effect = categorical_data(300, 4000, seed=4, missing=missing)
    labels = (effect > 0).astype(float)
    data = podium.RankingData(data.features, labels, np.repeat(np.arange(200), 20))
    spec = PLAIN | {"num_leaves": 8, "learning_rate": 0.5, "categorical": [0]}
    ranker = podium.LambdaMART(n_estimators=10, **spec).fit(data)
    strange = np.array([[9999, 0.3], [0.5, 0.3], [np.nan, 0.3]], np.float32)
    scores = ranker.predict(strange)
    assert scores[0] == scores[1] == scores[2]
    assert podium.evaluate(ranker.predict(data), data, "auc").mean["auc"] > (0.9 if missing else 0.95)


def test_unseen_categories_go_where_most_went():
    code = np.r_[np.zeros(30), np.ones(5)].astype(np.float32)
    for turn in (1.0, -1.0):
        force = turn * np.r_[np.full(30, 1.0), np.full(5, -2.0)]
        data = podium.RankingData(code.reshape(-1, 1), np.zeros(35), np.zeros(35, int))
        trees = podium.models.growing.TreeBooster(
            podium.models.tree_settings.TreesSpec(**PLAIN | {"num_leaves": 2, "categorical": (0,)}),
            data,
            base=np.zeros(1),
            seed=0,
            num_threads=1,
        )
        trees.grow(force, np.ones(35), 1.0)
        model = trees.finished([1.0])
        known, unseen, nan = model.scores(np.array([[0], [5], [np.nan]], np.float32))
        assert known == unseen == nan == pytest.approx(turn)
