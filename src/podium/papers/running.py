"""Runs an experiment: computes the cells that are not saved yet, then writes tables, plots and JSON."""

from __future__ import annotations

import contextlib
import json
import math
import multiprocessing
import signal
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from podium.errors import PodiumError
from podium.files import Output, check_outputs, make_folder
from podium.papers.compact import pack_result
from podium.papers.experiment import Cell, Cells, Experiment, Settings, Skip
from podium.papers.report import Report
from podium.papers.store import Store, read_results, write_json, write_text

OnCell = Callable[[Cell, int, int], None]


@dataclass(frozen=True)
class ExperimentOutcome:
    """The outcome of a run.

    Attributes:
        report: tables, plots and claims.
        files: what was written.
        kept: how many cells an earlier run had done.
        done: how many this one did.
        failed: settings and the error of cells that broke; they are computed again next time.
        skipped: reasons why cells could not be computed here.
        seconds: that all cells took together, the kept ones too.
    """

    experiment: Experiment
    quick: bool
    report: Report
    files: tuple[Path, ...]
    kept: int
    done: int
    failed: tuple[Cell, ...]
    skipped: tuple[str, ...]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return a summary as values that JSON can hold."""
        return {
            "name": self.experiment.name,
            "files": [str(path) for path in self.files],
            "cells": {"kept": self.kept, "done": self.done, "failed": len(self.failed), "skipped": list(self.skipped)},
            "cell_seconds": round(self.seconds, 1),
            **self.report.to_dict(self.quick),
        }


def run(
    experiment: Experiment,
    folder: Path,
    *,
    quick: bool = False,
    fresh: bool = False,
    jobs: int = 1,
    plots: bool = True,
    on_cell: OnCell | None = None,
) -> ExperimentOutcome:
    """Compute the missing cells and write the report into `folder`; `fresh` starts over."""
    make_folder(folder)
    store = Store(folder / "cells")
    plan = list(experiment.plan(quick))
    check_outputs(
        [
            Output(folder / "results.json", "papers-results"),
            Output(folder / "report.md", "papers-report"),
            *(Output(store.path(settings), "papers-cell") for settings in plan),
        ],
        make_folders=True,
    )
    if fresh:
        store.clear()
        if experiment.extends_results:  # or a run that is stopped now would resume from the cells of the old results
            (folder / "results.json").unlink(missing_ok=True)
    found = _kept(experiment, plan, folder, store)
    n_kept = len(found)
    failed: list[Cell] = []
    waiting = [(number, experiment.name, plan[number]) for number in range(len(plan)) if number not in found]
    for number, cell, broke in _worked(experiment, waiting, 1 if experiment.alone else jobs):
        if cell.missing is None:
            store.write(cell)
        elif broke:
            failed.append(cell)
        found[number] = cell
        if on_cell is not None:
            on_cell(cell, len(found), len(plan))
    cells = Cells(found[number] for number in range(len(plan)))
    report = _reported(experiment, cells, failed)
    files = _write(experiment, report, cells, folder, quick, plots)
    return ExperimentOutcome(
        experiment=experiment,
        quick=quick,
        report=report,
        files=files,
        kept=n_kept,
        done=len(waiting) - sum(cell.missing is not None for cell in cells.all),
        failed=tuple(failed),
        skipped=tuple(reason for reason in cells.reasons() if reason not in [cell.missing for cell in failed]),
        seconds=math.fsum(cell.seconds for cell in cells),
    )


def _kept(experiment: Experiment, plan: Sequence[Settings], folder: Path, store: Store) -> dict[int, Cell]:
    """Return the finished cells by their number in the plan, from their files or from the results."""
    results = read_results(folder / "results.json") if experiment.extends_results else []
    before = {json.dumps(cell.settings): cell for cell in results}
    found: dict[int, Cell] = {}
    for number, settings in enumerate(plan):
        kept = store.read(settings) or before.get(json.dumps(settings))
        if kept is not None:
            found[number] = Cell(settings, kept.result, kept.seconds)
    return found


def _reported(experiment: Experiment, cells: Cells, failed: Sequence[Cell]) -> Report:
    """Return the report; or, if cells failed that it needs, the reason why there is none."""
    try:
        return experiment.report(cells)
    except Exception:
        if not failed:
            raise
        traceback.print_exc()
        return Report(notes=["There is no report, because cells failed; the same command works them out again."])


Job = tuple[int, str, Settings]
Worked = tuple[int, Cell, bool]


def _worked(experiment: Experiment, waiting: Sequence[Job], jobs: int) -> Iterator[Worked]:
    if jobs <= 1 or len(waiting) <= 1:
        for number, _, settings in waiting:
            yield (number, *_work_out(experiment, settings))
        return
    queue = deque(waiting)
    idle: list[_Worker] = []
    busy: dict[Any, tuple[_Worker, Job]] = {}
    try:
        while queue or busy:
            while queue and len(busy) < jobs:
                worker, job = idle.pop() if idle else _Worker(), queue.popleft()
                worker.take(job)
                busy[worker.line] = worker, job
            for line in wait(list(busy)):
                worker, job = busy.pop(line)
                try:
                    worked: Worked = worker.line.recv()
                    idle.append(worker)
                except (EOFError, OSError):
                    worked = job[0], Cell(job[2], missing="failed: its process was killed"), True
                yield worked
    finally:  # an interrupt costs no more than the cells under way
        for worker, _ in busy.values():
            worker.process.terminate()


class _Worker:
    """A new interpreter, which inherits no threads from this one, and the connection to it."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.line, its = context.Pipe()
        self.process = context.Process(target=_work_on, args=(its,), daemon=True)
        self.process.start()
        its.close()  # only the worker holds that end now: when it dies, the line ends

    def take(self, job: Job) -> None:
        """Send it a job. If it is dead already, the connection reports that when the answer is awaited."""
        with contextlib.suppress(OSError):
            self.line.send(job)


