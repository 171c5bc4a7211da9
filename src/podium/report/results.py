"""The sections of a report that show results: metrics and tests, queries, importances and scores."""

from __future__ import annotations

import math
from collections.abc import Iterable

from podium.data.presentation import query_title
from podium.evaluation import PairComparison
from podium.evaluation.result import percent
from podium.report.charts import Charts, Picture
from podium.report.contents import ReportContents
from podium.report.explaining import ModelImportance
from podium.report.markup import Child, Markup, element, isolated, join, paragraph, side_by_side, table
from podium.report.queries import QueryRow
from podium.report.sections import section
from podium.report.texts import cut, fixed, interval, n_queries, p_value, signed

SHOWN_FEATURES = 15


def metrics_section(contents: ReportContents) -> Markup:
    """Return the means of all metrics with their intervals, and the paired tests."""
    judgment = contents.judgment
    names = list(judgment.evaluations)
    labels = list(judgment.evaluations[names[0]].mean)
    counts = [judgment.n_judged(label) for label in labels]
    differ = len(set(counts)) > 1
    rows: list[list[Child]] = []
    for label, count in zip(labels, counts, strict=True):
        cells: list[Child] = [label, f"{count:,}"] if differ else [label]
        for result in judgment.evaluations.values():
            cells += [fixed(result.mean[label]), interval(result.interval[label])]
        rows.append(cells)
    between = percent(contents.options.confidence)
    columns: list[Child] = ["Metric", "Queries"] if differ else ["Metric"]
    for name in names:
        columns += [isolated(cut(name)), f"{between} interval"]
    parts: list[Child] = [
        table("Means over queries" if differ else f"Means over {n_queries(counts[0])}", columns, rows)
    ]
    if judgment.comparisons:
        parts += _tests(contents)
    else:
        alone = "There is one model, so there is nothing to compare it with by a test."
        empty = "No metric has a value for any query, so the models cannot be compared."
        parts.append(paragraph(empty if len(contents.models) > 1 else alone, class_="reason"))
    return section("Metrics", "metrics", *parts)


def _tests(contents: ReportContents) -> list[Child]:
    several = len(contents.models) > 2
    tests = list(contents.judgment.comparisons[0].pairs[0].p_values)
    rows: list[list[Child]] = []
    for comparison in contents.judgment.comparisons:
        for pair in comparison.pairs:
            p_values = pair.corrected if several else pair.p_values
            rows.append(
                [
                    join([comparison.metric.label, ": ", _pair(pair)]),
                    signed(pair.difference),
                    interval(pair.interval, signed),
                    *(p_value(p_values[test]) for test in tests),
                    f"{pair.wins:,}",
                    f"{pair.losses:,}",
                    f"{pair.ties:,}",
                ]
            )
    between = f"{percent(contents.options.confidence)} interval"
    columns = ["Difference", "Mean", between, *(f"p ({test})" for test in tests), "Better", "Worse", "Equal"]
    note = "Better and worse count queries, for the first of the two models. The tests are paired over queries" + (
        ", and their p-values are corrected for the number of pairs (Holm)." if several else "."
    )
    return [table("Paired tests between the models", columns, rows), paragraph(note, class_="soft")]


def _pair(pair: PairComparison) -> Markup:
    return join([isolated(cut(pair.first)), " − ", isolated(cut(pair.second))])


def difference_title(n_models: int) -> str:
    """Return what the difference between models by query is called."""
    return "Difference" if n_models <= 2 else "First − last model"


def drawn(pictures: Iterable[Picture]) -> Markup:
    """Return charts next to each other where there is room."""
    return side_by_side(*(picture.to_html() for picture in pictures))


def cutoffs_section(charts: Charts) -> Markup:
    """Return the metric at every cutoff."""
    return section("Metric by cutoff", "cutoffs", charts.metric_at_k().to_html())


def queries_section(contents: ReportContents, charts: Charts) -> Markup:
    """Return the gains and losses by query: charts, and the place of the table that the script fills."""
    queries, main = contents.queries, contents.judgment.main
    parts: list[Child] = []
    if len(contents.models) > 1:
        parts.append(drawn(charts.query_differences()))
    else:
        parts.append(
            paragraph("Gains and losses need a second model; the table has the values of this one.", class_="reason")
        )
    told = f"{main} of every query. Choose a heading to sort, and a query to see its documents."
    if len(queries.rows) < queries.n_queries:
        told += f" The table has {len(queries.rows):,} of {queries.n_queries:,} queries, which keeps the page small."
    if len(queries.details) < len(queries.rows):
        told += f" The page holds the documents of {len(queries.details):,} queries; the others cannot be opened."
    parts.append(paragraph(told))
    parts.append(element("noscript", paragraph("The table of queries needs JavaScript.", class_="reason")))
    parts.append(element("div", id="query-table"))
    return section("Gains and losses by query" if len(contents.models) > 1 else "Values by query", "queries", *parts)


