"""Workers that each hold some of the queries train the model of one process, byte for byte."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import podium
from in_process import together, train_together
from podium.data import RankingData
from podium.exchange import ALONE, exact_sum
from podium.training import Trained, train

RANDOM = np.random.default_rng(11)
QUERIES = 30


def made(queries: int, first: int, *, weights: bool = False, pairs: bool = False) -> RankingData:
    """Return queries of different lengths with few-valued, missing and categorical features."""
    sizes = RANDOM.integers(1, 18, queries)
    n = int(sizes.sum())
    features = RANDOM.normal(size=(n, 7)).astype(np.float32)
    features[:, 1] = np.rint(features[:, 1])
    features[:, 2] = RANDOM.integers(0, 9, n)
    features[:, 3] = np.where(RANDOM.random(n) < 0.2, np.nan, features[:, 3])
    features[:, 4] = RANDOM.random(n) < 0.3
    worth = features[:, 0] + (features[:, 2] % 3 == 1) + np.nan_to_num(features[:, 3]) * 0.5 + RANDOM.normal(size=n)
    labels = np.digitize(worth, [-0.5, 0.5, 1.5, 2.5]).astype(float)
    qid = np.repeat(np.arange(first, first + queries), sizes)
    more: dict[str, Any] = {}
    if weights:
        more["document_weights"] = RANDOM.random(n) + 0.1
        more["query_weights"] = RANDOM.random(queries) + 0.1
    if pairs:
        better, worse = np.arange(n - 1), np.arange(1, n)
        same = qid[better] == qid[worse]
        more["pairs"] = podium.Pairs(better[same], worse[same], np.full(same.sum(), 0.9), np.ones(same.sum()))
    return RankingData(features, labels, qid, **more)


DATA, VALID = made(QUERIES, 0), made(QUERIES, 1000)
WEIGHTED = made(QUERIES, 0, weights=True)
PAIRS = made(QUERIES, 0, pairs=True)
TREES = "trees(num_leaves=8, forests=1, row_sampling=1.0, query_sampling=1.0, column_sampling=1.0, min_documents=1)"

CASES: dict[str, tuple[str, str, str, RankingData]] = {
    "leaf-wise": ("lambdarank(ndcg@10)", TREES, "boosting(rounds=6)", DATA),
    "large leaves": (
        "lambdarank(ndcg@10)",
        TREES.replace("min_documents=1", "min_documents=25").replace("leaves=8", "leaves=31"),
        "boosting(rounds=6)",
        DATA,
    ),
    "by depth": (
        "ranknet",
        TREES.replace("forests=1", "forests=1, growth='depth', max_depth=4"),
        "boosting(rounds=6)",
        DATA,
    ),
    "symmetric": (
        "lambdarank(ndcg@10)",
        TREES.replace("forests=1", "forests=1, growth='symmetric'"),
        "boosting(rounds=6)",
        DATA,
    ),
    "symmetric, large leaves": (
        "lambdarank(map)",
        "trees(num_leaves=16, forests=1, growth='symmetric', min_documents=12, row_sampling=0.7)",
        "boosting(rounds=6)",
        DATA,
    ),
    "four forests": ("lambdarank(ndcg@10)", "trees(forests=4)", "boosting(rounds=4)", DATA),
    "rows by force": ("ranknet", "trees(row_sampling=0.4, forests=1)", "boosting(rounds=6)", DATA),
    "uniform rows": ("ranknet", "trees(row_sampling=0.4, sampling='uniform', forests=2)", "boosting(rounds=4)", DATA),
    "columns": ("listnet", "trees(column_sampling=0.4, forests=1)", "boosting(rounds=6)", DATA),
    "monotone and categorical": (
        "lambdarank(ndcg@10)",
        "trees(num_leaves=12, forests=1, monotone={0: 1, 5: -1}, categorical=[2])",
        "boosting(rounds=6)",
        DATA,
    ),
    "random splits": (
        "ranknet",
        "trees(num_leaves=12, forests=1, random_strength=0.5, min_documents=9)",
        "boosting(rounds=6)",
        DATA,
    ),
    "random thresholds": ("ranknet", "trees(forests=1, random_thresholds=True)", "boosting(rounds=6)", DATA),
    "few bins": ("ranknet", "trees(max_bins=4, forests=1)", "boosting(rounds=6)", DATA),
    "dart": ("lambdarank(ndcg@10)", "trees", "boosting(rounds=8, dart=0.3)", DATA),
    "weights": ("ranknet", "trees(num_leaves=8)", "boosting(rounds=6)", WEIGHTED),
    "pairs": ("ranknet", "trees(num_leaves=8)", "boosting(rounds=6)", PAIRS),
    "noise": ("lambdarank(ndcg@5, noise=0.5)", "trees", "boosting(rounds=4)", DATA),
    "squared": ("squared", "trees", "boosting(rounds=4)", WEIGHTED),
    "thresholds": ("ordinal", "trees", "boosting(rounds=4)", DATA),
    "several outputs": ("multiclass", "trees(forests=2)", "boosting(rounds=3)", DATA),
    "stumps": ("exponential", "trees(num_leaves=2)", "stumps(rounds=5)", DATA),
    "early stopping": ("lambdarank(ndcg@10)", "trees", "boosting(rounds=60, early_stopping_rounds=2)", DATA),
}
METRICS = {"by depth": "map", "squared": "err", "early stopping": "ndcg@3"}


def plan_of(name: str) -> Any:
    force, model, schedule, data = CASES[name]
    ranker = podium.Ranker(
        force=force, model=model, schedule=schedule, metric=METRICS.get(name, "ndcg@10"), seed=5, num_threads=1
    )
    return ranker._plan(data)


def check_same(expected: Trained, found: Trained) -> None:
    for name, array in expected.model.arrays().items():
        assert array.tobytes() == found.model.arrays()[name].tobytes(), name
    assert found.thresholds.tobytes() == expected.thresholds.tobytes()
    assert (found.best_epoch, found.best_value) == (expected.best_epoch, expected.best_value)
    assert [(row.train, row.valid) for row in found.log] == [(row.train, row.valid) for row in expected.log]


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
@pytest.mark.parametrize("name", CASES)
def test_any_number_of_workers_trains_the_same_model(name: str, workers: int) -> None:
    plan, data = plan_of(name), CASES[name][3]
    valid = VALID if data.pairs is None else None
    expected = train(plan, data, valid=valid)
    assert expected.model.n_trees > 0
    found, _ = train_together(plan, data, valid, workers, seed=workers)
    for each in found:
        check_same(expected, each)


def test_histograms_that_do_not_fit_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from podium.models import growing

    for name in ("leaf-wise", "symmetric, large leaves"):
        plan, data = plan_of(name), CASES[name][3]
        expected = train(plan, data, valid=VALID)
        for slots in (1, 4, 7, 9, 14):
            monkeypatch.setattr(growing, "HISTOGRAM_BYTES", slots * 7 * 257 * 8)
            for each in train_together(plan, data, VALID, 2)[0]:
                check_same(expected, each)


def test_features_that_share_bytes_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from podium.models import growing

    plan, data = plan_of("leaf-wise"), CASES["leaf-wise"][3]
    expected = train(plan, data, valid=VALID)
    monkeypatch.setattr(growing, "SHARED_BYTE_DOCUMENTS", 0)
    for each in train_together(plan, data, VALID, 3)[0]:
        check_same(expected, each)


def test_bins_come_from_a_sample_that_each_worker_draws_its_part_of(monkeypatch: pytest.MonkeyPatch) -> None:
    from podium.models import growing

    monkeypatch.setattr(growing, "BIN_SAMPLE_DOCUMENTS", 90)
    plan, data = plan_of("leaf-wise"), CASES["leaf-wise"][3]
    expected = train(plan, data, valid=VALID)
    for each in train_together(plan, data, VALID, 3)[0]:
        check_same(expected, each)


def test_sums_of_floats_are_exact() -> None:
    numbers = (RANDOM.normal(size=300) * 10.0 ** RANDOM.integers(-40, 40, 300)).tolist()
    for workers in (1, 2, 5):
        found, _ = together(workers, lambda k, exchange: exchange.fsum(numbers[k::workers], [])[0:2])  # noqa: B023
        assert found == [ALONE.fsum(numbers, [])] * workers
    assert exact_sum([]) == []
    assert exact_sum([1e300, 1.0, -1e300]) == [1.0]
    assert exact_sum([float("nan")])[0] != 0
    found, _ = together(2, lambda k, exchange: exchange.mean(np.array([[], [1.0, 2.0]][k])))
    assert found == [1.5, 1.5]
    assert together(2, lambda k, exchange: exchange.mean(np.array([])))[0] == [None, None]
