"""One epoch at a time: gradient steps of the core, or of any model in Python; and full-batch steps of convex solvers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data import RankingData
from podium.data.canonical import canonical_order, shuffled_order
from podium.data.hashing import query_hashes
from podium.errors import ParameterError
from podium.forces import Force, ForceData
from podium.models import CoreModel, GradientModel
from podium.training.bundle import Bundle, BundleSettings
from podium.training.convex import State, Verdict
from podium.training.lbfgs import LBFGS, LBFGSSettings
from podium.training.model_descent import ModelDescent
from podium.training.schedule import Schedule

Floats = npt.NDArray[np.float64]
PIECE = 50_000  # documents between two looks at the keyboard
PAIR_PIECE = 500
CONVEX = ("ranknet", "hinge", "squared_hinge", "exponential", "listnet", "listmle", "xendcg")  # in the scores, no bias


@dataclass(frozen=True)
class Task:
    """What is learned: a force on the scores of data, by a model that has begun."""

    force: Force
    model: GradientModel
    data: RankingData
    schedule: Schedule
    seed: int
    num_threads: int

    @property
    def n_outputs(self) -> int:
        """Scores a document."""
        return self.force.n_outputs(self.data)


@dataclass(frozen=True)
class Passed:
    """What an epoch showed: the mean cost of a query (None where the force has none or nobody asked), and the scores of
    the training documents as each query met them."""

    cost: float | None
    scores: Floats


class Steps(Protocol):
    """A way to take epochs; everything it is at the end of one is `vector` and `state`."""

    converged: bool

    def epoch(self, round: int, rate: float) -> Passed:
        """One pass over the data."""

    @property
    def vector(self) -> Floats:
        """The model's parameters, then the force's own."""

    def begin(self, vector: Floats) -> None:
        """Starts from these parameters, with nothing remembered."""

    def state(self) -> State:
        """What must be known to go on, apart from nothing: arrays."""

    def resume(self, state: State) -> None:
        """Goes on from a state."""


def make_steps(task: Task) -> Steps:
    """The steps that a schedule asks for."""
    check_task(task)
    return (FullSteps if task.schedule.full else GradientSteps)(task)


def check_task(task: Task) -> None:
    """That force, model and schedule go together."""
    force, schedule = task.force, task.schedule
    force.check_labels(task.data)
    if schedule.full and not force.has_cost:
        raise ParameterError(
            f"optimizer={schedule.optimizer!r} needs a cost, and {force} has none; use optimizer='adam' or 'sgd'"
        )
    if schedule.optimizer == "bundle" and not (is_convex(task) and schedule.l2 > 0):
        raise ParameterError(
            f"optimizer='bundle' needs l2 above 0 (found {schedule.l2:g}), a model that is linear in its parameters, and a "
            f"convex force: {', '.join(CONVEX)} (found {force}); use optimizer='adam' or 'lbfgs'"
        )
    if schedule.rate_rule == "halve" and not force.has_cost:
        raise ParameterError(f"rate_rule='halve' watches the cost, and {force} has none; use rate_rule='shrink'")
    if schedule.batch == "pair" and (
        force.definition.over != "pairs" or force.definition.takes is not None or not force.has_cost
    ):
        raise ParameterError(
            f"batch='pair' needs a force that is a sum over pairs such as ranknet or hinge; {force} looks at the whole "
            "list: use batch=1, one update a query"
        )
    if schedule.batch == "pair" and not isinstance(task.model, CoreModel):
        raise ParameterError("batch='pair' needs one of Podium's own models: linear, net or kernel")


def is_convex(task: Task) -> bool:
    """Whether the mean cost is a convex function of the parameters."""
    return isinstance(task.model, CoreModel) and task.model.is_linear and task.force.name in CONVEX


def make_descent(task: Task) -> _core.Descent | ModelDescent:
    """The core's descent where the model is one it knows, else the same in Python."""
    if not isinstance(task.model, CoreModel):
        return ModelDescent(task.model, task.force, task.data, task.num_threads)
    inputs = task.model.prepare(task.data.features, num_threads=task.num_threads)
    return _core.Descent(
        task.model.net,
        task.force.core_spec(task.force.n_classes(task.data)),
        ForceData(task.data).core,
        inputs.features,
        inputs.map.center,
        inputs.map.scale,
        inputs.map.filled,
        task.num_threads,
    )


