"""The convex solvers reach the optimum, certify it, cope with difficult functions, and resume to the same bits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from podium.errors import DataError, ParameterError
from podium.training.bundle import BundleSettings, BundleSolver
from podium.training.convex import Oracle, SolverStatus, combine, dot, regularized
from podium.training.lbfgs import SLOPE_LEFT, SUFFICIENT_FALL, LBFGSSettings, LBFGSSolver, LineSearchPoint, wolfe_search
from podium.training.simplex_qp import solve_on_simplex, solve_positive

Function = Callable[[np.ndarray], float]


def run(solver: LBFGSSolver | BundleSolver, oracle: Oracle, steps: int = 2000) -> SolverStatus:
    for _ in range(steps):
        if (verdict := solver.step(oracle)).done:
            return verdict
    raise AssertionError(f"not done in {steps} steps")


def quadratic(seed: int, n: int = 30, condition: float = 1e4) -> tuple[Oracle, np.ndarray]:
    """Return ½ wᵀQw − b·w with eigenvalues from 1 / condition to 1, and its minimum."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(n, n)))[0]
    q = basis @ np.diag(np.geomspace(1 / condition, 1, n)) @ basis.T
    b = rng.normal(size=n)
    return (lambda w: (float(0.5 * w @ q @ w - b @ w), q @ w - b)), np.linalg.solve(q, b)


def logistic(seed: int, n: int = 200, d: int = 8) -> Oracle:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, d)) + 0.3

    def risk(w: np.ndarray) -> tuple[float, np.ndarray]:
        margin = z @ w
        return float(np.logaddexp(0, -margin).mean()), -z.T @ (1 / (1 + np.exp(margin))) / n

    return risk


def hinge(seed: int, n: int = 80, d: int = 6) -> tuple[Oracle, np.ndarray]:
    """Mean of max(0, 1 − z·w), and the z."""
    z = np.random.default_rng(seed).normal(size=(n, d)) + 0.2

    def risk(w: np.ndarray) -> tuple[float, np.ndarray]:
        inside = z @ w < 1
        return float(np.maximum(0, 1 - z @ w).mean()), -(z * inside[:, None]).sum(0) / n

    return risk, z


def hinge_optimum(z: np.ndarray, strength: float) -> float:
    """min ½λ‖w‖² + mean max(0, 1 − z·w), as a quadratic program with a slack each, by SciPy."""
    n, d = z.shape
    found = optimize.minimize(
        lambda x: (0.5 * strength * x[:d] @ x[:d] + x[d:].mean(), np.r_[strength * x[:d], np.full(n, 1 / n)]),
        np.r_[np.zeros(d), np.ones(n)],
        jac=True,
        method="SLSQP",
        bounds=[(None, None)] * d + [(0, None)] * n,
        constraints={
            "type": "ineq",
            "fun": lambda x: z @ x[:d] + x[d:] - 1,
            "jac": lambda x: np.hstack([z, np.eye(n)]),
        },
        options={"maxiter": 500, "ftol": 1e-14},
    )
    assert found.success, found.message
    return float(found.fun)


class TestSums:
    def test_dot_and_combine(self) -> None:
        rng = np.random.default_rng(0)
        a, b, rows = rng.normal(size=1000), rng.normal(size=1000), rng.normal(size=(7, 1000))
        assert dot(a, b) == pytest.approx(a @ b, rel=1e-12)
        np.testing.assert_allclose(combine(a[:7], rows), a[:7] @ rows, rtol=1e-12, atol=1e-14)

    def test_regularized(self) -> None:
        value, gradient = regularized(lambda w: (1.0, 2 * w), 3.0)(np.array([1.0, 2.0]))
        assert value == 1 + 0.5 * 3 * (1 + 4)
        assert gradient.tolist() == [2 + 3, 4 + 6]


