"""podium train."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.cli.console import (
    DataFile,
    FormatName,
    Json,
    ReadOption,
    check_outputs,
    err,
    note_same_data,
    plain_warnings,
    print_json,
    read_parts,
    refuse_stream,
    say,
)
from podium.cli.epochs import EpochTable, TrainingLog
from podium.cli.on_workers import EngineName, find_engine
from podium.cli.ranker_options import refuse_idle_stopping, takes_ranker
from podium.cli.stopping import Stoppable, Stopped
from podium.files import Output, remove
from podium.training import Checkpoint, Epoch
from podium.training.checkpoint import Arrays

if TYPE_CHECKING:
    from podium.rankers import BaseRanker

UNMOVED_EPOCHS = 5  # after this many epochs without any change of the training metric, a note says so

Valid = Annotated[
    Path | None,
    typer.Option(
        "--valid",
        metavar="FILE",
        help="Validation data: the epoch that is best on it is kept, and training stops when it no longer improves.",
        show_default=False,
    ),
]


StartFromOption = Annotated[
    Path | None,
    typer.Option(
        "--start-from",
        metavar="MODEL",
        help="With trees: a model to continue. Its trees are kept, and new ones are added.",
        show_default=False,
    ),
]
LogOption = Annotated[
    Path | None,
    typer.Option(
        "--log",
        help="File to write the training log to, as JSON lines: the settings and the effect of tied scores, then one row per epoch. By default OUT.log.jsonl.",
        show_default=False,
    ),
]
CheckpointSecondsOption = Annotated[
    float,
    typer.Option(
        "--checkpoint-seconds", min=0, help="Minimum number of seconds between two writings of OUT.checkpoint."
    ),
]


@takes_ranker
def train(
    ranker: BaseRanker,
    data: DataFile,
    valid: Valid = None,
    start_from: StartFromOption = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write the model to.")] = Path("model.podium"),
    log: LogOption = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over even if a stopped run left a checkpoint.")] = False,
    checkpoint_seconds: CheckpointSecondsOption = 5.0,
    engine: EngineName = "local",
    format_name: FormatName = None,
    read: ReadOption = None,
    json: Json = False,
) -> None:
    """Train a ranker: a named one, or any force × model × schedule.

    The model is written to OUT when training ends. Until then, progress is kept in OUT.checkpoint. If training is killed, run the
    command again: it resumes and writes an identical model.

    Ctrl-C (or SIGTERM) ends training and writes the best epoch so far to OUT. The checkpoint stays, so that the same command
    resumes. The exit code is then 130 (143).
    """
    job = Job(out, log or Path(f"{out}.log.jsonl"), Path(f"{out}.checkpoint"))
    job.check(inputs=[data, valid, start_from], read=read, log_named=log is not None)
    if valid is None:
        refuse_idle_stopping(ranker, "--valid FILE")
    more = {"engine": find_engine(engine), **_start(start_from)}
    files = [data] if valid is None else [data, valid]
    on_disk = (
        ranker.memory_limit is not None or more["engine"].distributes
    )  # workers hold the features, not this process
    judged, *checked = read_parts(files, format_name, read, ranker.num_threads, on_disk=on_disk)
    note_same_data(judged, checked[0] if checked else None)
    if fresh:
        remove(job.checkpoint, "checkpoint")
    settings = {"data": str(data), "valid": None if valid is None else str(valid), **_describe(ranker)}
    settings["unit"], settings["resolved"] = ranker.unit, ranker.resolve(judged)
    if start_from is not None:
        settings["start_from"] = str(start_from)
    parts = judged, checked[0] if checked else None
    with Stoppable() as stop:
        seconds = _fit_or_stop(ranker, parts, job, settings, seconds=checkpoint_seconds, stop=stop, more=more)
        stop.finish()
        ranker.save(out)
        if not ranker.interrupted_:
            remove(job.checkpoint, "checkpoint")
        if json:
            print_json({**_outcome(ranker, job), "seconds": round(seconds, 3), **settings})
        else:
            _tell(ranker, job, seconds, has_valid=bool(checked))
        if ranker.interrupted_:
            raise _stopped(ranker, job, stop)


def _fit_or_stop(ranker: BaseRanker, parts: tuple[Any, Any], job: Job, settings: dict[str, Any], **how: Any) -> float:
    """Train, and return the seconds that it took. If there is no model yet when it is interrupted, say how to resume."""
    began = time.perf_counter()
    try:
        _fit(ranker, parts, job, settings, **how)
    except KeyboardInterrupt:
        there = job.checkpoint.exists()
        rest = f"; the same command resumes from {job.checkpoint}" if there else ""
        raise Stopped(f"interrupted; no model was written{rest}", how["stop"].code) from None
    return time.perf_counter() - began


def _stopped(ranker: BaseRanker, job: Job, stop: Stoppable) -> Stopped:
    again = "resume" if job.checkpoint.exists() else "start over"
    found = f"interrupted after {ranker.unit} {ranker.n_epochs_}; {_kept(ranker)} is in {job.out}"
    return Stopped(f"{found}; run the same command again to {again}", stop.code)


def _start(path: Path | None) -> dict[str, Any]:
    """Return the model to start from, as `fit` takes it. It is read before the data."""
    if path is None:
        return {}
    from podium.rankers import load

    return {"start_from": load(path)}


@dataclass(frozen=True)
class Job:
    """The files of one training."""

    out: Path
    log: Path
    checkpoint: Path

    def check(self, *, inputs: list[Path | None], read: list[str] | None, log_named: bool) -> None:
        """Check that the files can be written."""
        refuse_stream(self.out, "--out")
        check_outputs(
            Output(self.out, "model", "--out"),
            Output(self.log, "log", "--log" if log_named else ""),
            Output(self.checkpoint, "checkpoint", continued=True),
            inputs=inputs,
            read=read,
        )


@dataclass
class Announced(Checkpoint):
    """A checkpoint that reports when training resumes from it."""

    tell: Callable[[Sequence[Epoch]], None] = field(default=lambda rows: None)

    def read(self, identity: dict[str, str], *, epochs: int | None = None) -> tuple[dict[str, Any], Arrays] | None:
        """Read the checkpoint, and pass the rows of its log to `tell`."""
        found = super().read(identity, epochs=epochs)
        if found is not None:
            self.tell([Epoch(**row) for row in found[0]["log"]])
        return found


def _fit(
    ranker: BaseRanker,
    parts: tuple[Any, Any],
    job: Job,
    settings: dict[str, Any],
    *,
    seconds: float,
    stop: Stoppable,
    more: dict[str, Any],
) -> None:
    schedule = ranker.training_schedule
    table = EpochTable(
        str(ranker.metric),
        epochs=schedule.max_epochs,
        unit=schedule.unit,
        has_rate=schedule.changes_rate,
    )
    log = TrainingLog(job.log, settings)

    def resume(rows: Sequence[Epoch]) -> None:
        table.begin_with(rows)
        log.begin_with(rows)
        text = f"resuming after {schedule.unit} {len(rows)} ({job.checkpoint}); use --fresh to start over"
        err.print(text, markup=False, highlight=False, soft_wrap=True)

    checkpoint = None if ranker.trains_repeatedly else Announced(job.checkpoint, seconds, tell=resume)
    from podium.rankers.training_warnings import InterruptedWarning, UnsolvedWarning

    with plain_warnings(), log, table:
        for reported in (InterruptedWarning, UnsolvedWarning):  # by the command itself
            warnings.simplefilter("ignore", reported)
        ranker.fit(parts[0], valid=parts[1], callbacks=[log, table, stop], checkpoint=checkpoint, **more)
    log.settings["ties"] = _ties(ranker)
    log.finish(ranker.log_)


def _describe(ranker: BaseRanker) -> dict[str, Any]:
    return {"ranker": type(ranker).__name__, "parameters": ranker.get_params(deep=False)}


def _outcome(ranker: BaseRanker, job: Job) -> dict[str, Any]:
    return {
        "model": str(job.out),
        "log": str(job.log),
        "metric": ranker.metric,
        "epochs": ranker.n_epochs_,
        "best_epoch": ranker.best_epoch_,
        "best_value": ranker.best_value_,
        "ties": _ties(ranker),
        "interrupted": ranker.interrupted_,
        **({"trees": ranker.n_trees_} if ranker.n_trees_ else {}),
        "resolved": ranker.resolved_,
        **({"outcome": ranker.outcome} if ranker.outcome else {}),
    }


def _ties(ranker: BaseRanker) -> dict[str, Any] | None:
    return None if ranker.ties_ is None else ranker.ties_.to_dict()


def _kept(ranker: BaseRanker) -> str:
    unit = ranker.unit
    return f"{unit} {ranker.best_epoch_}" if ranker.best_value_ is None else f"the best {unit}, {ranker.best_epoch_},"


def _solved(ranker: BaseRanker, verdict: str, proven: str) -> str:
    if verdict == "converged":
        return f"solved: {proven}"
    if verdict == "stalled":
        return f"solved as exactly as 64-bit numbers allow: {proven}"
    if ranker.ran_out:
        return f"not solved to the tolerance: {proven}; allow more --epochs"
    why = "training was interrupted" if ranker.interrupted_ else "this step was the best on the validation data"
    return f"{proven}; {why}, before the solver had finished"


def _short(found: Any) -> str:
    """Return a number, a tuple or a word in a short form."""
    if isinstance(found, tuple):
        return f"({', '.join(map(_short, found))})"
    if not isinstance(found, float):
        return str(found)
    return f"{found:.4g}" if found == 1 or f"{found:.4g}" != "1" else f"{found:.8g}"  # a correlation is below 1


def _tell(ranker: BaseRanker, job: Job, seconds: float, *, has_valid: bool) -> None:
    """Print which epoch was kept, and the files that were written."""
    value = "" if ranker.best_value_ is None else f", {ranker.metric} {ranker.best_value_:.4f} on the validation data"
    if value and ranker.log_[-1].best_epoch is not None:
        value += ", chosen by the smoothed validation curve"
    came_to = "".join(f", {name} {_short(found)}" for name, found in ranker.outcome.items())
    trees = f" ({ranker.n_trees_} trees)" if ranker.n_trees_ else ""
    say(
        f"wrote {job.out}: {ranker.unit} {ranker.best_epoch_} of {ranker.n_epochs_}{trees}{value}{came_to}; {seconds:.1f} s"
    )
    say(f"wrote {job.log}")
    if ranker.ties_ is not None and ranker.ties_.matters:
        say(f"on the validation data, {ranker.ties_}")
    certificate = getattr(ranker, "certificate_", None)
    if certificate is not None and certificate.get("gap") is not None:
        proven = (
            f"objective {certificate['objective']:.6g}, proven to be within {certificate['gap']:.2g} of the minimum"
        )
        say(_solved(ranker, certificate["verdict"], proven))
    elif ranker.ran_out:
        say("not solved to the tolerance; allow more --epochs")
    values = {row.train for row in ranker.log_}
    if hasattr(ranker, "learning_rate") and len(ranker.log_) >= UNMOVED_EPOCHS and len(values) == 1 and values != {1.0}:
        say(
            f"the training metric did not change in {len(ranker.log_)} {ranker.unit}s; try another --learning-rate or other features"
        )
    if not has_valid:
        say(
            f"without --valid, {ranker.kept_without_validation} is kept; podium data split can set validation data aside"
        )
