"""Charts of evaluations: a metric at every cutoff, gains and losses by query, and scores by label."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from podium.data import RankingData
from podium.errors import ParameterError
from podium.evaluation import evaluate
from podium.evaluation.compare import paired_values
from podium.evaluation.intervals import check_confidence
from podium.evaluation.paired_tests import paired_differences
from podium.evaluation.result import percent
from podium.metrics import Metric
from podium.metrics import metric as as_metric
from podium.plots.inputs import Floats, check_positive, evenly_spaced, named_systems, query_names, scores_of, some_of
from podium.plots.output import themed
from podium.plots.stack import alt, pd
from podium.plots.theme import BETTER, COLORS, PLAIN, WORSE, category_scale

MOST_QUERIES = 1000  # bars of a chart
MOST_CUTOFF = 200
MOST_BINS = 200
MOST_LABELS = 10  # more are put together
LABEL_GROUPS = 5
ROW_HEADER = {"labelAngle": 0, "labelAlign": "left"}


def metric_at_k(
    systems: Any,
    data: RankingData,
    *,
    metric: str | Metric = "ndcg",
    k: int = 10,
    confidence: float = 0.95,
    num_threads: int | None = None,
) -> Any:
    """Draw the mean of a metric at the cutoffs 1 to k, with confidence intervals, for one system or several.

    The columns of `chart.data` are system, k, mean, low and high.

    Args:
        systems: systems by name, each as `podium.evaluate` takes it; or one system.
        data: the judged documents.
        metric: a metric that takes a cutoff, written without one.
        k: the largest cutoff.
        confidence: confidence of the intervals, which are Student's intervals over queries.
        num_threads: number of threads; all cores by default.
    """
    named, k, confidence = named_systems(systems), check_positive("k", k, MOST_CUTOFF), check_confidence(confidence)
    meant = as_metric(metric)
    if meant.cutoff is not None:
        raise ParameterError(
            "metric", metric, "has a cutoff, and every cutoff up to {k} is drawn", "write it without @"
        )
    if not meant.definition.takes_cutoff:
        raise ParameterError("metric", metric, "takes no cutoff", "draw one that does, such as ndcg or precision")
    cutoffs = [replace(meant, cutoff=cutoff) for cutoff in range(1, k + 1)]
    rows, n_queries = [], set()
    for name, system in named.items():
        result = evaluate(system, data, cutoffs, confidence=confidence, num_threads=num_threads)
        for cutoff, each in enumerate(cutoffs, start=1):
            n_queries.add(int(np.sum(~np.isnan(result.per_query[each]))))  # some metrics leave queries out
            low, high = result.interval[each]
            rows.append({"system": name, "k": cutoff, "mean": result.mean[each], "low": low, "high": high})
    frame = pd.DataFrame(rows)
    color = alt.Color("system:N", scale=category_scale(list(named)), title=None, legend=alt.Legend(symbolOpacity=1))
    ticks = [int(tick) + 1 for tick in evenly_spaced(k, 15)]
    x = alt.X("k:Q", title="cutoff k (rank)", axis=alt.Axis(values=ticks, format="d"), scale=alt.Scale(nice=False))
    y = alt.Y("mean:Q", title=f"mean {meant}@k", scale=alt.Scale(zero=False))
    tips = ["system", "k", *(alt.Tooltip(f"{name}:Q", format=".4f") for name in ("mean", "low", "high"))]
    band = (
        alt.Chart()
        .mark_area(opacity=0.15)
        .encode(x=x, y=alt.Y("low:Q", title=f"mean {meant}@k"), y2="high:Q", color=color)
    )
    line = (
        alt.Chart()
        .mark_line(point=alt.OverlayMarkDef(size=35, filled=True))
        .encode(x=x, y=y, color=color, tooltip=tips)
    )
    counted = " to ".join(f"{count:,}" for count in sorted({min(n_queries), max(n_queries)}))
    words = f"Mean over {counted} {'query' if counted == '1' else 'queries'} with {percent(confidence)} intervals"
    return themed(alt.layer(band, line, data=frame), f"{meant}@k for cutoffs 1 to {k}", words)


def query_differences(
    systems: Any, data: RankingData, *, metric: str | Metric = "ndcg@10", num_threads: int | None = None
) -> Any:
    """Draw by how much the first of two systems is better or worse than the second, query by query.

    The columns of `chart.data` are query, position, first, second, difference (first − second, as in `podium.compare`) and outcome: a gain
    if the first system is better, a loss if it is worse, or a tie. Of many queries some are drawn, in even steps of the order.

    Args:
        systems: two systems by name, each as `podium.evaluate` takes it.
        data: the judged documents.
        metric: the metric to compare by.
        num_threads: number of threads; all cores by default.
    """
    named = named_systems(systems, count=2)
    meant = as_metric(metric)
    results = {name: evaluate(system, data, metric, num_threads=num_threads) for name, system in named.items()}
    shared, values = paired_values(metric, results, data)
    first, second = values.values()
    differences = paired_differences(first, second)
    better = differences if meant.higher_is_better else -differences
    order = np.argsort(-better, kind="stable")
    called = query_names(data)
    names = [called[query] for query in shared]
    counts = [int(np.sum(better > 0)), int(np.sum(better < 0)), int(np.sum(better == 0))]
    kept = evenly_spaced(len(order), MOST_QUERIES)
    drawn = order[kept]
    frame = pd.DataFrame(
        {
            "query": [names[query] for query in drawn],
            "position": kept + 1,
            "first": first[drawn],
            "second": second[drawn],
            "difference": differences[drawn],
            "outcome": np.select([better[drawn] > 0, better[drawn] < 0], ["gain", "loss"], "tie"),
        }
    )
    one, other = named
    return themed(
        _difference_bars(frame, len(order), meant.label, one, other),
        f"{meant.label} by query: {one} against {other}",
        f"Of {len(order):,} queries {one} is better on {counts[0]:,}, worse on {counts[1]:,} and equal on {counts[2]:,}; "
        f"mean difference {differences.mean():+.4f}",
        some_of(len(frame), len(order), "queries are drawn, in even steps"),
    )


def _difference_bars(frame: Any, n_queries: int, metric: str, one: str, other: str) -> Any:
    """Draw one bar per query."""
    colors = alt.Scale(domain=["gain", "loss", "tie"], range=[BETTER, WORSE, PLAIN])
    tips = [
        "query",
        *(alt.Tooltip(f"{column}:Q", title=name, format=".4f") for column, name in (("first", one), ("second", other))),
    ]
    return (
        alt.Chart(frame)
        .mark_rule(strokeWidth=max(1.0, min(8.0, 380 / len(frame))), strokeCap="butt")
        .encode(
            x=alt.X(
                "position:Q",
                title="queries, from the largest gain to the largest loss",
                axis=alt.Axis(tickMinStep=1),
                scale=alt.Scale(domain=[0.5, n_queries + 0.5], nice=False),
            ),
            y=alt.Y("difference:Q", title=f"{metric}, {one} − {other}"),
            y2=alt.datum(0),
            color=alt.Color("outcome:N", scale=colors, title=f"for {one}"),
            tooltip=[*tips, alt.Tooltip("difference:Q", format="+.4f")],
        )
    )


def score_distribution(
    system: Any, data: RankingData, *, bins: int = 40, within_query: bool = False, num_threads: int | None = None
) -> Any:
    """Draw how the scores of a system are distributed, one histogram per label.

    The columns of `chart.data` are label, documents (of this label), low and high (the ends of a bin), and share (of the documents of
    this label that lie in the bin). More than ten different labels are put into five groups: of about the same size, or, if a fifth of the
    documents or more have the lowest label, these and four groups of the others.

    Args:
        system: a trained ranker, a scorer, or one score per row of the data in the caller's order.
        data: the judged documents.
        bins: number of bins.
        within_query: whether to subtract the mean score of each query, since only documents of one query are compared.
        num_threads: number of threads; all cores by default.
    """
    bins, scores = check_positive("bins", bins, MOST_BINS), scores_of(system, data, num_threads)
    if within_query:
        sums = np.add.reduceat(scores, data.query_offsets[:-1])
        scores = scores - np.repeat(sums / data.query_sizes, data.query_sizes)
    edges = _bin_edges(scores, bins)
    rows = []
    for label, mask in _label_groups(np.asarray(data.labels, np.float64)):
        counts, _ = np.histogram(scores[mask], edges)
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True):
            rows.append((label, int(mask.sum()), float(low), float(high), float(count / mask.sum())))
    frame = pd.DataFrame(rows, columns=["label", "documents", "low", "high", "share"])
    labels = list(dict.fromkeys(frame["label"]))
    tips = ["label", "documents", *(alt.Tooltip(f"{name}:Q", format=".4g") for name in ("low", "high"))]
    unit = "score − mean score of its query" if within_query else "score"
    chart = (
        alt.Chart(frame)
        .mark_bar(color=COLORS[0], aria=False)
        .encode(
            x=alt.X("low:Q", title=unit, scale=alt.Scale(zero=False, nice=False)),
            x2="high:Q",
            y=alt.Y("share:Q", title=None, axis=alt.Axis(format="%", tickCount=3)),
            y2=alt.datum(0),
            row=alt.Row("label:N", sort=labels, title="share of the documents of each label", header=ROW_HEADER),
            tooltip=[*tips, alt.Tooltip("share:Q", format=".2%")],
        )
        .properties(height=max(30, min(80, 320 // len(labels))))
        .resolve_scale(y="independent")
    )
    return themed(chart, "Scores by label", f"{data.n_documents:,} documents of {data.n_queries:,} queries")


def _bin_edges(scores: Floats, bins: int) -> Floats:
    """Return the ends of equal bins over the scores. Scores that differ by little more than rounding get wider bins."""
    low, high = float(scores.min()), float(scores.max())
    least = 4 * bins * float(np.spacing(max(abs(low), abs(high))))
    if low < high < low + least:
        low, high = low - least / 2, high + least / 2
    return np.histogram_bin_edges(scores, bins, (low, high))


def _label_groups(labels: Floats) -> list[tuple[str, Any]]:
    """Return the name and the documents of each label, the highest first, or of groups of labels if there are many.

    Of many labels, the lowest one is a group of its own if it is as frequent as a group, since it often means "not relevant".
    """
    distinct = np.unique(labels)
    if len(distinct) <= MOST_LABELS:
        return [(f"{label:g}", labels == label) for label in distinct[::-1]]
    lowest = labels == distinct[0]
    alone = int(lowest.sum()) * LABEL_GROUPS >= len(labels)
    rest, parts = (labels[~lowest], LABEL_GROUPS - 1) if alone else (labels, LABEL_GROUPS)
    ends = np.unique(np.sort(rest)[[len(rest) * part // parts - 1 for part in range(1, parts + 1)]])
    groups = [(f"{distinct[0]:g}", lowest)] if alone else []
    above = float(distinct[0]) if alone else -np.inf
    for high in ends:
        mask = (labels > above) & (labels <= high)
        inside = labels[mask]
        first, last = f"{inside.min():g}", f"{inside.max():g}"
        groups.append((first if first == last else f"{first} to {last}", mask))
        above = float(high)
    return groups[::-1]
