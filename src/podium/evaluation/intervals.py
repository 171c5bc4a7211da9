"""Confidence intervals of a mean over queries.

Values are sorted first, so that no interval depends on the order of the queries.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from podium.data.conversion import as_number
from podium.errors import ParameterError, UnknownNameError

Floats = npt.NDArray[np.float64]
Interval = tuple[float, float]
Bounds = tuple[float | None, float | None]
MAX_CONFIDENCE = 0.9999
LEAST_DRAWS = 2000
DRAWS_PER_TAIL = 10
NO_SPREAD = 1e-12  # a resample whose variance is below this share of the sample's variance has none


def student_interval(values: Floats, confidence: float) -> Interval:
    """Return mean ± t·SE, with SE = standard deviation / √n and t of Student's distribution with n − 1 degrees.

    It contains 0 exactly where the paired t test of the same values does not reject. NaN values are left out. [Student 1908]
    """
    from scipy import special  # takes a while to import, which only this needs

    return _symmetric(values, lambda n: float(-special.stdtrit(n - 1, (1 - confidence) / 2)))


def normal_interval(values: Floats, confidence: float) -> Interval:
    """Return mean ± z·SE, with SE = standard deviation / √n and z of the normal distribution: 1.96 for 95 %.

    The papers use it. It is too narrow for few values: at 10 queries it covers the true mean about 91 times of 100.
    """
    return _symmetric(values, lambda n: -NormalDist().inv_cdf((1 - confidence) / 2))


METHODS: dict[str, Callable[[Floats, float], Interval]] = {"student": student_interval, "normal": normal_interval}


def _symmetric(values: Floats, quantile: Callable[[int], float]) -> Interval:
    counted = _counted(values)
    n, scale = len(counted), float(np.abs(counted).max(initial=0.0))
    if n < 2:
        return math.nan, math.nan
    if scale == 0:
        return 0.0, 0.0
    unit = counted / scale  # squares of large values would overflow
    mean, reach = float(unit.mean()), quantile(n) * _deviation(unit) / math.sqrt(n)
    return scale * (mean - reach), scale * (mean + reach)


def bootstrap_interval(
    values: Floats,
    confidence: float,
    draws: int,
    seed: int,
    bounds: Bounds = (None, None),
) -> Interval:
    """Return the studentized bootstrap interval of the mean. [Efron and Tibshirani 1993, chapter 12]

    Each draw takes n values with replacement and gives t = (its mean − mean) / (its SE). The interval is
    mean − t_high·SE to mean − t_low·SE, with the quantiles of those t in place of Student's. It follows skewed values, where
    mean ± reach does not. Where a resample has no spread t is infinite, so that with very few values the interval ends at
    `bounds`, the range of the metric (None if it has none). NaN values are left out.
    """
    counted = _counted(values)
    n = len(counted)
    if n < 2:
        return math.nan, math.nan
    mean = math.fsum(counted.tolist()) / n
    scale = float(np.abs(counted - mean).max())
    if counted[0] == counted[-1] or scale == 0:
        return float(counted[0]), float(counted[0])
    unit = (counted - mean) / scale
    ratios = np.sort(_student_ratios(unit, draws, seed))
    tail = (1 - confidence) / 2
    low, high = ratios[math.floor(tail * (draws - 1))], ratios[math.ceil((1 - tail) * (draws - 1))]
    error = scale * _deviation(unit) / math.sqrt(n)
    return within((mean - float(high) * error, mean - float(low) * error), bounds)


def _student_ratios(centered: Floats, draws: int, seed: int) -> Floats:
    """Return (mean of a resample) / (its standard error), for each draw from values whose mean is 0."""
    n = len(centered)
    rng = np.random.default_rng(seed)
    least = NO_SPREAD * float(centered.var(ddof=1))
    chunk = max(1, 2_000_000 // n)
    parts = []
    for done in range(0, draws, chunk):
        drawn = centered[rng.integers(0, n, (min(chunk, draws - done), n))]
        means = drawn.mean(axis=1)
        variance = (np.einsum("ij,ij->i", drawn, drawn) / n - means**2) * (n / (n - 1))
        flat = variance <= least
        ratios = means / np.sqrt(np.where(flat, 1.0, variance) / n)
        parts.append(np.where(flat & (means != 0), np.copysign(np.inf, means), ratios))
    return np.concatenate(parts)


def within(interval: Interval, bounds: Bounds) -> Interval:
    """Return an interval that ends where the range of its metric does; None is no bound, and NaN stays NaN."""
    (low, high), (least, most) = interval, bounds
    if math.isnan(low) or math.isnan(high):
        return interval
    return low if least is None else max(low, least), high if most is None else min(high, most)


def _counted(values: Floats) -> Floats:
    return np.sort(values[~np.isnan(values)])


def _deviation(values: Floats) -> float:
    """Return the standard deviation, exactly 0 if all values are equal."""
    return 0.0 if values.min() == values.max() else float(values.std(ddof=1))


def check_confidence(confidence: float) -> float:
    """Return the confidence as a float, after checking that it lies above 0 and is at most 0.9999."""
    number = as_number(confidence)
    if number is None or not 0 < number < 1:
        raise ParameterError("confidence", confidence, "must lie between 0 and 1", "give a share such as 0.95")
    if number > MAX_CONFIDENCE:
        raise ParameterError(
            "confidence",
            confidence,
            f"must be at most {MAX_CONFIDENCE}",
            "no sample of queries shows the tails that a higher confidence rests on; give a share such as 0.95",
        )
    return float(number)


def check_method(interval: str) -> str:
    """Return the name of an interval, after checking that there is one of that name."""
    if not isinstance(interval, str) or interval not in METHODS:
        raise UnknownNameError("interval", interval, METHODS)
    return interval


def check_draws(bootstrap: int | None, confidence: float) -> int:
    """Return how many times the bootstrap draws: enough that about ten draws lie beyond each end, unless told otherwise."""
    if bootstrap is None:
        return max(LEAST_DRAWS, math.ceil(2 * DRAWS_PER_TAIL / (1 - confidence)))
    draws = check_count("bootstrap", bootstrap)
    if draws * (1 - confidence) / 2 < 1:
        raise ParameterError(
            "bootstrap",
            bootstrap,
            f"draws are too few for confidence={confidence:g}: less than one lies beyond each end",
            f"give at least {math.ceil(2 / (1 - confidence))}, or leave it out",
        )
    return draws


def check_count(name: str, count: int, least: int = 1) -> int:
    """Return the count, after checking that it is a whole number of at least `least`."""
    number = as_number(count)
    if not isinstance(number, int) or not least <= number < 2**63:
        raise ParameterError(name, count, f"must be a whole number of at least {least}")
    return number
