"""How much tied scores can change a metric: its values over the orders of documents that share a score.

A metric that ranks must put tied documents in some order. With `ties='input'` that is the order of the data, so that the mean
depends on how a file happens to be sorted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data.hashing import splitmix64
from podium.metrics.compute import Documents, per_query
from podium.metrics.metric import Metric

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
ROUNDING = 1e-12  # relative: values closer than this are the same
RANDOM_ORDERS = 32  # over which a user's function is averaged


@dataclass(frozen=True)
class TieEffect:
    """How much of the mean of a metric is due to the order of documents with tied scores.

    Attributes:
        n_affected: number of queries whose value depends on the order of tied documents.
        n_queries: number of queries in the mean.
        value: the mean by the metric's own tie rule.
        expected: the mean over all orders of tied documents, as `ties='average'` computes it.
        best: the mean with tied documents in the best order.
        worst: the mean with tied documents in the worst order.

    Of a metric of your own, `expected` is the mean over 32 random orders, and `best` and `worst` are the extremes of these and
    of the orders by label.
    """

    n_affected: int
    n_queries: int
    value: float
    expected: float
    best: float
    worst: float

    @property
    def matters(self) -> bool:
        """Whether the order of tied documents changes the mean in the four digits that are shown."""
        return self.n_affected > 0 and f"{self.worst:.4f}" != f"{self.best:.4f}"

    def to_dict(self) -> dict[str, float | None]:
        """Return the attributes as values that JSON can hold; None if there is no mean."""
        return {name: None if math.isnan(number) else number for name, number in asdict(self).items()}

    def __str__(self) -> str:
        if not self.n_affected:
            return "no query has tied scores that can change its value"
        return (
            f"{self.n_affected} of {self.n_queries} queries {'have' if self.n_affected > 1 else 'has'} tied scores that can "
            f"change the value: {self.value:.4f} in the order used, {self.expected:.4f} on average over all orders, "
            f"{self.worst:.4f} in the worst and {self.best:.4f} in the best"
        )


def tie_lines(effects: Mapping[str, TieEffect]) -> list[str]:
    """Return one line on those effects that matter, by name, or none."""
    found = {name: effect for name, effect in effects.items() if effect.matters}
    if len(found) < 2:
        return [f"{name}: {effect}" for name, effect in found.items()]
    values = (
        f"{name} {effect.value:.4f}, {effect.expected:.4f}, {effect.worst:.4f} to {effect.best:.4f} ({effect.n_affected} of "
        f"{effect.n_queries} queries)"
        for name, effect in found.items()
    )
    return [
        f"tied scores can change these values (in the order used, on average over all orders, worst to best): {'; '.join(values)}"
    ]


@dataclass(frozen=True)
class TieValues:
    """Values of each query by other orders of its tied documents, each [metrics × queries]."""

    value: Floats
    expected: Floats
    best: Floats
    worst: Floats

    def effect(self, number: int, queries: npt.NDArray[np.int64] | None = None) -> TieEffect:
        """Return the effect on the mean of one metric, over all queries or some of them."""
        rows = [each[number] if queries is None else each[number][queries] for each in vars(self).values()]
        value, expected, best, worst = (row[~np.isnan(rows[0])] for row in rows)
        moved = np.abs(best - worst) > ROUNDING * np.maximum(np.abs(best), np.abs(worst))
        return TieEffect(int(moved.sum()), len(value), *map(_mean, (value, expected, best, worst)))


def tie_effect(metric: Metric, documents: Documents, *, num_threads: int | None = None) -> TieEffect:
    """Return how much of the mean of a metric is due to the order of tied documents.

    `str()` of the result is a sentence for people, and `to_dict()` is ready for JSON. It costs a sort of all scores, and three
    evaluations of the queries that have ties.

    Args:
        metric: the metric.
        documents: scores, labels and query offsets, as `per_query` takes them.
        num_threads: number of threads; all cores by default.
    """
    values, _ = per_query([metric], documents, num_threads=num_threads)
    return tie_values([metric], documents, values, num_threads=num_threads).effect(0)


def tie_values(
    metrics: Sequence[Metric], documents: Documents, values: Floats, *, num_threads: int | None = None
) -> TieValues:
    """Return the values of each query by other orders of tied documents; `values` are those that `per_query` gave."""
    expected, best, worst = values.copy(), values.copy(), values.copy()
    moving = [k for k, metric in enumerate(metrics) if metric.parameters.get("ties", "average") != "average"]
    tied = _tied_queries(documents) if moving else np.empty(0, np.int64)
    if len(tied):
        chosen = _select(documents, tied)
        for k in moving:
            by_order = _by_order(metrics[k], chosen, values[k, tied], num_threads)
            expected[k, tied], best[k, tied], worst[k, tied] = by_order
    return TieValues(values, expected, best, worst)


def _by_order(
    metric: Metric, documents: Documents, values: Floats, num_threads: int | None
) -> tuple[Floats, Floats, Floats]:
    """The expected, best and worst value of each query over orders of its tied documents."""
    in_order = metric.with_parameters(ties="trec_eval")

    def value(tie_order: npt.NDArray[np.int64]) -> Floats:
        ordered = Documents(**{**vars(documents), "tie_order": tie_order})
        found: Floats = per_query([in_order], ordered, num_threads=num_threads)[0][0]
        return found

    worth = _worth(metric, np.asarray(documents.labels, np.float64))
    by_label = [value(worth), value(-worth)]
    if metric.custom is None:
        average = per_query([metric.with_parameters(ties="average")], documents, num_threads=num_threads)[0][0]
        return average, by_label[0], by_label[1]
    drawn = [value(order) for order in _random_orders(documents)]
    tried = np.array([values, *by_label, *drawn])
    high, low = tried.max(axis=0), tried.min(axis=0)
    return np.mean(drawn, axis=0), *((high, low) if metric.higher_is_better else (low, high))


def _random_orders(documents: Documents) -> Iterator[npt.NDArray[np.int64]]:
    """Orders of documents drawn by their place in the query, so that the order of queries does not matter."""
    offsets = np.asarray(documents.query_offsets, np.int64)
    sizes = np.diff(offsets)
    places = (np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes)).astype(np.uint64)
    for draw in range(RANDOM_ORDERS):
        yield (splitmix64(places ^ splitmix64(np.array([draw], np.uint64))) >> np.uint64(1)).astype(np.int64)


def _worth(metric: Metric, labels: Floats) -> npt.NDArray[np.int64]:
    """The rank of each document by what the metric gives for its label: the greater belongs further up."""
    gains = metric.parameters.get("gain")
    if isinstance(
        gains, tuple
    ):  # of whole labels, not always rising; the trec_eval convention takes negative ones as 0
        labels = np.asarray(gains, np.float64)[np.maximum(labels, 0).astype(np.int64)]
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _tied_queries(documents: Documents) -> npt.NDArray[np.int64]:
    """The numbers of queries in which two ranked documents have the same score and different labels."""
    offsets = np.asarray(documents.query_offsets, np.int64)
    scores, labels = np.asarray(documents.scores, np.float64), np.asarray(documents.labels, np.float64)
    queries = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    if documents.retrieved is not None:
        kept = np.asarray(documents.retrieved, bool)
        scores, labels, queries = scores[kept], labels[kept], queries[kept]
    order = np.lexsort((labels, scores, queries))
    scores, labels, queries = scores[order], labels[order], queries[order]
    same = (queries[1:] == queries[:-1]) & (scores[1:] == scores[:-1]) & (labels[1:] != labels[:-1])
    return np.unique(queries[1:][same])


def _select(documents: Documents, queries: npt.NDArray[np.int64]) -> Documents:
    """The documents of some queries."""
    offsets = np.asarray(documents.query_offsets, np.int64)
    sizes = np.diff(offsets)[queries]
    ends = np.cumsum(sizes)
    rows = np.arange(ends[-1]) + np.repeat(offsets[queries] - (ends - sizes), sizes)
    columns: dict[str, Any] = {
        name: None if column is None else np.asarray(column)[rows]
        for name, column in vars(documents).items()
        if name != "query_offsets"
    }
    return Documents(query_offsets=np.append(0, ends), **columns)


def _mean(values: Floats) -> float:
    return math.fsum(values.tolist()) / len(values) if len(values) else math.nan
