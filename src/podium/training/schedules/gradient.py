"""Gradient descent: one update per batch of queries, per query or per pair, by Adam or plain steps."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data import RankingData
from podium.data.canonical import shuffled_order
from podium.errors import ParameterError, is_integer
from podium.parameters import Search, inherit, setting
from podium.rules import Choice, Custom, Integer, Real
from podium.training.convex import State
from podium.training.loop import DescentSchedule
from podium.training.run import Plan
from podium.training.schedule import LEARNING_RATE, EpochSettings
from podium.training.steps import Floats, Passed, Task, make_descent

log = logging.getLogger("podium.cluster")
PIECE = 50_000  # documents between two checks for an interrupt
PAIR_PIECE = 500


def _batch(given: Any) -> int | str:
    if isinstance(given, str) and given in ("pair", "query_pairs"):
        return given
    if not is_integer(given) or not 1 <= given < 2**31:
        raise ValueError
    return int(given)


@dataclass(kw_only=True, eq=False, repr=False)
class PenaltySettings(EpochSettings):
    """Settings of every schedule that follows gradients."""

    l2: float = setting(
        0.0,
        Real(least=0),
        "L2 penalty: ½·l2·‖weights‖² is added to the mean cost of a query. Biases are not penalized.",
        search=Search(1e-6, 1.0, log=True),
        option=True,
    )


@dataclass(kw_only=True, eq=False, repr=False)
class GradientSettings(PenaltySettings):
    """Settings of Adam and plain gradient descent."""

    learning_rate: float = inherit(LEARNING_RATE, search=Search(1e-5, 1e-1, log=True))
    batch: int | str = setting(
        1,
        Custom(
            _batch,
            "must be a number of queries of at least 1, 'pair' or 'query_pairs'",
            metavar="INTEGER|pair|query_pairs",
        ),
        "Number of queries per update; or 'pair' for one update per pair of documents; or 'query_pairs' for one update per query "
        "whose pairs go through the model one by one, as in the first version of RankNet.",
        option=True,
    )
    rate_rule: str = setting(
        "constant",
        Choice("constant", "halve", "shrink", "shrink_on_cost"),
        "How the learning rate changes: 'constant' keeps it; 'halve' halves it when the mean cost of an epoch rises [RankNet]; "
        "'shrink' multiplies it by 0.8 when the training metric falls, and 'shrink_on_cost' when the mean cost rises [LambdaRank].",
    )
    restart_rounds: int | None = setting(
        None,
        Integer(1),
        "Number of epochs without improvement after which training restarts from new random weights instead of stopping. The best epoch of all is kept.",
        none="never restart",
    )


class GradientSchedule(GradientSettings, DescentSchedule):
    """What Adam and plain gradient descent share."""

    changes_rate = True
    distributes = True

    def check_engine(self, plan: Plan) -> None:
        """Check that an update takes whole queries, if the plan's engine distributes them."""
        super().check_engine(plan)
        if plan.engine.distributes and self.queries_per_update == 0:
            raise ParameterError(
                "engine",
                str(plan.engine),
                "cannot make one update per pair, which only the worker that has the pair could work on",
                "use {engine='local'}, or a number of queries as {batch}",
            )

    def prepare(self, plan: Plan, data: RankingData) -> Plan:
        """Return the plan with what workers need, after a warning if only one worker can work at a time."""
        if self.queries_per_update == 1:
            log.warning(
                "%s makes one update per query, on which only the worker that has it can work, and %d exchanges per epoch; a "
                "larger batch lets workers share an update",
                self,
                data.n_queries,
            )
        return super().prepare(plan, data)

    @property
    def starting_rate(self) -> float:
        """The learning rate of the first epoch."""
        return self.learning_rate

    @property
    def watches_cost(self) -> bool:
        """Whether the learning rate depends on the cost."""
        return self.rate_rule in ("halve", "shrink_on_cost")

    @property
    def lists_pairs(self) -> bool:
        """Whether pairs go through the model one by one."""
        return isinstance(self.batch, str)

    @property
    def queries_per_update(self) -> int:
        """The number of queries per update; 0 for one update per pair."""
        return {"pair": 0, "query_pairs": 1}.get(self.batch, 0) if isinstance(self.batch, str) else self.batch

    def make_steps(self, task: Task) -> GradientSteps:
        """Return the steps, if force and model are compatible with these settings."""
        force = task.force
        force.check_labels(task.data)
        if self.watches_cost and not force.has_cost:
            raise ParameterError(
                "rate_rule", self.rate_rule, f"depends on the cost, but {force} has none", "use {rate_rule='shrink'}"
            )
        if self.lists_pairs and not force.has_pair_cost:
            raise ParameterError(
                "batch",
                self.batch,
                f"needs a force that is a sum over pairs such as ranknet or hinge; {force} uses the whole list",
                "use {batch=1}, one update per query",
            )
        if self.lists_pairs and not task.model.trains_in_core:
            raise ParameterError("batch", self.batch, "needs one of Podium's own models: linear, net or kernel")
        return GradientSteps(task, self)


