"""The page of a report: one HTML file that holds everything it needs and asks nothing of the network."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib import resources
from typing import Any

import podium.plots as plots
from podium.errors import MissingExtraError
from podium.report.charts import Charts
from podium.report.contents import ReportContents
from podium.report.explaining import why_no_contributions
from podium.report.markup import Markup, element, escape, join, listing, paragraph
from podium.report.queries import TOP
from podium.report.results import (
    cutoffs_section,
    difference_title,
    examples_section,
    importance_section,
    metrics_section,
    queries_section,
    scores_section,
)
from podium.report.sections import curves_section, data_section, models_section, overview, reproduce_section
from podium.report.texts import cut, embedded_json

GENERATOR = "Podium report"


def render(contents: ReportContents) -> str:
    """Return the whole page."""
    charts = Charts(contents)
    sections = [
        overview(contents),
        data_section(contents),
        models_section(contents),
        curves_section(contents, charts),
        metrics_section(contents),
        cutoffs_section(charts),
        queries_section(contents, charts),
        examples_section(contents),
        importance_section(contents, charts),
        scores_section(charts),
        reproduce_section(contents),
    ]
    script = _resource("page.js")
    body = join(
        [
            element("a", "Skip to the report", href="#overview", class_="skip"),
            element("header", element("h1", contents.title), _lead(contents), _contents(sections)),
            element("main", *sections),
            element("footer", paragraph(f"Made by Podium {contents.provenance.versions['podium']}.")),
            _dialog(),
            Markup(f'<script type="application/json" id="report-data">{embedded_json(_data(contents))}</script>'),
            Markup(f'<script type="module">{script}</script>'),
        ],
        "\n",
    )
    return "\n".join(
        ["<!DOCTYPE html>", '<html lang="en">', _head(contents, script), f"<body>\n{body}\n</body>", "</html>\n"]
    )


def _head(contents: ReportContents, script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    return "\n".join(
        [
            "<head>",
            f'<meta name="generator" content="{GENERATOR}">',
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">',
            '<meta name="color-scheme" content="light dark">',
            '<link rel="icon" href="data:,">',
            str(element("title", contents.title)),
            f"<style>\n{_resource('page.css')}{_chart_colors()}\n</style>",
            "</head>",
        ]
    )


def _chart_colors() -> str:
    try:
        return plots.dark_style(".chart")
    except MissingExtraError:
        return ""


def _lead(contents: ReportContents) -> Markup:
    counts = f"{contents.data.n_queries:,} queries, {contents.data.n_documents:,} documents, {contents.data.n_features:,} features"
    models = "1 model" if len(contents.models) == 1 else f"{len(contents.models)} models side by side"
    return paragraph(f"{models}; {counts}", class_="lead")


def _contents(sections: list[Markup]) -> Markup:
    """Return the links to the sections, read off their headings."""
    found = [re.search(r'<h2 id="([a-z]+)-title">(.*?)</h2>', text) for text in sections]
    links = [element("a", Markup(match[2]), href=f"#{match[1]}") for match in found if match is not None]
    return element("nav", listing(links), aria_label="Sections")


def _dialog() -> Markup:
    top = element(
        "div",
        element("h2", "Query", id="query-title"),
        element("button", "Close", type="button", class_="plain"),
        class_="top",
    )
    return element(
        "dialog", top, element("div", id="query-documents"), id="query-dialog", aria_labelledby="query-title"
    )


def _data(contents: ReportContents) -> dict[str, Any]:
    """Return what the page's script reads."""
    queries = contents.queries
    return {
        "metric": str(contents.judgment.main),
        "higherIsBetter": contents.judgment.main.higher_is_better,
        "models": [cut(model.name) for model in contents.models],
        "difference": difference_title(len(contents.models)),
        "rows": [row.to_json() for row in queries.rows],
        "details": queries.details,
        "features": queries.features,
        "noReasons": [why_no_contributions(model) for model in contents.models],
        "unexplained": f"The page holds the contributions for {queries.n_explained:,} documents, which are not among these.",
        "documentRule": f"those among the top {TOP} of a model, and relevant ones by their best rank",
    }


def _resource(name: str) -> str:
    return resources.files("podium.report").joinpath(name).read_text(encoding="utf-8")
