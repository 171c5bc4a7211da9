"""Why a document has another rank under another model: what each feature adds to its standing in the query.

The scores of two models have different scales, so a document's standing is compared: its score less the mean of the query, in
standard deviations of the query's scores. What the features add to it sums to the standing, under each model, so the
differences sum to the difference between the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import numpy.typing as npt

from podium.data.presentation import ranks_of
from podium.explaining.contributions import has_contributions, query_contributions
from podium.serve.problems import RequestError
from podium.studio.workspace import LoadedRanking, Workspace

if TYPE_CHECKING:
    from podium.data import RankingData
    from podium.rankers import BaseRanker

Floats = npt.NDArray[np.float64]
MOST_REASONS = 12  # features that are shown one by one
MOST_EXPLAINED, LEAST_EXPLAINED = 1500, 100  # documents of a long query that the mean is taken over
MOST_EXPLAINED_WORK = 20_000_000  # documents × splits there; for a linear model documents × features²


class MoveReason(msgspec.Struct):
    """What one feature adds to the standing of a document under each ranking, and its value or category; None if it is missing."""

    feature: str
    value: float | str | None
    first: float
    second: float | None
    difference: float


class ExplainedMove(msgspec.Struct):
    """The ranks and the standing of a document under one or two rankings, and the features with the largest differences.

    `rest` is the sum of the differences of the features that are not listed, and `others` their number. If the features of a model act together, so that
    they cannot be told apart, `reasons` is empty and `note` says so. In long queries the means are those of a sample of the
    documents; `note` says so, and `rest` includes what the sample's mean is off.
    """

    name: str
    label: float
    first_rank: int
    second_rank: int | None
    first_standing: float
    second_standing: float | None
    reasons: list[MoveReason]
    rest: float
    others: int
    note: str


def standing(scores: Floats) -> Floats:
    """Return each score less their mean, in standard deviations; 0 if all are equal."""
    spread = float(scores.std())
    found: Floats = (scores - scores.mean()) / (spread or 1.0)
    return found


def contributions(ranker: BaseRanker, query: RankingData) -> Floats | None:
    """Return what each feature adds to the score of each document, less the mean over the query: [documents × features].

    For trees these are the exact attributions, for a linear model the weighted features. None if features act together.
    """
    scorer = ranker.scorer_
    if not has_contributions(scorer.model):
        return None
    parts = query_contributions(scorer.model, scorer.features(query))
    found: Floats = parts - parts.mean(axis=0)
    return found


def explain_move(
    workspace: Workspace, number: int, document: int, first: LoadedRanking, second: LoadedRanking | None
) -> ExplainedMove:
    """Explain the standing of a document under one ranking, or the difference of its standings under two."""
    rows = workspace.rows(number)
    if not 0 <= document < rows.stop - rows.start:
        raise RequestError(404, "unknown_document", "this query has no such document; they are numbered from 0")
    query = workspace.data.select([number])
    shares = [_shares(each, query, rows, document) for each in (first, second) if each is not None]
    scores = [each.scores[rows] for each in (first, second) if each is not None]
    places, standings = [ranks_of(each) for each in scores], [standing(each) for each in scores]
    unexplained = [
        each.name for each, share in zip((first, second), shares, strict=False) if share is None and each is not None
    ]
    reasons, rest, others = ([], 0.0, 0) if unexplained else _reasons(workspace, rows.start + document, shares)
    known = [share for share in shares if share is not None]
    fewest = min((share.documents for share in known), default=0)
    note = ""
    if unexplained:
        note = f"No reasons can be given for {' and '.join(unexplained)}: they need trees or a linear model."
    elif fewest < rows.stop - rows.start:
        total = float(standings[-1][document] - (standings[0][document] if second is not None else 0.0))
        sums = [sum(share.by_feature.values()) for share in known]
        rest += total - (sums[-1] - (sums[0] if second is not None else 0.0))
        note = f"The query is long: what features add is compared with the mean of {fewest:,} of its documents."
    return ExplainedMove(
        name=workspace.document_names(number)[document],
        label=float(workspace.data.labels[rows][document]),
        first_rank=int(places[0][document]),
        second_rank=int(places[1][document]) if second is not None else None,
        first_standing=float(standings[0][document]),
        second_standing=float(standings[1][document]) if second is not None else None,
        reasons=reasons,
        rest=rest,
        others=others,
        note=note,
    )


class _Shares(msgspec.Struct):
    """What each feature adds to the standing of a document, by its name, compared with the mean of some documents."""

    by_feature: dict[str, float]
    documents: int


def compared_documents(ranker: BaseRanker, n_documents: int, document: int) -> npt.NDArray[np.bool_]:
    """Return which documents of a query the mean is taken over: all, or evenly spaced ones and the document itself."""
    model = ranker.scorer_.model
    work = len(model.arrays()["feature"]) if model.has_splits else model.n_features**2
    count = max(LEAST_EXPLAINED, min(MOST_EXPLAINED, MOST_EXPLAINED_WORK // max(1, work)))
    compared = np.full(n_documents, n_documents <= count)
    compared[np.linspace(0, n_documents - 1, count).astype(np.int64)] = True
    compared[document] = True
    return compared


def _shares(ranking: LoadedRanking, query: RankingData, rows: slice, document: int) -> _Shares | None:
    """Return what each feature adds to the standing of a document; None if that is not known."""
    if ranking.ranker is None:
        return None
    compared = compared_documents(ranking.ranker, rows.stop - rows.start, document)
    parts = contributions(ranking.ranker, query if compared.all() else query.select_grouped_documents(compared))
    if parts is None:
        return None
    spread = float(ranking.scores[rows].std()) or 1.0
    names = ranking.ranker.scorer_.feature_names or query.feature_names or [f"f{k}" for k in range(parts.shape[1])]
    added = parts[int(compared[:document].sum())] / spread
    return _Shares({name: float(added[column]) for column, name in enumerate(names)}, len(parts))


def _reasons(workspace: Workspace, row: int, shares: list[_Shares | None]) -> tuple[list[MoveReason], float, int]:
    """Return the features with the largest differences, the sum of the differences of the others, and their number."""
    known = [share.by_feature for share in shares if share is not None]
    columns = {name: column for column, name in enumerate(workspace.feature_names)}
    found = []
    for name in dict.fromkeys(name for share in known for name in share):
        parts = [share.get(name, 0.0) for share in known]
        found.append(
            MoveReason(
                feature=name,
                value=workspace.shown_value(row, columns[name]) if name in columns else None,
                first=parts[0],
                second=parts[1] if len(parts) > 1 else None,
                difference=parts[1] - parts[0] if len(parts) > 1 else parts[0],
            )
        )
    found.sort(key=lambda reason: -abs(reason.difference))
    rest = found[MOST_REASONS:]
    return found[:MOST_REASONS], sum(reason.difference for reason in rest), len(rest)