@dataclass(kw_only=True, eq=False, repr=False)
class Adam(GradientSchedule):
    """Adam: steps scaled by running moments of the gradient, as in PyTorch. [Kingma and Ba 2015]

    With the moments m̂ and v̂ corrected for their start at 0, a step is rate · m̂ / (√v̂ + ε); β₁ = 0.9, β₂ = 0.999, ε = 10⁻⁸.
    """

    name = "adam"
    summary = "Adam, one update per query, per batch of queries or per pair: adam(rate=0.001, batch=16)."


@dataclass(kw_only=True, eq=False, repr=False)
class SGD(GradientSchedule):
    """Plain gradient descent."""

    name = "sgd"
    summary = "Plain gradient descent, one update per query, per batch of queries or per pair: sgd(rate=0.01)."

    learning_rate: float = inherit(GradientSettings.parameters()["learning_rate"], search=Search(1e-7, 1e-1, log=True))


class GradientSteps:
    """SGD and Adam: one update per batch of queries or per pair, in a new random order in every epoch."""

    converged = False
    keeps_history = False

    def __init__(self, task: Task, schedule: GradientSchedule) -> None:
        self.task, self.schedule = task, schedule
        self.descent = make_descent(task)
        self.keys = task.queries.keys
        self.seen = np.zeros(task.data.n_documents * task.n_outputs)

    def epoch(self, round: int, rate: float) -> Passed:
        """Make one update for every batch of queries."""
        schedule = self.schedule
        wants_cost, per_pair, batch = schedule.watches_cost, schedule.lists_pairs, schedule.queries_per_update
        order = shuffled_order(self.keys, self.task.seed, round)
        total = 0.0
        for piece in self._pieces(order, max(batch, 1), PAIR_PIECE if per_pair else PIECE):
            total += self.descent.run(
                piece,
                optimizer=_core.Optimizer[schedule.name],
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
        """Cut the order into pieces of whole batches, between which an interrupt is noticed."""
        sizes = self.task.queries.documents
        mean = max(int(sizes.sum()) / len(sizes), 1)
        step = max(int(documents / mean) // batch, 1) * batch
        return [order[begin : begin + step] for begin in range(0, len(order), step)]

    @property
    def vector(self) -> Floats:
        """The current parameters."""
        return self.descent.parameters()

    def begin(self, vector: Floats) -> None:
        """Start from these parameters, with moments of 0."""
        self.descent.set_parameters(vector)
        self.descent.set_moments(np.zeros_like(vector), np.zeros_like(vector), 0)

    def state(self) -> State:
        """Return parameters and Adam's moments."""
        first, second = self.descent.moments()
        updates = np.array([self.descent.updates], np.float64)
        return {"vector": self.vector, "first": first, "second": second, "updates": updates}

    def resume(self, state: State) -> None:
        """Restore parameters and moments."""
        if state["second"].min(initial=0) < 0 or not float(state["updates"][0]).is_integer() or state["updates"][0] < 0:
            raise ValueError("the moments of Adam cannot be negative")
        self.descent.set_parameters(state["vector"])
        self.descent.set_moments(state["first"], state["second"], int(state["updates"][0]))

    def certificate(self) -> None:
        """Nothing is proven about the optimum."""
