"""Tests whether two systems differ by more than chance, from the differences of paired queries.

Each test takes the differences that `paired_differences` gives, and its p-value does not depend on the order of queries.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
ROUNDING = 1e-12  # relative to a metric's value: thousands of times its last bit, far below any difference of rankings


def paired_differences(first: Floats, second: Floats) -> Floats:
    """Return first − second, with sizes that differ only by rounding made equal.

    1 − 2/3 and 2/3 − 1/3 differ in the last bit, and 0.1 + 0.2 − 0.3 is not 0. Differences that lie within the rounding of
    the values they come from become ties here, as they are in exact arithmetic: their sizes are set to the smallest among
    them, and to 0 where the two values themselves are equal up to rounding.
    """
    differences = first - second
    rounding = ROUNDING * np.maximum(np.abs(first), np.abs(second))
    sizes = np.where(np.abs(differences) <= rounding, 0.0, np.abs(differences))
    order = np.argsort(sizes, kind="stable")
    order = order[sizes[order] > 0]
    starts = np.diff(sizes[order], prepend=-np.inf) > np.maximum(rounding[order], np.roll(rounding[order], 1))
    sizes[order] = sizes[order][starts][np.cumsum(starts) - 1]
    return np.copysign(sizes, differences) + 0.0  # no −0


def wilcoxon(differences: Floats, *, n_randomizations: int, seed: int) -> float:
    """Wilcoxon's signed rank test, two-sided; zero differences are dropped. [Wilcoxon 1945]"""
    nonzero = np.sort(differences[differences != 0])
    if len(nonzero) == 0:
        return 1.0
    from scipy import stats  # takes most of a second to import, which only this test needs

    return float(stats.wilcoxon(nonzero, zero_method="wilcox", alternative="two-sided").pvalue)


def paired_t(differences: Floats, *, n_randomizations: int, seed: int) -> float:
    """Student's t on the differences, two-sided: t = mean / (sd / √n) with n − 1 degrees of freedom."""
    n = len(differences)
    if n < 2 or not differences.any():
        return 1.0
    if differences.min() == differences.max():
        return 0.0
    from scipy import special

    unit = np.sort(differences) / float(np.abs(differences).max())  # squares of large values would overflow
    error = float(unit.std(ddof=1)) / math.sqrt(n)
    return float(2 * special.stdtr(n - 1, -abs(math.fsum(unit.tolist()) / n / error)))


def randomization(differences: Floats, *, n_randomizations: int, seed: int) -> float:
    """How often random signs make the sum of differences at least as far from 0. [Fisher 1935; Smucker et al. 2007]

    All 2^n signs are listed where there are at most `n_randomizations`; otherwise as many are drawn, and the order
    observed counts as one more draw: p = (1 + reached) / (1 + drawn). Signs are drawn for the sizes of the differences,
    sorted, so that neither the order of queries nor that of the two systems matters. Sums that are equal up to rounding
    are equal.
    """
    sizes = np.sort(np.abs(differences[differences != 0]))
    n = len(sizes)
    if n == 0:
        return 1.0
    threshold = abs(math.fsum(differences.tolist())) - ROUNDING * math.fsum(sizes.tolist())
    if n < 60 and 2**n <= n_randomizations:
        numbers = np.arange(2**n)
        signs = 1.0 - 2.0 * ((numbers[:, None] >> np.arange(n)) & 1)
        return float((np.abs(signs @ sizes) >= threshold).mean())
    rng = np.random.default_rng(seed)
    chunk = max(1, 4_000_000 // n)
    reached = 0
    for done in range(0, n_randomizations, chunk):
        draws = min(chunk, n_randomizations - done)
        signs = 1.0 - 2.0 * rng.integers(0, 2, (draws, n), dtype=np.int8)
        reached += int((np.abs(signs @ sizes) >= threshold).sum())
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
