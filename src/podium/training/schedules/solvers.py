"""Solvers that use all queries in every step: L-BFGS, and the bundle method for costs that are not differentiable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from podium.errors import ParameterError
from podium.parameters import setting
from podium.rules import Real
from podium.training.bundle import BundleSettings, BundleSolver
from podium.training.convex import SolverStatus, State
from podium.training.lbfgs import LBFGSSettings, LBFGSSolver
from podium.training.loop import DescentSchedule
from podium.training.run import Plan
from podium.training.schedules.gradient import PenaltySettings
from podium.training.shared_descent import SharedDescent
from podium.training.steps import Floats, Passed, Task, make_descent

REMEDY = "use {schedule='lbfgs'} or {schedule='adam'}"


@dataclass(kw_only=True, eq=False, repr=False)
class SolverSettings(PenaltySettings):
    """Settings of the solvers."""

    tolerance: float = setting(
        1e-6,
        Real(above=0),
        "When lbfgs and bundle stop: for a convex problem with l2 > 0 in which a constant added to all scores changes nothing, "
        "when the objective is proven to be within this share of the minimum; otherwise, when the norm of the gradient has fallen to this share of its first value.",
    )


class SolverSchedule(SolverSettings, DescentSchedule):
    """What the solvers share."""

    distributes = True
    takes_corners: ClassVar[bool] = False

    def check(self, plan: Plan) -> None:
        """Check that the force has a cost."""
        super().check(plan)
        if not plan.force.has_cost:
            raise ParameterError(
                "schedule",
                self.name,
                f"needs a cost, and {plan.force} has none",
                "use {schedule='adam'} or {schedule='sgd'}",
            )

    def make_steps(self, task: Task) -> FullSteps:
        """Return the steps."""
        task.force.check_labels(task.data)
        return FullSteps(task, self)


@dataclass(kw_only=True, eq=False, repr=False)
class LBFGS(SolverSchedule):
    """L-BFGS with a line search, for forces with a smooth cost."""

    name = "lbfgs"
    fits = "any force with a cost; any model but `trees`"
    summary = "L-BFGS over all queries at once, for a force with a smooth cost: lbfgs(l2=0.01)."


@dataclass(kw_only=True, eq=False, repr=False)
class Bundle(SolverSchedule):
    """The bundle method, for convex costs that may have corners, such as the hinge. [Teo et al. 2010]"""

    name = "bundle"
    fits = (
        "any force with a convex cost, whose forces sum to 0 in each query and which learns no parameters of its own; a model "
        "that is linear in its parameters: `linear` or `kernel`"
    )
    summary = "The bundle method over all queries at once, for a convex cost that may have corners: bundle(l2=0.01)."
    takes_corners = True

    def check(self, plan: Plan) -> None:
        """Check that the objective is strongly convex in everything that is learned."""
        super().check(plan)
        if not self.l2 > 0:
            raise ParameterError("l2", self.l2, f"must be above 0 for {self.name}", f"{REMEDY}, or another {{l2}}")
        if not plan.force.convex:
            raise self._refused(f"needs a convex cost, and that of {plan.force} is not convex")
        if plan.force.learns:
            raise self._refused(f"cannot fit {plan.force}, which learns parameters of its own")
        if not plan.force.balanced:
            raise self._refused(
                f"cannot fit {plan.force}: its forces do not sum to 0 in each query, so they move the bias, which has no penalty"
            )

    def make_steps(self, task: Task) -> FullSteps:
        """Return the steps, if the model is linear in its parameters."""
        if not task.model.is_linear:
            raise self._refused("needs a model that is linear in its parameters, such as linear or kernel")
        return super().make_steps(task)

    def _refused(self, rule: str) -> ParameterError:
        return ParameterError("schedule", self.name, rule, REMEDY)


class FullSteps:
    """L-BFGS and the bundle method: J(w) = mean cost of a query + ½·l2·‖weights‖², one iteration per epoch."""

    keeps_history = True

    def __init__(self, task: Task, schedule: SolverSchedule) -> None:
        self.task, self.schedule, self.converged = task, schedule, False
        self.descent = make_descent(task)
        self.order = task.queries.canonical_order
        self.seen = np.zeros(task.data.n_documents * task.n_outputs)
        own = np.zeros(task.n_parameters)
        self.penalized = np.concatenate([task.model.penalized, own])
        self.seen_at = np.empty(0)
        self.solver: LBFGSSolver | BundleSolver
        self.verdict = SolverStatus.GOING
        # If the forces of a query sum to 0, the bias has no gradient, and the penalty on the weights makes the objective
        # strongly convex. If the gap is known, it alone says when to stop: a small gradient proves little if l2 is small.
        certified = task.is_strongly_convex and schedule.l2 > 0
        self.lbfgs = LBFGSSettings(
            tolerance=0.0 if certified else schedule.tolerance,
            gap_tolerance=schedule.tolerance if certified else 0.0,
            convexity=schedule.l2 if certified else 0.0,
        )
        self.bundle = None
        if schedule.takes_corners:
            least = task.force.definition.least_cost
            self.bundle = BundleSettings(schedule.l2, schedule.tolerance, floor=least)

    def risk(self, w: Floats) -> tuple[float, Floats]:
        """Return the mean cost of a query, and its gradient."""
        self.descent.set_parameters(w)
        self.seen_at = w.copy()
        total, force = self.descent.gradient(
            self.order, per_pair=False, seed=self.task.seed, round=0, seen=self.seen, cost=True
        )
        return total / len(self.order), -force / len(self.order)

    def objective(self, w: Floats) -> tuple[float, Floats]:
        """Return J and its gradient."""
        value, gradient = self.risk(w)
        held = self.penalized * w
        return value + 0.5 * self.schedule.l2 * float(np.add.reduce(held * w)), (gradient + self.schedule.l2 * held)

    def epoch(self, round: int, rate: float) -> Passed:
        """Make one iteration."""
        oracle = self.objective if isinstance(self.solver, LBFGSSolver) else self.risk
        self.verdict = self.solver.step(oracle)
        self.converged = self.verdict.done
        self.descent.set_parameters(self.solver.w)
        return Passed(self.solver.value, self._scores())

    def _scores(self) -> Floats:
        """Return the scores at the solver's current point, which is usually the last one it evaluated."""
        if np.array_equal(self.seen_at, self.solver.w):
            return self.seen
        self.seen_at = self.solver.w.copy()
        if isinstance(self.descent, SharedDescent):  # a worker that was replaced may be the only one that has to
            self.descent.show(self.seen, seed=self.task.seed, round=0)
            return self.seen
        self.descent.gradient(self.order, per_pair=False, seed=self.task.seed, round=0, seen=self.seen, cost=False)
        return self.seen

    @property
    def vector(self) -> Floats:
        """The current parameters."""
        return self.solver.w

    def begin(self, vector: Floats) -> None:
        """Start from these parameters, with no history."""
        self.solver = LBFGSSolver(vector, self.lbfgs) if self.bundle is None else BundleSolver(vector, self.bundle)
        self.converged, self.verdict = False, SolverStatus.GOING

    def state(self) -> State:
        """Return the solver's own state."""
        verdict = list(SolverStatus).index(self.verdict)
        return {**self.solver.state(), "verdict": np.array([verdict], np.float64)}

    def resume(self, state: State) -> None:
        """Restore the solver."""
        rest = {name: value for name, value in state.items() if name != "verdict"}
        self.solver = (
            LBFGSSolver.resume(rest, self.lbfgs) if self.bundle is None else BundleSolver.resume(rest, self.bundle)
        )
        self.verdict = list(SolverStatus)[int(state["verdict"][0])]
        self.converged = self.verdict.done

    def certificate(self) -> dict[str, Any]:
        """Return the objective, and a bound on its distance from the minimum."""
        certificate = {"objective": self.solver.value, "gap": self.solver.gap, "verdict": self.verdict.value}
        if isinstance(self.solver, LBFGSSolver):
            certificate["gradient_norm"] = self.solver.gradient_norm
        return {name: None if value == np.inf else value for name, value in certificate.items()}
