"""Bradley–Terry scores are those of choix and of statsmodels' logistic GLM, and the standard errors are the GLM's."""

from __future__ import annotations

import choix
import numpy as np
import pytest
import statsmodels.api as sm

from podium.posteriors import BradleyTerry, Votes, bradley_terry


def counted(seed: int, n: int, share: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Votes on some pairs of n documents; a ring of pairs won once each way makes the scores exist."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n)
    a, b = np.triu_indices(n, 1)
    kept = rng.random(len(a)) < share
    a, b = np.append(a[kept], np.arange(n)), np.append(b[kept], (np.arange(n) + 1) % n)
    total = rng.integers(2, 12, len(a))
    wins = np.clip(rng.binomial(total, 1 / (1 + np.exp(truth[b] - truth[a]))), 0, total)
    wins[-n:] = np.clip(wins[-n:], 1, total[-n:] - 1)
    return a, b, wins, total - wins


def in_order(result: BradleyTerry, values: np.ndarray) -> np.ndarray:
    """The values of documents 0, 1, …, whose ids are these numbers as text."""
    return values[np.argsort([int(name) for name in result.documents])]


@pytest.mark.parametrize(("seed", "n", "share"), [(0, 4, 1.0), (1, 12, 0.5), (2, 40, 0.1), (3, 7, 0.0)])
def test_scores_are_those_of_choix(seed: int, n: int, share: float) -> None:
    a, b, wins, losses = counted(seed, n, share)
    result = bradley_terry(Votes.of_counts(None, a, b, wins, losses))
    listed = [(i, j) for i, j, count in zip(a, b, wins, strict=True) for _ in range(count)]
    listed += [(j, i) for i, j, count in zip(a, b, losses, strict=True) for _ in range(count)]
    theirs = choix.opt_pairwise(n, listed, alpha=0, tol=1e-12)
    np.testing.assert_allclose(in_order(result, result.scores), theirs - theirs.mean(), atol=1e-6)
    assert result.log_likelihood == pytest.approx(
        sum(choix.utils.log_likelihood_pairwise([pair], theirs) for pair in listed)
    )


@pytest.mark.parametrize(("seed", "n", "share"), [(0, 4, 1.0), (1, 12, 0.5), (2, 40, 0.1), (3, 7, 0.0)])
def test_scores_and_standard_errors_are_those_of_a_glm(seed: int, n: int, share: float) -> None:
    a, b, wins, losses = counted(seed, n, share)
    result = bradley_terry(Votes.of_counts(None, a, b, wins, losses))
    design = np.zeros((len(a), n))
    design[np.arange(len(a)), a] = 1
    design[np.arange(len(a)), b] = -1
    glm = sm.GLM(np.column_stack([wins, losses]), design[:, 1:], family=sm.families.Binomial()).fit(tol=1e-14)
    theirs = np.append(0, glm.params)
    np.testing.assert_allclose(in_order(result, result.scores), theirs - theirs.mean(), atol=1e-6)
    for k in range(1, n):  # the GLM holds document 0 at 0
        gap = result.difference(str(k), "0")
        assert gap.difference == pytest.approx(glm.params[k - 1], abs=1e-6)
        assert gap.standard_error == pytest.approx(glm.bse[k - 1], abs=1e-6)
    covariance = np.zeros((n, n))
    covariance[1:, 1:] = glm.cov_params()
    centering = np.eye(n) - 1 / n
    errors = np.sqrt(np.diag(centering @ covariance @ centering))
    np.testing.assert_allclose(in_order(result, result.standard_errors), errors, atol=1e-6)