class TestLBFGS:
    @pytest.mark.parametrize("history", [1, 5, 40])
    def test_quadratic(self, history: int) -> None:
        oracle, optimum = quadratic(0, condition=100)
        solver = LBFGSSolver(np.zeros(30), LBFGSSettings(tolerance=1e-10, history=history))
        assert run(solver, oracle) is SolverStatus.CONVERGED
        np.testing.assert_allclose(solver.w, optimum, rtol=1e-7, atol=1e-7)
        assert len(solver.moves) == len(solver.changes) == min(history, solver.steps)

    def test_ill_conditioned(self) -> None:
        oracle, optimum = quadratic(1, condition=1e6)
        solver = LBFGSSolver(np.zeros(30), LBFGSSettings(tolerance=1e-7))
        assert run(solver, oracle, 1000) is SolverStatus.CONVERGED
        np.testing.assert_allclose(solver.w, optimum, rtol=0, atol=1e-5 * np.abs(optimum).max())

    def test_rosenbrock(self) -> None:
        """Rosenbrock's function is not convex; the line search must follow its curved valley."""
        solver = LBFGSSolver(np.tile([-1.2, 1.0], 5), LBFGSSettings(tolerance=1e-9))
        oracle = lambda w: (float(optimize.rosen(w)), optimize.rosen_der(w))  # noqa: E731
        assert run(solver, oracle) is SolverStatus.CONVERGED
        np.testing.assert_allclose(solver.w, 1.0, rtol=1e-6)

    def test_same_optimum_as_scipy(self) -> None:
        objective = regularized(logistic(2), 0.01)
        solver = LBFGSSolver(np.zeros(8), LBFGSSettings(tolerance=1e-9))
        assert run(solver, objective, 50) is SolverStatus.CONVERGED
        peer = optimize.minimize(objective, np.zeros(8), jac=True, method="BFGS", options={"gtol": 1e-9})
        assert solver.value == pytest.approx(peer.fun, rel=1e-12)
        np.testing.assert_allclose(solver.w, peer.x, atol=1e-6)

    def test_gap_is_a_bound_and_stops(self) -> None:
        objective = regularized(logistic(3), 0.01)
        exact = LBFGSSolver(np.zeros(8), LBFGSSettings(tolerance=1e-10))
        run(exact, objective)
        solver = LBFGSSolver(np.zeros(8), LBFGSSettings(tolerance=0, gap_tolerance=1e-6, convexity=0.01))
        while not (verdict := solver.step(objective)).done:
            assert solver.value - exact.value <= solver.gap
        assert verdict is SolverStatus.CONVERGED
        assert solver.value - exact.value <= solver.gap <= 1e-6 * solver.value
        assert LBFGSSolver(np.zeros(8)).gap == math.inf

    def test_start_at_the_optimum(self) -> None:
        solver = LBFGSSolver(np.zeros(4))
        assert solver.step(lambda w: (float(w @ w), 2 * w)) is SolverStatus.CONVERGED
        assert (solver.steps, solver.evaluations) == (0, 1)

    def test_start_at_the_optimum_but_for_rounding(self) -> None:
        oracle, optimum = quadratic(4)
        solver = LBFGSSolver(optimum)
        assert run(solver, oracle, 200) is SolverStatus.STALLED
        np.testing.assert_allclose(solver.w, optimum, rtol=1e-9)

    def test_flat_direction_stays_put(self) -> None:
        solver = LBFGSSolver(np.array([3.0, 5.0]))
        assert run(solver, lambda w: (float(np.cosh(w[0])), np.array([np.sinh(w[0]), 0.0]))) is SolverStatus.CONVERGED
        assert solver.w[0] == pytest.approx(0, abs=1e-4)
        assert solver.w[1] == 5.0

    def test_plateau_is_an_end(self) -> None:
        """The solver ends where the gradient vanishes."""
        solver = LBFGSSolver(np.array([50.0]))
        oracle = lambda w: (float(np.maximum(0, 1 - w[0])), np.array([-1.0 if w[0] < 1 else 0.0]))  # noqa: E731
        assert solver.step(oracle) is SolverStatus.CONVERGED

    def test_onto_a_plateau(self) -> None:
        oracle = lambda w: (float(np.maximum(0, 1 - w[0]) ** 2), np.array([-2 * max(0.0, 1 - w[0])]))  # noqa: E731
        solver = LBFGSSolver(np.array([-50.0]))
        assert run(solver, oracle, 20) is SolverStatus.CONVERGED
        assert solver.value < 1e-6

    @pytest.mark.parametrize("bad", [math.inf, math.nan, -math.inf])
    def test_trial_points_that_are_not_finite(self, bad: float) -> None:
        """A barrier: w − log w has its minimum at 1 and nothing left of 0, where the first steps lead."""

        def oracle(w: np.ndarray) -> tuple[float, np.ndarray]:
            if (w <= 0).any():
                return bad, np.full_like(w, bad)
            return float((w - np.log(w)).sum()), 1 - 1 / w

        solver = LBFGSSolver(np.array([30.0, 2.0]), LBFGSSettings(tolerance=1e-8))
        assert run(solver, oracle, 50) is SolverStatus.CONVERGED
        np.testing.assert_allclose(solver.w, 1, rtol=1e-6)

    def test_unbounded_and_cornered_functions_end(self) -> None:
        assert run(LBFGSSolver(np.zeros(1)), lambda w: (float(w[0]), np.ones(1)), 100) is SolverStatus.STALLED
        corner = LBFGSSolver(np.array([0.7, -0.3]))
        assert run(corner, lambda w: (float(np.abs(w).sum()), np.sign(w)), 300).done
        assert corner.value < 1e-6

    def test_scale_of_the_objective_does_not_matter(self) -> None:
        objective = regularized(logistic(5), 0.01)
        plain = LBFGSSolver(np.zeros(8), LBFGSSettings(tolerance=1e-8))
        run(plain, objective)
        for scale in (1e-100, 1e-9, 1e9, 1e100):
            scaled = LBFGSSolver(np.zeros(8), LBFGSSettings(tolerance=1e-8))
            assert run(scaled, lambda w, scale=scale: tuple(scale * x for x in objective(w))) is SolverStatus.CONVERGED
            np.testing.assert_allclose(scaled.w, plain.w, atol=1e-5)

    @pytest.mark.parametrize(
        ("bad", "rule"),
        [
            ({"history": 0}, "history=0 must be a whole number of at least 1"),
            ({"tolerance": math.nan}, "tolerance=nan must be a number of at least 0"),
            ({"gap_tolerance": 1e-6}, "gap_tolerance=1e-06 needs a convexity above 0"),
        ],
    )
    def test_refuses_bad_settings(self, bad: dict[str, float], rule: str) -> None:
        with pytest.raises(ParameterError, match=rule):
            LBFGSSettings(**bad)  # type: ignore[arg-type]

    def test_refuses_a_bad_start(self) -> None:
        with pytest.raises(DataError, match="finite"):
            LBFGSSolver(np.array([1.0, math.nan]))
        with pytest.raises(DataError, match="starting point"):
            LBFGSSolver(np.zeros(2)).step(lambda w: (math.nan, w))
        with pytest.raises(DataError, match=r"shape \(3,\); expected \(2,\)"):
            LBFGSSolver(np.zeros(2)).step(lambda w: (0.0, np.zeros(3)))

    def test_the_oracle_may_reuse_its_gradient(self) -> None:
        oracle, optimum = quadratic(6, condition=10)
        buffer = np.empty(30)

        def reusing(w: np.ndarray) -> tuple[float, np.ndarray]:
            value, buffer[:] = oracle(w)
            return value, buffer

        solver = LBFGSSolver(np.zeros(30), LBFGSSettings(tolerance=1e-10))
        assert run(solver, reusing) is SolverStatus.CONVERGED
        np.testing.assert_allclose(solver.w, optimum, rtol=1e-6)

    @settings(max_examples=100, deadline=None)
    @given(st.integers(0, 10**6), st.floats(-6, 6), st.floats(-3, 3))
    def test_line_search_keeps_the_wolfe_rules(self, seed: int, length: float, wave: float) -> None:
        """On wavy functions of one variable that rise in the end, from steps far too long and far too short."""
        rng = np.random.default_rng(seed)
        center, phase = rng.normal(size=2)

        def oracle(w: np.ndarray) -> tuple[float, np.ndarray]:
            x = w[0] - center
            return float(0.5 * x * x + wave * np.sin(x + phase)), np.array([x + wave * np.cos(x + phase)])

        value, gradient = oracle(np.array([10.0]))
        start = LineSearchPoint(0.0, value, -float(gradient[0] ** 2), np.array([10.0]), gradient)
        found, _ = wolfe_search(oracle, start, -gradient, 10.0**length)
        assert found is not None
        assert found.value <= start.value + SUFFICIENT_FALL * found.t * start.slope
        assert abs(found.slope) <= SLOPE_LEFT * abs(start.slope)
        assert found.w[0] == 10.0 - found.t * gradient[0]


