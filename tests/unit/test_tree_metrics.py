"""Trees trained for a metric are better at it than trees trained for NDCG, if the metrics disagree; and unusual data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_trees import PLAIN

import podium

FEW: dict[str, Any] = PLAIN | {"n_estimators": 60, "num_leaves": 4, "learning_rate": 0.1, "min_documents": 20}
MARGINS = {"map": 0.015, "mrr": 0.02, "err": 0.008, "p@5": 0.03, "wta": 0.025}


def disagreeing(seed: int, queries: int = 150, size: int = 20) -> podium.RankingData:
    """Each feature tells, with noise, whether the label reaches one level; little capacity must choose among them."""
    rng = np.random.default_rng(seed)
    n = queries * size
    labels = rng.choice(5, n, p=[0.6, 0.2, 0.1, 0.06, 0.04]).astype(float)
    X = [(labels >= level) + rng.normal(size=n) for level in (1, 2, 3, 4)]
    return podium.RankingData(np.round(np.array(X).T, 2), labels, np.repeat(np.arange(queries), size))


def value(scores: np.ndarray, data: podium.RankingData, metric: str) -> float:
    return podium.evaluate(scores, data, metric).mean[metric]


@pytest.fixture(scope="module", params=[0, 1])
def found(request) -> tuple[podium.RankingData, dict[str, np.ndarray]]:
    data = disagreeing(request.param)
    return data, {m: podium.LambdaMART(metric=m, noise=0, **FEW).fit(data).predict(data) for m in ("ndcg", *MARGINS)}


@pytest.mark.parametrize("metric", MARGINS)
def test_a_metric_is_best_served_by_its_custom_forces(found, metric):
    data, scores = found
    assert value(scores[metric], data, metric) > value(scores["ndcg"], data, metric) + MARGINS[metric]


@pytest.mark.parametrize("other", ["map", "mrr", "p@5"])
def test_ndcg_is_best_served_by_its_own(found, other):
    data, scores = found
    assert value(scores["ndcg"], data, "ndcg") > value(scores[other], data, "ndcg") + 0.02


def test_mart_has_the_least_squared_error():
    data = disagreeing(2)
    error = {kind: ((kind(**FEW).fit(data).predict(data) - data.labels) ** 2).mean() for kind in (podium.MART, podium.LambdaMART)}  # fmt: skip
    assert error[podium.MART] < 0.8 * data.labels.var() < error[podium.LambdaMART]


# ---- unusual data

QUICK: dict[str, Any] = PLAIN | {"n_estimators": 5, "num_leaves": 8, "learning_rate": 0.3}


def one_feature(labels: Any, qid: Any, seed=0) -> podium.RankingData:
    rng = np.random.default_rng(seed)
    labels = np.asarray(labels, float)
    noise = rng.normal(size=len(labels)) * (labels.std() + 1e-9) * 0.1
    return podium.RankingData(np.c_[labels + noise, rng.normal(size=len(labels))], labels, qid)


@pytest.mark.parametrize("kind", [podium.LambdaMART, podium.MART])
def test_a_hundred_thousand_documents_in_one_query(kind):
    rng = np.random.default_rng(0)
    data = one_feature(rng.integers(0, 5, 100_000), np.zeros(100_000, int))
    ranker = kind(**QUICK | {"n_estimators": 3}).fit(data)
    assert value(ranker.predict(data), data, "ndcg@10") > 0.95


@pytest.mark.parametrize("metric", ["ndcg", "map", "err"])
def test_thousands_of_documents_in_one_query_for_metrics_of_the_whole_list(metric):
    rng = np.random.default_rng(0)
    data = one_feature(rng.integers(0, 5, 3_000), np.zeros(3_000, int))
    scores = podium.LambdaMART(metric=metric, **QUICK).fit(data).predict(data)
    assert value(scores, data, metric) > value(np.zeros(3_000), data, metric)


@pytest.mark.filterwarnings("ignore:nothing is ranked")
@pytest.mark.parametrize("kind", [podium.LambdaMART, podium.MART])
def test_queries_of_one_document_teach_ranks_nothing(kind):
    data = one_feature(np.arange(50) % 4, np.arange(50))
    ranker = kind(**QUICK).fit(data)
    scores = ranker.predict(data)
    assert np.isfinite(scores).all()
    assert (np.ptp(scores) > 0) == (kind is podium.MART)  # labels alone teach something
    mixed = one_feature(np.arange(60) % 4, np.r_[np.arange(30), np.repeat([100, 101], 15)])
    long = mixed.select([30, 31])
    assert value(kind(**QUICK).fit(mixed).predict(long), long, "ndcg@10") > 0.9


@pytest.mark.filterwarnings("ignore:nothing is ranked")
@pytest.mark.parametrize("kind", [podium.LambdaMART, podium.MART])
@pytest.mark.parametrize("label", [0.0, 2.0])
def test_equal_labels_train_to_a_constant(kind, label, tmp_path):
    data = one_feature(np.full(60, label), np.repeat(np.arange(6), 10))
    ranker = kind(**QUICK).fit(data)
    scores = ranker.predict(data)
    assert (scores == scores[0]).all()
    assert scores[0] == (label if kind is podium.MART else 0.0)
    assert all(len(ranker.model_.tree(t)["value"]) == 1 for t in range(5))
    ranker.save(tmp_path / "a.podium")
    assert podium.load(tmp_path / "a.podium").predict(data).tobytes() == scores.tobytes()


def test_labels_up_to_a_million_with_linear_gain():
    rng = np.random.default_rng(1)
    data = one_feature(rng.integers(0, 10**6, 400), np.repeat(np.arange(20), 20))
    metric = "ndcg(gain='linear')@10"
    ranker = podium.LambdaMART(metric=metric, **QUICK).fit(data)
    assert podium.evaluate(ranker.predict(data), data, metric).mean[str(podium.metric(metric))] > 0.95
    mart = podium.MART(metric=metric, **QUICK | {"n_estimators": 30}).fit(data)
    assert np.corrcoef(mart.predict(data), data.labels)[0, 1] > 0.95
    tail = data.replace(labels=np.where(data.labels > 5e5, 1e6, 0.0) + rng.integers(0, 9, 400))  # no limit of 31 labels
    assert podium.LambdaMART(metric=metric, **QUICK).fit(tail).log_[-1].train > 0.95
    with pytest.raises(podium.DataError, match="label"):
        podium.LambdaMART(metric="ndcg@10", **QUICK).fit(data)  # 2^label has no number


REFUSES = ("ndcg@10", "err")


@pytest.mark.parametrize("metric", [*REFUSES, "map", "mrr", "p@5", "wta", "kendall_tau", "pairwise_error"])
def test_negative_labels_are_right_or_refused_in_words(metric):
    rng = np.random.default_rng(2)
    data = one_feature(rng.integers(-3, 2, 200), np.repeat(np.arange(10), 20))
    if metric in REFUSES:
        with pytest.raises(podium.DataError, match=r"label.* -\d"):
            podium.LambdaMART(metric=metric, **QUICK).fit(data)
    else:
        ranker = podium.LambdaMART(metric=metric, **QUICK).fit(data)
        assert np.corrcoef(ranker.predict(data), data.labels)[0, 1] > 0.5
    mart = podium.MART(metric="kendall_tau", **QUICK | {"n_estimators": 30}).fit(data)
    assert np.corrcoef(mart.predict(data), data.labels)[0, 1] > 0.9


def test_another_number_of_features_is_refused():
    data = one_feature(np.arange(40) % 4, np.repeat([0, 1], 20))
    ranker = podium.LambdaMART(**QUICK).fit(data)
    for wrong in (np.zeros((3, 1)), np.zeros((3, 3))):
        with pytest.raises(ValueError, match="features"):
            ranker.predict(wrong)
        with pytest.raises(podium.DataError, match="features"):
            ranker.model_.scores(wrong.astype(np.float32))
        with pytest.raises(podium.DataError, match="features"):
            ranker.model_.leaves(wrong.astype(np.float32))
    with pytest.raises(podium.DataError, match="features"):
        podium.LambdaMART(**QUICK).fit(data, valid=podium.RankingData(np.zeros((4, 3)), [0, 1, 0, 1], [0, 0, 1, 1]))


def test_no_features_and_features_that_say_nothing():
    labels, qid = np.arange(40) % 4, np.repeat([0, 1], 20)
    for X in (np.ones((40, 2)), np.full((40, 3), np.nan)):
        with pytest.warns(UserWarning, match="nothing is ranked"):
            scores = podium.LambdaMART(**QUICK).fit(X, labels, qid=qid).predict(X)
        assert (scores == scores[0]).all()
    with pytest.raises((podium.PodiumError, ValueError), match="feature"):
        podium.LambdaMART(**QUICK).fit(podium.RankingData(np.zeros((40, 0)), labels, qid))


@pytest.mark.parametrize("share", [1.0, 0.7])
@pytest.mark.parametrize("exponent", [-100, -31, 40, 100])
def test_the_scale_of_all_forces_changes_nothing(exponent, share):
    rng = np.random.default_rng(3)
    data = one_feature(rng.integers(0, 4, 100), np.repeat(np.arange(5), 20))
    settings = QUICK | {"row_sampling": share}
    plain = podium.LambdaMART(**settings, min_curvature=1e-3).fit(data)
    scale = 2.0**exponent
    scaled = podium.LambdaMART(**settings, min_curvature=1e-3 * scale).fit(
        data.replace(query_weights=np.full(5, scale))
    )
    assert scaled.predict(data).tobytes() == plain.predict(data).tobytes()


def test_training_that_diverges_says_so():
    data = one_feature(np.arange(100) % 4, np.repeat(np.arange(5), 20))
    huge = data.replace(labels=data.labels * 1e300)
    with pytest.raises(podium.DataError, match=r"finite; try a smaller|must be numbers of at most"):
        podium.MART(metric="kendall_tau", **QUICK | {"learning_rate": 1e10}).fit(huge)


def test_trees_and_wide_queries_of_every_size_together():
    sizes = [1, 2, 3, 500, 1, 40, 1000, 7]
    rng = np.random.default_rng(4)
    data = one_feature(rng.integers(0, 3, sum(sizes)), np.repeat(np.arange(len(sizes)), sizes))
    assert podium.LambdaMART(**QUICK).fit(data).log_[-1].train > 0.95
