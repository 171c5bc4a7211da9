"""What an evaluation says: means with intervals, and the value of each query."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from podium.data.conversion import as_number
from podium.data.grouping import plain_ids
from podium.errors import ParameterError, short_repr
from podium.metrics import Metric, metric

Floats = npt.NDArray[np.float64]
T = TypeVar("T")


@dataclass(frozen=True)
class Asked:
    """Which metrics an evaluation computed (`used`), and the names that lead to each."""

    used: tuple[Metric, ...]
    labels: dict[str, int]
    spellings: dict[str, int]

    def number(self, key: str | Metric) -> int:
        """The place in `used` of a metric by any of its names; KeyError where it was not evaluated."""
        for names in (self.spellings, self.labels):
            if str(key) in names:
                return names[str(key)]
        try:
            meant = metric(key)
        except ParameterError as error:
            raise KeyError(str(error)) from None
        if str(meant) in self.labels:
            return self.labels[str(meant)]
        if meant in self.used:
            return self.used.index(meant)
        raise KeyError(f"{str(meant)!r} was not evaluated; these were: {', '.join(self.labels)}")


class ByMetric(Mapping[str, T], Generic[T]):
    """Values by metric: any spelling of a metric's name finds its value, and so does the Metric."""

    def __init__(self, asked: Asked, find: Callable[[int], T]) -> None:
        self._asked, self._find = asked, find

    def __getitem__(self, key: str | Metric) -> T:
        return self._find(self._asked.number(key))

    def __iter__(self) -> Iterator[str]:
        return iter(self._asked.labels)

    def __len__(self) -> int:
        return len(self._asked.labels)

    def __repr__(self) -> str:
        return repr(dict(self))


def normal_interval(values: Floats, confidence: float) -> tuple[float, float]:
    """mean ± z·SE with SE = standard deviation / √n; z = 1.96 for 95 %. NaN values are left out."""
    counted = values[~np.isnan(values)]
    if len(counted) < 2:
        return math.nan, math.nan
    mean = float(counted.mean())
    reach = NormalDist().inv_cdf(0.5 + confidence / 2) * float(counted.std(ddof=1)) / math.sqrt(len(counted))
    return mean - reach, mean + reach


def student_interval(values: Floats, confidence: float) -> tuple[float, float]:
    """mean ± t·SE, t of Student with n − 1 degrees of freedom: it says of 0 what the paired t test says."""
    if len(values) < 2:
        return math.nan, math.nan
    from scipy import special

    mean, error = float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values))
    reach = float(special.stdtrit(len(values) - 1, 0.5 + confidence / 2)) * error
    return mean - reach, mean + reach


def bootstrap_interval(values: Floats, confidence: float, samples: int, seed: int) -> tuple[float, float]:
    """The middle share of the means of `samples` draws of the queries with replacement (percentile bootstrap)."""
    counted = values[~np.isnan(values)]
    n = len(counted)
    if n == 0:
        return math.nan, math.nan
    rng = np.random.default_rng(seed)
    chunk = max(1, 2_000_000 // n)
    means = np.concatenate(
        [counted[rng.integers(0, n, (min(chunk, samples - done), n))].mean(axis=1) for done in range(0, samples, chunk)]
    )
    low, high = np.quantile(means, [0.5 - confidence / 2, 0.5 + confidence / 2])
    return float(low), float(high)


def check_confidence(confidence: float) -> float:
    """A share strictly between 0 and 1."""
    number = as_number(confidence)
    if number is None or not 0 < number < 1:
        raise ParameterError(f"confidence={short_repr(confidence)} must lie between 0 and 1, as in 0.95")
    return float(number)


def check_count(name: str, count: int, least: int = 1) -> int:
    """A whole number of at least 1 (or 0)."""
    number = as_number(count)
    if not isinstance(number, int) or not least <= number < 2**63:
        raise ParameterError(f"{name}={short_repr(count)} must be a whole number of at least {least}")
    return number


class Evaluation:
    """The values of one system.

    Attributes:
        metrics: the metrics as computed, in the order asked for; with a run, its convention is part of them.
        query_ids: [queries].
        query_numbers: [queries], the number of each in the data: `query_ids` are `data.query_ids[query_numbers]`.
        mean: by metric, the mean over the queries that count.
        interval: by metric, mean ± 1.96 standard errors (for 95 %).
        bootstrap_interval: by metric, the percentile bootstrap over queries; drawn when first read.
        per_query: by metric, one value a query; NaN where the query is left out.
        n_empty: by metric, how many queries have no relevant document (metrics over pairs: no two labels).
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
        confidence: float,
        bootstrap: int,
        seed: int,
    ) -> None:
        self.metrics, self.query_ids, self.query_numbers = asked.used, query_ids, query_numbers
        self.confidence = confidence
        self._asked, self._values, self._empty = asked, values, empty
        self._bootstrap, self._seed = bootstrap, seed
        self._drawn: dict[int, tuple[float, float]] = {}

    @property
    def mean(self) -> ByMetric[float]:
        """The mean of each metric."""
        return ByMetric(self._asked, self._mean)

    @property
    def interval(self) -> ByMetric[tuple[float, float]]:
        """The interval of each metric."""
        return ByMetric(self._asked, self._interval)

    @property
    def bootstrap_interval(self) -> ByMetric[tuple[float, float]]:
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

    def _mean(self, number: int) -> float:
        counted = self._values[number][~np.isnan(self._values[number])]
        return math.fsum(counted.tolist()) / len(counted) if len(counted) else math.nan  # the same for any order

    def _interval(self, number: int) -> tuple[float, float]:
        return normal_interval(self._values[number], self.confidence)

    def _draw(self, number: int) -> tuple[float, float]:
        if number not in self._drawn:
            values = self._values[number]
            self._drawn[number] = bootstrap_interval(values, self.confidence, self._bootstrap, self._seed)
        return self._drawn[number]

    def _count_empty(self, number: int) -> int:
        return int(self._empty[number].sum())

    @property
    def n_queries(self) -> int:
        """How many queries were evaluated, those left out of means included."""
        return len(self.query_ids)

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON can hold it: NaN is None."""
        return {
            "n_queries": self.n_queries,
            "confidence": self.confidence,
            "query_ids": [json_id(query) for query in plain_ids(self.query_ids)],
            "metrics": {
                name: {
                    "mean": as_json(self.mean[name]),
                    "interval": as_json(self.interval[name]),
                    "bootstrap_interval": as_json(self.bootstrap_interval[name]),
                    "n_empty": self.n_empty[name],
                    "per_query": as_json(self.per_query[name].tolist()),
                }
                for name in self.mean
            },
        }

    def __str__(self) -> str:
        width = max([len("metric"), *map(len, self.mean)])
        title = f"{self.confidence:.0%} interval"
        lines = [f"{'metric':<{width}}  {'mean':>8}  {title:>20}  without relevant"]
        for name in self.mean:
            low, high = self.interval[name]
            between = f"[{low:.4f}, {high:.4f}]"
            lines.append(f"{name:<{width}}  {self.mean[name]:8.4f}  {between:>20}  {self.n_empty[name]:>16}")
        return "\n".join([*lines, f"{self.n_queries} queries"])

    __repr__ = __str__


def as_json(value: Any) -> Any:
    """The value with NaN as None, tuples as lists."""
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def json_id(query_id: Any) -> Any:
    """A query id as JSON can hold it: numbers and text as they are, anything else as its text."""
    return query_id if isinstance(query_id, int | float | str) else str(query_id)