class TestSimplexQP:
    @settings(max_examples=100, deadline=None)
    @given(st.integers(0, 10**6), st.integers(1, 7), st.integers(1, 5), st.booleans())
    def test_brute_force(self, seed: int, n: int, d: int, doubled: bool) -> None:
        """Against the best over every support; H singular where n > d + 1 or planes are there twice."""
        rng = np.random.default_rng(seed)
        a, c = rng.normal(size=(n, d)), rng.normal(size=n)
        if doubled:
            a, c = np.concatenate([a, a[:2]]), np.concatenate([c, c[:2]])
        H = a @ a.T
        start = np.zeros(len(c))
        start[rng.integers(len(c))] = 1
        found = solve_on_simplex(H, c, start)
        assert (found >= 0).all()
        assert found.sum() == pytest.approx(1, rel=1e-12)
        value = 0.5 * found @ H @ found - c @ found
        assert value == pytest.approx(best_over_supports(H, c), rel=1e-9, abs=1e-11)

    def test_all_planes_equal(self) -> None:
        found = solve_on_simplex(np.ones((4, 4)), np.ones(4), np.array([1.0, 0, 0, 0]))
        assert found.sum() == 1
        found = solve_on_simplex(np.zeros((3, 3)), np.array([0.0, 2, 1]), np.array([1.0, 0, 0]))
        np.testing.assert_allclose(found, [0, 1, 0], atol=1e-12)

    def test_wide_scales(self) -> None:
        """Rows whose lengths differ by 10⁶ and shares that cancel: prices of the support still agree."""
        rng = np.random.default_rng(3)
        a = rng.normal(size=(60, 20)) * np.geomspace(1e-3, 1e3, 60)[:, None]
        c = rng.normal(size=60)
        found = solve_on_simplex(a @ a.T, c, np.eye(60)[0])
        price = a @ (a.T @ found) - c
        assert (price >= price @ found - 1e-9).all()

    def test_solve_positive(self) -> None:
        rng = np.random.default_rng(0)
        for n in (1, 2, 17, 60):
            root, r = rng.normal(size=(n, n + 3)), rng.normal(size=n)
            np.testing.assert_allclose(solve_positive(root @ root.T, r), np.linalg.solve(root @ root.T, r), rtol=1e-8)