class GradientSteps:
    """SGD and Adam: an update a batch of queries, or a pair, in an order drawn anew for every epoch."""

    def __init__(self, task: Task) -> None:
        self.task, self.converged = task, False
        self.descent = make_descent(task)
        self.keys = query_hashes(task.data.query_ids, 0)
        self.seen = np.zeros(task.data.n_documents * task.n_outputs)

    def epoch(self, round: int, rate: float) -> Passed:
        """One update for every batch of queries."""
        schedule = self.task.schedule
        wants_cost = schedule.rate_rule == "halve"
        per_pair = schedule.batch == "pair"
        batch = 1 if per_pair else int(schedule.batch)
        order = shuffled_order(self.keys, self.task.seed, round)
        total = 0.0
        for piece in self._pieces(order, batch, PAIR_PIECE if per_pair else PIECE):
            total += self.descent.run(
                piece,
                optimizer=_core.Optimizer[schedule.optimizer],
                rate=rate,
                l2=schedule.l2,
                batch=batch,
                per_pair=per_pair,
                cost=wants_cost,
                seed=self.task.seed,
                round=round,
                seen=self.seen,
            )
        return Passed(total / len(order) if wants_cost else None, self.seen)

    def _pieces(self, order: npt.NDArray[np.int64], batch: int, documents: int) -> list[npt.NDArray[np.int64]]:
        """The order in pieces of whole batches: between two of them an interrupt is heard."""
        mean = max(self.task.data.n_documents / self.task.data.n_queries, 1)
        step = max(int(documents / mean) // batch, 1) * batch
        return [order[begin : begin + step] for begin in range(0, len(order), step)]

    @property
    def vector(self) -> Floats:
        """The parameters as they stand."""
        return self.descent.parameters()

    def begin(self, vector: Floats) -> None:
        """From these parameters, moments forgotten."""
        self.descent.set_parameters(vector)
        self.descent.set_moments(np.zeros_like(vector), np.zeros_like(vector), 0)

    def state(self) -> State:
        """Parameters and Adam's moments."""
        first, second = self.descent.moments()
        updates = np.array([self.descent.updates], np.float64)
        return {"vector": self.vector, "first": first, "second": second, "updates": updates}

    def resume(self, state: State) -> None:
        """Parameters and moments as they were."""
        self.descent.set_parameters(state["vector"])
        self.descent.set_moments(state["first"], state["second"], int(state["updates"][0]))


class FullSteps:
    """L-BFGS and the bundle method: J(w) = mean cost of a query + ½·l2·‖weights‖², an iteration an epoch."""

    def __init__(self, task: Task) -> None:
        self.task, self.converged = task, False
        self.descent = make_descent(task)
        self.order = canonical_order(task.data)
        self.seen = np.zeros(task.data.n_documents * task.n_outputs)
        own = np.zeros(task.force.n_parameters(task.data))
        self.penalized = np.concatenate([task.model.penalized, own])
        self.seen_at = np.empty(0)
        self.solver: LBFGS | Bundle
        self.verdict = Verdict.GOING
        schedule = task.schedule
        # A bias feels no force where the forces of a query sum to zero, so the penalty on weights is all convexity needs.
        # Where the gap is known it alone says when to stop: a small gradient proves little where l2 is small.
        certified = is_convex(task) and schedule.l2 > 0
        self.lbfgs = LBFGSSettings(
            tolerance=0.0 if certified else schedule.tolerance,
            gap_tolerance=schedule.tolerance if certified else 0.0,
            convexity=schedule.l2 if certified else 0.0,
        )
        self.bundle = BundleSettings(schedule.l2, schedule.tolerance) if schedule.optimizer == "bundle" else None

    def risk(self, w: Floats) -> tuple[float, Floats]:
        """The mean cost of a query, and its gradient."""
        self.descent.set_parameters(w)
        self.seen_at = w.copy()
        total, force = self.descent.gradient(
            self.order, per_pair=False, seed=self.task.seed, round=0, seen=self.seen, cost=True
        )
        return total / len(self.order), -force / len(self.order)

    def objective(self, w: Floats) -> tuple[float, Floats]:
        """J and its gradient."""
        value, gradient = self.risk(w)
        held = self.penalized * w
        return value + 0.5 * self.task.schedule.l2 * float(np.add.reduce(held * w)), (
            gradient + self.task.schedule.l2 * held
        )

    def epoch(self, round: int, rate: float) -> Passed:
        """One iteration."""
        oracle = self.objective if isinstance(self.solver, LBFGS) else self.risk
        self.verdict = self.solver.step(oracle)
        self.converged = self.verdict.done
        self.descent.set_parameters(self.solver.w)
        return Passed(self.solver.value, self._scores())

    def _scores(self) -> Floats:
        """Those of the point the solver stands at, which is mostly the last it looked at."""
        if np.array_equal(self.seen_at, self.solver.w):
            return self.seen
        self.seen_at = self.solver.w.copy()
        self.descent.gradient(self.order, per_pair=False, seed=self.task.seed, round=0, seen=self.seen, cost=False)
        return self.seen

    @property
    def vector(self) -> Floats:
        """The parameters as they stand."""
        return self.solver.w

    def begin(self, vector: Floats) -> None:
        """From these parameters, with no history."""
        self.solver = LBFGS(vector, self.lbfgs) if self.bundle is None else Bundle(vector, self.bundle)
        self.converged, self.verdict = False, Verdict.GOING

    def state(self) -> State:
        """The solver's own state."""
        verdict = list(Verdict).index(self.verdict)
        return {**self.solver.state(), "verdict": np.array([verdict], np.float64)}

    def resume(self, state: State) -> None:
        """The solver as it was."""
        rest = {name: value for name, value in state.items() if name != "verdict"}
        self.solver = LBFGS.resume(rest, self.lbfgs) if self.bundle is None else Bundle.resume(rest, self.bundle)
        self.verdict = list(Verdict)[int(state["verdict"][0])]
        self.converged = self.verdict.done

    def certificate(self) -> dict[str, Any]:
        """How near the optimum is: the objective, and a bound on how far it lies above the least one."""
        certificate = {"objective": self.solver.value, "gap": self.solver.gap, "verdict": self.verdict.value}
        if isinstance(self.solver, LBFGS):
            certificate["gradient_norm"] = self.solver.gradient_norm
        return {name: None if value == np.inf else value for name, value in certificate.items()}
