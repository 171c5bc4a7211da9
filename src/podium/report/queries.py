"""The queries of a report: their values under every model, the ones worth looking at, and their documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.data.grouping import id_texts
from podium.data.presentation import document_names, ranks_of, shown_value
from podium.report.explaining import affordable_contributions, contributions
from podium.report.judging import Judgment
from podium.report.scored import ScoredModel
from podium.report.texts import cut, decimals, embedded_json, rounded

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Contribution = tuple[str, float | str, float]
MOST_ROWS = 10_000  # queries in the table
MOST_ROW_BYTES = 700_000
MOST_DETAIL_BYTES = 800_000  # of the documents of all queries together
TOP = 20  # documents from the top of each ranking
MOST_DOCUMENTS = 40  # of one query
REASONS = 4  # features shown per document and model
REASON_DIGITS = 3  # significant digits of their values and contributions


@dataclass(frozen=True)
class QueryRow:
    """One query in the table: its number in the data, id, documents, relevant documents, and the metric under each model."""

    number: int
    id: str
    documents: int
    relevant: int
    values: tuple[float | None, ...]

    @property
    def difference(self) -> float | None:
        """The value under the first model minus that under the last; None with one model or if one of them is unknown."""
        first, last = self.values[0], self.values[-1]
        return None if len(self.values) < 2 or first is None or last is None else first - last

    def to_json(self) -> list[Any]:
        """Return the row as the page's script takes it."""
        values = [decimals(value) for value in self.values]
        return [self.number, self.id, self.documents, self.relevant, values, decimals(self.difference)]


@dataclass(frozen=True)
class DocumentRow:
    """One document: its id or number, label, and for each model its rank, score and strongest contributions.

    A contribution is (name of the feature, its value or category, what it adds to the score). None stands for unknown
    contributions.
    """

    id: str
    label: float
    ranks: tuple[int, ...]
    scores: tuple[float, ...]
    reasons: tuple[tuple[Contribution, ...] | None, ...]

    def to_json(self, features: dict[str, int]) -> list[Any]:
        """Return the row as the page's script takes it; features become numbers."""
        reasons = [
            None if each is None else [_contribution_json(part, features) for part in each] for each in self.reasons
        ]
        return [self.id, rounded(self.label), list(self.ranks), [rounded(score) for score in self.scores], reasons]


@dataclass(frozen=True, eq=False)
class QueryTable:
    """The queries of a report.

    Attributes:
        rows: the queries in the order of the data; some of them if there are very many.
        n_queries: number of queries in the data.
        best, worst, changed: numbers of the queries with the highest and lowest metric, averaged over the models, and with the
            largest difference between models, each with the most extreme first.
        details: documents of queries, by the number of the query.
        features: the features that contributions name, in the order of their numbers.
        n_explained: number of documents whose contributions were computed.
    """

    rows: tuple[QueryRow, ...]
    n_queries: int
    best: tuple[int, ...]
    worst: tuple[int, ...]
    changed: tuple[int, ...]
    details: dict[int, list[Any]]
    features: tuple[str, ...]
    n_explained: int


def tabulate_queries(
    data: RankingData, models: Sequence[ScoredModel], judgment: Judgment, *, examples: int, num_threads: int | None
) -> QueryTable:
    """Return the queries with their values, and the documents of as many of them as the page has room for."""
    values = np.stack([judgment.per_query(model.name) for model in models])
    best, worst, changed = _examples(values, judgment.main.higher_is_better, examples)
    first = list(dict.fromkeys([*changed, *worst, *best]))
    rows = _rows(data, values, first)
    features: dict[str, int] = {}
    numbers = dict.fromkeys([*first, *(row.number for row in rows)])
    details, explained = _details(data, models, numbers, features, num_threads)
    return QueryTable(rows, data.n_queries, best, worst, changed, details, tuple(features), explained)


def _examples(values: Floats, higher_is_better: bool, count: int) -> tuple[tuple[int, ...], ...]:
    """Return the numbers of the best, worst and most changed queries."""
    known = np.flatnonzero(~np.isnan(values).any(axis=0))
    mean = values[:, known].mean(axis=0) * (1 if higher_is_better else -1)
    spread = np.ptp(values[:, known], axis=0) if len(values) > 1 else np.zeros(len(known))
    by_mean, by_spread = np.argsort(mean, kind="stable"), np.argsort(-spread, kind="stable")
    worst = [int(known[k]) for k in by_mean[:count]]
    best = [int(known[k]) for k in np.argsort(-mean, kind="stable")[:count]]
    changed = [int(known[k]) for k in by_spread[:count] if spread[k] > 0]
    return tuple(best), tuple(worst), tuple(changed)


