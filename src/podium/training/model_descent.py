"""The core's gradient descent in plain Python, for models that the core does not know; tests compare both."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data import RankingData
from podium.forces import Force, ForceData
from podium.models import GradientModel
from podium.training.force_parameters import LearnedParameters

EPSILON = 1e-8  # Adam's ε

Floats = npt.NDArray[np.float64]


class ModelDescent:
    """Gradient descent through a model's `scores` and `backward`, with the methods of the core's Descent."""

    def __init__(self, model: GradientModel, force: Force, data: RankingData, num_threads: int) -> None:
        self.model, self.force, self.data, self.num_threads = model, force, data, num_threads
        self.learned = LearnedParameters(force, data)
        self.force_data = ForceData(data, levels=force.n_classes(data))
        self.n_own = self.learned.size
        self.own = np.zeros(self.n_own)  # free numbers
        self.first = np.zeros(self.size)
        self.second = np.zeros(self.size)
        self.updates = 0

    @property
    def size(self) -> int:
        """Number of the model's parameters and the force's own."""
        return len(self.model.vector) + self.n_own

    def set_parameters(self, parameters: Floats) -> None:
        """Set the model's parameters, then the force's own."""
        self.model.vector = np.array(parameters[: self.size - self.n_own])
        self.own = np.array(parameters[self.size - self.n_own :])

    def parameters(self) -> Floats:
        """Return the model's parameters, then the force's own."""
        return np.concatenate([self.model.vector, self.own])

    def set_moments(self, first: Floats, second: Floats, updates: int) -> None:
        """Set Adam's moments."""
        self.first, self.second, self.updates = np.array(first), np.array(second), updates

    def moments(self) -> tuple[Floats, Floats]:
        """Return Adam's moments."""
        return self.first.copy(), self.second.copy()

    def run(
        self,
        queries: npt.NDArray[np.int64],
        *,
        optimizer: _core.Optimizer,
        rate: float,
        l2: float,
        batch: int,
        per_pair: bool,
        cost: bool,
        seed: int,
        round: int,
        seen: Floats | None,
    ) -> float:
        """Make one pass over the queries in this order; return the sum of their costs if it is asked for."""
        total = 0.0
        for begin in range(0, len(queries), batch):
            part = queries[begin : begin + batch]
            value, push = self.gradient(part, per_pair=per_pair, seed=seed, round=round, seen=seen, cost=cost)
            total += value
            push /= len(part)
            if l2 > 0:
                push[: len(push) - self.n_own] -= l2 * self.model.penalized * self.model.vector
            self._update(push, optimizer, rate)
        return total

    def _update(self, push: Floats, optimizer: _core.Optimizer, rate: float) -> None:
        self.updates += 1
        if optimizer == _core.Optimizer.sgd:
            self.set_parameters(self.parameters() + rate * push)
            return
        self.first += 0.1 * (push - self.first)
        self.second += 0.001 * (push * push - self.second)
        root = np.sqrt(1 - 0.999**self.updates)
        correction = root / (1 - 0.9**self.updates)
        self.set_parameters(
            self.parameters() + rate * correction * self.first / (np.sqrt(self.second) + EPSILON * root)
        )

    def gradient(
        self,
        queries: npt.NDArray[np.int64],
        *,
        per_pair: bool,
        seed: int,
        round: int,
        seen: Floats | None,
        cost: bool,
    ) -> tuple[float, Floats]:
        """Return the sums over queries of the cost and of force · ∂s/∂parameter."""
        assert not per_pair, "only the core's models can be trained pair by pair"
        part = self.data.select(queries)
        scores = self.model.scores_in_training(part, num_threads=self.num_threads)
        if seen is not None:
            self._show(queries, scores, seen)
        outcome = self.force.compute(
            scores,
            self.force_data.part(part, queries),
            cost=cost,
            parameters=self.learned.values(self.own),
            seed=seed,
            round=round,
            num_threads=self.num_threads,
        )
        push = self.model.backward_in_training(part, outcome.force, num_threads=self.num_threads)
        if outcome.parameter_force is not None:
            push = np.concatenate([push, self.learned.free_force(self.own, outcome.parameter_force.sum(axis=0))])
        return 0.0 if outcome.cost is None else float(outcome.cost.sum()), push

    def _show(self, queries: npt.NDArray[np.int64], scores: Floats, seen: Floats) -> None:
        """Write the scores of the queries to the places of their documents."""
        table = seen.reshape(self.data.n_documents, -1)
        at = 0
        for query in queries:
            begin, end = self.data.query_offsets[query : query + 2]
            table[begin:end] = scores[at : at + end - begin].reshape(end - begin, -1)
            at += end - begin
