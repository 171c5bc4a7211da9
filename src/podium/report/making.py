"""Make a report from models and data."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from podium.data import RankingData
from podium.data.canonical import check_data
from podium.files import Output, atomic_write, check_outputs
from podium.formats import read
from podium.report.contents import ReportContents, ReportOptions, collect
from podium.report.data_remarks import Remark
from podium.report.judging import MetricLike
from podium.report.markup import element
from podium.report.opening import OpenedModel, open_models
from podium.report.page import render


@dataclass(frozen=True, eq=False)
class ModelReport:
    """A report on models: the page, and what it says.

    Attributes:
        contents: what the page says, as data.
        html: the page.
    """

    contents: ReportContents
    html: str

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the page warns of, each in one sentence or two."""
        return tuple(remark.text for remark in self.remarks if remark.level == "warning")

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """Warnings and notes of the page."""
        return self.contents.remarks

    @property
    def n_bytes(self) -> int:
        """The size of the page as a file."""
        return len(self._encoded())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to one HTML file."""
        with atomic_write(path, "html") as file:
            file.write(self._encoded())

    def _repr_html_(self) -> str:
        """Return the page in a frame of its own, for notebooks."""
        return str(
            element(
                "iframe",
                srcdoc=self.html,
                title=self.contents.title,
                sandbox="allow-scripts",
                style="width: 100%; height: 50rem; border: 1px solid #888",
            )
        )

    def _encoded(self) -> bytes:
        return self.html.encode(errors="replace")

    def __repr__(self) -> str:
        names = ", ".join(model.name for model in self.contents.models)
        return f"<report on {names}: {self.n_bytes:,} bytes, {len(self.warnings)} warnings; save it with .save(path)>"


def make_report(
    models: Any,
    data: RankingData | str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    metrics: MetricLike | Sequence[MetricLike] | None = None,
    title: str | None = None,
    examples: int = 5,
    confidence: float = 0.95,
    seed: int = 0,
    num_threads: int | None = None,
) -> ModelReport:
    """Make one self-contained HTML page about one model or several on judged data.

    The page shows the data and what is suspicious about it, what was trained, learning curves, metrics with intervals and paired
    tests, the gains and losses of every query, the best, worst and most changed queries with their documents and contributions of
    features, importances, the distribution of scores, and how to make the page again. Charts need the extra `plots`; a part that
    cannot be made says why. The same input gives the same bytes.

    Args:
        models: a ranker, a scorer, an array of scores in the row order of `data`, or the path of a model or of scores; or several
            of these in a list or by name. Differences are the first model minus the others, as in `podium.compare`.
        data: judged data that the models were not trained on, or its path.
        out: a file to write the page to.
        metrics: metrics to show, the first of which sorts the queries. By default the metric of the first model, and the usual
            ones.
        title: the heading of the page.
        examples: number of best, of worst and of most changed queries to point out.
        confidence: the confidence of the intervals.
        seed: the seed of the bootstrap, of the randomization test and of permutations.
        num_threads: how many threads to use; all cores by default.
    """
    options = ReportOptions(_as_metrics(metrics), title, examples, confidence, seed, num_threads)
    opened = open_models(models)
    path = Path(data) if isinstance(data, str | os.PathLike) else None
    if out is not None:
        check_outputs([Output(out, "html")], inputs=[path, *(model.path for model in opened)])
    made = build_report(opened, _as_data(data, num_threads), options, data_path=path)
    if out is not None:
        made.save(out)
    return made


def build_report(
    opened: Sequence[OpenedModel],
    data: RankingData,
    options: ReportOptions,
    *,
    data_path: Path | None = None,
    command: str = "",
) -> ModelReport:
    """Make the report on models that are open already."""
    contents = collect(opened, data, options, data_path=data_path, command=command)
    return ModelReport(contents, render(contents))


def _as_metrics(metrics: MetricLike | Sequence[MetricLike] | None) -> Sequence[MetricLike] | None:
    if metrics is None or (isinstance(metrics, Sequence) and not isinstance(metrics, str)):
        return metrics
    return [metrics]


def _as_data(data: Any, num_threads: int | None) -> RankingData:
    judged = read(data, num_threads=num_threads) if isinstance(data, str | os.PathLike) else data
    check_data("data", judged)
    return cast(RankingData, judged)
