"""L-BFGS: Newton steps with a Hessian that is approximated from the last few steps. [Nocedal and Wright 2006, algorithms 7.4, 7.5, 3.5]

    d = −H ∇J(w), H the inverse Hessian from the last m pairs (step, change of gradient)
    w ← w + t·d, t by the strong Wolfe conditions: J decreases by at least c₁·t·|slope|, |slope| to at most c₂·|slope|

Near the optimum, where J has the same 64-bit value at both ends, the decrease is estimated from the slopes [Hager and Zhang
2005], so that gradients become far smaller than differences of values could show.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from podium.errors import DataError, ParameterError, is_integer
from podium.training.convex import Oracle, SolverStatus, State, Vector, dot, evaluate, starting_point

SUFFICIENT_FALL, SLOPE_LEFT = 1e-4, 0.9  # c₁ and c₂
VALUE_NOISE = 1e-10  # values that differ relatively by less than this may differ by rounding alone
LARGEST_TRIALS = 40  # maximum number of oracle calls of a line search
VISIBLE_FALL, IDLE_STEPS = 1e-14, 20  # stop after this many steps without this relative decrease or a shorter gradient
CURVATURE_FLOOR = 1e-12  # a pair whose step and change are more orthogonal than this is not used for the Hessian


@dataclass(frozen=True)
class LBFGSSettings:
    """When to stop, and how far back to look.

    Attributes:
        tolerance: stop when ‖∇J(w)‖ ≤ tolerance · ‖∇J(start)‖.
        gap_tolerance: stop when the certified gap is at most this share of |J(w)|; needs `convexity`. Either rule suffices.
        convexity: λ for which J − ½λ‖w‖² is convex, such as the strength of an L2 penalty; 0 if none is known.
        history: number of pairs (step, change of gradient) that approximate the Hessian. Ill-conditioned features take many steps
            with 10: RankSVM on OHSUMED takes a third of them with 40.
    """

    tolerance: float = 1e-6
    gap_tolerance: float = 0.0
    convexity: float = 0.0
    history: int = 40

    def __post_init__(self) -> None:
        if not is_integer(self.history) or self.history < 1:
            raise ParameterError("history", self.history, "must be a whole number of at least 1")
        for name in ("tolerance", "gap_tolerance", "convexity"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ParameterError(name, getattr(self, name), "must be a number of at least 0")
        if self.gap_tolerance > 0 and not self.convexity > 0:
            raise ParameterError(
                "gap_tolerance", self.gap_tolerance, "needs a convexity above 0, without which the gap is unknown"
            )


class LBFGSSolver:
    """Minimizes a smooth function from its values and gradients, one step at a time.

    Between steps, `state()` describes the solver completely: a solver that `resume` makes from it continues with the same bits.

        solver = LBFGSSolver(np.zeros(d))
        while not solver.step(oracle).done: ...
        solver.w, solver.value
    """

    def __init__(self, start: Vector, settings: LBFGSSettings | None = None) -> None:
        self.settings = settings or LBFGSSettings()
        self.w = starting_point(start)
        self.value, self.gradient = math.nan, np.zeros_like(self.w)
        self.first_norm = math.nan  # ‖∇J(start)‖
        self.least_value = self.least_norm = math.nan  # at the last step with visible progress
        self.idle = 0  # steps since then
        self.moves = np.empty((0, len(self.w)))  # w_{t+1} − w_t, oldest first
        self.changes = np.empty((0, len(self.w)))  # ∇J(w_{t+1}) − ∇J(w_t)
        self.steps = self.evaluations = 0

    @property
    def gradient_norm(self) -> float:
        """‖∇J(w)‖."""
        return math.sqrt(dot(self.gradient, self.gradient))

    @property
    def gap(self) -> float:
        """A bound on J(w) − min J: ‖∇J(w)‖² / 2λ for λ-strongly convex J; infinite without λ."""
        return self.gradient_norm**2 / (2 * self.settings.convexity) if self.settings.convexity > 0 else math.inf

    def state(self) -> State:
        """Return everything that changes from step to step, as copies."""
        numbers = [self.value, self.first_norm, self.least_value, self.least_norm]
        counts = [self.idle, self.steps, self.evaluations]
        return {
            "w": self.w.copy(),
            "gradient": self.gradient.copy(),
            "moves": self.moves.copy(),
            "changes": self.changes.copy(),
            "numbers": np.array(numbers + counts, np.float64),
        }

    @classmethod
    def resume(cls, state: State, settings: LBFGSSettings | None = None) -> LBFGSSolver:
        """Return a solver that continues from `state`."""
        solver = cls(state["w"], settings)
        solver.gradient = np.array(state["gradient"], np.float64)
        solver.moves, solver.changes = (np.array(state[name], np.float64) for name in ("moves", "changes"))
        if solver.gradient.shape != solver.w.shape or solver.moves.shape != solver.changes.shape:
            raise ValueError("the state has a gradient or steps of another size")
        solver.value, solver.first_norm, solver.least_value, solver.least_norm = map(float, state["numbers"][:4])
        solver.idle, solver.steps, solver.evaluations = map(int, state["numbers"][4:])
        return solver

    def step(self, oracle: Oracle) -> SolverStatus:
        """Take one step; the first call also evaluates the initial point."""
        if self.evaluations == 0:
            self._look(oracle)
        if self._converged():
            return SolverStatus.CONVERGED
        found = self._search(oracle)
        if found is None and len(self.moves):
            self._forget()  # the Hessian may come from a region that is too far away; try the gradient before giving up
            found = self._search(oracle)
        if found is None:
            return SolverStatus.STALLED
        self._take(found)
        if self._converged():
            return SolverStatus.CONVERGED
        return SolverStatus.STALLED if self.idle >= IDLE_STEPS else SolverStatus.GOING

    def _look(self, oracle: Oracle) -> None:
        self.value, self.gradient = evaluate(oracle, self.w)
        self.evaluations = 1
        if not math.isfinite(self.value):
            raise DataError(
                "the objective or its gradient is not finite at the starting point; check the features and the start"
            )
        self.first_norm = self.least_norm = self.gradient_norm
        self.least_value = self.value

    def _take(self, found: LineSearchPoint) -> None:
        self._remember(found.w - self.w, found.gradient - self.gradient)
        self.w, self.value, self.gradient = found.w, found.value, found.gradient
        self.steps, self.idle = self.steps + 1, self.idle + 1
        if self.value < self.least_value - VISIBLE_FALL * abs(self.least_value):
            self.least_value, self.idle = self.value, 0
        if self.gradient_norm < self.least_norm:
            self.least_norm, self.idle = self.gradient_norm, 0

    def _converged(self) -> bool:
        within_gap = self.settings.gap_tolerance > 0 and self.gap <= self.settings.gap_tolerance * abs(self.value)
        return within_gap or self.gradient_norm <= self.settings.tolerance * self.first_norm

    def _search(self, oracle: Oracle) -> LineSearchPoint | None:
        direction = self._direction()
        slope = dot(self.gradient, direction)
        if not (math.isfinite(slope) and slope < 0):
            return None
        # Without a Hessian the gradient does not determine the length of a step: start with length 1.
        first = 1.0 if len(self.moves) else 1.0 / self.gradient_norm
        here = LineSearchPoint(0.0, self.value, slope, self.w, self.gradient)
        found, trials = wolfe_search(oracle, here, direction, first)
        self.evaluations += trials
        return found

    def _direction(self) -> Vector:
        """Return −H ∇J(w), by the two-loop recursion."""
        q = -self.gradient
        inverse = [1.0 / dot(move, change) for move, change in zip(self.moves, self.changes, strict=True)]
        alphas = []
        for i in reversed(range(len(inverse))):
            alphas.append(inverse[i] * dot(self.moves[i], q))
            q = q - alphas[-1] * self.changes[i]
        if inverse:
            q = q / (inverse[-1] * dot(self.changes[-1], self.changes[-1]))
        for i, alpha in zip(range(len(inverse)), reversed(alphas), strict=True):
            q = q + (alpha - inverse[i] * dot(self.changes[i], q)) * self.moves[i]
        return q

    def _remember(self, move: Vector, change: Vector) -> None:
        lengths = math.sqrt(dot(move, move)) * math.sqrt(dot(change, change))
        if dot(move, change) > CURVATURE_FLOOR * lengths:
            keep = self.settings.history
            self.moves = np.concatenate([self.moves, move[None]])[-keep:]
            self.changes = np.concatenate([self.changes, change[None]])[-keep:]

    def _forget(self) -> None:
        self.moves, self.changes = self.moves[:0], self.changes[:0]


class LineSearchPoint(NamedTuple):
    """A point of a line search: w = start + t·direction, and the slope ∇J(w)·direction."""

    t: float
    value: float
    slope: float
    w: Vector
    gradient: Vector


def wolfe_search(
    oracle: Oracle, start: LineSearchPoint, direction: Vector, first: float
) -> tuple[LineSearchPoint | None, int]:
    """Return a point that meets the strong Wolfe conditions and the number of oracle calls; None if there is none.

    `low` is a point with a sufficient decrease and a negative slope; `high` is one that is too high or has a positive slope
    (None as long as there is none). A point that meets the conditions lies between them.
    """
    low, high, t, widths = start, None, first, [math.inf, math.inf]
    for trials in range(1, LARGEST_TRIALS + 1):
        w = start.w + t * direction
        if (w == low.w).all():
            break
        value, gradient = evaluate(oracle, w)
        here = LineSearchPoint(t, value, dot(gradient, direction), w, gradient)
        if _too_high(here, start):
            high = here
        elif abs(here.slope) <= SLOPE_LEFT * -start.slope:
            return here, trials
        elif here.slope > 0:
            high = here
        else:
            low = here
        if high is None:
            t = _beyond(low, start)
            continue
        width = abs(high.t - low.t)
        t = _between(low, high) if width <= 0.66 * widths[0] else 0.5 * (low.t + high.t)
        widths = [widths[1], width]
    # A function that decreases over lengths of 10¹² and more has no minimum along the line.
    return (low if high is not None and low.value < start.value else None), trials


def _too_high(here: LineSearchPoint, start: LineSearchPoint) -> bool:
    if here.value <= start.value + SUFFICIENT_FALL * here.t * start.slope:
        return False
    same = here.value <= start.value + VALUE_NOISE * abs(start.value)
    return not (same and here.slope <= (1 - 2 * SUFFICIENT_FALL) * -start.slope)


def _beyond(low: LineSearchPoint, start: LineSearchPoint) -> float:
    """Return a longer step: where the slope would be 0 if it kept changing at the same rate, limited to 2 to 10 times the length."""
    rate = (low.slope - start.slope) / low.t
    guess = low.t - low.slope / rate if rate > 0 else math.inf
    return min(max(guess, 2 * low.t), 10 * low.t)


def _between(low: LineSearchPoint, high: LineSearchPoint) -> float:
    """Return the minimum of the cubic through both points, at least a tenth of the interval away from its ends."""
    width = high.t - low.t
    if not math.isfinite(high.value):
        return low.t + 0.1 * width
    secant = 3 * (high.value - low.value) / width
    bend = low.slope + high.slope - secant
    root = bend * bend - low.slope * high.slope
    share = 0.5
    if root >= 0 and (bottom := high.slope - low.slope + 2 * math.sqrt(root)) > 0:
        share = 1 - (high.slope + math.sqrt(root) - bend) / bottom
    return low.t + min(max(share, 0.1), 0.9) * width