def _work_on(line: Connection) -> None:
    """Compute the jobs that arrive on the connection until it is closed or the other side is gone."""
    from podium.papers import EXPERIMENTS

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            number, name, settings = line.recv()
            line.send((number, *_work_out(EXPERIMENTS[name], settings)))
        except (EOFError, OSError):
            return


def _work_out(experiment: Experiment, settings: Settings) -> tuple[Cell, bool]:
    """Return the cell, and whether it failed."""
    began = time.perf_counter()
    try:
        result = experiment.work(**settings)
        json.dumps(result, allow_nan=False)  # what cannot be kept is this cell's failure
        return Cell(settings, result, time.perf_counter() - began), False
    except Skip as reason:
        return Cell(settings, missing=str(reason)), False
    except PodiumError as error:
        return Cell(settings, missing=f"failed: {error}"), True
    except Exception as error:
        traceback.print_exc()
        return Cell(settings, missing=f"failed: {type(error).__name__}: {error}"), True


def _shortened(experiment: Experiment, result: Any) -> Any:
    """Return a result without the values of single queries, which stay in the cells' files; packed if a later run needs them."""
    if not isinstance(result, dict) or "per_query" not in result:
        return result
    return pack_result(result) if experiment.extends_results else {k: v for k, v in result.items() if k != "per_query"}


def _write(
    experiment: Experiment, report: Report, cells: Cells, folder: Path, quick: bool, plots: bool
) -> tuple[Path, ...]:
    rows = [
        {**vars(cell), "seconds": round(cell.seconds, 3), "result": _shortened(experiment, cell.result)}
        for cell in cells.all
    ]
    summary = {"name": experiment.name, "paper": experiment.paper, "title": experiment.title, "quick": quick}
    write_json(
        folder / "results.json",
        "papers-results",
        {**summary, **report.to_dict(quick), "left_out": cells.reasons(), "cells": rows},
    )
    return (*write_report(folder, plots=plots), folder / "results.json")


def write_report(folder: Path, *, plots: bool = True) -> tuple[Path, ...]:
    """Write report.md and the plots of a folder again, from its results.json alone."""
    kept = json.loads((folder / "results.json").read_bytes())
    report = Report.of(kept)
    head = f"# {kept['paper']}\n\n{kept['title']}{' (quick version)' if kept['quick'] else ''}"
    seconds = math.fsum(cell["seconds"] for cell in kept["cells"])
    n_done = sum(cell["missing"] is None for cell in kept["cells"])
    taken = f"{seconds / 60:.0f} minutes" if seconds > 90 else f"{seconds:.1f} seconds"
    said = [
        f"{n_done} {'cell' if n_done == 1 else 'cells'}, {taken} of one core in all.",
        *(f"Left out: {reason}." for reason in kept["left_out"]),
    ]
    drawn = [plot for plot in report.plots if plots and plot.panels]
    pictures = [f"![{plot.name}]({plot.name}.svg)" for plot in drawn]
    write_text(
        folder / "report.md",
        "papers-report",
        "\n\n".join([head, report.markdown(kept["quick"]), *said, *pictures]) + "\n",
    )
    if drawn:
        from podium.papers.drawing import draw  # needs the extra `plots`

        for plot in drawn:
            write_text(folder / f"{plot.name}.svg", "svg", draw(plot))
    return (folder / "report.md", *(folder / f"{plot.name}.svg" for plot in drawn))
