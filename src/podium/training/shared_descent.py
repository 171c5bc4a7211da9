"""Gradient descent by workers that each hold some of the queries, with the bits of one process.

One process adds up the gradients of an update in chunks of queries (`core/net/descent.cpp`). In a chunk of several queries, the
gradient of each is computed on its own, and they are added one by one: here each worker computes those of its own queries, and
the sums follow the order of the update, not that of the workers. A query that is a chunk of its own, as every query of a large
net can be taken, is added document by document to the sum so far: here the worker that has it continues the sum, and passes it on.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data import RankingData
from podium.data.hashing import U64, query_hashes
from podium.exchange import Exchange

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
EXCHANGED = 1 << 20  # numbers of gradients that an exchange carries, if a single chunk has no more


@dataclass(frozen=True)
class AllQueries:
    """The queries of all workers, which are numbered worker by worker.

    Attributes:
        keys: the hash of the id of each query.
        documents: the number of documents of each query.
        ends: one more than the last query of each worker.
        worker: the number of this worker.
    """

    keys: U64
    documents: Numbers
    ends: Numbers
    worker: int

    @classmethod
    def of(cls, data: RankingData, exchange: Exchange) -> AllQueries:
        """Return the queries of all workers, given those of this one."""
        parts = exchange.gather((query_hashes(data.query_ids, 0), np.asarray(data.query_sizes, np.int64)))
        keys, documents = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
        return cls(keys, documents, np.cumsum([len(part[0]) for part in parts]), exchange.number)

    @property
    def canonical_order(self) -> Numbers:
        """The numbers of all queries in an order that depends on their ids alone."""
        return np.argsort(self.keys, kind="stable")

    @property
    def first(self) -> int:
        """The number of this worker's first query."""
        return int(self.ends[self.worker - 1]) if self.worker else 0

    def owners(self, queries: Numbers) -> Numbers:
        """Return the worker that has each of these queries."""
        return np.searchsorted(self.ends, queries, side="right")


class SharedDescent:
    """The methods of the core's Descent for queries of all workers, each of which has a descent of its own queries.

    All workers call the same methods with the same arguments, and then have the same parameters. `seen` holds the scores of a
    worker's own documents.
    """

    def __init__(self, own: _core.Descent, queries: AllQueries, exchange: Exchange) -> None:
        self.own, self.queries, self.exchange = own, queries, exchange
        self.costs = np.zeros(int(queries.ends[queries.worker]) - queries.first)  # of this worker's queries

    @property
    def updates(self) -> int:
        """Number of updates so far."""
        return self.own.updates

    def set_parameters(self, parameters: Floats) -> None:
        """Set the model's parameters, then the force's own."""
        self.own.set_parameters(parameters)

    def parameters(self) -> Floats:
        """Return the model's parameters, then the force's own."""
        return self.own.parameters()

    def set_moments(self, first: Floats, second: Floats, updates: int) -> None:
        """Set Adam's moments."""
        self.own.set_moments(first, second, updates)

    def moments(self) -> tuple[Floats, Floats]:
        """Return Adam's moments."""
        return self.own.moments()

    def run(
        self,
        queries: Numbers,
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
        parts = [queries[begin : begin + batch] for begin in range(0, len(queries), batch)]
        for part in parts:
            total = self._sum(part, per_pair=per_pair, seed=seed, round=round, seen=seen, cost=cost)
            self.own.apply(total, queries=len(part), optimizer=optimizer, rate=rate, l2=l2)
        return self._total_cost(parts) if cost else 0.0

    def gradient(
        self, queries: Numbers, *, per_pair: bool, seed: int, round: int, seen: Floats | None, cost: bool
    ) -> tuple[float, Floats]:
        """Return the sums over queries of the cost and of force · ∂s/∂parameter."""
        total = self._sum(queries, per_pair=per_pair, seed=seed, round=round, seen=seen, cost=cost)
        return self._total_cost([queries]) if cost else 0.0, total

    def show(self, seen: Floats, *, seed: int, round: int) -> None:
        """Write the scores of this worker's documents; the others need not do the same."""
        own = np.arange(len(self.costs))
        self.own.gradient(own, per_pair=False, seed=seed, round=round, seen=seen, cost=False)

    def _sum(self, queries: Numbers, *, per_pair: bool, cost: bool, **how: Any) -> Floats:
        """Return the sum of the gradients of an update, as one process adds them up."""
        total = np.zeros(self.own.size)
        owners, own = self.queries.owners(queries), queries - self.queries.first
        for begin, end, one_by_one in self._stretches(queries, owners, per_pair):
            mine = begin + np.flatnonzero(owners[begin:end] == self.queries.worker)
            if one_by_one:
                costs, gradients = self.own.query_gradients(own[mine], cost=cost, **how)
                self.costs[own[mine]] = costs
                total = self.exchange.add_in_order(total, mine, gradients.reshape(len(mine), len(total)))
                continue
            for query in own[mine]:
                self.costs[query], total = self.own.gradient(
                    np.array([query]), per_pair=per_pair, cost=cost, start=total, **how
                )
            total = self.exchange.share(total if len(mine) else None)
        return total

    def _stretches(self, queries: Numbers, owners: Numbers, per_pair: bool) -> Iterator[tuple[int, int, bool]]:
        """Cut an update into what one exchange each carries: (begin, end, whether gradients are added one by one).

        If they are not, all queries between begin and end belong to one worker.
        """
        ends = [0, *self.own.chunk_ends(self.queries.documents[queries])]
        whole = self.own.adds_queries and not per_pair
        most = max(EXCHANGED // max(self.own.size, 1), 1)
        begin = 0
        for (first, last), after in itertools.zip_longest(itertools.pairwise(ends), itertools.pairwise(ends[1:])):
            several = whole and last - first > 1
            if not several:
                cuts = first + 1 + np.flatnonzero(np.diff(owners[first:last]))
                for part in itertools.pairwise([first, *cuts.tolist(), last]):
                    yield *part, False
                begin = last
            elif after is None or after[1] - after[0] == 1 or after[1] - begin > most:
                yield begin, last, True
                begin = last

    def _total_cost(self, parts: list[Numbers]) -> float:
        """Return the sum of the costs of queries, added up as one process does: chunk by chunk, and part by part."""
        costs = np.concatenate(self.exchange.gather(self.costs.copy())).tolist()
        total = 0.0
        for part in parts:
            of_part, ends = 0.0, self.own.chunk_ends(self.queries.documents[part])
            numbers = part.tolist()
            for first, last in itertools.pairwise([0, *ends]):
                of_chunk = 0.0
                for query in numbers[first:last]:
                    of_chunk += costs[query]
                of_part += of_chunk
            total += of_part
        return total
