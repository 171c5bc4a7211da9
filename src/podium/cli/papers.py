"""podium papers: reproduce the tables and figures of the source papers."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from podium.cli.console import Json, make_table, note, out, print_json, progress, say, show
from podium.cli.stopping import Stopped
from podium.errors import DataError, OutputError, UnknownNameError
from podium.threads import resolve_threads

if TYPE_CHECKING:
    from podium.papers import Cell, Experiment, ExperimentOutcome
    from podium.papers.report import Report

LINE_SECONDS = 10.0

Quick = Annotated[bool, typer.Option("--quick", help="Run a smaller version of each, which takes about a minute.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Start over instead of resuming from the finished cells.")]
Out = Annotated[Path, typer.Option("--out", "-o", help="Folder to write to. --quick writes to its subfolder quick.")]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        min=1,
        help="Number of cells to compute at the same time. By default one per core. Cells that measure time run alone.",
        show_default=False,
    ),
]
NoPlots = Annotated[
    bool, typer.Option("--no-plots", help="Write only tables and JSON, as happens without the extra plots.")
]


def papers_list(json: Json = False) -> None:
    """List every table and figure of the source documents: what reproduces it and what that needs, or why nothing does."""
    from podium.papers import EXPERIMENTS
    from podium.papers.documents import DISPLAYS, DOCUMENTS
    from podium.papers.sets import missing

    if json:
        displays = [{**vars(display), "state": display.state} for display in DISPLAYS]
        experiments = [_experiment_row(experiment) for experiment in EXPERIMENTS.values()]
        print_json({"documents": [vars(d) for d in DOCUMENTS], "displays": displays, "experiments": experiments})
        return
    for document in DOCUMENTS:
        title = f"{document.letter}: {document.title} ({document.published})"
        table = _display_table(title, "section", "table or figure", "state", "reproduced by", "minutes", "data")
        for display in (each for each in DISPLAYS if each.document == document.letter):
            made = [EXPERIMENTS[name] for name in display.experiments]
            minutes = f"{sum(each.minutes for each in made):g}" if made else "–"
            needs = sorted({need for each in made for need in _needs(each)})
            by = ", ".join(display.experiments) or (f"docs/{display.page}" if display.page else "–")
            table.add_row(display.section, display.name, display.state, by, minutes, ", ".join(needs) or "–")
        show(table)
        for display in (each for each in DISPLAYS if each.document == document.letter and each.reason):
            say(f"{display.name}: {display.reason}.")
        out.print()
    rest = [e for e in EXPERIMENTS.values() if not any(e.name in display.experiments for display in DISPLAYS)]
    table = _display_table("beyond the documents", "name", "shows", "minutes", "data")
    for each in rest:
        table.add_row(each.name, each.title, f"{each.minutes:g}", ", ".join(_needs(each)) or "–")
    show(table)
    if any(missing((*e.data, *e.more_data)) for e in EXPERIMENTS.values()):
        say("missing: set PODIUM_DATA to the folder that holds the data sets, each in a subfolder of its name")
    say("Minutes are those of the full version on two cores.")
    say(
        "podium papers run NAME reproduces one, podium papers all reproduces all; --quick runs a smaller version of each."
    )


def _display_table(title: str, *columns: str) -> Table:
    table = make_table(title, *columns)
    for name, column in zip(columns, table.columns, strict=True):
        column.justify = "right" if name == "minutes" else "left"
    return table


def _needs(experiment: Experiment) -> list[str]:
    """The sets that an experiment needs, and whether they are at hand."""
    from podium.papers.sets import missing

    needs = [f"{name}{' (missing)' if missing((name,)) else ''}" for name in experiment.data]
    return needs + [f"{name} (for a part{', missing' if missing((name,)) else ''})" for name in experiment.more_data]


def _experiment_row(experiment: Experiment) -> dict[str, Any]:
    from podium.papers.documents import DISPLAYS
    from podium.papers.sets import missing

    covers = [display for display in DISPLAYS if experiment.name in display.experiments]
    return {
        "name": experiment.name,
        "paper": experiment.paper,
        "sections": [f"{display.document} {display.section}" for display in covers],
        "title": experiment.title,
        "cells": len(experiment.full),
        "quick_cells": len(experiment.quick),
        "minutes": experiment.minutes,
        "data": list(experiment.data),
        "missing": missing(experiment.data),
        "more_data": list(experiment.more_data),
    }


def papers_run(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME…", help="Names from podium papers list.", show_default=False)
    ],
    quick: Quick = False,
    fresh: Fresh = False,
    target: Out = Path("papers"),
    jobs: Jobs = None,
    no_plots: NoPlots = False,
    json: Json = False,
) -> None:
    """Reproduce tables and figures. Finished cells are kept, so that a stopped run resumes."""
    from podium.papers import EXPERIMENTS
    from podium.papers.sets import missing

    for name in names:
        if name not in EXPERIMENTS:
            raise UnknownNameError("table or figure", name, EXPERIMENTS)
        reason = missing(EXPERIMENTS[name].data)
        if reason is not None:
            raise DataError(f"{name} needs data: {reason}")
    _run([EXPERIMENTS[name] for name in names], quick, fresh, target, jobs, no_plots, json)


def papers_all(
    quick: Quick = False,
    fresh: Fresh = False,
    target: Out = Path("papers"),
    jobs: Jobs = None,
    no_plots: NoPlots = False,
    json: Json = False,
) -> None:
    """Reproduce every table and figure for which the data is available."""
    from podium.papers import EXPERIMENTS
    from podium.papers.sets import missing

    able = []
    for experiment in EXPERIMENTS.values():
        reason = missing(experiment.data)
        if reason is None:
            able.append(experiment)
        else:
            note(f"{experiment.name} is left out: {reason}")
    _run(able, quick, fresh, target, jobs, no_plots, json)


def _run(
    experiments: list[Experiment],
    quick: bool,
    fresh: bool,
    target: Path,
    jobs: int | None,
    no_plots: bool,
    json: bool,
) -> None:
    from podium.papers.plots import can_plot
    from podium.papers.sets import missing

    if target.exists() and not target.is_dir():
        raise OutputError(f"--out {target}: is a file; give the name of a folder")
    if not no_plots and not can_plot():
        note(
            "plots are left out, because the extra plots is not installed; pip install 'podium[plots]' and run the same command again "
            "to draw them"
        )
        no_plots = True
    workers = resolve_threads(jobs)
    folder = target / "quick" if quick else target
    outcomes = []
    for experiment in experiments:
        reason = missing(experiment.more_data)
        if reason is not None:
            note(f"{experiment.name} is only partly reproduced: {reason}")
        began = time.perf_counter()
        outcome = _watched(experiment, folder / experiment.name, quick, fresh, workers, not no_plots)
        outcomes.append(outcome)
        if not json:
            _tell(outcome, quick, time.perf_counter() - began)
    if json:
        print_json([outcome.to_dict() for outcome in outcomes])
    failed = [f"{o.experiment.name} ({len(o.failed)} cells)" for o in outcomes if o.failed]
    if failed:
        raise Stopped(f"cells failed in {', '.join(failed)}; the reports say why", code=1)


def _watched(
    experiment: Experiment, folder: Path, quick: bool, fresh: bool, jobs: int, plots: bool
) -> ExperimentOutcome:
    from podium.papers import run

    told = time.monotonic()
    with progress(experiment.name) as bar:

        def on_cell(cell: Cell, done: int, total: int) -> None:
            nonlocal told
            if cell.missing is not None and cell.missing.startswith("failed"):
                note(f"{experiment.name} {cell.settings}: {cell.missing}")
            if bar is not None:
                bar(done, total)
            elif time.monotonic() - told > LINE_SECONDS:
                told = time.monotonic()
                note(f"{experiment.name}: {done} of {total} cells")

        try:
            return run(experiment, folder, quick=quick, fresh=fresh, jobs=jobs, plots=plots, on_cell=on_cell)
        except KeyboardInterrupt:
            again = "the same command without --fresh" if fresh else "the same command"
            raise Stopped(f"interrupted; finished cells are kept in {folder}; run {again} again to resume") from None


def _tell(outcome: ExperimentOutcome, quick: bool, seconds: float) -> None:
    experiment, report = outcome.experiment, outcome.report
    out.rule(experiment.name, style="none")
    say(f"{experiment.paper}: {experiment.title}")
    _tell_report(report, quick)
    for reason in outcome.skipped:
        say(f"left out: {reason}")
    resumed = f", {outcome.kept} were kept from before" if outcome.kept else ""
    cells = "cell" if outcome.done == 1 else "cells"
    say(f"{outcome.done} {cells} in {seconds:.1f} s{resumed}; wrote {outcome.files[0].parent}")
    out.print()


def _tell_report(report: Report, quick: bool) -> None:
    for each in report.tables:
        table = make_table(each.title, *each.columns)
        for row in each.rows:
            table.add_row(*(cell.replace("[", "\\[") for cell in row))
        show(table)
    for claim in report.claims:
        say(f"{claim.verdict(quick)}: {claim.sentence}. {claim.found}")
    for words in report.notes:
        say(words)
