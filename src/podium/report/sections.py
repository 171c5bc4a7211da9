"""The sections of a report that say what was judged: remarks, the data, the models, and how to make the page again."""

from __future__ import annotations

import re
from collections.abc import Sequence

from podium.data.feature_names import feature_name
from podium.evaluation.result import percent
from podium.report.charts import Charts
from podium.report.contents import ReportContents
from podium.report.data_remarks import Remark, describe_rows
from podium.report.markup import (
    Child,
    Markup,
    element,
    isolated,
    join,
    listing,
    paragraph,
    scrolling,
    side_by_side,
    table,
)
from podium.report.scored import TrainingSummary
from podium.report.texts import cut, fixed, interval, n_queries, p_value, signed

LONGEST_COMMAND = 5000
STRONGEST = 8  # features that are listed with how well each ranks alone


def section(title: str, anchor: str, *children: Child) -> Markup:
    """Return a section with a heading."""
    heading = element("h2", title, id=f"{anchor}-title")
    return element("section", heading, *children, id=anchor, aria_labelledby=f"{anchor}-title")


def overview(contents: ReportContents) -> Markup:
    """Return the main metric of each model, and the remarks."""
    main, tiles = contents.judgment.main, []
    for name, result in contents.judgment.evaluations.items():
        tiles.append(
            join(
                [
                    element("span", isolated(name), class_="name"),
                    element("span", fixed(result.mean[main]), class_="value"),
                    element(
                        "span",
                        f"{percent(result.confidence)} interval {interval(result.interval[main])}",
                        class_="range",
                    ),
                ]
            )
        )
    over = n_queries(contents.judgment.n_judged(main))
    told = paragraph(f"Mean of {main} over {over} of ", isolated(contents.data_name), ".")
    return section(
        "Overview", "overview", told, listing(tiles, class_="tiles"), _verdicts(contents), remarks(contents.remarks)
    )


def _verdicts(contents: ReportContents) -> Markup:
    """Return one sentence per pair of models on whether they differ in the main metric."""
    if not contents.judgment.comparisons or contents.judgment.comparisons[0].metric != contents.judgment.main:
        return Markup("")
    sentences = []
    several, between = len(contents.models) > 2, percent(contents.options.confidence)
    for pair in contents.judgment.comparisons[0].pairs:
        p = (pair.corrected if several else pair.p_values)["randomization"]
        shown = f"p {p_value(p)}" if p < 0.0001 else f"p = {p_value(p)}"
        corrected = " after Holm's correction" if several else ""
        differs = "the two differ" if p < 1 - contents.options.confidence else "this does not show that the two differ"
        sentences.append(
            join(
                [
                    isolated(cut(pair.first)),
                    " − ",
                    isolated(cut(pair.second)),
                    f": {signed(pair.difference)} ({between} interval {interval(pair.interval, signed)}), better on "
                    f"{pair.wins:,} and worse on {pair.losses:,} queries; {shown} by the paired randomization test{corrected}: {differs}.",
                ]
            )
        )
    return listing(sentences)


def remarks(found: Sequence[Remark]) -> Markup:
    """Return warnings and notes as a list; the level is part of the text, not only of the color."""
    if not found:
        return paragraph("Nothing about the data or the models calls for a warning.")
    items = [
        element("li", element("strong", "Warning: ") if each.level == "warning" else None, each.text, class_=each.level)
        for each in found
    ]
    return element("ul", *items, class_="remarks")


def data_section(contents: ReportContents) -> Markup:
    """Return the summary of the data, and the features that rank best alone."""
    summary = contents.summary
    rows = [(name, value) for name, value in describe_rows(summary.description)]
    tables = [table("Summary of the data", ["What", "Value"], rows, text_columns=2)]
    strongest = summary.strongest[:STRONGEST]
    if strongest:
        names = contents.data.feature_names
        strengths = [
            (isolated(cut(feature_name(column, names))), f"{summary.strengths[column]:.1%}") for column in strongest
        ]
        told = paragraph(_strength_note(contents), class_="soft")
        alone = table("Features that rank best alone", ["Feature", "Pairs in the right order"], strengths)
        tables.append(element("div", alone, told))
    else:
        why = "no query has two labels" if contents.data.n_features else "the data has no features"
        tables.append(paragraph(f"No feature could be judged alone, because {why}.", class_="reason"))
    return section("Data", "data", side_by_side(*tables))


