"""Is the difference of two systems more than chance? Tests on the differences of paired queries."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def wilcoxon(differences: Floats, *, n_randomizations: int, seed: int) -> float:
    """Wilcoxon's signed rank test, two-sided; zero differences are dropped. [Wilcoxon 1945]"""
    nonzero = differences[differences != 0]
    if len(nonzero) == 0:
        return 1.0
    from scipy import stats  # takes most of a second to import, which only this test needs

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy warns of small samples; the p-value it gives is the one to report
        return float(stats.wilcoxon(nonzero, zero_method="wilcox", alternative="two-sided").pvalue)


def paired_t(differences: Floats, *, n_randomizations: int, seed: int) -> float:
    """Student's t on the differences, two-sided: t = mean / (sd / √n) with n − 1 degrees of freedom."""
    n = len(differences)
    mean = float(differences.mean()) if n else 0.0
    if n < 2 or not differences.any():
        return 1.0
    error = float(differences.std(ddof=1)) / math.sqrt(n)
    if error == 0:
        return 0.0
    from scipy import special

    return float(2 * special.stdtr(n - 1, -abs(mean / error)))


def randomization(differences: Floats, *, n_randomizations: int, seed: int) -> float:
    """How often random signs make the sum of differences at least as far from 0. [Fisher 1935; Smucker et al. 2007]

    All 2^n signs are listed where there are at most `n_randomizations`; otherwise as many are drawn, and the order
    observed counts as one more draw: p = (1 + reached) / (1 + drawn).
    """
    nonzero = differences[differences != 0]
    n = len(nonzero)
    if n == 0:
        return 1.0
    threshold = abs(float(nonzero.sum())) - 1e-12 * float(np.abs(nonzero).sum())
    chunk = max(1, 4_000_000 // n)
    if n < 60 and 2**n <= n_randomizations:
        numbers = np.arange(2**n)
        signs = 1.0 - 2.0 * ((numbers[:, None] >> np.arange(n)) & 1)
        return float((np.abs(signs @ nonzero) >= threshold).mean())
    rng = np.random.default_rng(seed)
    reached = 0
    for done in range(0, n_randomizations, chunk):
        draws = min(chunk, n_randomizations - done)
        signs = 1.0 - 2.0 * rng.integers(0, 2, (draws, n), dtype=np.int8)
        reached += int((np.abs(signs @ nonzero) >= threshold).sum())
    return (1 + reached) / (1 + n_randomizations)


TESTS: dict[str, Callable[..., float]] = {
    "wilcoxon": wilcoxon,
    "t": paired_t,
    "randomization": randomization,
}


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction of m p-values: the k-th smallest times m − k + 1, never falling, at most 1. [Holm 1979]"""
    corrected = [1.0] * len(p_values)
    highest = 0.0
    for k, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        highest = max(highest, min(1.0, p_values[index] * (len(p_values) - k)))
        corrected[index] = highest
    return corrected
