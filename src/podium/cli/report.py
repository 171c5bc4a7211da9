"""podium report."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from podium.cli.console import (
    Confidence,
    DataFile,
    FormatName,
    Json,
    MetricNames,
    ReadOption,
    Seed,
    Threads,
    check_outputs,
    data_source,
    find_functions,
    note,
    print_json,
    progress,
    say,
)
from podium.cli.file_order import data_and_rankings
from podium.cli.models import Rows, named_files
from podium.evaluation.result import as_json, percent
from podium.files import Output


def report(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]MODEL…",
            help="Models: written by podium train, by another library (podium import --help lists which), or files of scores. Each "
            "may have a name, as in old=a.podium. Differences are the first one minus the others.",
            show_default=False,
        ),
    ],
    data: DataFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write the page to.")] = Path("report.html"),
    metric: MetricNames = None,
    title: Annotated[str | None, typer.Option("--title", help="Heading of the page.", show_default=False)] = None,
    examples: Annotated[
        int,
        typer.Option("--examples", min=0, help="Number of best, of worst and of most changed queries to point out."),
    ] = 5,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    format_name: FormatName = None,
    read: ReadOption = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Write a report on one model or several: one HTML page that holds everything it needs.

    It shows the data and what is suspicious about it, what was trained, learning curves, metrics with intervals and paired tests, gains and losses of every query with its documents, importances, scores, and how to make the page again.

    Without --metric, the metrics are that of the first model and ndcg@1, ndcg@5, ndcg@10, map and mrr. The first one sorts the queries. The log that podium train wrote next to a model gives its learning curve. Charts need the extra plots.
    """
    start = time.perf_counter()
    data, models = data_and_rankings(data, models, data_first=False)
    files = named_files(models, "models")
    check_outputs(Output(out, "html", "--out"), inputs=[*files.values(), data], read=read)
    find_functions(*metric or ())
    from podium.report.contents import ReportOptions
    from podium.report.making import build_report
    from podium.report.opening import open_models
    from podium.report.texts import interval

    options = ReportOptions(metric, title, examples, confidence, seed, threads)
    source = data_source(data, format_name, read)
    opened = open_models(files)
    rows = Rows.read(source, threads, [model.scorer for model in opened if model.scorer is not None])
    command = shlex.join(["podium", *sys.argv[1:]])
    with progress("making the report"):
        made = build_report(opened, rows.data, options, data_path=data, command=command)
    made.save(out)
    seconds = time.perf_counter() - start
    if json:
        print_json({**_summary(made, out, data, files), "seconds": seconds})
        return
    for text in made.warnings:
        note(f"warning: {text}")
    main, found = made.contents.judgment.main, made.contents.judgment.evaluations
    for name, result in found.items():
        say(f"{name}: {main} {result.mean[main]:.4f}, {percent(confidence)} interval {interval(result.interval[main])}")
    say(f"wrote {out}: {made.n_bytes / 1e6:.2f} MB in {seconds:.1f} s")


def _summary(made: Any, out: Path, data: Path, files: dict[str, Path]) -> dict[str, Any]:
    judgment = made.contents.judgment
    return {
        "file": str(out),
        "bytes": made.n_bytes,
        "data": str(data),
        "models": {name: str(path) for name, path in files.items()},
        "warnings": list(made.warnings),
        "notes": [remark.text for remark in made.remarks if remark.level == "note"],
        "metrics": {
            name: {label: as_json(result.mean[label]) for label in result.mean}
            for name, result in judgment.evaluations.items()
        },
        "comparisons": [comparison.to_dict() for comparison in judgment.comparisons],
    }
