"""How a model is evaluated during training: by the mean of a metric, which does not depend on the order of queries."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.errors import DataError
from podium.exchange import ALONE, Exchange
from podium.metrics import CheckedQueries, Documents, Metric
from podium.metrics.ties import TieEffect, tie_effect

Floats = npt.NDArray[np.float64]


def mean_value(
    metric: Metric, data: RankingData, scores: Floats, num_threads: int, exchange: Exchange = ALONE
) -> float | None:
    """Return the mean of a metric over the queries that have a value, or None if none has; the order of queries has no effect.

    The queries are those of all workers.
    """
    return Judge(metric, data, num_threads, exchange).mean(scores)


class Judge:
    """A metric and the data it judges scores on, again and again."""

    def __init__(self, metric: Metric, data: RankingData, num_threads: int, exchange: Exchange = ALONE) -> None:
        documents = Documents((), data.labels, data.query_offsets, row_order=data.row_order)
        self.queries = CheckedQueries.of([metric], documents, data.n_documents, num_threads)
        self.exchange = exchange

    def mean(self, scores: Floats) -> float | None:
        """Return the `mean_value` of scores."""
        values = self.queries.values(np.ascontiguousarray(scores, np.float64))[0][0]
        mean = self.exchange.mean(values)
        left_out = mean is not None and math.isnan(mean)  # some queries have no value
        return self.exchange.mean(values[~np.isnan(values)]) if left_out else mean


def effect_of_ties(metric: Metric, data: RankingData, scores: Floats, num_threads: int) -> TieEffect:
    """Return how much the mean of a metric depends on the order of documents with tied scores."""
    return tie_effect(metric, _documents(data, scores), num_threads=num_threads)


def _documents(data: RankingData, scores: Floats) -> Documents:
    return Documents(scores, data.labels, data.query_offsets, row_order=data.row_order)


def check_choice(metric: Metric, data: RankingData, what: str, num_threads: int, exchange: Exchange = ALONE) -> None:
    """Raise DataError if the metric cannot tell one ranking of the data from another, so that none is the best."""
    if mean_value(metric, data, np.zeros(data.n_documents), num_threads, exchange) is None:
        raise DataError(
            f"{metric} has no value on any query of the {what} data, so no model is the best; use other data or another metric"
        )
    if not exchange.any(labels_choose(data)):
        raise DataError(
            f"no query of the {what} data has two different labels, so {metric} cannot tell one ranking from another "
            "(metrics do not use pairs); give labels, or train without validation data"
        )


def labels_choose(data: RankingData) -> bool:
    """Return whether a query has two different labels, so that a metric can tell one ranking of it from another."""
    order = np.lexsort((data.labels, data.document_queries))
    same_query = np.diff(data.document_queries[order]) == 0
    return bool((same_query & (np.diff(data.labels[order]) != 0)).any())
