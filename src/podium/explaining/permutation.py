"""Permutation importance: how much a ranker's metric falls when the values of one feature are permuted."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.data.feature_names import default_names
from podium.data.hashing import U64, query_hashes, splitmix64
from podium.errors import DataError, ParameterError
from podium.evaluation import evaluate
from podium.evaluation.intervals import check_confidence, check_count, student_interval
from podium.evaluation.result import as_json, interval_text, percent
from podium.explaining.mixin import ExplainMixin
from podium.metrics import Metric
from podium.metrics import metric as as_metric
from podium.result_tables import ResultTable, TabularResult

Floats = npt.NDArray[np.float64]
AMONG = ("query", "all")
SHOWN = 20  # features in the table of a notebook


@dataclass(frozen=True, eq=False)
class PermutationImportance(TabularResult):
    """How much a metric falls when the values of one feature are permuted.

    Attributes:
        metric: the name of the metric.
        features: the names of the features, in the order of the data.
        baseline: the mean of the metric over the queries without any permutation.
        mean: [features], the mean fall; 0 for a feature that the ranker does not use.
        interval: [features × 2], the confidence interval of the mean fall over queries.
        per_query: [features × queries], the fall of each query, averaged over the repeats; NaN for a query that is left out.
        repeats: the number of permutations.
        among: 'query' if values are permuted within each query, 'all' if they are permuted over all documents.
        confidence: the confidence of the intervals.
    """

    metric: str
    features: tuple[str, ...]
    baseline: float
    mean: Floats
    interval: Floats
    per_query: Floats = field(repr=False)
    repeats: int
    among: str
    confidence: float

    @property
    def order(self) -> npt.NDArray[np.int64]:
        """The columns of the features, the most important first."""
        return np.argsort(-np.nan_to_num(self.mean, nan=-np.inf), kind="stable")

    def to_dict(self) -> dict[str, Any]:
        """Return everything except the values of single queries as values that JSON can hold; NaN becomes None."""
        return {
            "metric": self.metric,
            "baseline": as_json(self.baseline),
            "repeats": self.repeats,
            "among": self.among,
            "confidence": self.confidence,
            "features": {
                name: {"mean": as_json(float(self.mean[k])), "interval": as_json(self.interval[k].tolist())}
                for k, name in enumerate(self.features)
            },
        }

    def _frame_columns(self) -> dict[str, list[Any]]:
        return {
            "feature": [self.features[k] for k in self.order],
            "mean": self.mean[self.order].tolist(),
            "low": self.interval[self.order, 0].tolist(),
            "high": self.interval[self.order, 1].tolist(),
        }

    def _result_table(self) -> ResultTable:
        rows = [
            (self.features[k], f"{self.mean[k]:+.4f}", interval_text(self.interval[k].tolist(), "+.4f"))
            for k in self.order[:SHOWN]
        ]
        title = f"Fall of {self.metric} when a feature is permuted; {self.baseline:.4f} without permutation"
        rest = len(self.features) - len(rows)
        notes = [f"{rest} more features; to_frame() has all."] if rest else []
        return ResultTable(title, ("feature", "fall", f"{percent(self.confidence)} interval"), rows, notes)

    def __str__(self) -> str:
        width = max([len("feature"), *map(len, self.features)])
        title = f"{self.confidence:.0%} interval"
        lines = [f"{'feature':<{width}}  {'fall':>8}  {title:>20}"]
        for k in self.order:
            low, high = self.interval[k]
            lines.append(f"{self.features[k]:<{width}}  {self.mean[k]:+8.4f}  {f'[{low:+.4f}, {high:+.4f}]':>20}")
        return "\n".join([*lines, f"of {self.metric}, {self.baseline:.4f} without permutation"])

    __repr__ = __str__


def permutation_importance(
    ranker: Any,
    data: RankingData,
    *,
    metric: str | Metric | None = None,
    repeats: int = 5,
    seed: int = 0,
    among: str = "query",
    confidence: float = 0.95,
    num_threads: int | None = None,
) -> PermutationImportance:
    """Measure how much a metric falls when the values of one feature are permuted, for each feature and any ranker.

    A feature that is the same for all documents of a query, such as the length of the query, cannot order them, and permuting it
    within the query changes nothing; with `among="all"` values come from other queries too. The permutation
    is a hash of seed, query id and position in the query, so that the order of queries does not change the result. Use data
    that the ranker was not trained on. [Breiman 2001]

    Args:
        ranker: a fitted ranker, or any object whose `predict` returns one score per row of an array of features.
        data: judged queries.
        metric: the metric to measure; by default the ranker's own, or ndcg@10.
        repeats: number of permutations per feature, whose falls are averaged.
        seed: the same seed gives the same result.
        among: 'query' if values are permuted within each query, 'all' if they are permuted over all documents.
        confidence: the confidence of the intervals, which are Student's intervals over queries.
        num_threads: number of threads for the metric; all cores by default.
    """
    if not isinstance(data, RankingData):
        raise DataError(f"data must be a RankingData, not {type(data).__name__}; make one: RankingData(X, y, qid)")
    if among not in AMONG:
        raise ParameterError("among", among, "must be 'query' or 'all'")
    repeats, confidence = check_count("repeats", repeats), check_confidence(confidence)
    meant = as_metric(getattr(ranker, "metric", "ndcg@10") if metric is None else metric)
    keys = _document_keys(data, seed)
    probe = _Probe(ranker, data, meant, num_threads)
    before = probe.values()
    falls = np.zeros((data.n_features, data.n_queries))
    falls[:, np.isnan(before)] = np.nan
    for repeat in range(repeats):
        source = _sources(data, splitmix64(keys ^ np.uint64(repeat)), keys, among)
        for feature in _used(ranker, data.n_features):
            falls[feature] += (before - probe.values(feature, source)) / repeats
    if not meant.higher_is_better:
        falls = -falls
    counted = [np.sort(row[~np.isnan(row)]) for row in falls]  # sorted, so that no order of queries changes a sum
    return PermutationImportance(
        metric=str(meant),
        features=_names(ranker, data),
        baseline=_mean(before[~np.isnan(before)]),
        mean=np.array([_mean(row) for row in counted]),
        interval=np.array([student_interval(row, confidence) for row in counted]).reshape(-1, 2),
        per_query=falls,
        repeats=repeats,
        among=among,
        confidence=confidence,
    )


class _Probe:
    """Evaluates the data query by query, with the values of one feature permuted."""

    def __init__(self, ranker: Any, data: RankingData, metric: Metric, num_threads: int | None) -> None:
        self.ranker, self.data, self.metric, self.num_threads = ranker, data, metric, num_threads
        self.features = np.array(data.features)  # the only copy; one column at a time is changed in it
        parts = {name: getattr(data, name) for name in RankingData.PARTS}
        self.moved = RankingData.of_parts(check=False, **{**parts, "features": self.features})

    def values(self, feature: int | None = None, source: npt.NDArray[np.int64] | None = None) -> Floats:
        """Return the metric of each query, with the values of the feature taken from the documents of `source`."""
        if feature is None:
            return self._judge()
        column = self.data.features[:, feature]
        self.features[:, feature] = column[source]
        try:
            return self._judge()
        finally:
            self.features[:, feature] = column

    def _judge(self) -> Floats:
        if isinstance(self.ranker, ExplainMixin):
            scores = self.ranker.predict(self.moved)
        else:
            scores = self.data.to_caller_order(np.asarray(self.ranker.predict(self.features), np.float64))
        result = evaluate(scores, self.data, self.metric, num_threads=self.num_threads)
        return result.per_query[self.metric]


def _document_keys(data: RankingData, seed: int) -> U64:
    """Return one number per document, from seed, query id and place in the query."""
    place = np.arange(data.n_documents) - np.repeat(data.query_offsets[:-1], data.query_sizes)
    return splitmix64(np.repeat(query_hashes(data.query_ids, seed), data.query_sizes) + place.astype(np.uint64))


def _sources(data: RankingData, draw: U64, keys: U64, among: str) -> npt.NDArray[np.int64]:
    """Return for each document the document whose value it gets."""
    if among == "query":
        return np.lexsort((draw, data.document_queries))
    source = np.empty(data.n_documents, np.int64)
    source[np.argsort(keys, kind="stable")] = np.argsort(draw, kind="stable")
    return source


def _used(ranker: Any, n_features: int) -> list[int]:
    """Return the features that can make a difference."""
    if isinstance(ranker, ExplainMixin) and hasattr(ranker, "scorer_"):
        return [int(feature) for feature in ranker.scorer_.model.used_features]
    return list(range(n_features))


def _names(ranker: Any, data: RankingData) -> tuple[str, ...]:
    known = getattr(getattr(ranker, "scorer_", None), "feature_names", None)
    return data.feature_names or known or default_names(data.n_features)


def _mean(values: Floats) -> float:
    return math.fsum(values.tolist()) / len(values) if len(values) else math.nan