def _rows(data: RankingData, values: Floats, wanted: Sequence[int]) -> tuple[QueryRow, ...]:
    """Return the rows of all queries, or of the wanted ones and evenly spaced others if there are too many."""
    relevant = np.add.reduceat((data.labels >= 1).astype(np.int64), data.query_offsets[:-1])
    ids = id_texts(data.query_ids)

    def row(number: int) -> QueryRow:
        found = tuple(None if np.isnan(value) else float(value) for value in values[:, number])
        return QueryRow(number, cut(ids[number]), int(data.query_sizes[number]), int(relevant[number]), found)

    sizes = [len(embedded_json(row(number).to_json())) for number in _spaced(data.n_queries, 100)]
    most = min(MOST_ROWS, int(MOST_ROW_BYTES / (sum(sizes) / len(sizes))))
    rows, room = [], MOST_ROW_BYTES
    for number in dict.fromkeys([*wanted, *_spaced(data.n_queries, most - len(wanted))]):
        rows.append(row(number))
        room -= len(embedded_json(rows[-1].to_json()))
        if room < 0:
            break
    return tuple(sorted(rows, key=lambda row: row.number))


def _spaced(count: int, most: int) -> Sequence[int]:
    """Return the numbers below `count`, or so many of them, evenly spaced."""
    if count <= most:
        return range(count)
    numbers: list[int] = np.linspace(0, count - 1, max(0, most)).astype(np.int64).tolist()
    return numbers


def _details(
    data: RankingData,
    models: Sequence[ScoredModel],
    numbers: Iterable[int],
    features: dict[str, int],
    num_threads: int | None,
) -> tuple[dict[int, list[Any]], int]:
    """Return the documents of queries while there is room, and how many of the documents have contributions."""
    details: dict[int, list[Any]] = {}
    room, explained, most = MOST_DETAIL_BYTES, 0, min(affordable_contributions(model) for model in models)
    for number in numbers:
        explain = explained < most
        rows = list(query_documents(data, models, number, explain=explain, num_threads=num_threads))
        explained += len(rows) if explain else 0
        found = [row.to_json(features) for row in rows]
        room -= len(embedded_json(found))
        if room < 0:
            break
        details[number] = found
    return details, explained


def query_documents(
    data: RankingData,
    models: Sequence[ScoredModel],
    number: int,
    *,
    explain: bool = True,
    num_threads: int | None = None,
) -> Iterator[DocumentRow]:
    """Give the documents of a query in the order of the first model: the top of every model, and relevant ones below it."""
    start, end = (int(place) for place in data.query_offsets[number : number + 2])
    labels = data.labels[start:end]
    scores = np.stack([model.scores[start:end] for model in models])
    ranks = np.stack([ranks_of(each) for each in scores])
    shown = shown_documents(ranks, labels)
    found = [contributions(model, number, shown, num_threads) if explain else None for model in models]
    names = document_names(data, start, end)
    for place, document in enumerate(shown.tolist()):
        reasons = tuple(
            None if each is None else _strongest(model, start + document, each[place])
            for model, each in zip(models, found, strict=True)
        )
        yield DocumentRow(
            id=cut(names[document]),
            label=float(labels[document]),
            ranks=tuple(int(rank) for rank in ranks[:, document]),
            scores=tuple(float(score) for score in scores[:, document]),
            reasons=reasons,
        )


def shown_documents(ranks: Integers, labels: Floats) -> Integers:
    """Return the documents to show, in the order of the first model: the top of each, then relevant ones by their best rank."""
    best = ranks.min(axis=0)
    candidates = np.flatnonzero((best <= TOP) | (labels >= 1))
    kept = candidates[np.argsort(best[candidates], kind="stable")][:MOST_DOCUMENTS]
    return np.asarray(kept[np.argsort(ranks[0][kept], kind="stable")])


def _strongest(model: ScoredModel, row: int, added: Floats) -> tuple[Contribution, ...]:
    names = model.feature_names
    order = np.argsort(-np.abs(added), kind="stable")[:REASONS]
    return tuple((cut(names[k]), _value(model.data, row, int(k)), float(added[k])) for k in order if added[k] != 0)


def _value(data: RankingData, row: int, column: int) -> float | str:
    value = shown_value(data, row, column)
    return cut(value) if isinstance(value, str) else value


def _contribution_json(part: Contribution, features: dict[str, int]) -> list[Any]:
    name, value, adds = part
    shown = value if isinstance(value, str) else rounded(value, REASON_DIGITS)
    return [features.setdefault(name, len(features)), shown, rounded(adds, REASON_DIGITS)]