def best_over_supports(H: np.ndarray, c: np.ndarray) -> float:
    """min ½αᵀHα − cᵀα on the simplex, trying every set of shares above 0 (by least squares where H is singular)."""
    best = math.inf
    for size in range(1, len(c) + 1):
        for support in itertools.combinations(range(len(c)), size):
            index = np.array(support)
            system = np.ones((size + 1, size + 1))
            system[:size, :size], system[size, size] = H[np.ix_(index, index)], 0
            alpha = np.linalg.lstsq(system, np.append(c[index], 1.0), rcond=None)[0][:size]
            if (alpha >= -1e-12).all() and abs(alpha.sum() - 1) < 1e-9:
                best = min(best, 0.5 * alpha @ H[np.ix_(index, index)] @ alpha - c[index] @ alpha)
    return best


class TestBundle:
    @pytest.mark.parametrize("strength", [10.0, 0.1, 1e-3, 1e-5])
    @pytest.mark.parametrize("seed", [0, 1])
    def test_hinge_against_scipy(self, seed: int, strength: float) -> None:
        risk, z = hinge(seed)
        solver = BundleSolver(np.zeros(6), BundleSettings(strength, tolerance=1e-9))
        assert run(solver, risk) is SolverStatus.CONVERGED
        assert solver.value == pytest.approx(hinge_optimum(z, strength), rel=1e-7, abs=1e-9)
        assert solver.value == pytest.approx(0.5 * strength * solver.w @ solver.w + risk(solver.w)[0], rel=1e-12)

    def test_the_gap_holds_at_every_step(self) -> None:
        risk, z = hinge(2)
        optimum = hinge_optimum(z, 0.01)
        solver = BundleSolver(np.full(6, 2.0), BundleSettings(0.01, tolerance=1e-8))
        while True:
            verdict = solver.step(risk)
            assert solver.lower <= optimum + 1e-10
            assert optimum <= solver.value + 1e-10
            if verdict.done:
                break
        assert solver.gap <= 1e-8 * solver.value

    def test_smooth_risk_too(self) -> None:
        risk = logistic(7)
        smooth = LBFGSSolver(np.zeros(8), LBFGSSettings(tolerance=1e-10))
        run(smooth, regularized(risk, 0.01))
        solver = BundleSolver(np.zeros(8), BundleSettings(0.01, tolerance=1e-7))
        assert run(solver, risk) is SolverStatus.CONVERGED
        assert solver.value == pytest.approx(smooth.value, rel=1e-7)

    @pytest.mark.parametrize("patience", [1, 3, 50])
    def test_dropping_planes_keeps_the_answer(self, patience: int) -> None:
        risk, z = hinge(3)
        solver = BundleSolver(np.zeros(6), BundleSettings(1e-3, tolerance=1e-8, patience=patience))
        assert run(solver, risk) is SolverStatus.CONVERGED
        assert solver.value == pytest.approx(hinge_optimum(z, 1e-3), rel=1e-7)

    def test_a_risk_without_a_floor(self) -> None:
        """½‖w‖² + max(w·1, −2 w·1) + offset far below 0; the minimum is the corner at w = 0."""

        def risk(w: np.ndarray) -> tuple[float, np.ndarray]:
            total = float(w.sum())
            return max(total, -2 * total) - 1000, np.full_like(w, 1.0 if total > 0 else -2.0)

        solver = BundleSolver(np.array([3.0, -1.0]), BundleSettings(1.0, tolerance=1e-9, floor=-math.inf))
        assert run(solver, risk) is SolverStatus.CONVERGED
        assert solver.value == pytest.approx(-1000, rel=1e-8)

    def test_nothing_to_learn(self) -> None:
        """The risk is 0 everywhere, for example because there are no pairs."""
        nothing = lambda w: (0.0, np.zeros_like(w))  # noqa: E731
        assert BundleSolver(np.zeros(3), BundleSettings(1.0)).step(nothing) is SolverStatus.CONVERGED
        away = BundleSolver(np.ones(3), BundleSettings(1.0))
        assert run(away, nothing, 200).done
        assert away.value < 1e-100

    def test_separable(self) -> None:
        """Two points at ±1 with a wide margin: w = 1, value ½λ."""
        risk = lambda w: (max(0.0, 1 - w[0]), np.array([-1.0 if w[0] < 1 else 0.0]))  # noqa: E731
        solver = BundleSolver(np.zeros(1), BundleSettings(1e-6, tolerance=1e-9))
        assert run(solver, risk) is SolverStatus.CONVERGED
        assert solver.value == pytest.approx(0.5e-6, rel=1e-8)
        assert solver.w[0] == pytest.approx(1, rel=1e-8)

    def test_start_at_the_optimum(self) -> None:
        risk, _ = hinge(4)
        solver = BundleSolver(np.zeros(6), BundleSettings(0.01, tolerance=1e-9))
        run(solver, risk)
        again = BundleSolver(solver.w, BundleSettings(0.01, tolerance=1e-9))
        assert run(again, risk) is SolverStatus.CONVERGED
        assert again.value == pytest.approx(solver.value, rel=2e-9)

    def test_more_than_64_bits_can_show(self) -> None:
        risk, z = hinge(5)
        solver = BundleSolver(np.zeros(6), BundleSettings(0.01, tolerance=1e-30))
        assert run(solver, risk).done
        assert solver.value == pytest.approx(hinge_optimum(z, 0.01), rel=1e-9)
        assert solver.gap <= 1e-12

    def test_trial_points_that_are_not_finite(self) -> None:
        def risk(w: np.ndarray) -> tuple[float, np.ndarray]:
            if w[0] >= 1:
                return math.nan, w
            return float(-np.log(1 - w[0]) - 5 * w[0] + 10), np.array([1 / (1 - w[0]) - 5])

        solver = BundleSolver(np.zeros(1), BundleSettings(1e-6, tolerance=1e-9))
        assert run(solver, risk).done
        assert solver.w[0] == pytest.approx(0.8, rel=1e-3)
        hole = BundleSolver(np.zeros(1), BundleSettings(1.0))  # finite at the start alone
        assert run(hole, lambda w: (1.0 if w[0] == 0 else math.nan, np.ones(1))) is SolverStatus.STALLED

    def test_refuses_a_bad_start_and_strength(self) -> None:
        with pytest.raises(ParameterError, match=r"strength=0 must be a number above 0"):
            BundleSettings(0)
        with pytest.raises(ParameterError, match="patience=0 must be a whole number"):
            BundleSettings(1, patience=0)
        with pytest.raises(DataError, match="starting point"):
            BundleSolver(np.zeros(2), BundleSettings(1.0)).step(lambda w: (math.inf, w))


@pytest.mark.parametrize("kind", ["lbfgs", "bundle"])
def test_resumes_to_the_same_bits(kind: str) -> None:
    """A solver that is saved and resumed after every step gives the same bits as one that runs through."""
    risk, _ = hinge(6)
    smooth = regularized(logistic(6), 0.01)
    if kind == "lbfgs":
        through, broken = LBFGSSolver(np.zeros(8)), LBFGSSolver(np.zeros(8))
    else:
        through, broken = (BundleSolver(np.zeros(6), BundleSettings(1e-3, patience=4)) for _ in range(2))
    oracle = smooth if kind == "lbfgs" else risk
    verdict = SolverStatus.GOING
    while not verdict.done:
        saved = {name: (array.tobytes(), array.shape) for name, array in broken.state().items()}
        assert {name: (array.tobytes(), array.shape) for name, array in through.state().items()} == saved
        restored = {name: np.frombuffer(raw).reshape(shape) for name, (raw, shape) in saved.items()}
        broken = type(broken).resume(restored, broken.settings)
        verdict = broken.step(oracle)
        assert through.step(oracle) is verdict
    assert through.steps > 5
