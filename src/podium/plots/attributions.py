"""Charts of what features add to scores: of one document, of the gap between two, and of a data set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from podium.data import RankingData
from podium.data.canonical import check_data
from podium.data.hashing import check_seed
from podium.data.presentation import document_names, query_title
from podium.errors import ParameterError
from podium.explaining import Why
from podium.explaining.forest import attributions
from podium.explaining.reasons import document_row, query_number
from podium.plots.inputs import (
    MOST_ROWS,
    Floats,
    check_positive,
    feature_names,
    query_names,
    sample_documents,
    some_of,
    trained_scorer,
)
from podium.plots.output import themed
from podium.plots.stack import alt, pd
from podium.plots.theme import BETTER, INK, NAME_LABELS, PLAIN, RAMP, WORSE
from podium.threads import resolve_threads

MOST_FEATURES = 60
SWARM_BINS = 70  # along the axis of attributions; points of one bin lie above each other
ROW_PIXELS = 26
BAR_TEXT_PIXELS = 44  # of the number beside a bar


def waterfall(ranker: Any, data: RankingData, *, document: int | str, query: Any = None, top: int = 10) -> Any:
    """Draw how the features of one document lead from the expected score to its score (trees).

    The columns of `chart.data` are feature, value, contribution, start and end; the first row is the expected score, and the last is
    the score of the document.

    Args:
        ranker: a trained ranker of trees.
        data: the query, alone or among others.
        document: the document: its number in the query, counted from 1, or its id as text.
        query: the id of the query; not needed if there is only one.
        top: maximum number of features to draw; the others are summed up in one row.
    """
    top = check_positive("top", top, MOST_FEATURES)
    check_data("data", data)
    number = query_number(data, query)
    row = document_row(data, number, "document", document)
    first = int(data.query_offsets[number])
    features = _features(ranker, data.select([number]))[[row - first]]
    parts = _shapley(ranker, features)[0]
    names, values = feature_names(ranker, data), _value_texts(ranker, features[0])
    order = [int(k) for k in np.argsort(-np.abs(parts[:-1]), kind="stable") if parts[k] != 0]
    steps = [(names[k], values[k], float(parts[k])) for k in order]
    title = f"Why document {document_names(data)[row]} of {query_title(query_names(data)[number])} has its score"
    base, score = float(parts[-1]), math.fsum(parts)
    ends = (("expected score", base), ("score", score))
    return _steps_chart(steps, top, ends, title, f"Expected score {base:.4f}, score {score:.4f}", "score")


def why(found: Why, *, top: int = 10) -> Any:
    """Draw what each feature adds to the gap between the scores of two documents.

    The columns of `chart.data` are feature, value (of the two documents), contribution, start and end.

    Args:
        found: what `ranker.why` returned.
        top: maximum number of features to draw; the others are summed up in one row.
    """
    top = check_positive("top", top, MOST_FEATURES)
    steps = [(r.feature, " against ".join(r.texts()), r.contribution) for r in found.reasons]
    title = f"Why document {found.above} stands {'above' if found.gap >= 0 else 'below'} document {found.below}"
    called = query_title(str(found.query))
    words = f"{called[0].upper()}{called[1:]}: scores {found.above_score:.4f} and {found.below_score:.4f}, gap {found.gap:+.4f}"
    return _steps_chart(steps, top, ((None, 0.0), ("gap", found.gap)), title, words, "gap between the two scores")


def _steps_chart(
    steps: Sequence[tuple[str, str, float]],
    top: int,
    ends: tuple[tuple[str | None, float], tuple[str, float]],
    title: str,
    words: str,
    unit: str,
) -> Any:
    """Draw bars that each begin where the one before ended; those at both ends begin at 0."""
    frame = _steps_frame(steps, top, ends)
    y = alt.Y("row:N", sort=list(frame["row"]), title=None, axis=alt.Axis(labelLimit=320, labelExpr=NAME_LABELS))
    across = alt.X("start:Q", title=unit, scale=alt.Scale(padding=BAR_TEXT_PIXELS), axis=alt.Axis(tickCount=6))
    scale = alt.Scale(domain=["raises", "lowers", "total"], range=[BETTER, WORSE, PLAIN])
    tips = ["feature", "value", alt.Tooltip("contribution:Q", format="+.4f")]
    bars = (
        alt.Chart()
        .mark_bar()
        .encode(
            x=across,
            x2="end:Q",
            y=y,
            color=alt.Color("kind:N", scale=scale, legend=None),
            tooltip=tips,
        )
    )
    text = (
        alt.Chart()
        .transform_calculate(place="max(datum.start, datum.end)")
        .mark_text(align="left", dx=4, color=INK)
        .encode(x=alt.X("place:Q", title=unit), y=y, text=alt.Text("contribution:Q", format="+.3f"))
    )
    chart = alt.layer(bars, text, data=frame).properties(height=ROW_PIXELS * len(frame))
    return themed(chart, title, words)


def _steps_frame(
    steps: Sequence[tuple[str, str, float]], top: int, ends: tuple[tuple[str | None, float], tuple[str, float]]
) -> Any:
    """Return one row per bar: the first steps, the sum of the others, and the totals at both ends."""
    shown, rest = list(steps[:top]), steps[top:]
    if rest:
        shown.append((f"{len(rest)} other features", "", math.fsum(part for _, _, part in rest)))
    (begin_name, begin), (end_name, end) = ends
    rows: list[tuple[str, str, float, float, float]] = []
    if begin_name is not None:
        rows.append((begin_name, "", begin, 0.0, begin))
    at = begin
    for name, value, part in shown:
        rows.append((name, value, part, at, at + part))
        at += part
    rows.append((end_name, "", end, 0.0, end))
    frame = pd.DataFrame(rows, columns=["feature", "value", "contribution", "start", "end"])
    frame["row"] = [
        f"{name} = {value}" if value else name for name, value in zip(frame["feature"], frame["value"], strict=True)
    ]
    totals = {name for name in (begin_name, end_name) if name is not None}
    frame["kind"] = [
        "total" if name in totals and not value else "raises" if part >= 0 else "lowers"
        for name, value, part in frame[["feature", "value", "contribution"]].itertuples(index=False)
    ]
    return frame


def beeswarm(ranker: Any, data: RankingData, *, top: int = 15, max_documents: int = 300, seed: int = 0) -> Any:
    """Draw what the features add to the scores of many documents, one point per document and feature (trees).

    The columns of `chart.data` are feature, query, document, value, position (of the value among those drawn, from 0 for the lowest to 1;
    NaN if it is missing or a category, which has no place), attribution, and offset (above or below the middle of the feature's row).

    Args:
        ranker: a trained ranker of trees.
        data: the documents.
        top: maximum number of features to draw: those with the largest mean size of attributions.
        max_documents: maximum number of documents to draw; of more, a sample is drawn.
        seed: seed of the sample.
    """
    top, most = check_positive("top", top, MOST_FEATURES), check_positive("max_documents", max_documents, MOST_ROWS)
    check_data("data", data)
    rows = sample_documents(data, min(most, max(1, MOST_ROWS // top)), check_seed(seed))
    features = _features(ranker, data)[rows]
    parts = _shapley(ranker, features)[:, :-1]
    sizes = np.abs(parts).mean(axis=0)
    order = [int(k) for k in np.argsort(-sizes, kind="stable")[:top]]
    names, queries, documents = feature_names(ranker, data), query_names(data), document_names(data)
    categories = ranker.scorer_.categories or {}
    lowest, highest = float(parts.min(initial=0.0)), float(parts.max(initial=0.0))
    frame = pd.concat(
        [
            pd.DataFrame(
                {
                    "feature": names[k],
                    "query": [queries[q] for q in data.document_queries[rows]],
                    "document": [documents[row] for row in rows],
                    "value": features[:, k].astype(np.float64),
                    "position": np.nan if k in categories else _positions(features[:, k].astype(np.float64)),
                    "attribution": parts[:, k],
                    "offset": _offsets(parts[:, k], lowest, highest),
                }
            )
            for k in order
        ],
        ignore_index=True,
    )
    named = [names[k] for k in order]
    words = some_of(len(rows), data.n_documents, "documents, drawn at random") or f"{len(rows):,} documents"
    return themed(
        _swarm(frame, named),
        "Attributions of features",
        f"{words}; gray where the value is missing{' or a category' if categories else ''}"
        if frame["position"].isna().any()
        else words,
        some_of(len(named), len(names), "features, those with the largest attributions"),
    )


def _swarm(frame: Any, named: list[str]) -> Any:
    """Draw the points, colored by their values."""
    color = alt.Color(
        "position:Q",
        title="value",
        scale=alt.Scale(domain=[0, 0.5, 1], range=list(RAMP)),
        legend=alt.Legend(values=[0, 1], labelExpr="datum.value ? 'highest' : 'lowest'", gradientLength=120),
    )
    points = (
        alt.Chart()
        .mark_circle(size=14, opacity=0.85, aria=False, color=PLAIN)
        .encode(
            x=alt.X("attribution:Q", title="attribution: what the feature adds to the score"),
            y=alt.Y("feature:N", sort=named, title=None, axis=alt.Axis(grid=True, labelExpr=NAME_LABELS)),
            yOffset=alt.YOffset("offset:Q", scale=alt.Scale(domain=[-1.15, 1.15])),
            tooltip=[
                "feature",
                "query",
                "document",
                alt.Tooltip("value:Q", format=".4g"),
                alt.Tooltip("attribution:Q", format="+.4f"),
            ],
        )
    )
    known = points.transform_filter("isValid(datum.position)").encode(color=color)
    missing = points.transform_filter("!isValid(datum.position)")
    return alt.layer(known, missing, data=frame).properties(height=ROW_PIXELS * len(named))


def _features(ranker: Any, data: RankingData) -> Any:
    """Return the features as the model takes them; raise a ParameterError unless it consists of trees with one output."""
    model = trained_scorer(ranker).model
    if not model.has_splits:
        rule = f"must be made of trees, and this {type(ranker).__name__} has another model"
        raise ParameterError("model", rule=rule, remedy="draw the importance by permutation")
    if model.n_outputs > 1:
        rule = f"must have one output; this one has {model.n_outputs}, and its score is not their sum"
        raise ParameterError("model", rule=rule, remedy="use ranker.attributions")
    return ranker.scorer_.features(data)


def _shapley(ranker: Any, features: Any) -> Floats:
    return attributions(ranker.scorer_.model, features, num_threads=resolve_threads(ranker.num_threads))


def _value_texts(ranker: Any, values: Any) -> list[str]:
    """Return the values of features as text: numbers, names of categories, or "missing"."""
    categories = ranker.scorer_.categories or {}
    texts = []
    for column, value in enumerate(values):
        known = categories.get(column) or ()
        inside = 0 <= value < len(known)
        texts.append("missing" if np.isnan(value) else str(known[int(value)]) if inside else f"{value:.6g}")
    return texts


def _positions(values: Floats) -> Floats:
    """Return the place of each value among the others, from 0 to 1; equal values have the same, and NaN stays NaN."""
    known = np.unique(values[~np.isnan(values)])
    if len(known) < 2:
        return np.where(np.isnan(values), np.nan, 0.5)
    places = np.searchsorted(known, values) / (len(known) - 1)
    return np.where(np.isnan(values), np.nan, places)


def _offsets(values: Floats, lowest: float, highest: float) -> Floats:
    """Return how far each point lies from the middle of its row, so that points of about the same value lie side by side."""
    width = (highest - lowest) or 1.0
    bins = np.minimum(((values - lowest) / width * SWARM_BINS).astype(np.int64), SWARM_BINS - 1)
    offsets = np.zeros(len(values))
    for place in np.unique(bins):
        inside = np.flatnonzero(bins == place)
        ranks = np.arange(len(inside))
        offsets[inside] = (ranks + 1) // 2 * np.where(ranks % 2, 1.0, -1.0)
    return offsets / max(8.0, float(np.abs(offsets).max(initial=1.0)))
