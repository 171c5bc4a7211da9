"""The same numbers as scikit-learn, SciPy and trec_eval's binding give."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sklearn_metrics

from podium.metrics import metric

SEEDS = range(20)


def query(seed: int, n: int = 40, levels: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Scores with ties and labels of several levels, at least two of them present."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, levels, n).astype(float)
    labels[:2] = 0, 1
    return rng.integers(0, n // 2, n) / 7, labels


def one(name: str, scores: np.ndarray, labels: np.ndarray) -> float:
    return float(metric(name).per_query(scores, labels, [0, len(scores)])[0])


@pytest.mark.parametrize("k", [None, 1, 5, 10, 100])
@pytest.mark.parametrize("seed", SEEDS)
def test_scikit_learn_ndcg_and_dcg(seed: int, k: int | None) -> None:
    """scikit-learn averages over ties by default; its gains are the labels themselves."""
    scores, labels = query(seed)
    at = "" if k is None else f"@{k}"
    averaged, untied = "(gain='linear', ties='average')", np.argsort(np.argsort(scores, kind="stable")).astype(float)
    assert one(f"ndcg{averaged}{at}", scores, labels) == pytest.approx(
        sklearn_metrics.ndcg_score([labels], [scores], k=k), abs=1e-12
    )
    assert one(f"dcg{averaged}{at}", scores, labels) == pytest.approx(
        sklearn_metrics.dcg_score([labels], [scores], k=k), abs=1e-12
    )
    assert one(f"ndcg(gain='linear'){at}", untied, labels) == pytest.approx(
        sklearn_metrics.ndcg_score([labels], [untied], k=k, ignore_ties=True), abs=1e-12
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_scikit_learn_auc_and_average_precision(seed: int) -> None:
    scores, labels = query(seed)
    untied = np.random.default_rng(seed).permutation(len(scores)).astype(float)
    for rel in (1, 3):
        assert one(f"auc(rel={rel})", scores, labels) == pytest.approx(
            sklearn_metrics.roc_auc_score(labels >= rel, scores), abs=1e-12
        )
        assert one(f"map(rel={rel})", untied, labels) == pytest.approx(
            sklearn_metrics.average_precision_score(labels >= rel, untied), abs=1e-12
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_scipy_kendall_tau(seed: int) -> None:
    scores, labels = query(seed, n=10 + 7 * seed)
    assert one("kendall_tau", scores, labels) == pytest.approx(stats.kendalltau(scores, labels).statistic, abs=1e-14)
    real = np.random.default_rng(seed).normal(size=len(scores))
    assert one("kendall_tau", scores, real) == pytest.approx(stats.kendalltau(scores, real).statistic, abs=1e-14)
