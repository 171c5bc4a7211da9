"""The normal distribution of the core in one and two dimensions, against 40 digits and far out in the tails."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr, owens_t

from podium import _core

mp.mp.dps = 40


def probit(x: float) -> tuple[float, float, float]:
    return tuple(_core.probit(np.array([float(x)])).tolist())


def bivariate(x: float, y: float, rho: float) -> np.ndarray:
    """−log Φ₂, minus its slopes in x, y and ρ, and its second derivatives xx, yy, xy."""
    return _core.bivariate_probit(np.array([float(x)]), np.array([float(y)]), float(rho))


def exact_log_cdf(x: mp.mpf) -> mp.mpf:
    if x > -1000:
        return mp.log(mp.erfc(-x / mp.sqrt(2)) / 2) if x < 5 else mp.log1p(-mp.erfc(x / mp.sqrt(2)) / 2)
    series = 1 - 1 / x**2 + 3 / x**4 - 15 / x**6 + 105 / x**8 - 945 / x**10
    return -(x**2) / 2 - mp.log(2 * mp.pi) / 2 - mp.log(-x) + mp.log(series)


def log_density(x: mp.mpf) -> mp.mpf:
    return -(x**2) / 2 - mp.log(2 * mp.pi) / 2


@pytest.mark.parametrize(
    "x", [30, 8, 3, 1, 0.5, 0, -0.3, -1, -2.5, -4, -6, -9.99, -10.01, -40, -1e3, -1e4, -1e8, -1e80]
)
def test_probit_in_both_tails(x):
    value, slope, bend = probit(x)
    exact = mp.mpf(x)
    log = exact_log_cdf(exact)
    h = mp.exp(log_density(exact) - log) if x > -1e6 else -exact * (1 + 1 / exact**2)
    assert value == pytest.approx(float(-log), rel=1e-14)
    assert slope == pytest.approx(float(h), rel=1e-13)
    assert bend == pytest.approx(float(h * (h + exact)) if x > -1e6 else 1.0, rel=1e-12)
    assert 0 <= bend <= 1


def test_probit_is_scipys_on_a_grid():
    x = np.linspace(-40, 10, 2001)
    found = _core.probit(x).reshape(-1, 3)
    np.testing.assert_allclose(found[:, 0], -log_ndtr(x), rtol=1e-13)


# ---- two dimensions


def exact_bivariate(x: float, y: float, rho: float) -> mp.mpf:
    """log Φ₂ by quadrature of φ(x − t) Φ((y − ρ(x − t)) / √(1 − ρ²)) over t ≥ 0, x the lower one, divided by its largest."""
    low, high, r = mp.mpf(min(x, y)), mp.mpf(max(x, y)), mp.mpf(rho)
    rest = mp.sqrt(1 - r * r)

    def log_term(t: mp.mpf) -> mp.mpf:
        return log_density(low - t) + exact_log_cdf((high - r * (low - t)) / rest)

    rate = (max(-low, mp.mpf(0)) - r * max(-high, mp.mpf(0))) / rest**2
    rate = max(min(rate, max(-low, mp.mpf(0))), mp.mpf(0)) / 2 + mp.mpf(1) / 2
    end = min(100 / rate, 20 + max(low, mp.mpf(0)))
    cuts = {end * k / 12 for k in range(13)}
    if r > 0:  # where the second factor changes fastest
        cuts |= {low - high / r + k * rest / r for k in (-8, -5, -3, -1.5, 0, 1.5, 3, 5, 8)}
    cuts = {cut for cut in cuts if 0 <= cut <= end}
    most = max(log_term(cut) for cut in cuts)
    return most + mp.log(mp.quad(lambda t: mp.exp(log_term(t) - most), sorted(cuts)))


PLACES = [(0.4, -0.7), (-1, -1), (-2.4999, -2.5001), (2, -3), (-3, 5), (-8, -7.5), (-30, -3), (-40, -39), (-1e3, -990), (-1e4, -1e4)]  # fmt: skip


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.9, 0.999])
@pytest.mark.parametrize(("x", "y"), PLACES, ids=str)
def test_two_dimensions_in_the_lower_tails(x, y, rho):
    found = bivariate(x, y, rho)
    log = exact_bivariate(x, y, rho)
    a, b, r = mp.mpf(x), mp.mpf(y), mp.mpf(rho)
    rest = mp.sqrt(1 - r * r)
    u, v = (b - r * a) / rest, (a - r * b) / rest
    slope_x = mp.exp(log_density(a) + exact_log_cdf(u) - log)
    slope_y = mp.exp(log_density(b) + exact_log_cdf(v) - log)
    slope_rho = mp.exp(log_density(a) + log_density(u) - mp.log(rest) - log)
    assert found[0] == pytest.approx(float(-log), rel=1e-13)
    for one, other in zip(found[1:4], (slope_x, slope_y, slope_rho), strict=True):
        assert one == pytest.approx(float(other), rel=1e-11, abs=1e-300)
    seconds = (slope_x * (slope_x + a) + r * slope_rho, slope_y * (slope_y + b) + r * slope_rho, slope_x * slope_y - slope_rho)  # fmt: skip
    for one, other in zip(found[4:], seconds, strict=True):  # they lie between 0 and 1/(1 − ρ²) in size
        assert one == pytest.approx(float(other), rel=3e-5, abs=1e-6 / float(rest**2))


@pytest.mark.parametrize("rho", [0.0, 0.2, 0.7, 0.95])
def test_two_dimensions_are_owens_in_the_middle(rho):
    """Φ₂(h, k; ρ) = ½Φ(h) + ½Φ(k) − T(h, a_h) − T(k, a_k), less ½ where h and k have different signs. [Owen 1956]"""
    rest = math.sqrt(1 - rho**2)
    for h in (-2.3, -0.4, 0.7, 3.1):
        for k in (-2.5, -0.9, 0.3, 2.2):
            expected = (ndtr(h) + ndtr(k)) / 2 - owens_t(h, (k - rho * h) / (h * rest)) - owens_t(k, (h - rho * k) / (k * rest)) - 0.5 * (h * k < 0)  # fmt: skip
            assert math.exp(-bivariate(h, k, rho)[0]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.9, 0.9999])
def test_closed_forms(rho):
    assert math.exp(-bivariate(0, 0, rho)[0]) == pytest.approx(0.25 + math.asin(rho) / (2 * math.pi), rel=1e-15)
    for x in (-50.0, -3.0, 0.0, 2.0):  # the other holds for sure
        assert bivariate(x, 1e50, rho)[0] == pytest.approx(probit(x)[0], rel=1e-15)
        assert bivariate(1e50, x, rho)[0] == pytest.approx(probit(x)[0], rel=1e-15)


def test_without_correlation_it_is_a_product():
    rng = np.random.default_rng(0)
    for x, y in rng.normal(size=(300, 2)) * 10.0 ** rng.uniform(-2, 4, (300, 1)):
        found, (one, other) = bivariate(x, y, 0), (probit(x), probit(y))
        np.testing.assert_allclose(found[:3], (one[0] + other[0], one[1], other[1]), rtol=1e-12, atol=1e-300)
        np.testing.assert_allclose(found[4:], (one[2], other[2], 0), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("rho", [0.0, 0.4, 0.99])
def test_chances_that_one_of_two_fails_keep_their_digits(rho):
    """For large x and y, −log Φ₂ is P(X > x or Y > y), far below the last digit of 1."""
    for x, y in ((9, 12), (20, 20.5), (30, 35)):
        smallest, largest = mp.mpf(min(x, y)), mp.mpf(max(x, y))
        chances = [mp.erfc(place / mp.sqrt(2)) / 2 for place in (smallest, largest)]
        rest = mp.sqrt(1 - mp.mpf(rho) ** 2)
        both = mp.quad(
            lambda t, s=largest, o=smallest, rest=rest: (
                mp.exp(log_density(s + t) - log_density(s)) * mp.erfc((o - rho * (s + t)) / rest / mp.sqrt(2)) / 2
            ),
            [0, 0.05, 0.2, 0.5, 2],
        )
        expected = chances[0] + chances[1] - both * mp.exp(log_density(largest))
        assert bivariate(x, y, rho)[0] == pytest.approx(float(expected), rel=1e-10)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.95])
def test_derivatives_are_slopes_everywhere_and_symmetric(rho):
    rng, step = np.random.default_rng(1), 1e-5
    places = rng.normal(size=(200, 2)) * 10.0 ** rng.uniform(-1, 1.3, (200, 1))
    edges = [(0, 0), (0, 1), (-2.5, 0), (-1e-9, 1e-9), (-2.5, -2.5 * rho), (2.5, 2.5 * rho), (1, -1)]
    for x, y in [*places, *edges]:
        found, turned = bivariate(x, y, rho), bivariate(y, x, rho)
        np.testing.assert_array_equal(found[[0, 1, 2, 3, 4, 5, 6]], turned[[0, 2, 1, 3, 5, 4, 6]])
        right, left = bivariate(x + step, y, rho), bivariate(x - step, y, rho)
        size = 1 + np.abs(found[:4]).max()
        assert (left[0] - right[0]) / (2 * step) == pytest.approx(found[1], rel=1e-6, abs=1e-7 * size)
        assert (left[1] - right[1]) / (2 * step) == pytest.approx(found[4], rel=1e-5, abs=1e-6 * size)
        assert (left[2] - right[2]) / (2 * step) == pytest.approx(found[6], rel=1e-5, abs=1e-6 * size)
        if rho > 0:
            more, less = bivariate(x, y, rho + 1e-6), bivariate(x, y, rho - 1e-6)
            assert (less[0] - more[0]) / 2e-6 == pytest.approx(found[3], rel=1e-4, abs=1e-5 * size)


@pytest.mark.parametrize("rho", [0.0, 1e-300, 0.5, 1 - 1e-6])
def test_no_place_is_too_far(rho):
    places = [0.0, 1e-300, 1, 30, 1e10, 1e100]
    for x in [*places, *(-place for place in places)]:
        for y in [*places, *(-place for place in places)]:
            found = bivariate(x, y, rho)
            assert np.isfinite(found).all()
            assert (found[:6] >= 0).all()
            assert -1e-9 - math.sqrt(found[4] * found[5]) <= found[6] <= 0
