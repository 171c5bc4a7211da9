"""One epoch at a time: what the schedules that follow gradients share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data import RankingData
from podium.exchange import ALONE, Exchange
from podium.forces import Force, ForceData
from podium.models import GradientModel
from podium.training.convex import State
from podium.training.model_descent import ModelDescent
from podium.training.shared_descent import AllQueries, SharedDescent

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Task:
    """A training task: fit a model, with its initial values, to a force on the scores of data.

    Attributes:
        levels: how many levels the labels have, if the data is one worker's share; by default, those of the data.
        exchange: how to learn numbers over the queries of all workers.
        force_data: the data as the force takes it.
        queries: the queries of all workers.
    """

    force: Force
    model: GradientModel
    data: RankingData
    seed: int
    num_threads: int
    levels: int | None = None
    exchange: Exchange = ALONE
    force_data: ForceData = field(init=False)
    queries: AllQueries = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "force_data", ForceData(self.data, levels=self.levels))
        object.__setattr__(self, "queries", AllQueries.of(self.data, self.exchange))

    @property
    def n_outputs(self) -> int:
        """Number of scores per document."""
        return self.force.n_outputs(self.force_data)

    @property
    def n_parameters(self) -> int:
        """Number of parameters that the force learns."""
        return self.force.n_parameters(self.force_data)

    @property
    def is_strongly_convex(self) -> bool:
        """Whether the mean cost with an L2 penalty on the weights is strongly convex in all parameters that are learned."""
        return self.model.is_linear and self.force.convex and self.force.balanced and not self.force.learns


@dataclass(frozen=True)
class Passed:
    """The result of an epoch.

    Attributes:
        cost: the mean cost of a query; None if the force has none or it was not asked for.
        scores: the scores of the training documents, each before the update of its query.
    """

    cost: float | None
    scores: Floats


class Steps(Protocol):
    """Runs the epochs of a schedule. At the end of an epoch, `vector` and `state` describe it completely.

    Attributes:
        converged: whether further epochs change nothing.
        keeps_history: whether it uses earlier gradients, which are useless once the cost has changed.
    """

    converged: bool
    keeps_history: bool

    def epoch(self, round: int, rate: float) -> Passed:
        """Make one pass over the data."""

    @property
    def vector(self) -> Floats:
        """The model's parameters, then the force's own."""

    def begin(self, vector: Floats) -> None:
        """Start from these parameters without any history."""

    def state(self) -> State:
        """Return the arrays that a resumed training needs besides the progress."""

    def resume(self, state: State) -> None:
        """Resume from a state."""

    def certificate(self) -> dict[str, Any] | None:
        """Return a bound on the distance from the optimum, or None if none is known."""


def make_descent(task: Task) -> _core.Descent | ModelDescent | SharedDescent:
    """Return what makes gradient steps: the core if it can train the model, else the same in Python; with others, their sum."""
    if not task.model.trains_in_core:
        return ModelDescent(task.model, task.force, task.data, task.num_threads)
    own = task.model.make_descent(
        task.force.core_spec(task.force.n_classes(task.force_data)),
        task.force_data.core_for(task.force),
        task.data.features,
        num_threads=task.num_threads,
    )
    return own if task.exchange.is_alone else SharedDescent(own, task.queries, task.exchange)
