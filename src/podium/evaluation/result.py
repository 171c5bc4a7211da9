"""The result of an evaluation: means with intervals, and the value of each query."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from podium.data.grouping import plain_ids
from podium.errors import ParameterError
from podium.evaluation.intervals import METHODS, Interval, bootstrap_interval, within
from podium.functions import Function
from podium.metrics import Metric, TieEffect, TieValues, metric, tie_lines
from podium.result_tables import ResultTable, TabularResult, make_frame

Floats = npt.NDArray[np.float64]
T = TypeVar("T")
Key = str | Metric | Function


@dataclass(frozen=True)
class Asked:
    """Which metrics an evaluation computed (`used`), and the names that lead to each."""

    used: tuple[Metric, ...]
    labels: dict[str, int]
    spellings: dict[str, int]

    def number(self, key: Key) -> int:
        """Return the index in `used` of a metric by any of its names; raise KeyError if it was not evaluated."""
        for names in (self.spellings, self.labels):
            if str(key) in names:
                return names[str(key)]
        try:
            meant = metric(key)
        except ParameterError as error:
            raise KeyError(str(error)) from None
        for name in (meant.label, str(meant)):
            if name in self.labels:
                return self.labels[name]
        if meant in self.used:
            return self.used.index(meant)
        raise KeyError(f"{str(meant)!r} was not evaluated; these were: {', '.join(self.labels)}")


class ByMetric(Mapping[str, T], Generic[T]):
    """Values by metric, found by any spelling of the metric's name or by the Metric itself."""

    def __init__(self, asked: Asked, find: Callable[[int], T]) -> None:
        self._asked, self._find = asked, find

    def __getitem__(self, key: Key) -> T:
        return self._find(self._asked.number(key))

    def __iter__(self) -> Iterator[str]:
        return iter(self._asked.labels)

    def __len__(self) -> int:
        return len(self._asked.labels)

    def __repr__(self) -> str:
        return repr(dict(self))


@dataclass(frozen=True)
class IntervalOptions:
    """How intervals are made: the name of the plain one, the confidence of both, and the draws of the bootstrap."""

    method: str
    confidence: float
    draws: int
    seed: int


