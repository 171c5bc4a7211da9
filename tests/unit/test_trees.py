"""The core grows exactly the trees that plain loops grow."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_trees import Growing, Rules, walk

import podium
from generated import any_schedule
from podium import _core
from podium.forces import ForceData
from podium.models import growing as growing_module
from podium.models.growing import TreeBooster
from podium.models.tree_settings import TreesSpec
from podium.models.trees import forest_of

STORAGE = {
    "shared": {"SHARED_BYTE_DOCUMENTS": 0},
    "alone": {},
    "wide": {"SHARED_BYTE_DOCUMENTS": 0, "WIDE_CELL_DOCUMENTS": 0},
}


@pytest.fixture(autouse=True, params=STORAGE)
def storage(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every test with features that share bytes and with one byte per feature, which must not change a tree, and with wide cells."""
    for name, value in STORAGE[request.param].items():
        monkeypatch.setattr(growing_module, name, value)


def cell_bits() -> int:
    return 31 if growing_module.WIDE_CELL_DOCUMENTS else 51


# Settings whose defaults depend on the size of the data.
PLAIN: dict[str, Any] = {
    "l2": 0.0,
    "min_documents": 1,
    "row_sampling": 1.0,
    "sampling": "force",
    "query_sampling": 1.0,
    "column_sampling": 1.0,
    "random_strength": 0.0,
}
SETTINGS: list[dict[str, Any]] = [
    {"num_leaves": 2},
    {"num_leaves": 8},
    {"num_leaves": 40},
    {"num_leaves": 12, "l2": 3.0},
    {"num_leaves": 12, "l1": 0.7},
    {"num_leaves": 12, "l1": 0.2, "l2": 0.5, "min_gain": 0.3},
    {"num_leaves": 60, "min_gain": 1.5},
    {"num_leaves": 12, "min_documents": 7},
    {"num_leaves": 30, "min_documents": 3, "l1": 0.1},
    {"num_leaves": 30, "min_curvature": 4.0},
    {"num_leaves": 30, "max_depth": 1},
    {"num_leaves": 30, "max_depth": 3},
    {"num_leaves": 9, "growth": "depth"},
    {"num_leaves": 13, "growth": "depth", "max_depth": 4, "min_documents": 4},
    {"num_leaves": 30, "monotone": {0: 1}},
    {"num_leaves": 30, "monotone": {0: -1, 1: 1}, "l2": 3.0},
    {"num_leaves": 30, "monotone": {1: 1, 2: 1, 3: -1}, "l1": 0.4, "min_documents": 3},
    {"num_leaves": 20, "monotone": {0: 1, 1: 1, 2: 1, 3: 1}, "growth": "depth", "min_curvature": 1.0, "min_gain": 0.1},
    {"num_leaves": 8, "growth": "symmetric"},
    {"num_leaves": 31, "growth": "symmetric", "l2": 0.5, "min_documents": 3},
    {"num_leaves": 16, "growth": "symmetric", "l1": 0.3, "min_curvature": 2.0, "max_depth": 3},
    {"num_leaves": 64, "growth": "symmetric", "min_gain": 0.01},
]