def examples_section(contents: ReportContents) -> Markup:
    """Return the best, the worst and the most changed queries, which the script fills with their documents."""
    queries = contents.queries
    rows = {row.number: row for row in queries.rows}
    mean = ", averaged over the models" if len(contents.models) > 1 else ""
    groups = [
        ("Most changed", queries.changed, "The largest differences between the models."),
        ("Worst", queries.worst, f"The lowest quality by {contents.judgment.main}{mean}."),
        ("Best", queries.best, f"The highest quality by {contents.judgment.main}{mean}."),
    ]
    parts: list[Child] = []
    for title, numbers, told in groups:
        if title == "Most changed" and len(contents.models) < 2:
            continue
        parts += [element("h3", f"{title} queries"), paragraph(told, class_="soft")]
        shown = [number for number in numbers if number in queries.details]
        parts += [_example(contents, rows[number]) for number in shown]
        if not shown:
            told = "The page has no room for the documents of these queries." if numbers else "There is no such query."
            parts.append(paragraph(told, class_="reason"))
    return section("Queries to look at", "examples", *parts)


def _example(contents: ReportContents, row: QueryRow) -> Markup:
    named = zip(contents.models, row.values, strict=True)
    values: list[Child] = ["" if query_title(row.id) == row.id else "Query ", isolated(row.id), ": "]
    for place, (model, value) in enumerate(named):
        values += [", " if place else "", isolated(cut(model.name)), f" {fixed(math.nan if value is None else value)}"]
    known = [value for value in row.values if value is not None]
    if len(known) > 2:
        values.append(f"; largest difference {fixed(max(known) - min(known))}")
    elif row.difference is not None:
        kind = None
        if row.difference:
            kind = "gain" if (row.difference > 0) == contents.judgment.main.higher_is_better else "loss"
        values += ["; difference ", element("span", signed(row.difference), class_=kind)]
    return element("details", element("summary", *values), element("div"), data_query=row.number)


def importance_section(contents: ReportContents, charts: Charts) -> Markup:
    """Return the importance of the features to each model."""
    parts: list[Child] = []
    found = [each for each in contents.importances if each.permutation is not None or each.gain is not None]
    if found:
        parts.append(drawn(charts.importances()))
    parts += [paragraph(each.missing, class_="reason") for each in contents.importances if each.missing]
    tables = [
        _importance_table(contents, model.name, each)
        for model, each in zip(contents.models, contents.importances, strict=True)
        if each.top(1)
    ]
    return section("Importance of features", "importance", *parts, side_by_side(*tables))


def _importance_table(contents: ReportContents, name: str, found: ModelImportance) -> Markup:
    columns: list[Child] = ["Feature"]
    rows: list[list[Child]] = [[isolated(cut(found.names[column]))] for column in found.top(SHOWN_FEATURES)]
    fall = found.permutation
    caption: list[Child] = ["Most important features to ", isolated(cut(name))]
    if fall is not None:
        columns += [f"Fall of {fall.metric}", f"{percent(fall.confidence)} interval"]
        for row, column in zip(rows, found.top(SHOWN_FEATURES), strict=True):
            row += [signed(fall.mean[column]), interval(tuple(fall.interval[column].tolist()), signed)]
        sampled = found.queries < contents.data.n_queries
        caption.append(f"; permuted once on a sample of {found.queries:,} queries" if sampled else "; permuted once")
    if found.gain is not None:
        columns.append("Share of gain")
        for row, column in zip(rows, found.top(SHOWN_FEATURES), strict=True):
            row.append(f"{found.gain[column]:.1%}")
    if found.splits is not None:
        columns.append("Splits")
        for row, column in zip(rows, found.top(SHOWN_FEATURES), strict=True):
            row.append(f"{found.splits[column]:,}")
    return table(join(caption), columns, rows)


def scores_section(charts: Charts) -> Markup:
    """Return the distribution of the scores."""
    return section("Scores", "scores", drawn(charts.score_distributions()))