class Evaluation(TabularResult):
    """The values of one system. `podium.evaluate` makes it, so that its constructor is not for users.

    Attributes:
        metrics: the metrics as computed, in the order asked for; with a run, its convention is part of them.
        query_ids: [queries].
        query_numbers: [queries], the number of each in the data: `query_ids` are `data.query_ids[query_numbers]`.
        mean: by metric, the mean over the queries that count.
        interval: by metric, the confidence interval of the mean: Student's, or what `interval_method` names.
        interval_method: "student" (mean ± t·SE, within the metric's range) or "normal" (mean ± z·SE as it is; 1.96·SE for 95 %).
        bootstrap_interval: by metric, the studentized bootstrap interval over queries; computed on first access.
        per_query: by metric, one value per query; NaN for a query that is left out.
        n_empty: by metric, how many queries have no relevant document (metrics over pairs: no two labels).
        n_missing: with a run, how many judged queries it lacks; they are not in the means.
        mean_complete: by metric, the mean over all judged queries, those missing from the run counting 0.
        ties: by metric, how many queries have tied scores that can change their value, and the mean by other orders.
        confidence: the confidence of both intervals.
    """

    def __init__(
        self,
        asked: Asked,
        query_ids: npt.NDArray[Any],
        query_numbers: npt.NDArray[np.int64],
        values: Floats,
        empty: npt.NDArray[np.bool_],
        *,
        ties: TieValues,
        intervals: IntervalOptions,
        missing: Floats | None = None,
    ) -> None:
        self.metrics, self.query_ids, self.query_numbers = asked.used, query_ids, query_numbers
        self.confidence, self.interval_method = intervals.confidence, intervals.method
        self._asked, self._values, self._empty, self._intervals = asked, values, empty, intervals
        self._ties, self._missing = ties, missing
        self._drawn: dict[int, Interval] = {}

    @property
    def mean(self) -> ByMetric[float]:
        """The mean of each metric."""
        return ByMetric(self._asked, self._mean)

    @property
    def interval(self) -> ByMetric[Interval]:
        """The interval of each metric."""
        return ByMetric(self._asked, self._interval)

    @property
    def bootstrap_interval(self) -> ByMetric[Interval]:
        """The bootstrap interval of each metric."""
        return ByMetric(self._asked, self._draw)

    @property
    def per_query(self) -> ByMetric[Floats]:
        """The values of each metric."""
        return ByMetric(self._asked, self._values.__getitem__)

    @property
    def n_empty(self) -> ByMetric[int]:
        """The number of empty queries for each metric."""
        return ByMetric(self._asked, self._count_empty)

    @property
    def ties(self) -> ByMetric[TieEffect]:
        """The effect of tied scores on each metric."""
        return ByMetric(self._asked, self._ties.effect)

    def ties_among(self, metric: Key, queries: npt.NDArray[np.int64]) -> TieEffect:
        """Return the effect of tied scores on the mean over some of the queries, given by their places in `query_ids`."""
        return self._ties.effect(self._asked.number(metric), queries)

    def _mean(self, number: int) -> float:
        counted = self._values[number][~np.isnan(self._values[number])]
        return math.fsum(counted.tolist()) / len(counted) if len(counted) else math.nan  # the same for any order

    def _interval(self, number: int) -> Interval:
        found = METHODS[self.interval_method](self._values[number], self.confidence)
        return within(found, self.metrics[number].bounds) if self.interval_method == "student" else found

    def _draw(self, number: int) -> Interval:
        if number not in self._drawn:
            self._drawn[number] = bootstrap_interval(
                self._values[number],
                self.confidence,
                self._intervals.draws,
                self._intervals.seed,
                self.metrics[number].bounds,
            )
        return self._drawn[number]

    def _count_empty(self, number: int) -> int:
        return int(self._empty[number].sum())

    @property
    def n_queries(self) -> int:
        """The number of queries that were evaluated, including those left out of means."""
        return len(self.query_ids)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as values that JSON can hold; NaN becomes None."""
        return {
            "n_queries": self.n_queries,
            "n_missing": self.n_missing,
            "confidence": self.confidence,
            "interval_method": self.interval_method,
            "query_ids": [json_id(query) for query in plain_ids(self.query_ids)],
            "metrics": {
                name: {
                    "mean": as_json(self.mean[name]),
                    "mean_complete": as_json(self.mean_complete[name]),
                    "interval": as_json(self.interval[name]),
                    "bootstrap_interval": as_json(self.bootstrap_interval[name]),
                    "n_empty": self.n_empty[name],
                    "ties": self.ties[name].to_dict(),
                    "per_query": as_json(self.per_query[name].tolist()),
                }
                for name in self.mean
            },
        }

    def __str__(self) -> str:
        width = max([len("metric"), *map(len, self.mean)])
        title = f"{percent(self.confidence)} interval"
        lines = [f"{'metric':<{width}}  {'mean':>8}  {title:>20}  no relevant"]
        for name in self.mean:
            low, high = self.interval[name]
            between = f"[{low:.4f}, {high:.4f}]"
            lines.append(f"{name:<{width}}  {self.mean[name]:8.4f}  {between:>20}  {self.n_empty[name]:>11}")
        return "\n".join([*lines, f"{self.n_queries} queries", *self.missing_lines(), *self.tie_lines()])

    @property
    def n_missing(self) -> int:
        """The number of judged queries that the run does not have and that are not in the means."""
        return 0 if self._missing is None else self._missing.shape[1]

    @property
    def mean_complete(self) -> ByMetric[float]:
        """The mean of each metric over all judged queries, those missing from the run counting 0 (trec_eval -c)."""
        return ByMetric(self._asked, self._mean_complete)

    def _mean_complete(self, number: int) -> float:
        values = (
            self._values[number] if self._missing is None else np.append(self._values[number], self._missing[number])
        )
        counted = values[~np.isnan(values)]
        return math.fsum(counted.tolist()) / len(counted) if len(counted) else math.nan

    def missing_lines(self) -> list[str]:
        """Return a sentence with the means both ways, if the run lacks judged queries."""
        if not self.n_missing:
            return []
        both = "; ".join(f"{name} {self.mean[name]:.4f} and {self.mean_complete[name]:.4f}" for name in self.mean)
        judged = self.n_queries + self.n_missing
        return [
            f"the run lacks {self.n_missing} of {judged} judged queries; means without them and with them as 0: {both}"
        ]

    def tie_lines(self) -> list[str]:
        """Return a line on the metrics whose value depends on the order of tied documents, if there are any."""
        return tie_lines(self.ties)

    __repr__ = __str__

    def to_frame(self, library: str = "pandas", *, per_query: bool = False) -> Any:
        """Return a data frame with one row per metric, or with one row per query and one column per metric.

        Args:
            library: "pandas" or "polars".
            per_query: whether rows are queries.
        """
        if not per_query:
            return make_frame(self._frame_columns(), library)
        values = {name: self.per_query[name].tolist() for name in self.mean}
        return make_frame({"query": plain_ids(self.query_ids), **values}, library)

    def _frame_columns(self) -> dict[str, list[Any]]:
        names = list(self.mean)
        return {
            "metric": names,
            "mean": [self.mean[name] for name in names],
            "low": [self.interval[name][0] for name in names],
            "high": [self.interval[name][1] for name in names],
            "n_queries": [int(np.sum(~np.isnan(self.per_query[name]))) for name in names],
            "n_empty": [self.n_empty[name] for name in names],
        }

    def _result_table(self) -> ResultTable:
        rows = [
            (name, f"{self.mean[name]:.4f}", interval_text(self.interval[name]), str(self.n_empty[name]))
            for name in self.mean
        ]
        header = ("metric", "mean", f"{percent(self.confidence)} interval", "no relevant")
        return ResultTable(f"{self.n_queries} queries", header, rows, [*self.missing_lines(), *self.tie_lines()])


def interval_text(interval: Interval, form: str = ".4f") -> str:
    """Return an interval as text, such as [0.4321, 0.5678]."""
    return f"[{interval[0]:{form}}, {interval[1]:{form}}]"


def percent(share: float) -> str:
    """Return a share as text, such as 95% or 99.9%."""
    return f"{100 * share:.6g}%"


def as_json(value: Any) -> Any:
    """Return the value with tuples as lists, and with None for numbers that are not finite."""
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def json_id(query_id: Any) -> Any:
    """Return a query id as JSON can hold it: numbers and text as they are, anything else as its text."""
    return query_id if isinstance(query_id, int | float | str) else str(query_id)
