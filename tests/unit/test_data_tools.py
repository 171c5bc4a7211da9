"""Splits, normalization, sampling and description of data, and synthetic data."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generated import ranking_data, small, with_everything
from podium import DataError, ParameterError, RankingData
from podium.data import NORMALIZATIONS, describe, folds, normalize, sample_unlabeled, split, synthetic
from podium.data.hashing import query_hashes, unit_interval

HUNDRED = RankingData(np.arange(300.0).reshape(300, 1), np.arange(300) % 3, np.repeat(np.arange(100), 3))


def shuffled(data: RankingData, seed: int) -> RankingData:
    return data.select(np.random.default_rng(seed).permutation(data.n_queries))


def ids(parts: list[RankingData]) -> list[set[Any]]:
    return [set(part.query_ids.tolist()) for part in parts]


@pytest.mark.parametrize(
    ("shares", "sizes"),
    [
        (0.8, [80, 20]),
        ((0.8, 0.2), [80, 20]),
        ((1 / 3, 1 / 3, 1 / 3), [33, 34, 33]),
        ((0.1,), [10]),
        ([0.5, 0.2], [50, 20]),
    ],
)
def test_split_sizes(shares: Any, sizes: list[int]) -> None:
    parts = split(HUNDRED, shares)
    assert [part.n_queries for part in parts] == sizes
    assert sum(map(len, ids(parts))) == len(set().union(*ids(parts)))


def test_split_does_not_depend_on_the_order_of_queries() -> None:
    assert ids(split(shuffled(HUNDRED, 5), seed=3)) == ids(split(HUNDRED, seed=3))
    assert ids(split(HUNDRED, seed=4)) != ids(split(HUNDRED, seed=3))
    first = split(HUNDRED)[0]
    assert first.query_ids.tolist() == sorted(first.query_ids.tolist())


def test_text_ids_are_split_as_the_numbers_they_print() -> None:
    text = HUNDRED.replace(query_ids=HUNDRED.query_ids.astype(np.str_))
    assert [{int(name) for name in part} for part in ids(split(text))] == ids(split(HUNDRED))


@pytest.mark.parametrize(
    ("shares", "error", "message"),
    [
        ((0.8, 0.3), ParameterError, "sum to 1.1; the sum may be at most 1"),
        ((0.8, 0.0), ParameterError, "must be numbers above 0"),
        (1.0, ParameterError, "must be between 0 and 1"),
        ((), ParameterError, "must be numbers above 0"),
        ("most", ParameterError, "must be numbers"),
        ((0.999, 0.001), DataError, "a share of 0.001 of 100 queries is less than one query"),
    ],
)
def test_split_refuses(shares: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        split(HUNDRED, shares)


def test_folds_test_every_query_once() -> None:
    pairs = list(folds(HUNDRED, 7, seed=1))
    assert sorted(test.n_queries for _, test in pairs) == [14] * 5 + [15] * 2
    assert set().union(*(ids([test])[0] for _, test in pairs)) == set(range(100))
    for train, test in pairs:
        assert ids([train])[0] == set(range(100)) - ids([test])[0]
    again = list(folds(shuffled(HUNDRED, 2), 7, seed=1))
    assert [ids([test]) for _, test in again] == [ids([test]) for _, test in pairs]


@pytest.mark.parametrize("k", [1, 0, 2.5, True])
def test_number_of_folds(k: Any) -> None:
    with pytest.raises(ParameterError, match="must be a whole number of at least 2"):
        folds(HUNDRED, k)
    with pytest.raises(DataError, match="101 folds of 100 queries"):
        folds(HUNDRED, 101)


@pytest.mark.parametrize("seed", [-1, 1.5, "x", True, 2**64])
def test_seeds(seed: Any) -> None:
    with pytest.raises(ParameterError, match=r"seed=.* must be a whole number"):
        split(HUNDRED, seed=seed)


def test_hashes_never_change() -> None:
    """Splits must be the same in all released versions, so the hash must not change."""
    assert query_hashes(np.array([1, 2]), 0).tolist() == query_hashes(["1", "2"], 0).tolist()
    assert query_hashes(["1", "a"], 7).tolist() == [8970419187803536895, 6195288916748878241]
    assert 0 <= unit_interval(query_hashes(["x"], 0))[0] < 1


def test_a_number_and_its_text_are_two_queries() -> None:
    """If one data set has both, their hashes differ, so that no choice depends on which comes first."""
    ids: list[object] = [1, "1", 2, "a"]
    made = dict(zip(map(repr, ids), query_hashes(ids, 0).tolist(), strict=True))
    assert len(set(made.values())) == 4
    assert made["'1'"] == query_hashes(["1"], 0)[0]
    assert made["2"] == query_hashes([2], 0)[0]
    for seed in range(5):
        halves = []
        for order in (ids, ids[::-1]):
            data = RankingData(np.ones((8, 1)), np.tile([0, 1], 4), [name for name in order for _ in range(2)])
            halves.append(set(map(repr, split(data, 0.5, seed=seed)[0].query_ids.tolist())))
        assert halves[0] == halves[1]


def naive(column: list[float], method: str) -> list[float]:
    values = [x for x in column if not math.isnan(x)]
    if method == "log":
        return [math.log1p(x) for x in column]
    if not values or min(values) == max(values):
        return [x if math.isnan(x) else 0.0 for x in column]
    if method == "minmax":
        return [(x - min(values)) / (max(values) - min(values)) for x in column]
    mean = sum(values) / len(values)
    deviation = math.sqrt(sum((x - mean) ** 2 for x in values) / len(values))
    return [(x - mean) / deviation for x in column]


@pytest.mark.parametrize("method", sorted(NORMALIZATIONS))
@pytest.mark.parametrize("cells", [1, 7, 1 << 22])
@settings(deadline=None, max_examples=30)
@given(data=ranking_data())
def test_normalize_equals_its_naive_twin(method: str, cells: int, data: RankingData) -> None:
    features = np.clip(np.nan_to_num(data.features, nan=np.nan), 0, 1000) * (np.abs(data.features) > 1e-3)
    data = data.replace_grouped(features=features)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("podium.data.blocks.BLOCK_CELLS", cells)
        result = normalize(data, method)
    for start, stop in zip(data.query_offsets[:-1], data.query_offsets[1:], strict=True):
        for column in range(data.n_features):
            expected = naive(features[start:stop, column].astype(float).tolist(), method)
            assert result.features[start:stop, column] == pytest.approx(expected, rel=1e-6, abs=1e-6, nan_ok=True)


def test_minmax_of_extreme_values_stays_in_range() -> None:
    largest = float(np.finfo(np.float32).max)
    data = RankingData([[-largest], [0.0], [largest]], [0, 1, 2], [1, 1, 1])
    assert normalize(data, "minmax").features[:, 0].tolist() == [0.0, 0.5, 1.0]


def test_normalize_some_features() -> None:
    data = small(feature_names=["length", "score"])
    by_name, by_number = normalize(data, "minmax", features=["score"]), normalize(data, "minmax", features=[1])
    assert np.array_equal(by_name.features, by_number.features)
    assert np.array_equal(by_name.features[:, 0], data.features[:, 0])
    assert by_name.features[:, 1] == pytest.approx([0, 1, 0, (7 - 3) / (9 - 3), 1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("minmaxx",), "unknown normalization 'minmaxx'. Did you mean 'minmax'"),
        (("minmax", ["lenght"]), "features='lenght' is not one of the 2 features; did you mean 'length'"),
        (("minmax", [2]), "features=2 is not one of the 2 features"),
        (("minmax", "length"), r"write \['length'\]"),
    ],
)
def test_normalize_refuses(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        normalize(small(feature_names=["length", "score"]), arguments[0], features=(*arguments, None)[1])
    with pytest.raises(ParameterError, match="the features have no names of their own"):
        normalize(small(), "minmax", features=["length"])


def test_log_of_a_negative_count_names_the_feature() -> None:
    X = np.ones((5, 2))
    X[3, 1] = -2
    data = small(X=X, feature_names=["length", "score"])
    with pytest.raises(DataError, match=r"feature 'score' of row 3 is -2; 'log' is for counts"):
        normalize(data, "log")
    assert normalize(data, "log", features=["length"]).features[0, 0] == pytest.approx(math.log(2))


def test_sampling() -> None:
    data = RankingData(np.zeros((10_000, 1)), np.arange(10_000) % 2, np.arange(10_000) // 100)
    half = sample_unlabeled(data, 0.5, seed=1)
    assert (half.labels == 1).sum() == 5000
    assert (half.labels == 0).sum() == pytest.approx(2500, abs=4 * math.sqrt(5000 / 4))
    assert half.n_queries == 100
    assert sample_unlabeled(data, 1.0).n_documents == 10_000
    assert (sample_unlabeled(data, 0.0).labels == 1).all()
    assert (sample_unlabeled(data, 0.0, label=1).labels == 0).all()


def test_sampling_does_not_depend_on_the_order_of_queries_and_grows_with_the_share() -> None:
    data = HUNDRED.replace(document_ids=[str(k) for k in range(300)], labels=np.zeros(300))
    kept = set(sample_unlabeled(data, 0.5).document_ids or [])
    assert set(sample_unlabeled(shuffled(data, 3), 0.5).document_ids or []) == kept
    assert set(sample_unlabeled(data, 0.4).document_ids or []) <= kept
    assert sample_unlabeled(data, 0.0).query_sizes.tolist() == [1] * 100
    with pytest.raises(ParameterError, match=r"share=1.5 must be a number from 0 to 1"):
        sample_unlabeled(data, 1.5)


def test_describe() -> None:
    X = np.array([[1, 0, np.nan], [1, 1, np.nan], [1, 2, np.nan], [1, np.nan, np.nan], [1, 3, np.nan]])
    data = with_everything().replace(feature_names=None, features=X, labels=[0, 1, 0.5, 0, 1])
    told = describe(data)
    assert json.loads(json.dumps(told.to_dict())) == told.to_dict()
    assert (told.queries, told.documents, told.features) == (2, 5, 3)
    assert told.documents_per_query == {"min": 2, "median": 2.5, "mean": 2.5, "max": 3}
    assert told.label_counts == {"0": 2, "0.5": 1, "1": 2}
    assert told.label_quantiles is None
    assert (told.queries_without_relevant, told.queries_of_one_document, told.queries_of_one_label) == (1, 0, 0)
    assert told.constant_features == ("f0", "f2")
    assert told.features_with_missing == ("f1", "f2")
    assert told.missing_share == 6 / 15
    assert (told.has_document_ids, told.has_document_weights, told.has_query_weights, told.pairs) == (
        True,
        True,
        True,
        3,
    )
    assert told.memory_bytes > data.features.nbytes


def test_describe_real_labels_by_quantiles() -> None:
    data = HUNDRED.replace(labels=np.arange(300.0))
    told = describe(data)
    assert told.label_counts is None
    assert told.label_quantiles == {"min": 0, "25%": 74.75, "median": 149.5, "75%": 224.25, "max": 299}


@settings(deadline=None)
@given(data=ranking_data(), cells=st.integers(1, 20))
def test_describe_does_not_depend_on_blocks(data: RankingData, cells: int) -> None:
    whole = describe(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("podium.data.blocks.BLOCK_CELLS", cells)
        assert describe(data) == whole


@pytest.mark.parametrize("make", [synthetic.network, synthetic.polynomial])
def test_synthetic_shape_and_levels(make: Any) -> None:
    data = make()
    assert (data.n_queries, data.n_documents, data.n_features) == (1000, 50_000, 50)
    assert np.abs(data.features).max() <= 1
    assert data.features.mean() == pytest.approx(0, abs=4 / math.sqrt(3 * data.features.size))
    levels, counts = np.unique(data.labels, return_counts=True)
    assert levels.tolist() == [0, 1, 2, 3, 4, 5]
    assert counts == pytest.approx(50_000 / 6, rel=0.05)
    assert len(np.unique(make(queries=20, levels=5).labels)) == 5


@pytest.mark.parametrize("make", [synthetic.network, synthetic.polynomial])
def test_synthetic_seeds(make: Any) -> None:
    data, again, other = make(queries=20), make(queries=20), make(queries=20, seed=1)
    assert np.array_equal(data.features, again.features)
    assert np.array_equal(data.labels, again.labels)
    assert not np.array_equal(data.features, other.features)
    longer = make(queries=30)
    assert np.array_equal(longer.features[:1000], data.features)
    assert np.array_equal(longer.labels[:1000], data.labels)
    same_task = make(queries=20, seed=1, generator_seed=0)
    assert np.array_equal(same_task.features, other.features)
    assert not np.array_equal(same_task.labels, other.labels)


def test_network_of_one_generator_is_one_function() -> None:
    """A linear fit of the labels of one set predicts those of another set of the same task, not of another task."""
    train = synthetic.network(queries=100)
    weights = np.linalg.lstsq(train.features.astype(float), train.labels - 2.5, rcond=None)[0]
    same, other = synthetic.network(queries=100, seed=1, generator_seed=0), synthetic.network(queries=100, seed=1)
    assert np.corrcoef(same.features @ weights, same.labels)[0, 1] > 0.8
    assert abs(np.corrcoef(other.features @ weights, other.labels)[0, 1]) < 0.5


def test_pairs_of_the_papers_size() -> None:
    """1,000 vectors in files of 50 gave 20,382 pairs: 1 - 1/6 of 24,500 pairs, so equally frequent levels. [RankNet, §5.1]"""
    labels = synthetic.network(queries=20).labels.reshape(20, 50)
    pairs = int((labels[:, :, None] > labels[:, None, :]).sum())
    assert pairs == pytest.approx(20_382, rel=0.01)


@pytest.mark.parametrize("generator", range(3))
def test_a_little_more_than_a_third_of_the_polynomial_is_linear(generator: int) -> None:
    """The linear term has a third of the variance, and cubic products with a repeated feature are partly linear.

    docs/reproduced/ranknet.md says that 0.35 to 0.37 of the variance of these three generators is linear.
    """
    data = synthetic.polynomial(queries=2000, levels=None, seed=100 + generator, generator_seed=generator)
    features, labels = data.features - data.features.mean(axis=0), data.labels - data.labels.mean()
    slopes = features.T @ labels / (features**2).sum(axis=0)  # features are independent, so each has its own slope
    assert 0.345 < (slopes**2 * features.var(axis=0)).sum() / labels.var() < 0.375


@pytest.mark.parametrize("make", [synthetic.network, synthetic.polynomial])
def test_synthetic_shares_of_levels(make: Any) -> None:
    shares = (0.5, 0.3, 0.15, 0.05)
    found = np.bincount(make(queries=400, levels=shares, seed=1).labels.astype(int)) / 20_000
    np.testing.assert_allclose(found, shares, atol=0.02)
    equal = make(queries=4, levels=(0.25,) * 4, seed=1)
    assert equal.labels.tolist() == make(queries=4, levels=4, seed=1).labels.tolist()
    for wrong in ((0.5, 0.4), (1.0,), (0.5, 0.5, 0.0), (1.5, -0.5), (0.5, math.nan), "ab", 1, True, 2.5):
        with pytest.raises(ParameterError, match="levels="):
            make(queries=1, levels=wrong)
    with pytest.raises(ParameterError, match="sets the share of each level"):
        make(queries=1, levels=shares, bins="width")


@pytest.mark.parametrize("make", [synthetic.network, synthetic.polynomial])
def test_synthetic_values_and_bins(make: Any) -> None:
    frequent, wide, values = (make(queries=40, **how) for how in ({}, {"bins": "width"}, {"levels": None}))
    assert np.array_equal(frequent.features, values.features)
    order = np.argsort(values.labels, kind="stable")
    assert len(np.unique(values.labels)) == values.n_documents
    for binned in (frequent, wide):
        assert (np.diff(binned.labels[order]) >= 0).all()  # levels are cuts of the values
    edges = [(values.labels[wide.labels == level].min(), values.labels[wide.labels == level].max()) for level in (2, 3)]
    widths = [high - low for low, high in edges]
    assert widths[0] == pytest.approx(widths[1], rel=0.1)
    assert np.bincount(wide.labels.astype(int)).max() > 1.5 * np.bincount(frequent.labels.astype(int)).max()


def test_networks_of_other_kinds() -> None:
    base = synthetic.network(queries=20, levels=None)
    for how in ({"bias": True}, {"activation": "sigmoid"}):
        other = synthetic.network(queries=20, levels=None, **how)
        assert np.array_equal(other.features, base.features)
        assert 0.5 < np.corrcoef(other.labels, base.labels)[0, 1] < 0.9999  # the same weights, another function
    with pytest.raises(ParameterError, match="unknown activation 'relu'"):
        synthetic.network(activation="relu")
    with pytest.raises(ParameterError, match=r"unknown bins 'widths'\. Did you mean 'width'"):
        synthetic.polynomial(bins="widths")


@pytest.mark.parametrize("name", ["queries", "documents", "features", "hidden", "levels"])
@pytest.mark.parametrize("value", [0, -1, 2.5, True])
def test_synthetic_refuses(name: str, value: Any) -> None:
    with pytest.raises(ParameterError, match=rf"{name}={value} must be a whole number"):
        synthetic.network(**{name: value})


def test_describe_keeps_labels_apart() -> None:
    labels = [1000001, 1000002, 1000002, 0.1, 0.1 + 1.5e-17, 1e300, -0.0]
    data = RankingData(np.zeros((7, 1)), labels, np.zeros(7))
    assert describe(data).label_counts == {
        "0": 1,
        "0.1": 1,
        "0.10000000000000002": 1,
        "1000001": 1,
        "1000002": 2,
        "1e+300": 1,
    }


@pytest.mark.parametrize("features", [[0.5], [True], [None], [-1], [99], 0, "f", [10**30]], ids=str)
def test_features_that_are_no_columns(features: Any) -> None:
    with pytest.raises(
        ParameterError, match=r"is not one of the .* features|must be a list|must be a feature's name or number"
    ):
        normalize(HUNDRED, "minmax", features=features)


def test_shares_and_seeds_that_are_no_numbers() -> None:
    for share in ("0.5", None, float("nan"), 2):
        with pytest.raises(ParameterError, match=r"share=.* must be a number from 0 to 1"):
            sample_unlabeled(HUNDRED, share)
    for seed in (-1, 0.5, "x", 2**64, True):
        with pytest.raises(ParameterError, match=r"seed=.* must be a whole number from 0"):
            split(HUNDRED, 0.5, seed=seed)


def test_a_description_prints_what_may_cause_trouble():
    features = [[1, 5], [2, 5], [3, 5], [4, 5], [5, 5]]
    described = describe(RankingData(features, [1, 0, 0, 0, 2], [1, 1, 2, 2, 3]))
    lines = str(described).splitlines()
    assert "documents                 5" in lines
    assert lines[-4:] == [
        "note: 1 of 3 queries has only one document, so that there is nothing to rank there",
        "note: 1 of 3 queries has one label for all documents, and no pair to learn from",
        "note: 1 of 3 queries has no document with a label of at least 1, and most metrics count 0 there",
        "note: 1 feature is constant: f1",
    ]
    assert describe(RankingData([[1], [2]], [1, 0], [1, 1])).remarks() == []
