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
