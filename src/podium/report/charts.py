"""The charts of a report as static SVG pictures, which need no script and follow the colors of the page."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import podium.plots as plots
from podium.errors import MissingExtraError, PodiumError
from podium.report.contents import ReportContents
from podium.report.markup import Markup, element, paragraph
from podium.report.texts import as_sentence, cut

WIDTH, HEIGHT = 360, 230  # of the inside of a chart
MOST_CUTOFF = 20
SHOWN_FEATURES = 12
MOST_PAIRS = 4  # of the first model with another
LONGEST_NAME = 28  # characters of a model's name in a legend
MOST_BYTES = 1_000_000  # of all charts together


@dataclass(frozen=True)
class Picture:
    """A chart, or why there is none.

    Attributes:
        svg: the chart as SVG; "" if there is none.
        title: what it shows.
        lines: what else to know about it.
        reason: why there is no chart, as a whole sentence; "" if there is one.
    """

    svg: str
    title: str
    lines: tuple[str, ...] = ()
    reason: str = ""

    def to_html(self) -> Markup:
        """Return the chart with its description, or the sentence that says why there is none."""
        if self.reason:
            return paragraph(self.reason, class_="reason")
        words = ". ".join([self.title, *self.lines])
        drawn = element("div", Markup(self.svg), class_="chart", role="img", aria_label=words)
        lines = [element("span", line) for line in self.lines]
        return element("figure", element("figcaption", element("strong", self.title), *lines), drawn)


class Charts:
    """Draws the charts of one report. The names inside the pictures are numbered, so that one page can hold all of them."""

    def __init__(self, contents: ReportContents) -> None:
        self.contents = contents
        self._numbers = itertools.count(1)
        self._room = MOST_BYTES
        self._names = short_names([model.name for model in contents.models])

    def learning_curves(self) -> list[Picture]:
        """Draw the training logs together, or one by one if they are of different metrics."""
        logged = [model for model in self.contents.models if not model.opened.no_log]
        if not logged:
            return []
        named = {self._names[model.name]: model.opened.curve_source for model in logged}
        metrics = {str(model.ranker.metric) for model in logged if model.ranker is not None}
        groups = [named] if len(metrics) == 1 else [{name: source} for name, source in named.items()]
        return [
            self._draw(f"The metric during training: {', '.join(group)}.", "learning_curve", group) for group in groups
        ]

    def metric_at_k(self) -> Picture:
        """Draw the main metric at every cutoff."""
        contents, main = self.contents, self.contents.judgment.main
        most = min(MOST_CUTOFF if (main.cutoff or 0) > 10 else 10, int(contents.data.query_sizes.max()))
        has_cutoffs = main.definition.takes_cutoff and main.custom is None
        base = str(replace(main, cutoff=None)) if has_cutoffs else "ndcg"
        systems = {self._names[model.name]: model.caller_scores for model in contents.models}
        return self._draw(
            f"{base}@k at the cutoffs 1 to {most}: {', '.join(systems)}.",
            "metric_at_k",
            systems,
            contents.data,
            metric=base,
            k=most,
            confidence=contents.options.confidence,
            num_threads=contents.options.num_threads,
        )

    def query_differences(self) -> list[Picture]:
        """Draw the gains and losses of the first model against each other one, query by query."""
        first, *others = self.contents.models
        return [
            self._draw(
                f"{self.contents.judgment.main} of each query: {cut(first.name)} minus {cut(other.name)}.",
                "query_differences",
                {self._names[model.name]: model.caller_scores for model in (first, other)},
                self.contents.data,
                metric=self.contents.judgment.main,
                num_threads=self.contents.options.num_threads,
            )
            for other in others[:MOST_PAIRS]
        ]

    def importances(self) -> Iterator[Picture]:
        """Draw the importance of features to each model: by permutation, and by gain for trees."""
        for model, found in zip(self.contents.models, self.contents.importances, strict=True):
            if found.permutation is not None:
                title = f"How far {found.permutation.metric} of {cut(model.name)} falls if a feature is permuted within each query."
                yield self._draw(title, "importance", found.permutation, top=SHOWN_FEATURES)
            if found.gain is not None:
                title = f"Sum of the gains of the splits of each feature in {cut(model.name)}."
                yield self._draw(title, "importance", model.ranker, self.contents.data, kind="gain", top=SHOWN_FEATURES)

    def score_distributions(self) -> list[Picture]:
        """Draw the scores of each model by label."""
        return [
            self._draw(
                f"Scores of {cut(model.name)} by label.",
                "score_distribution",
                model.caller_scores,
                self.contents.data,
                bins=30,
            )
            for model in self.contents.models
        ]

    def _draw(self, title: str, function: str, /, *given: Any, **options: Any) -> Picture:
        """Draw a chart by a function of `podium.plots`, whose name is looked up here because that needs the extra already."""
        try:
            bare, lines = prepared(getattr(plots, function)(*given, **options))
            svg = plots.to_svg(bare, theme="light")
        except MissingExtraError as error:
            return Picture("", title, reason=as_sentence(f"There is no chart, because {error}"))
        except PodiumError as error:
            return Picture("", title, reason=as_sentence(f"There is no chart: {error}"))
        picture = Picture(embeddable(svg, f"chart{next(self._numbers)}"), title, lines)
        if len(picture.svg) > self._room:
            return Picture("", title, reason=f"A chart was left out to keep the page small. {title}")
        self._room -= len(picture.svg)
        return picture


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Return for each name one that fits into a legend; they stay distinct."""
    short = [cut(name, LONGEST_NAME) for name in names]
    return {
        name: short[k] if short.count(short[k]) == 1 else f"{cut(name, LONGEST_NAME - 5)} {k + 1}"
        for k, name in enumerate(names)
    }


def prepared(chart: Any) -> tuple[Any, tuple[str, ...]]:
    """Return a chart that fits a narrow page, and the lines below its title.

    It has no title, because in a page the title is text, which wraps and is read aloud, and its legend is below it.
    """
    said = chart.title.to_dict() if hasattr(chart.title, "to_dict") else {}
    lines = said.get("subtitle", ())
    bare = chart.copy(deep=False)
    bare.title = ""
    look = chart.config.to_dict()
    look["view"] = {**look.get("view", {}), "continuousWidth": WIDTH, "continuousHeight": HEIGHT}
    look["legend"] = {**look.get("legend", {}), "orient": "bottom"}
    look["padding"] = {"left": 4, "right": 8, "top": 8, "bottom": 8}
    bare.config = type(chart.config)(**look)
    return bare, (lines,) if isinstance(lines, str) else tuple(lines)


def embeddable(svg: str, prefix: str) -> str:
    """Return an SVG as part of a page: with names of its own inside, and hidden from screen readers, which get its title."""
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r'\b(id="|xlink:href="#|href="#|url\(#)', lambda found: f"{found[0]}{prefix}-", svg)
    return svg.replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1)
