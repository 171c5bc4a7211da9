"""Partial dependence: how scores change with the values of one feature, on average and document by document."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from podium.data import RankingData
from podium.data.canonical import check_data
from podium.data.feature_names import feature_index
from podium.data.hashing import check_seed
from podium.data.presentation import document_names, query_title
from podium.errors import DataError
from podium.explaining.reasons import query_number
from podium.models.heads import to_scores
from podium.plots.inputs import (
    MOST_ROWS,
    Floats,
    check_positive,
    evenly_spaced,
    feature_names,
    query_names,
    sample_documents,
    some_of,
    trained_scorer,
)
from podium.plots.output import themed
from podium.plots.stack import alt, pd
from podium.plots.theme import COLORS, INK
from podium.threads import resolve_threads

MEAN_DOCUMENTS = 1000  # whose curves are averaged
MOST_POINTS = 200


def partial_dependence(
    ranker: Any,
    data: RankingData,
    feature: str | int,
    *,
    query: Any = None,
    curves: int = 30,
    points: int = 40,
    seed: int = 0,
) -> Any:
    """Draw how the score of a document changes with one feature while everything else stays as it is.

    Scores are drawn relative to the mean score of the document's query, because only documents of one query are compared. The columns of
    `chart.data` are kind (mean; document, for the curve of one; or own, for the value that it really has), query, document, value and score.
    Categories are not joined by lines; a missing one is the value after the last.

    Args:
        ranker: a trained ranker.
        data: the documents.
        feature: the feature: its name, or its number counted from 0.
        query: the id of a query whose documents alone are drawn; by default documents of all queries.
        curves: maximum number of documents with a curve of their own.
        points: maximum number of values of the feature.
        seed: seed of the sample of documents.
    """
    check_data("data", data)
    most_points = check_positive("points", points, MOST_POINTS)
    curves = check_positive("curves", curves, max(1, MOST_ROWS // (most_points + 1) - 1))
    if query is not None:
        data = data.select([query_number(data, query)])
    scorer = trained_scorer(ranker)
    names = feature_names(ranker, data)
    column = feature_index(feature, names, len(names))
    features = scorer.features(data)
    grid = _grid(features[:, column].astype(np.float64), most_points, names[column])
    known = (scorer.categories or {}).get(column)
    if known is not None and np.isnan(features[:, column]).any():
        grid = np.append(grid, np.nan)
    rows = sample_documents(data, MEAN_DOCUMENTS, check_seed(seed))
    threads = resolve_threads(ranker.num_threads)
    own = np.asarray(to_scores(scorer.model.scores(features, num_threads=threads)), np.float64)
    means = np.add.reduceat(own, data.query_offsets[:-1]) / data.query_sizes
    base = means[data.document_queries]
    table = _curves(scorer, features[rows], column, grid, threads) - base[rows, None]
    drawn = evenly_spaced(len(rows), curves)
    frame = _frame(data, rows, drawn, grid, table, features[rows, column], own[rows] - base[rows])
    where = query_title(query_names(data)[0]) if query is not None else f"{data.n_queries:,} queries"
    if known is not None:
        frame["value"] = frame["value"].fillna(len(known))
    unit = names[column] + ("" if scorer.normalize is None else f" ({scorer.normalize} in each query)")
    return themed(
        _chart(frame, unit, known),
        f"How the score depends on {names[column]}",
        f"Thick: mean of {some_of(len(rows), data.n_documents, 'documents') or f'{len(rows):,} documents'} of {where}",
        f"Thin: {len(drawn):,} of the documents, each with a point at its own value",
    )


def _grid(values: Floats, most: int, name: str) -> Floats:
    """Return at most so many values of the feature, in even steps of their order; missing values are left out."""
    known = np.sort(values[~np.isnan(values)])
    if not len(known):
        raise DataError(f"feature {name!r} is missing in every document, so that there is no value to draw")
    return np.unique(known[evenly_spaced(len(known), most)])


def _curves(scorer: Any, features: Any, column: int, grid: Floats, threads: int) -> Floats:
    """Return the scores of the documents if the feature had each value, [documents × values]."""
    changed = np.array(features)
    out = np.empty((len(features), len(grid)))
    for place, value in enumerate(grid):
        changed[:, column] = value
        out[:, place] = to_scores(scorer.model.scores(changed, num_threads=threads))
    return out


def _frame(data: RankingData, rows: Any, drawn: Any, grid: Floats, table: Floats, values: Any, scores: Floats) -> Any:
    queries, documents = query_names(data), document_names(data)
    parts = [
        pd.DataFrame({"kind": "mean", "query": None, "document": None, "value": grid, "score": table.mean(axis=0)})
    ]
    for place in drawn:
        row = rows[place]
        called = {"query": queries[data.document_queries[row]], "document": documents[row]}
        parts.append(pd.DataFrame({"kind": "document", **called, "value": grid, "score": table[place]}))
        own = {"kind": "own", **called, "value": float(values[place]), "score": float(scores[place])}
        parts.append(pd.DataFrame([own]))
    return pd.concat(parts, ignore_index=True)


def _chart(frame: Any, unit: str, categories: Any) -> Any:
    scale, axis = alt.Scale(zero=False), alt.Axis()
    if categories is not None:
        codes = sorted(set(frame.loc[frame["kind"] == "mean", "value"].astype(int)))
        named = json.dumps([*(str(name) for name in categories), "missing"])
        axis = alt.Axis(values=codes, labelExpr=f"{named}[datum.value]")
    x = alt.X("value:Q", title=unit, scale=scale, axis=axis)
    y = alt.Y("score:Q", title="score − mean score of its query", scale=scale)
    tips = ["query", "document", alt.Tooltip("value:Q", format=".4g"), alt.Tooltip("score:Q", format="+.4f")]
    single = alt.Chart().transform_filter("datum.kind === 'document'")
    if categories is None:
        single = single.mark_line(strokeWidth=0.8, opacity=0.6, color=COLORS[0])
    else:
        single = single.mark_tick(thickness=1, width=28, orient="horizontal", opacity=0.6, color=COLORS[0])
    single = single.encode(x=x, y=y, detail=["query:N", "document:N"], tooltip=tips)
    own = (
        alt.Chart()
        .transform_filter("datum.kind === 'own' && isValid(datum.value)")
        .mark_point(filled=True, size=22, opacity=0.9, color=COLORS[0])
        .encode(x=x, y=y, tooltip=tips)
    )
    means = alt.Chart().transform_filter("datum.kind === 'mean'")
    if categories is None and (frame["kind"] == "mean").sum() > 1:
        mean = means.mark_line(strokeWidth=2.5, color=INK)
    else:
        mean = means.mark_point(size=70, filled=True, opacity=1, color=INK)
    return alt.layer(single, own, mean.encode(x=x, y=y), data=frame)
