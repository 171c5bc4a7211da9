"""RankSVM solved without listing the pairs is the same problem as scikit-learn's LinearSVC on listed differences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import optimize
from sklearn.svm import LinearSVC

import podium
from podium.forces import ForceData
from podium.training.bundle import BundleSettings, BundleSolver
from podium.training.convex import Oracle, regularized
from podium.training.lbfgs import LBFGSSettings, LBFGSSolver


def ranking_risk(data: podium.RankingData, force: str) -> Oracle:
    x, held, acting = data.features.astype(np.float64), ForceData(data), podium.force(force)

    def risk(w: np.ndarray) -> tuple[float, np.ndarray]:
        outcome = acting.compute(x @ w, held, cost=True)
        assert outcome.cost is not None
        return float(outcome.cost.sum()), -(x.T @ outcome.force)

    return risk


def differences(data: podium.RankingData) -> np.ndarray:
    """x_i − x_j of every pair of one query with l_i > l_j."""
    found = []
    for first, last in zip(data.query_offsets[:-1], data.query_offsets[1:], strict=True):
        labels, x = data.labels[first:last], data.features[first:last].astype(np.float64)
        better, worse = np.nonzero(labels[:, None] > labels)
        found.append(x[better] - x[worse])
    return np.concatenate(found)


def solve(data: podium.RankingData, force: str, C: float) -> BundleSolver | LBFGSSolver:
    """½‖w‖² + C Σ loss, divided by C: λ = 1 / C."""
    risk, start = ranking_risk(data, force), np.zeros(data.n_features)
    if force == "hinge":
        solver: BundleSolver | LBFGSSolver = BundleSolver(start, BundleSettings(1 / C, tolerance=1e-7))
        oracle = risk
    else:
        solver = LBFGSSolver(start, LBFGSSettings(tolerance=0, gap_tolerance=1e-7, convexity=1 / C))
        oracle = regularized(risk, 1 / C)
    for _ in range(2000):
        if solver.step(oracle).done:
            break
    assert solver.gap <= 1e-7 * solver.value
    return solver


def linear_svc_objective(z: np.ndarray, force: str, C: float) -> float:
    """The objective at LinearSVC's solution; every other difference is turned round, as it wants two classes."""
    sign = np.where(np.arange(len(z)) % 2 == 0, 1.0, -1.0)
    svc = LinearSVC(loss=force, C=C, fit_intercept=False, dual=True, tol=1e-8, max_iter=1_000_000, random_state=0)
    w = svc.fit(z * sign[:, None], sign).coef_[0]
    slack = np.maximum(0, 1 - z @ w)
    return float(0.5 * w @ w + C * (slack if force == "hinge" else slack**2).sum())


@pytest.mark.parametrize("force", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [1e-4, 1e-2, 1.0])
def test_linear_svc_on_synthetic_pairs(force: str, C: float) -> None:
    data = podium.synthetic.polynomial(queries=10, documents=20, features=8, seed=1)
    ours = solve(data, force, C)
    peer = linear_svc_objective(differences(data), force, C)
    assert C * ours.value == pytest.approx(peer, rel=1e-6)


@pytest.mark.parametrize("C", [1e-3, 1e-1])
def test_box_dual_by_scipy(C: float) -> None:
    """min ½‖Zᵀα‖² − Σα over 0 ≤ α ≤ C, one α per pair: minus its value is the optimum, by strong duality."""
    data = podium.synthetic.network(queries=3, documents=15, features=6, seed=2)
    z = differences(data)
    peer = optimize.minimize(
        lambda a: (0.5 * float((z.T @ a) @ (z.T @ a)) - a.sum(), z @ (z.T @ a) - 1),
        np.full(len(z), C / 2),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, C)] * len(z),
        options={"maxiter": 100_000, "maxfun": 1_000_000, "ftol": 1e-15, "gtol": 1e-9},
    )
    assert C * solve(data, "hinge", C).value == pytest.approx(-peer.fun, rel=1e-6)


@pytest.mark.parametrize("force", ["hinge", "squared_hinge"])
def test_linear_svc_on_ohsumed_queries(data_dir: Path, force: str) -> None:
    train, _, _ = podium.read_folds(data_dir / "ohsumed/QueryLevelNorm/Fold1")
    data = train.select(np.argsort(np.diff(train.query_offsets), kind="stable")[:3])
    peer = linear_svc_objective(differences(data), force, 0.01)
    assert 0.01 * solve(data, force, 0.01).value == pytest.approx(peer, rel=1e-6)


@pytest.mark.parametrize(("C", "steps"), [(1.0, 50), (100.0, 200), (1e4, 400)])
def test_hinge_on_a_whole_fold(data_dir: Path, C: float, steps: int) -> None:
    """With C against the mean loss of a pair: the certified gap of 10⁻⁶ takes no more steps than this."""
    train, _, _ = podium.read_folds(data_dir / "ohsumed/QueryLevelNorm/Fold1")
    risk = ranking_risk(train, "hinge")
    pairs = risk(np.zeros(train.n_features))[0]
    solver = BundleSolver(np.zeros(train.n_features), BundleSettings(1 / C, tolerance=1e-6))
    while not solver.step(lambda w: tuple(part / pairs for part in risk(w))).done:
        assert solver.steps < steps
    assert solver.gap <= 1e-6 * solver.value
