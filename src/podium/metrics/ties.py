"""What tied scores do to a metric: its value by every order of the documents that share a score.

A metric that ranks must put tied documents in some order. With `ties='input'` that is the order of the data, so that the mean
depends on how a file happens to be sorted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.metrics.compute import Documents, per_query
from podium.metrics.metric import Metric

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
ROUNDING = 1e-12  # relative: values closer than this are the same


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
    """

    n_affected: int
    n_queries: int
    value: float
    expected: float
    best: float
    worst: float

    def to_dict(self) -> dict[str, float | None]:
        """Return the attributes as JSON can hold them: None where there is no mean."""
        return {name: None if math.isnan(number) else number for name, number in asdict(self).items()}

    def __str__(self) -> str:
        if not self.n_affected:
            return "no query has tied scores that can change its value"
        return (
            f"{self.n_affected} of {self.n_queries} queries {'have' if self.n_affected > 1 else 'has'} tied scores that can "
            f"change the value: {self.value:.4f} in the order used, {self.expected:.4f} on average over all orders, "
            f"{self.worst:.4f} in the worst and {self.best:.4f} in the best"
        )


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
        num_threads: how many threads to use; all cores by default.
    """
    values, _ = per_query([metric], documents, num_threads=num_threads)
    return tie_values([metric], documents, values, num_threads=num_threads).effect(0)


def tie_values(
    metrics: Sequence[Metric], documents: Documents, values: Floats, *, num_threads: int | None = None
) -> TieValues:
    """Return the values of each query by other orders of tied documents; `values` are those that `per_query` gave."""
    expected, best, worst = values.copy(), values.copy(), values.copy()
    moving = [k for k, metric in enumerate(metrics) if metric.parameters.get("ties") in ("input", "trec_eval")]
    tied = _tied_queries(documents) if moving else np.empty(0, np.int64)
    if len(tied):
        chosen = _select(documents, tied)
        for k in moving:
            average = metrics[k].with_parameters(ties="average")
            by_order = metrics[k].with_parameters(ties="trec_eval")
            worth = _worth(metrics[k], np.asarray(chosen.labels, np.float64))
            rows = [per_query([average], chosen, num_threads=num_threads)[0][0]]
            for order in (worth, -worth):
                ordered = Documents(**{**vars(chosen), "tie_order": order})
                rows.append(per_query([by_order], ordered, num_threads=num_threads)[0][0])
            expected[k, tied], best[k, tied], worst[k, tied] = rows
    return TieValues(values, expected, best, worst)


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
