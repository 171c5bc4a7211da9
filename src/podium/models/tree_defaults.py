"""Defaults of boosted trees, from the size of the data and from how much effort training may take.

A row of a table holds the values of one setting at five sizes of data. Between two sizes a value is interpolated in the logarithm of
the number of documents, so that a few documents more never lead to another kind of training. `benchmarks/defaults.py` is the experiment
behind the tables up to 120,000 documents; it has no candidates with the forests, draws and rate of the effort "best".
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from podium.data import RankingData

EFFORTS = ("fast", "balanced", "best")
BY_SIZE = "chosen from the size of the data and the effort"
DOCUMENTS = (3_000, 10_000, 30_000, 120_000, 720_000)  # to which the columns of the tables belong
WHOLE_NUMBERS = ("draws", "forests", "smoothing")
SHARES = ("row_sampling", "query_sampling", "column_sampling")  # of which no sample is taken if they are nearly 1
FEW_QUERIES = 20  # below this number every tree sees all queries
L2 = 3.0  # times the mean weight: what it is added to is a sum of weighted curvatures
MOST_WEIGHT = 1e60
MOST_RATE = 0.3
USUAL_ROUNDS = 1000  # of a training that ends by itself
NEEDED_ROUNDS = 300  # at the rate of the table, below which the rate rises if time is short
# Of one thread: per tree; per level of a tree, sampled document and feature; per document and draw of the noise; and per document.
ROUND_SECONDS, CELL_SECONDS, DRAW_SECONDS, DOCUMENT_SECONDS = 2e-4, 1e-9, 1.5e-8, 3e-8

Table = Mapping[str, Sequence[float]]
# `depth` is the base-2 logarithm of the number of leaves.
TABLES: Mapping[str, Table] = {
    "fast": {
        "depth": (5, 5, 5, 6, 6),
        "row_sampling": (1, 1, 0.4, 0.3, 0.2),
        "query_sampling": (0.5, 0.5, 1, 1, 1),
        "column_sampling": (0.5, 0.5, 1, 1, 1),
        "learning_rate": (0.1, 0.1, 0.1, 0.1, 0.1),
        "draws": (5, 5, 2, 2, 2),
        "forests": (1, 1, 1, 1, 1),
        "smoothing": (40, 40, 40, 10, 10),
    },
    "balanced": {
        "depth": (5, 5, 6, 6, 6),
        "row_sampling": (1, 1, 0.5, 0.5, 0.3),
        "query_sampling": (0.5, 0.5, 1, 1, 1),
        "column_sampling": (0.5, 0.5, 1, 1, 1),
        "learning_rate": (0.05, 0.05, 0.05, 0.05, 0.05),
        "draws": (5, 5, 15, 15, 10),
        "forests": (4, 4, 1, 1, 1),
        "smoothing": (40, 40, 40, 10, 10),
    },
    "best": {
        "depth": (5, 5, 6, 6, 6),
        "row_sampling": (1, 1, 0.5, 0.5, 0.5),
        "query_sampling": (0.5, 0.5, 1, 1, 1),
        "column_sampling": (0.5, 0.5, 1, 1, 1),
        "learning_rate": (0.03, 0.03, 0.05, 0.05, 0.05),
        "draws": (15, 15, 20, 20, 15),
        "forests": (12, 12, 6, 6, 6),
        "smoothing": (40, 40, 40, 10, 10),
    },
}


@dataclass(frozen=True)
class Budget:
    """The size of the data, and what training may cost.

    Attributes:
        documents: number of training documents.
        queries: number of training queries.
        features: number of features.
        effort: one of `EFFORTS`.
        seconds: the time that training may take; None: no limit.
        weight: the factor by which the weights of the data multiply a document's curvature, on average.
    """

    documents: int
    queries: int = FEW_QUERIES
    features: int = 1
    effort: str = "balanced"
    seconds: float | None = None
    weight: float = 1.0

    @classmethod
    def of(cls, data: RankingData, **more: Any) -> Budget:
        """Take the size from the training data."""
        return cls(data.n_documents, data.n_queries, data.n_features, **more)

    def affordable(self) -> Budget:
        """Return the budget with the highest effort that is probably finished in time: balanced if there is no limit.

        The largest number of rounds plays no part, because a training that resumes may change it.
        """
        if self.seconds is None:
            return self
        efforts = [replace(self, effort=effort) for effort in reversed(EFFORTS)]
        fit = [each for each in efforts if USUAL_ROUNDS * each.round_seconds(each.table()) <= self.seconds]
        return fit[0] if fit else efforts[-1]

    def table(self) -> dict[str, float]:
        """Return the values of the effort's table at the number of documents."""
        at = math.log(min(max(self.documents, DOCUMENTS[0]), DOCUMENTS[-1]))
        values = {name: float(np.interp(at, np.log(DOCUMENTS), row)) for name, row in TABLES[self.effort].items()}
        return {name: round(value, 2) if name in SHARES else value for name, value in values.items()}

    def round_seconds(self, table: Mapping[str, float]) -> float:
        """Estimate how long a round takes with one thread, whatever the number of threads, on which no default may depend."""
        share = table["row_sampling"] * table["query_sampling"] * table["column_sampling"]
        cells = share * table["depth"] * self.features * CELL_SECONDS
        document = cells + table["draws"] * DRAW_SECONDS + DOCUMENT_SECONDS
        return table["forests"] * (ROUND_SECONDS + self.documents * document)


def tree_defaults(budget: Budget, growth: str) -> dict[str, Any]:
    """Return the defaults by name, for trees that grow in this way.

    If the time is too short for enough rounds, the learning rate rises.
    """
    table = budget.table()
    rate = table["learning_rate"]
    if budget.seconds is not None:
        rounds = budget.seconds / budget.round_seconds(table)
        rate = min(MOST_RATE, rate * max(1.0, NEEDED_ROUNDS / rounds))
    leaves = 2 ** round(table["depth"])
    return {
        **{name: round(table[name]) for name in WHOLE_NUMBERS},
        "learning_rate": rate,
        "l2": L2 * budget.weight,
        "num_leaves": leaves if growth == "symmetric" else leaves - 1,
        "min_documents": min(20, max(1, budget.documents // 150)),
        "row_sampling": table["row_sampling"],
        "column_sampling": table["column_sampling"],
        "query_sampling": 1.0 if budget.queries < FEW_QUERIES else table["query_sampling"],
    }


def mean_weight(data: RankingData, *, in_pairs: bool) -> float:
    """Return the mean factor by which weights multiply curvatures, so that weights on another scale give the same model.

    Args:
        data: the training data.
        in_pairs: whether the force sums over pairs, each of which has the product of two documents' weights.
    """
    parts = [1.0] * data.n_queries if data.query_weights is None else data.query_weights.tolist()
    if data.document_weights is not None:
        weights, ends = data.document_weights.tolist(), data.query_offsets.tolist()
        means = [math.fsum(weights[a:b]) / (b - a) for a, b in itertools.pairwise(ends)]
        parts = [part * mean * (mean if in_pairs else 1.0) for part, mean in zip(parts, means, strict=True)]
    total = math.fsum(part * size for part, size in zip(parts, data.query_sizes.tolist(), strict=True))
    if data.pairs is not None and in_pairs and len(data.pairs.weight) > 0:
        total *= math.fsum(data.pairs.weight.tolist()) / len(data.pairs.weight)
    mean = min(MOST_WEIGHT, total / data.n_documents)
    return float(f"{mean:.6g}") if mean > 0 else 1.0
