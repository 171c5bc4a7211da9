"""Queries and their documents, as the page lists them."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from podium.data.presentation import ranks_of
from podium.metrics import Metric
from podium.studio.workspace import Floats, LoadedRanking, Workspace

PAGE_LENGTH = 50  # queries per answer
MOST_DOCUMENTS = 200  # documents of one query that are shown
MOST_FEATURES = 200  # features of one document that are shown
ORDERS = ("data", "gain", "loss", "disagreement", "worst", "best")


class ListedQuery(msgspec.Struct):
    """One line of the list: the query's number and id, its size, its values, and whether a ranking was trained on it."""

    number: int
    id: str
    documents: int
    first: float | None
    second: float | None
    gain: float | None
    disagreement: float | None
    trained_on: bool


class QueryList(msgspec.Struct):
    """A part of the list, how many queries were found in all, and the means.

    The means leave out queries that a ranking was trained on, unless there are no others; `over` says so.
    """

    metric: str
    higher_is_better: bool
    found: int
    offset: int
    page_length: int
    over: str
    first_mean: float | None
    second_mean: float | None
    queries: list[ListedQuery]


class ShownDocument(msgspec.Struct):
    """A document of a query with its scores and its ranks, counted from 1, under one or two rankings."""

    document: int
    name: str
    label: float
    first_score: float
    first_rank: int
    second_score: float | None
    second_rank: int | None
    features: list[float | str | None]


class ShownQuery(msgspec.Struct):
    """A query with the best documents of both rankings, in the order of the first.

    `trained_on` names those of the rankings that were trained on this query.
    """

    number: int
    id: str
    trained_on: list[str]
    metric: str
    first_value: float | None
    second_value: float | None
    n_documents: int
    n_features: int
    feature_names: list[str]
    documents: list[ShownDocument]


def list_queries(
    workspace: Workspace,
    first: LoadedRanking,
    second: LoadedRanking | None,
    judged_by: Metric,
    *,
    search: str = "",
    order: str = "data",
    offset: int = 0,
) -> QueryList:
    """Return the queries whose id contains a text, in an order: that of the data, or by values of the two rankings.

    `gain` begins with the queries that are best under the second ranking compared with the first, `loss` with the worst, and
    `disagreement` with those whose documents the two order most differently.
    """
    values = workspace.values(first, judged_by)
    other = None if second is None else workspace.values(second, judged_by)
    differs = None if second is None else workspace.disagreement(first, second)
    sign = 1.0 if judged_by.higher_is_better else -1.0
    gain = None if other is None else sign * (other - values)
    numbers = np.arange(workspace.data.n_queries)
    if search:
        wanted = search.casefold()
        matches = [wanted in text.casefold() for text in workspace.query_texts]
        numbers = numbers[np.array(matches, bool)]
    keys = {"best": sign * values, "worst": -sign * values}
    if gain is not None and differs is not None:
        keys |= {"gain": gain, "loss": -gain, "disagreement": differs}
    if order in keys:
        key = np.nan_to_num(keys[order], nan=-np.inf)[numbers]
        numbers = numbers[np.argsort(-key, kind="stable")]
    sizes, seen = workspace.data.query_sizes, _trained_on(workspace, first, second)
    held_out = ~seen if not seen.all() else np.ones(len(seen), bool)
    rows = [
        ListedQuery(
            number=int(k),
            id=workspace.query_texts[k],
            documents=int(sizes[k]),
            first=_number(values, k),
            second=_number(other, k),
            gain=_number(gain, k),
            disagreement=_number(differs, k),
            trained_on=bool(seen[k]),
        )
        for k in numbers[offset : offset + PAGE_LENGTH]
    ]
    return QueryList(
        metric=str(judged_by),
        higher_is_better=judged_by.higher_is_better,
        found=len(numbers),
        offset=offset,
        page_length=PAGE_LENGTH,
        over=_over(seen, first, second),
        first_mean=_mean(values, held_out),
        second_mean=_mean(other, held_out),
        queries=rows,
    )


def show_query(
    workspace: Workspace, number: int, first: LoadedRanking, second: LoadedRanking | None, judged_by: Metric
) -> ShownQuery:
    """Return a query with the documents that are among the best of either ranking, in the order of the first."""
    rows = workspace.rows(number)
    data, names = workspace.data, workspace.document_names(number)
    scores, others = first.scores[rows], None if second is None else second.scores[rows]
    places, other_places = ranks_of(scores), None if others is None else ranks_of(others)
    best = places if other_places is None else np.minimum(places, other_places)
    kept = np.argsort(best, kind="stable")[:MOST_DOCUMENTS]
    shown = kept[np.argsort(places[kept])].tolist()
    columns = range(min(data.n_features, MOST_FEATURES))
    documents = [
        ShownDocument(
            document=k,
            name=names[k],
            label=float(data.labels[rows][k]),
            first_score=float(scores[k]),
            first_rank=int(places[k]),
            second_score=None if others is None else float(others[k]),
            second_rank=None if other_places is None else int(other_places[k]),
            features=[workspace.shown_value(rows.start + k, column) for column in columns],
        )
        for k in shown
    ]
    return ShownQuery(
        number=number,
        id=workspace.query_texts[number],
        trained_on=[each.name for each in (first, second) if each is not None and _is_trained_on(each, number)],
        metric=str(judged_by),
        first_value=_number(workspace.values(first, judged_by), number),
        second_value=None if second is None else _number(workspace.values(second, judged_by), number),
        n_documents=rows.stop - rows.start,
        n_features=data.n_features,
        feature_names=list(workspace.feature_names[:MOST_FEATURES]),
        documents=documents,
    )


def _number(values: Floats | None, k: int) -> float | None:
    """Return a value as JSON holds it; a query without a value has None."""
    return None if values is None or np.isnan(values[k]) else float(values[k])


def _is_trained_on(ranking: LoadedRanking, number: int) -> bool:
    return ranking.trained_on is not None and bool(ranking.trained_on[number])


def _trained_on(workspace: Workspace, first: LoadedRanking, second: LoadedRanking | None) -> npt.NDArray[np.bool_]:
    """Return for each query whether one of the rankings was trained on it."""
    found = np.zeros(workspace.data.n_queries, bool)
    for ranking in (first, second):
        if ranking is not None and ranking.trained_on is not None:
            found |= ranking.trained_on
    return found


def _over(seen: npt.NDArray[np.bool_], first: LoadedRanking, second: LoadedRanking | None) -> str:
    """Return in words over which queries the means are; empty if no ranking is known to be trained on any."""
    given = [each for each in (first, second) if each is not None and each.trained_on is not None]
    if not given:
        return ""
    names = " and ".join(each.name for each in given)
    were = "was" if len(given) == 1 else "were"
    if seen.all():
        return f"over all queries; {names} {were} trained on them, so that the values say little about new queries"
    count = int((~seen).sum())
    what = "the query" if count == 1 else f"the {count:,} queries"
    chosen = (
        f"; the best round of {names} was chosen by queries among them"
        if any(each.trained_here for each in given)
        else ""
    )
    return f"over {what} on which {names} {were} not trained{chosen}"


def _mean(values: Floats | None, chosen: npt.NDArray[np.bool_]) -> float | None:
    known = np.empty(0) if values is None else values[chosen & ~np.isnan(values)]
    return float(np.mean(known)) if len(known) else None