def documents(sizes=(9, 1, 14, 20, 2, 16), n_features=4, *, seed=0, values=30, missing=0.15) -> podium.RankingData:
    """Features with few distinct values, some of them missing."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    X = rng.choice(rng.normal(size=values).astype(np.float32), (n, n_features))
    X[rng.random(X.shape) < missing] = np.nan
    X[:, 1] = np.where(np.isnan(X[:, 1]), 0, X[:, 1])  # one feature without a missing value
    labels = rng.integers(0, 4, n).astype(float)
    return podium.RankingData(X, labels, np.repeat(np.arange(len(sizes)), sizes))


def grow(data: podium.RankingData, force: Any, curvature: Any, *, rate=0.5, threads=1, seed=0, **spec: Any) -> dict:
    trees = TreeBooster(TreesSpec(**PLAIN | spec), data, base=np.zeros(1), seed=seed, num_threads=threads)
    trees.grow(np.asarray(force, float), np.asarray(curvature, float), rate)
    return trees.arrays_of(0)


def naive(data: podium.RankingData, force: Any, curvature: Any, *, rate=0.5, **spec: Any) -> dict:
    return Growing(data.features, np.asarray(force, float), np.asarray(curvature, float), Rules(cell_bits=cell_bits(), **{"learning_rate": rate} | spec)).run()  # fmt: skip


def assert_same_tree(found: dict, expected: dict, terms: float = 0) -> None:
    """The same splits and values. A gain is a difference of terms, given their size: its last digits are their rounding."""
    for name in ("feature", "left", "right", "missing_left", "documents"):
        assert found[name].tolist() == [int(value) for value in expected[name]], name
    assert found["threshold"].tolist() == [np.float32(value) for value in expected["threshold"]]
    np.testing.assert_allclose(found["gain"], expected["gain"], rtol=1e-9, atol=1e-15 * terms)
    np.testing.assert_allclose(found["value"], expected["value"], rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("spec", SETTINGS, ids=str)
def test_a_tree_is_the_naive_tree(spec):
    for seed in range(4):
        rng = np.random.default_rng(100 + seed)
        data = documents(seed=seed)
        force, curvature = rng.normal(size=len(data)), rng.uniform(0.1, 1, len(data))
        expected = naive(data, force, curvature, **spec)
        assert_same_tree(grow(data, force, curvature, **spec), expected)
        assert len(expected["value"]) > 1


@pytest.mark.parametrize("min_documents", [1, 20])
def test_no_leaf_of_a_monotone_tree_has_too_few_documents(min_documents):
    """Bounds may hold a leaf at a value that is worth less than nothing; a split that breaks a rule is no way out."""
    data, force, curvature = large(5)
    for sign in (-1, 1):
        spec = {"monotone": {1: sign, 2: sign, 3: sign}, "min_documents": min_documents}
        tree = grow(data, 100 * force, curvature, num_leaves=100, **spec)
        assert tree["documents"].min() >= min_documents


@st.composite
def small_problems(draw: Any) -> tuple[podium.RankingData, list[float], list[float], dict[str, Any]]:
    n, n_features = draw(st.integers(1, 25)), draw(st.integers(1, 3))
    value = st.sampled_from([-1.5, -0.0, 0.0, 0.25, 1.0, 1e30, -1e30, 1e-40, math.nan])
    X = draw(st.lists(st.lists(value, min_size=n_features, max_size=n_features), min_size=n, max_size=n))
    force = draw(st.lists(st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 3e-7]), min_size=n, max_size=n))
    curvature = draw(st.lists(st.sampled_from([0.0, 0.25, 1.0, 1e-9]), min_size=n, max_size=n))
    spec = {
        "num_leaves": draw(st.integers(2, 9)),
        "l1": draw(st.sampled_from([0.0, 0.5])),
        "l2": draw(st.sampled_from([0.0, 1.0])),
        "min_documents": draw(st.integers(1, 4)),
        "min_curvature": draw(st.sampled_from([1e-9, 1e-3, 1.0])),
        "growth": draw(st.sampled_from(["leaf", "depth", "symmetric"])),
        "max_depth": draw(st.sampled_from([None, 1, 2])),
    }
    return podium.RankingData(np.array(X, np.float32), np.zeros(n), np.zeros(n, int)), force, curvature, spec


@settings(max_examples=150, deadline=None)
@given(small_problems())
def test_a_tree_is_the_naive_tree_for_ties_missing_and_extreme_values(problem):
    data, force, curvature, spec = problem
    expected = naive(data, force, curvature, rate=1, **spec)
    terms = sum(map(abs, force)) * max(map(abs, expected["value"]))
    assert_same_tree(grow(data, force, curvature, rate=1, **spec), expected, terms)


@pytest.mark.parametrize("n", range(3, 24))
@pytest.mark.parametrize("wide", ["", "avx2", "avx512"])
def test_of_equal_cuts_the_first_is_taken(n, wide):
    """One document above and one below many without a force: cutting off either is worth 1 + 1 / (n - 1), bit for bit."""
    data = podium.RankingData(np.arange(n, dtype=np.float32)[:, None], np.zeros(n), np.zeros(n, int))
    force = np.zeros(n)
    force[0], force[-1] = 1, -1
    try:
        _core.use_avx2(wide != "")
        _core.use_avx512(wide == "avx512")
        assert grow(data, force, np.ones(n), num_leaves=2)["threshold"].tolist() == [0.5]
    finally:
        _core.use_avx2(True)
        _core.use_avx512(True)


@pytest.mark.parametrize("avx2", [False, True])
@pytest.mark.parametrize("spec", [{}, {"l2": 3.0}, {"min_documents": 25}, {"min_curvature": 5.0}, {"growth": "symmetric"}, {"growth": "symmetric", "min_documents": 25}, {"growth": "symmetric", "l2": 0, "min_curvature": 1e-300}], ids=str)  # fmt: skip
def test_bounds_of_gains_do_not_change_a_tree(spec, avx2):
    """With l1 every cut is compared exactly, without bounds in single precision; this l1 is too small to change a number."""
    try:
        _core.use_avx2(avx2)
        for seed, scale in enumerate((1.0, 1e-30, 1e30, 1e-45)):
            data, force, curvature = large(seed)
            force, curvature = scale * force, curvature / scale
            for same in (force, np.round(force / scale) * scale):  # the second with many equal gains
                given = {"num_leaves": 64, **spec}
                assert_identical(grow(data, same, curvature, **given), grow(data, same, curvature, **given, l1=1e-300))
    finally:
        _core.use_avx2(True)


def test_of_leaves_that_gain_the_same_the_first_is_split():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
    data = podium.RankingData(X, np.zeros(4), np.zeros(4, int))
    tree = grow(data, [-11, -9, 9, 11], np.ones(4), num_leaves=3, rate=1)
    assert tree["feature"].tolist() == [0, 1]
    assert tree["value"].tolist() == [-11, 10, -9]  # the second feature splits the documents on the left


def test_sums_of_forces_that_are_all_rounded_up_stay_in_their_cells():
    """A thousand times 2,147,483.5 is less than 2³¹, and the same numbers rounded are more."""
    n = 1000
    data = podium.RankingData(np.arange(n, dtype=np.float32)[:, None] % 7, np.zeros(n), np.zeros(n, int))
    force = np.where(np.arange(n) % 7 < 3, 2_147_483.5, 2_147_481.5)
    spec = {"num_leaves": 4}
    assert_same_tree(grow(data, force, np.ones(n), **spec), naive(data, force, np.ones(n), **spec), terms=1e13)


def plain_lambdas(scores: np.ndarray, data: podium.RankingData, cutoff: int) -> tuple[np.ndarray, np.ndarray]:
    """LambdaRank on NDCG@cutoff, pair by pair."""
    force, curvature = np.zeros(len(scores)), np.zeros(len(scores))
    for begin, end in zip(data.query_offsets[:-1], data.query_offsets[1:], strict=True):
        gain = 2 ** data.labels[begin:end] - 1
        order = sorted(range(begin, end), key=lambda i: (-scores[i], i))
        place = {document: k for k, document in enumerate(order)}
        discount = [1 / math.log2(2 + k) if k < cutoff else 0.0 for k in range(end - begin)]
        ideal = sum(g * d for g, d in zip(sorted(gain, reverse=True), discount, strict=True))
        for i in range(begin, end):
            for j in range(begin, end):
                if data.labels[i] > data.labels[j]:
                    change = (gain[i - begin] - gain[j - begin]) * abs(discount[place[i]] - discount[place[j]]) / ideal
                    rho = 1 / (1 + math.exp(scores[i] - scores[j]))
                    force[i] += rho * change
                    force[j] -= rho * change
                    curvature[i] += rho * (1 - rho) * change
                    curvature[j] += rho * (1 - rho) * change
    return force, curvature


def naive_rounds(data: podium.RankingData, forces: Any, rounds: int, base: float = 0.0, **rules: Any) -> list[dict]:
    """Trees one after the other, each from the forces on the scores before it."""
    scores, trees = np.full(len(data), base), []
    for number in range(rounds):
        made = Growing(data.features, *forces(scores, number + 1), Rules(cell_bits=cell_bits(), **rules))
        trees.append(made.run())
        for leaf, value in zip(made.leaves, trees[-1]["value"], strict=True):
            scores[leaf.rows] += value
    return trees


@pytest.mark.parametrize("spec", SETTINGS[1::3], ids=str)
def test_lambdamart_is_the_naive_lambdamart(spec):
    data = documents(seed=3)
    rules = {"learning_rate": 0.3, **spec}
    ranker = podium.LambdaMART(metric="ndcg@10", n_estimators=8, num_threads=1, noise=0, **PLAIN | rules).fit(data)
    expected = naive_rounds(data, lambda scores, _: plain_lambdas(scores, data, 10), 8, **rules)
    assert ranker.n_trees_ == 8
    for number, tree in enumerate(expected):
        assert_same_tree(ranker.model_.tree(number), tree)


def test_mart_is_the_naive_mart():
    data = documents(seed=4)
    rules = {"learning_rate": 0.3, "num_leaves": 7, "min_documents": 3, "l2": 0.4}
    ranker = podium.MART(n_estimators=8, num_threads=1, **PLAIN | rules).fit(data)
    mean = data.labels.mean()
    expected = naive_rounds(data, lambda s, _: (data.labels - s, np.ones(len(data))), 8, base=mean, **rules)
    for number, tree in enumerate(expected):
        assert_same_tree(ranker.model_.tree(number), tree)
    np.testing.assert_allclose(ranker.model_.arrays()["base"], [mean])


@pytest.mark.parametrize("name", ["lambdarank(map)", "ranknet", "listnet", "xendcg", "listmle", "exponential"])
def test_other_forces_grow_the_naive_trees(name):
    data = documents(seed=5)
    force, held = podium.force(name), ForceData(data)

    def forces(scores: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
        found = force.compute(scores, held, curvature=True, seed=0, round=number)
        return found.force, found.curvature

    rules = {"num_leaves": 6, "min_documents": 2}
    spec = TreesSpec(**PLAIN | rules)
    ranker = podium.Ranker(
        force=name, model=spec, num_threads=1, **any_schedule(spec, epochs=6, learning_rate=0.2)
    ).fit(data)
    for number, tree in enumerate(naive_rounds(data, forces, 6, learning_rate=0.2, **rules)):
        assert_same_tree(ranker.model_.tree(number), tree)


def test_weights_of_queries_and_documents_are_in_the_trees():
    plain = documents(seed=6)
    weighted = plain.replace(query_weights=[1, 5, 0.5, 2, 1, 0], document_weights=np.linspace(0.1, 2, len(plain)))
    rules = {"num_leaves": 6, "learning_rate": 0.3}
    for data in (plain, weighted):
        ranker = podium.LambdaMART(n_estimators=3, num_threads=1, noise=0, **PLAIN | rules).fit(data)
        force, held = podium.force("lambdarank(ndcg@10)"), ForceData(data)

        def forces(scores, number, force=force, held=held):
            found = force.compute(scores, held, curvature=True)
            return found.force, found.curvature

        for number, tree in enumerate(naive_rounds(data, forces, 3, **rules)):
            assert_same_tree(ranker.model_.tree(number), tree)


# ---- the same tree computed in other ways


def large(seed=0, n=3000, n_features=20) -> tuple[podium.RankingData, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 0] = rng.integers(0, 3, n)
    data = podium.RankingData(X, rng.integers(0, 4, n).astype(float), np.repeat(np.arange(n // 10), 10))
    return data, rng.normal(size=n) + (X[:, 1] > 0.3), rng.uniform(0.1, 1, n)


def assert_identical(one: dict, two: dict) -> None:
    assert one.keys() == two.keys()
    for name in one:
        assert one[name].tobytes() == two[name].tobytes(), name


@pytest.mark.parametrize("spec", [{}, {"min_documents": 25}, {"monotone": {1: 1, 2: -1}}, {"categorical": (0,)}, {"random_strength": 1.0}, {"random_thresholds": True}, {"growth": "symmetric"}, {"growth": "symmetric", "min_documents": 25}, {"growth": "symmetric", "l2": 0, "min_curvature": 1e-300}], ids=str)  # fmt: skip
def test_histograms_thrown_away_and_built_again_change_nothing(spec, monkeypatch):
    data, force, curvature = large()
    spec = {"num_leaves": 60, **spec}
    first = grow(data, force, curvature, **spec)
    assert len(first["value"]) == (32 if "growth" in spec else 60)
    monkeypatch.setattr(growing_module, "HISTOGRAM_BYTES", 1)
    assert_identical(grow(data, force, curvature, **spec), first)
    assert_identical(grow(data, force, curvature, threads=3, **spec), first)


@pytest.mark.parametrize("growth", ["leaf", "symmetric"])
def test_threads_that_share_rows_add_up_missing_values_too(growth):
    """Features of few values, so that the cell of missing values lies apart from the others."""
    rng = np.random.default_rng(11)
    n = 20_000
    X = rng.integers(0, 5, (n, 3)).astype(np.float32)
    X[rng.random(X.shape) < 0.2] = np.nan
    data = podium.RankingData(X, np.zeros(n), np.zeros(n, int))
    force = rng.normal(size=n) + np.isnan(X).sum(axis=1)
    spec = {"num_leaves": 32, "growth": growth}
    alone = grow(data, force, np.ones(n), **spec)
    assert_identical(grow(data, force, np.ones(n), threads=3, **spec), alone)


@pytest.mark.parametrize("leaves", [255, 256, 257, 258])
def test_a_tree_of_more_leaves_than_a_byte_can_number(leaves):
    data, force, curvature = large(6, n=2000, n_features=3)
    tree = grow(data, force, curvature, num_leaves=leaves)
    rows = [walk(tree | {"set": np.full(leaves - 1, -1)}, row, {}) for row in data.features]
    assert tree["documents"].tolist() == np.bincount(rows, minlength=leaves).tolist()
    assert len(tree["value"]) == leaves


@pytest.mark.parametrize("bins", [2, 7, 8, 9, 63, 254, 255])
@pytest.mark.parametrize("spec", [{}, {"l1": 0.5}, {"l2": 3.0}, {"min_documents": 40}, {"monotone": {1: 1}}, {"row_sampling": 0.4}, {"column_sampling": 0.3}, {"growth": "symmetric"}, {"growth": "symmetric", "l1": 0.5}], ids=str)  # fmt: skip
def test_trees_without_wide_vectors(spec, bins):
    if not _core.use_avx2(True):
        pytest.skip("this machine has no AVX2")
    data, force, curvature = large(1)
    spec = {"num_leaves": 50, "max_bins": bins, **spec}
    fast = grow(data, force, curvature, **spec)
    try:
        _core.use_avx512(False)
        assert_identical(grow(data, force, curvature, **spec), fast)
        _core.use_avx2(False)
        assert_identical(grow(data, force, curvature, **spec), fast)
    finally:
        _core.use_avx2(True)
        _core.use_avx512(True)


def test_five_thousand_features(monkeypatch):
    rng = np.random.default_rng(7)
    n = 200
    X = rng.integers(0, 40, (n, 5000)).astype(np.float32)
    data = podium.RankingData(X, np.zeros(n), np.zeros(n, int))
    force = np.where(X[:, 4321] > 17, 1.0, -1.0) + np.where(X[:, 77] > 30, 0.3, 0.0)
    tree = grow(data, force, np.ones(n), num_leaves=3, threads=2)
    assert tree["feature"].tolist()[0] == 4321
    assert tree["threshold"][0] == 17.5
    deep = grow(data, rng.normal(size=n), np.ones(n), num_leaves=16, threads=2)
    rng = np.random.default_rng(7)
    rng.integers(0, 40, (n, 5000))
    monkeypatch.setattr(growing_module, "HISTOGRAM_BYTES", 5000 * 264 * 8 * 4)
    assert_identical(grow(data, rng.normal(size=n), np.ones(n), num_leaves=16, threads=1), deep)


@pytest.mark.parametrize(
    "spec", [{}, {"row_sampling": 0.4}, {"random_strength": 1.0}, {"random_thresholds": True}], ids=str
)
def test_symmetric_trees_have_one_split_per_level(spec):
    data, force, curvature = large(9, n=20_000)
    spec = {"growth": "symmetric", "num_leaves": 40, **spec}
    tree = grow(data, force, curvature, **spec)
    assert len(tree["value"]) == 32
    for depth in range(5):
        level = slice(2**depth - 1, 2 ** (depth + 1) - 1)
        assert (
            len(set(zip(tree["feature"][level], tree["threshold"][level], tree["missing_left"][level], strict=True)))
            == 1
        )
    for threads in (2, 5):
        assert_identical(grow(data, force, curvature, threads=threads, **spec), tree)


@pytest.mark.parametrize("sample", [1.0, 0.5])
def test_symmetric_trees_leave_few_documents_out_of_account(sample):
    """A few outliers have large forces, but a leaf of them would be too small, so that the split must fit the others."""
    data, _, _ = large(4, n=4000)
    X = data.features.copy()
    X[:, 0] = np.arange(len(X)) < 6
    X[:, 1] = np.arange(len(X)) % 2
    force = np.where(X[:, 0] > 0, 100.0, 2 * X[:, 1] - 1.0)
    spec = {"growth": "symmetric", "num_leaves": 2, "row_sampling": sample, "sampling": "uniform"}
    alone = grow(data.replace(features=X), force, np.ones(len(X)), min_documents=1, **spec)
    assert alone["feature"].tolist() == [0]
    tree = grow(data.replace(features=X), force, np.ones(len(X)), min_documents=10, **spec)
    assert tree["feature"].tolist() == [1]
    assert np.all(tree["value"] != 0)


def test_a_random_threshold_can_be_whether_the_value_is_missing():
    data, _, _ = large(4, n=200)
    missing = np.arange(200) % 3 == 0
    X = np.where(missing, np.nan, np.float32(5))[:, None].astype(np.float32)
    tree = grow(data.replace(features=X), np.where(missing, -1.0, 1.0), np.ones(200), random_thresholds=True)
    assert sorted(tree["value"]) == pytest.approx([-0.5, 0.5], rel=0.05)


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_a_sample_of_columns_is_all_a_tree_sees(share):
    data, force, curvature = large(2)
    seen = set()
    for seed in range(30):
        tree = grow(data, force, curvature, seed=seed, num_leaves=200, min_documents=2, column_sampling=share)
        assert len(set(tree["feature"])) <= share * 20
        seen |= set(tree["feature"].tolist())
    assert len(seen) == 20


def test_a_share_of_columns_is_rounded_up():
    data, force, curvature = large(2, n_features=3)
    for share, columns in ((0.1, 1), (0.4, 2), (0.5, 2), (0.7, 3)):
        tree = grow(data, force, curvature, num_leaves=200, column_sampling=share)
        assert len(set(tree["feature"].tolist())) == columns


def test_a_sample_of_columns_grows_the_tree_of_those_columns():
    data, force, curvature = large(3)
    spec = {"num_leaves": 20}
    sampled = grow(data, force, curvature, column_sampling=0.3, **spec)
    used = np.unique(sampled["feature"])
    X = np.full_like(data.features, 0)
    X[:, used] = data.features[:, used]
    assert_identical(grow(data.replace(features=X), force, curvature, **spec), sampled)


def test_a_random_threshold_leaves_documents_on_both_sides():
    data = podium.RankingData([[0.0], [1.0]] * 10, np.zeros(20), np.zeros(20, int))
    for seed in range(20):
        tree = grow(data, [-1, 1] * 10, np.ones(20), num_leaves=2, seed=seed, random_thresholds=True)
        assert tree["threshold"].tolist() == [0.5]


def test_random_thresholds_and_strength_follow_the_seed_and_still_gain():
    data, force, curvature = large(4)
    for spec in ({"random_thresholds": True}, {"random_strength": 2.0}):
        trees = [grow(data, force, curvature, seed=seed, num_leaves=10, **spec) for seed in (0, 0, 1)]
        assert_identical(trees[0], trees[1])
        assert trees[0]["threshold"].tolist() != trees[2]["threshold"].tolist()
        assert (trees[2]["gain"] > 0).all()
    best = grow(data, force, curvature, num_leaves=2)["gain"][0]
    for spec in ({"random_thresholds": True}, {"random_strength": 9.0}):
        gains = [grow(data, force, curvature, seed=seed, num_leaves=2, **spec)["gain"] for seed in range(9)]
        assert min(gain[0] for gain in gains) < best
        assert max(gain[0] for gain in gains) <= best


def test_a_tree_does_not_depend_on_those_grown_before_it():
    """Columns of few values need less memory, so that trees from samples of columns need different amounts."""
    rng = np.random.default_rng(8)
    n = 1500
    X = np.c_[rng.integers(0, 2, (n, 20)), rng.normal(size=(n, 10))].astype(np.float32)
    data = podium.RankingData(X, np.zeros(n), np.zeros(n, int))
    spec = TreesSpec(**PLAIN | {"num_leaves": 25, "column_sampling": 0.2})

    def begin() -> TreeBooster:
        return TreeBooster(spec, data, base=np.zeros(1), seed=0, num_threads=1)

    force, one = rng.normal(size=n), np.ones(n)
    together = begin()
    for number in range(25):
        together.grow(force, one, 1.0)
        alone = begin()
        alone.trees = together.trees[:number]
        alone.grow(force, one, 1.0)
        assert_identical(alone.arrays_of(number), together.arrays_of(number))


def begin_forests(data: podium.RankingData, forests: int, threads: int = 1) -> TreeBooster:
    spec = TreesSpec(**PLAIN | {"num_leaves": 7, "forests": forests, "query_sampling": 0.5})
    return TreeBooster(spec, data, base=np.zeros(1), seed=5, num_threads=threads)


@pytest.mark.parametrize(("documents", "threads"), [(40, 1), (12_000, 3)])
@pytest.mark.parametrize("forests", [1, 3])
def test_a_step_adds_what_its_trees_add_one_by_one(documents, threads, forests):
    rng = np.random.default_rng(2)
    X, qid = rng.normal(size=(documents, 4)).astype(np.float32), np.arange(documents) // 10
    data, other = (
        podium.RankingData(X, rng.integers(0, 3, documents), qid),
        podium.RankingData(X[:30], np.zeros(30), qid[:30]),
    )
    force = ForceData(data).prepared(podium.force("lambdarank(ndcg@5, noise=1, draws=2)"))
    trees, expected = begin_forests(data, forests, threads), begin_forests(data, forests)
    watched, expected_watched = (booster.watch(other, 1) for booster in (trees, expected))
    for number in range(4):
        for booster in (trees, expected):
            booster.grow_together(force, [100 * forest + number for forest in range(forests)], 0.1)
        steps = range(forests * number, forests * (number + 1))
        if number == 2:  # trees that come from elsewhere
            trees.trees[-forests:] = [trees.booster.recall_tree(**trees.arrays_of(step)) for step in steps]
        trees.add_step(watched)
        for step, own in zip(steps, expected.own, strict=True):
            for part in (expected.train, expected_watched):
                expected.add(part, [step], [1 / forests])
            if own is not expected.train:
                expected.add(own, [step], [1.0])
        found, wanted = [*trees.own, trees.train, watched], [*expected.own, expected.train, expected_watched]
        for part, like in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(part.scores, like.scores)
    weights = rng.normal(size=3).tolist()
    scaled = [dict(trees.arrays_of(t), value=trees.arrays_of(t)["value"] * weights[t]) for t in range(3)]
    assert_identical(trees.grown(weights), forest_of(scaled, trees.base, trees.categories))
