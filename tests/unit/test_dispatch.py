"""The kernels for machines without AVX2 give the same results as those with it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import podium
from podium import _core
from podium.metrics import METRICS


@pytest.fixture
def baseline() -> Iterator[None]:
    assert not _core.use_avx2(False)
    yield
    _core.use_avx2(True)
    _core.use_avx512(True)


def values(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> list[bytes]:
    cutoffs = {True: (None, 1, 4, 7, 10, 20, 32, 33), False: (None,)}
    metrics = [d(cutoff=k) for d in METRICS.values() for k in cutoffs[d.takes_cutoff]]
    return [m.per_query(scores, labels, offsets, num_threads=1).tobytes() for m in metrics]


@pytest.mark.parametrize("levels", [2, 30, 10**9], ids=lambda n: f"{n} scores")
def test_metrics_without_avx2(levels: int, baseline: None) -> None:
    rng = np.random.default_rng(levels)
    offsets = np.append(0, np.cumsum([*range(1, 70), 100, 255, 256, 257, 1000]))
    scores = rng.integers(0, levels, offsets[-1]).astype(float)
    scores[rng.random(len(scores)) < 0.02] = -np.inf
    labels = rng.integers(0, 5, offsets[-1])
    plain = values(scores, labels, offsets)
    order = np.lexsort((-scores, np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))))  # stable: ties as given
    ranked = np.arange(len(scores), 0, -1.0)
    dcg = METRICS["dcg"](cutoff=10)
    assert (dcg.per_query(scores, labels, offsets) == dcg.per_query(ranked, labels[order], offsets)).all()
    _core.use_avx2(True)
    assert plain == values(scores, labels, offsets)


def test_the_search_for_infinity_without_avx2(baseline: None) -> None:
    for where in (0, 7, 8, 63, 999):
        features = np.zeros((100, 10), np.float32)
        features.flat[where] = -np.inf
        assert _core.first_infinite(features, 1) == where


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("share", [0.02, 0.4])
def test_lambdas_without_avx2(name: str, share: float, baseline: None) -> None:
    rng = np.random.default_rng(0)
    labels = np.where(rng.random(403) < share, rng.integers(1, 5, 403), 0)
    data = podium.RankingData(np.zeros((403, 1)), labels, np.zeros(403))
    force, scores = podium.force(f"lambdarank({name})"), rng.normal(size=403)
    plain = [part.tobytes() for part in force(scores, data)]
    _core.use_avx2(True)
    assert plain == [part.tobytes() for part in force(scores, data)]


@pytest.mark.parametrize("sizes", [[*range(1, 60)], [63, 64, 65, 66, 200, 403]], ids=["short", "long"])
@pytest.mark.parametrize(
    "metric", ["ndcg@10", "ndcg@4", "dcg@7", "p@3", "ndcg(gain=(0, 3, 1, 2, 2))@10", "wta", "recall@32"]
)
@pytest.mark.parametrize(
    "settings",
    [
        "noise=1, draws=3",
        "noise=1, draws=20, truncation=2",
        "noise=1",
        "noise=1, draws=3, normalize=True",
        "normalize=True",
        "sigma=2.5, noise=0.3, normalize=True",
        "truncation=2, noise=1",
        "truncation=13, noise=1",
        "truncation=500, noise=1",
    ],
)
def test_first_ranks_without_avx2(sizes: list[int], metric: str, settings: str, baseline: None) -> None:
    """With AVX2, pairs of the first ranks are computed by another way, which has the same bits, and averages in wider vectors."""
    rng = np.random.default_rng(1)
    qid = np.repeat(np.arange(len(sizes)), sizes)
    labels = rng.choice(5, size=len(qid), p=[0.5, 0.3, 0.1, 0.06, 0.04])
    data = podium.RankingData(np.zeros((len(qid), 1)), labels, qid)
    force = podium.force(f"lambdarank({metric}, {settings})")
    for scores in (rng.normal(size=len(qid)), rng.integers(0, 3, len(qid)).astype(float)):
        _core.use_avx2(False)
        plain = [part.tobytes() for part in force(scores, data)]
        _core.use_avx2(True)
        for wide in (False, True):
            _core.use_avx512(wide)
            assert plain == [part.tobytes() for part in force(scores, data)]
    assert np.frombuffer(plain[0]).any()


@pytest.mark.parametrize("n_features", [7, 20, 46, 140])
@pytest.mark.parametrize("growth", ["leaf", "symmetric"])
def test_sampled_columns_without_avx2(n_features: int, growth: str, baseline: None) -> None:
    rng = np.random.default_rng(n_features)
    data = podium.RankingData(rng.normal(size=(600, n_features)), rng.integers(0, 3, 600), np.repeat(np.arange(30), 20))

    def trained() -> list[bytes]:
        ranker = podium.LambdaMART(
            n_estimators=5, growth=growth, column_sampling=0.5, query_sampling=0.7, forests=1, num_threads=1
        ).fit(data)
        return [value.tobytes() for value in ranker.model_.arrays().values()]

    plain = trained()
    _core.use_avx2(True)
    assert plain == trained()
