"""What the studio has loaded: judged queries, and the rankings of their documents."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.data.canonical import fingerprint
from podium.data.feature_names import default_names
from podium.data.grouping import id_texts
from podium.data.presentation import document_names, shown_value
from podium.errors import DataError
from podium.metrics import Metric, metric
from podium.serve.problems import RequestError

if TYPE_CHECKING:
    from podium.rankers import BaseRanker

Floats = npt.NDArray[np.float64]
DATA_ORDER = "order of the data"
MOST_RANKINGS = 16  # models that are kept at the same time
MOST_CACHED = 64  # combinations of ranking and metric whose values are kept
DISAGREEMENT = metric("pairwise_error")


@dataclass(frozen=True)
class LoadedRanking:
    """One score per document, in the grouped order of the data, and the ranker that gave them if there is one.

    Attributes:
        name: How the page and requests call it.
        scores: One per document.
        ranker: The ranker, or None for the order of the data and for scores from a file.
        trained_here: Whether it was trained in the studio, so that it may make room for another one.
        trained_on: Which queries it was trained on, one truth value per query; None if it is not known to be any.
    """

    name: str
    scores: Floats
    ranker: BaseRanker | None = None
    trained_here: bool = False
    trained_on: npt.NDArray[np.bool_] | None = None


class Workspace:
    """The data and its rankings. Rankings are added while requests are answered; the data never changes.

    Args:
        data: Judged queries.
        title: What the data is called, for people.
    """

    def __init__(self, data: RankingData, title: str) -> None:
        self.data, self.title = data, title
        self.query_texts = id_texts(data.query_ids)
        self.feature_names = data.feature_names or default_names(data.n_features)
        starts = np.repeat(data.query_offsets[:-1], data.query_sizes)
        as_given = (starts - np.arange(data.n_documents)).astype(np.float64)
        self._rankings = {DATA_ORDER: LoadedRanking(DATA_ORDER, as_given)}
        self._values: dict[tuple[str, str], Floats] = {}
        self._lock = threading.Lock()

    @property
    def rankings(self) -> list[LoadedRanking]:
        """The rankings: those of models first, in the order in which they were added."""
        with self._lock:
            found = list(self._rankings.values())
        return [*found[1:], found[0]]

    def add(self, name: str, ranker: BaseRanker, *, trained_on: npt.NDArray[np.int64] | None = None) -> LoadedRanking:
        """Rank all documents by a model and keep the ranking under its name, or under the next free one like it.

        Args:
            name: What to call it.
            ranker: The model.
            trained_on: The numbers of the queries that it was trained on here, in the studio.
        """
        scores = self.data.from_caller_order(ranker.predict(self.data))
        seen = None
        if trained_on is not None:
            seen = np.isin(np.arange(self.data.n_queries), trained_on)
        elif ranker.fingerprint_ and ranker.fingerprint_ == fingerprint(self.data):
            seen = np.ones(self.data.n_queries, bool)
        return self._keep(LoadedRanking(name, scores, ranker, trained_on is not None, seen))

    def add_scores(self, name: str, scores: Floats) -> LoadedRanking:
        """Keep a ranking that is given by one score per row, in the caller's order."""
        found = np.asarray(self.data.from_caller_order(np.asarray(scores, np.float64)))
        if not np.isfinite(found).all():
            raise DataError(f"{name} has scores that are not finite numbers, which the studio cannot draw")
        return self._keep(LoadedRanking(name, found))

    def _keep(self, ranking: LoadedRanking) -> LoadedRanking:
        free = ranking.name
        with self._lock:
            while free in self._rankings:
                stem, _, number = free.rpartition("-")
                free = f"{stem}-{int(number) + 1}" if stem and number.isdecimal() else f"{free}-2"
            self._rankings[free] = replace(ranking, name=free)
            old = [each.name for each in self._rankings.values() if each.trained_here and each.name != free]
            while len(self._rankings) > MOST_RANKINGS and old:
                dropped = old.pop(0)
                del self._rankings[dropped]
                self._values = {key: value for key, value in self._values.items() if key[0] != dropped}
            return self._rankings[free]

    def ranking(self, name: str) -> LoadedRanking:
        """Return a ranking by its name."""
        with self._lock:
            found = self._rankings.get(name)
            known = ", ".join(self._rankings)
        if found is None:
            raise RequestError(404, "unknown_ranking", f"there is no ranking of this name; there are {known}")
        return found

    def check_query(self, number: int) -> int:
        """Return the number of a query, counted from 0, if there is such a query."""
        if not 0 <= number < self.data.n_queries:
            last = self.data.n_queries - 1
            raise RequestError(404, "unknown_query", f"there is no such query; they are numbered from 0 to {last}")
        return number

    def rows(self, number: int) -> slice:
        """Return the grouped documents of a query."""
        first, last = self.data.query_offsets[self.check_query(number) :][:2].tolist()
        return slice(first, last)

    def document_names(self, number: int) -> list[str]:
        """Return the ids of a query's documents, or their numbers in the query, counted from 1."""
        rows = self.rows(number)
        return document_names(self.data, rows.start, rows.stop)

    def shown_value(self, row: int, column: int) -> float | str | None:
        """Return the value of a feature of a grouped document as JSON holds it: a number, a category, or None if it is missing."""
        value = shown_value(self.data, row, column)
        return None if isinstance(value, float) and math.isnan(value) else value

    def values(self, ranking: LoadedRanking, judged_by: Metric) -> Floats:
        """Return the metric of every query under a ranking; NaN where a query has no value."""
        data = self.data
        return self._cached(
            (ranking.name, str(judged_by)),
            lambda: judged_by.per_query(ranking.scores, data.labels, data.query_offsets),
        )

    def disagreement(self, first: LoadedRanking, second: LoadedRanking) -> Floats:
        """Return, for every query, the share of its pairs of documents that two rankings order differently."""
        offsets = self.data.query_offsets
        return self._cached(
            (first.name, f"against {second.name}"),
            lambda: DISAGREEMENT.per_query(first.scores, second.scores, offsets),
        )

    def _cached(self, key: tuple[str, str], compute: Callable[[], Floats]) -> Floats:
        with self._lock:
            found = self._values.get(key)
        if found is None:
            found = compute()
            with self._lock:
                if len(self._values) >= MOST_CACHED:
                    self._values.pop(next(iter(self._values)))
                self._values[key] = found
        return found
