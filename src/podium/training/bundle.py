"""A proximal bundle method for J(w) = ½λ‖w‖² + R(w), R convex with corners, such as RankSVM's hinge.

Every evaluation of R gives a plane that never lies above R. The planes together are the model of R.

    R(v) ≥ max_i (a_i·v + b_i),   a_i a subgradient of R at w_i,   b_i = R(w_i) − a_i·w_i
    trial = argmin_v ½λ‖v‖² + max_i (a_i·v + b_i) + ½μ‖v − w‖²

The trial becomes the center w if J decreases by a sufficient part of what the model predicted. The weight μ of the proximal
term decreases if the model predicted well and increases otherwise. The trial is found in the dual, with one share α_i per
plane (α ≥ 0, Σα = 1), and any such α gives a lower bound on J:

    min J ≥ Σ α_i b_i − ‖Σ α_i a_i‖² / 2λ

[Teo et al. 2010 for the model and the bound; Kiwiel 1990 for center and pull]
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from podium.errors import DataError, ParameterError, is_integer
from podium.training.convex import Oracle, SolverStatus, State, Vector, combine, dot, evaluate, starting_point
from podium.training.simplex_qp import solve_on_simplex

FAIR, GOOD = 0.01, 0.3  # parts of the predicted decrease that move the center, and that also decrease μ
LEAST_PULL = 1e-3  # of λ
VALUE_NOISE = 1e-15  # a predicted decrease below this share of J is lost in rounding


@dataclass(frozen=True)
class BundleSettings:
    """The problem's λ, and when to stop.

    Attributes:
        strength: λ > 0 of ½λ‖w‖². A RankSVM that weighs its losses by C has λ = 1 / C.
        tolerance: stop when the certified gap J(w) − bound is at most this share of J(w).
        floor: a lower bound on R: 0 for losses; minus infinity if none is known.
        patience: number of steps after which a plane without a share is dropped.
    """

    strength: float
    tolerance: float = 1e-6
    floor: float = 0.0
    patience: int = 50

    def __post_init__(self) -> None:
        if not 0 < self.strength < math.inf:
            raise ParameterError("strength", self.strength, "must be a number above 0", "the bound divides by it")
        if not 0 <= self.tolerance < math.inf:
            raise ParameterError("tolerance", self.tolerance, "must be a number of at least 0")
        if not is_integer(self.patience) or self.patience < 1:
            raise ParameterError("patience", self.patience, "must be a whole number of at least 1")


class BundleSolver:
    """Minimizes ½λ‖w‖² + R(w) from values and subgradients of R, one step and one evaluation of R at a time.

    Between steps, `state()` describes the solver completely: a solver that `resume` makes from it continues with the same bits.

        solver = BundleSolver(np.zeros(d), BundleSettings(strength=0.01))
        while not solver.step(risk).done: ...
        solver.w, solver.value, solver.gap
    """

    def __init__(self, start: Vector, settings: BundleSettings) -> None:
        self.settings = settings
        self.w = starting_point(start)
        self.value, self.lower = math.nan, -math.inf
        self.pull, self.least_pull = math.nan, LEAST_PULL * settings.strength
        self.planes, self.offsets = np.empty((0, len(self.w))), np.empty(0)  # a_i and b_i
        self.shares, self.idle = np.empty(0), np.empty(0)  # α_i, and steps since it was last above 0
        self.gram = np.empty((0, 0))  # a_i·a_j
        self.steps = self.evaluations = 0

    @property
    def gap(self) -> float:
        """A bound on J(w) − min J: J(w) minus the best dual value so far."""
        return self.value - self.lower

    def state(self) -> State:
        """Return everything that changes from step to step, as copies."""
        numbers = [self.value, self.lower, self.pull, self.least_pull, self.steps, self.evaluations]
        return {
            "w": self.w.copy(),
            "planes": self.planes.copy(),
            "offsets": self.offsets.copy(),
            "shares": self.shares.copy(),
            "idle": self.idle.copy(),
            "gram": self.gram.copy(),
            "numbers": np.array(numbers, np.float64),
        }

    @classmethod
    def resume(cls, state: State, settings: BundleSettings) -> BundleSolver:
        """Return a solver that continues from `state`."""
        solver = cls(state["w"], settings)
        for name in ("planes", "offsets", "shares", "idle", "gram"):
            setattr(solver, name, np.array(state[name], np.float64))
        planes = len(solver.planes)
        if {len(solver.offsets), len(solver.shares), len(solver.idle), *solver.gram.shape} - {planes}:
            raise ValueError(f"the state has {planes} planes, but other arrays have other lengths")
        if (solver.shares < 0).any():
            raise ValueError("a share is negative")
        solver.value, solver.lower, solver.pull, solver.least_pull = map(float, state["numbers"][:4])
        solver.steps, solver.evaluations = map(int, state["numbers"][4:])
        return solver

    def step(self, risk: Oracle) -> SolverStatus:
        """Find the model's minimum near the center, evaluate R there, and add the plane to the model."""
        if self.evaluations == 0:
            self._look(risk)
        trial, promised = self._propose()
        if self._converged():
            return SolverStatus.CONVERGED
        if promised <= VALUE_NOISE * abs(self.value):
            if self.pull <= self.least_pull:
                return SolverStatus.STALLED
            self.pull = self.least_pull  # the proximal term, not the model, may be what keeps the trial at the center
            return SolverStatus.GOING
        value, subgradient = evaluate(risk, trial)
        self.evaluations += 1
        self.steps += 1
        if math.isfinite(value):
            self._drop_idle()
            self._add(subgradient, value - dot(subgradient, trial))
            self._judge(trial, value + self._regularizer(trial), promised)
        else:
            self.pull = self.least_pull = 10 * self.pull
        return SolverStatus.CONVERGED if self._converged() else SolverStatus.GOING

    def _look(self, risk: Oracle) -> None:
        value, subgradient = evaluate(risk, self.w)
        self.evaluations = 1
        if not math.isfinite(value):
            raise DataError(
                "the risk or its subgradient is not finite at the starting point; check the features and the start"
            )
        self.value = value + self._regularizer(self.w)
        if math.isfinite(self.settings.floor):
            self._add(np.zeros_like(self.w), self.settings.floor)
        self._add(subgradient, value - dot(subgradient, self.w))
        self.shares[-1] = 1.0
        # The first trial is then about where the plane at the start reaches the floor, for features of any scale.
        height = value - self.settings.floor if math.isfinite(self.settings.floor) else abs(value)
        steepness = dot(subgradient, subgradient)
        self.pull = max(steepness / height if height > 0 else steepness, self.least_pull)

    def _regularizer(self, w: Vector) -> float:
        return 0.5 * self.settings.strength * dot(w, w)

    def _propose(self) -> tuple[Vector, float]:
        """Return the model's minimum near the center and the decrease of J that it predicts; update the bound."""
        strength, total = self.settings.strength, self.settings.strength + self.pull
        at_center = np.add.reduce(self.planes * self.w, axis=1)
        costs = self.offsets + (self.pull / total) * at_center
        self.shares = solve_on_simplex(self.gram / total, costs, self.shares)
        slope = combine(self.shares, self.planes)
        bound = dot(self.shares, self.offsets) - 0.5 * dot(slope, slope) / strength
        self.lower = max(self.lower, bound)
        trial = (self.pull * self.w - slope) / total
        model = float((np.add.reduce(self.planes * trial, axis=1) + self.offsets).max()) + self._regularizer(trial)
        return trial, self.value - model

    def _judge(self, trial: Vector, value: float, promised: float) -> None:
        """Move the center, or increase μ."""
        kept = (self.value - value) / promised
        if kept >= FAIR:
            self.w, self.value = trial, value
            if kept >= GOOD:
                self.pull = max(self.pull / 3, self.least_pull)
        elif kept < -1:
            self.pull *= min(10.0, 2 * (1 - kept))
        elif kept < 0:
            self.pull *= 1.1

    def _converged(self) -> bool:
        return self.gap <= self.settings.tolerance * abs(self.value)

    def _add(self, plane: Vector, offset: float) -> None:
        self.planes = np.concatenate([self.planes, plane[None]])
        self.offsets = np.append(self.offsets, offset)
        self.shares, self.idle = np.append(self.shares, 0.0), np.append(self.idle, 0.0)
        row = np.add.reduce(self.planes * plane, axis=1)
        grown = np.empty((len(row), len(row)))
        grown[:-1, :-1], grown[-1], grown[:, -1] = self.gram, row, row
        self.gram = grown

    def _drop_idle(self) -> None:
        self.idle = np.where(self.shares > 0, 0.0, self.idle + 1)
        keep = self.idle < self.settings.patience
        if math.isfinite(self.settings.floor):
            keep[0] = True
        if not keep.all():
            self.planes, self.offsets, self.shares = self.planes[keep], self.offsets[keep], self.shares[keep]
            self.idle, self.gram = self.idle[keep], self.gram[np.ix_(keep, keep)]
