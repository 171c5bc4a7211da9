"""Parameters of a force that are learned in training: free numbers that gradient steps change, and the values they represent."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.exchange import ALONE, Exchange
from podium.forces import Force, ForceData
from podium.training.checkpoint import Arrays

Floats = npt.NDArray[np.float64]


class LearnedParameters:
    """The parameters of a force that are learned together with the model; there may be none."""

    def __init__(
        self, force: Force, data: RankingData, *, held: ForceData | None = None, exchange: Exchange = ALONE
    ) -> None:
        self.force, self.data, self.exchange = force, data, exchange
        self.held = data if held is None else held  # knows the levels of all workers' labels
        self.kinds = force.own_parameters(self.held)
        self.size = force.n_parameters(self.held)
        self.free_start: Floats | None = None  # found once, because workers have to agree on it

    def start(self) -> Floats:
        """Return the free numbers that training starts from."""
        if self.free_start is None:
            levels = self.force.n_classes(self.held)
            values = (
                self.force.own_values(self.data, levels=levels, exchange=self.exchange) if self.size else np.empty(0)
            )
            self.free_start = self.kinds.to_free(values) if self.size else values
        return self.free_start.copy()

    def values(self, free: Floats) -> Floats:
        """Return the values that free numbers represent, as `Force.compute` takes them."""
        return self.kinds.to_values(np.ascontiguousarray(free)) if self.size else np.empty(0)

    def free_force(self, free: Floats, force: Floats) -> Floats:
        """Return the force on the free numbers, given the force on the values."""
        return self.kinds.free_force(np.ascontiguousarray(free), np.ascontiguousarray(force))

    def outcome(self, values: Floats) -> dict[str, Any]:
        """Return these values as a trained model reports them: thresholds, or parameters by name."""
        if self.force.definition.has_thresholds:
            return {"thresholds": values, "learned": None}
        named = self.force.named_values(self.held, values) if self.size else None
        return {"thresholds": np.empty(0), "learned": named}


class BoostedParameters:
    """The parameters that the force learns while trees grow: free numbers that take one gradient step per round."""

    def __init__(self, learned: LearnedParameters) -> None:
        self.learned, self.free = learned, learned.start()
        self.rounds = [self.free]  # at the start and after each round, because the best round can be an earlier one
        self.largest = np.zeros(len(self.free))  # the largest sum of absolute forces over the queries so far

    def move(self, parameter_force: Floats, rate: float, documents: int) -> None:
        """Take a step, given the force on the values from each query.

        The force on a threshold changes by at most ¼ per document when the threshold moves by 1, and is divided by that. No
        such bound is known for other parameters: the force on each is divided by the sum of its absolute values over the queries.
        """
        exchange = self.learned.exchange
        push = np.array(exchange.fsum(*parameter_force.T.tolist()))
        if self.learned.force.definition.has_thresholds:
            self.free = self.free + rate * self.learned.free_force(self.free, push) / (documents / 4)
            return
        total = exchange.fsum(*np.abs(parameter_force).T.tolist())
        self.largest = np.maximum(self.largest, total)
        self.free = self.free + rate * np.divide(push, self.largest, out=np.zeros_like(push), where=self.largest > 0)

    def end_round(self) -> None:
        """Record the parameters after the round."""
        self.rounds.append(self.free)

    def state(self) -> Arrays:
        """Return what a resumed training needs."""
        return {"own": np.array(self.rounds), "own_largest": self.largest}

    def load(self, state: Arrays) -> None:
        """Resume from a state."""
        if state["own"].shape[1:] != self.free.shape or state["own_largest"].shape != self.free.shape:
            raise ValueError("parameters of another force")
        self.rounds, self.largest = list(state["own"]), state["own_largest"]
        self.free = self.rounds[-1]