def _strength_note(contents: ReportContents) -> str:
    summary = contents.summary
    sampled = ""
    if summary.sampled_documents < contents.data.n_documents:
        sampled = (
            f" Measured on a sample: {summary.sampled_queries:,} queries with {summary.sampled_documents:,} documents."
        )
    return (
        "The share of pairs of documents with different labels in a query that the feature alone orders rightly, rising or "
        f"falling; 50% is chance.{sampled}"
    )


def models_section(contents: ReportContents) -> Markup:
    """Return what each model is, its settings, and where they differ."""
    trainings = contents.trainings
    parts: list[Child] = []
    facts = list(dict.fromkeys(key for each in trainings for key, _ in each.facts))
    rows: list[list[Child]] = [["Kind", *(each.kind for each in trainings)]]
    rows += [[key, *(dict(each.facts).get(key, "–") for each in trainings)] for key in facts]
    names = [isolated(cut(each.name)) for each in trainings]
    parts.append(table("What was trained", ["", *names], rows, text_columns=len(names) + 1))
    parts += [paragraph(each.missing, class_="reason") for each in trainings if each.missing]
    if any(each.settings for each in trainings):
        parts.append(_settings([each for each in trainings if each.settings]))
    return section("Models", "models", *parts)


def _settings(trainings: Sequence[TrainingSummary]) -> Markup:
    keys = list(dict.fromkeys(key for each in trainings for key in each.settings))
    lines = []
    for key in keys:
        values = [each.settings.get(key, "–") for each in trainings]
        cells = [element("td", cut(value), class_="setting") for value in values]
        differs = "differs" if len(set(values)) > 1 else None
        lines.append(element("tr", element("th", key, scope="row"), *cells, class_=differs))
    head = element(
        "tr", *(element("th", name, scope="col") for name in ["Setting", *(isolated(cut(t.name)) for t in trainings)])
    )
    caption = "Every setting with the value that was used"
    whole = element("table", element("caption", caption), element("thead", head), element("tbody", *lines))
    return element("details", element("summary", f"All {len(keys)} settings"), scrolling(whole, caption))


def curves_section(contents: ReportContents, charts: Charts) -> Markup:
    """Return the learning curves."""
    reasons = [paragraph(m.opened.no_log, class_="reason") for m in contents.models if m.opened.no_log]
    figures = [picture.to_html() for picture in charts.learning_curves()]
    return section("Learning curves", "curves", side_by_side(*figures), *reasons)


def _training_lines(training: TrainingSummary) -> list[str]:
    """Return Python that trains a model again. Its file knows the content of the training data, but not where it was."""
    known = dict(training.facts).get("Training data (SHA-256 of its content)", "")
    name = re.sub(r"\W", "_", training.name)
    reading = [f'train = podium.read("…")  # SHA-256 of its content: {known}']
    reading += ['valid = podium.read("…")'] if "valid=valid" in training.code else []
    return [*reading, f"{name if name.isidentifier() else f'model_{name}'} = {training.code}"]


def reproduce_section(contents: ReportContents) -> Markup:
    """Return how to make the page again: commands, checksums and versions."""
    found = contents.provenance
    parts: list[Child] = []
    if found.command:
        parts += [
            paragraph("This page was made by:"),
            element("pre", element("code", cut(found.command, LONGEST_COMMAND))),
        ]
    else:
        parts.append(paragraph("This page was made in Python, by ", element("code", "podium.report"), "."))
    trained = [each for each in contents.trainings if each.code]
    if trained:
        lines = "\n".join(["import podium", *dict.fromkeys(line for each in trained for line in _training_lines(each))])
        parts.append(
            paragraph(
                "In Python, the models are trained again as follows, with the paths of their data in place of the dots:"
            )
        )
        parts.append(element("pre", element("code", lines)))
    rows = [
        (isolated(cut(each.role)), isolated(each.path), f"{each.n_bytes:,}", element("code", each.sha256))
        for each in found.files
    ]
    if rows:
        parts.append(table("Files", ["Role", "Path", "Bytes", "SHA-256"], rows, text_columns=4))
    versions = [(name, value) for name, value in found.versions.items()]
    parts.append(table("Versions", ["Package", "Version"], versions, text_columns=2))
    parts.append(
        paragraph(
            "SHA-256 of the content of the data, the same for any order of its queries: ",
            element("code", found.data_fingerprint),
            f". The seed of all random numbers is {found.seed}.",
        )
    )
    return section("How to reproduce this page", "reproduce", *parts)
