"""podium tune."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from podium.cli.console import (
    DataFile,
    FormatName,
    Json,
    ReadOption,
    check_outputs,
    look_in_current_folder,
    make_table,
    note,
    plain_warnings,
    print_json,
    progress,
    read_parts,
    refuse_stream,
    say,
    show,
)
from podium.cli.ranker_options import named_words, takes_ranker
from podium.cli.stopping import Stoppable, Stopped
from podium.errors import FormatError, ParameterError
from podium.files import Output
from podium.rankers.study import REMEDY, Trial

if TYPE_CHECKING:
    from podium.rankers import BaseRanker, Tuning


@takes_ranker
def tune(
    ranker: BaseRanker,
    data: DataFile,
    valid: Annotated[
        Path,
        typer.Option(
            "--valid",
            metavar="FILE",
            help="Judged data that is not trained on: trials are compared on it.",
            show_default=False,
        ),
    ],
    ranges: Annotated[
        list[str],
        typer.Option(
            "--range",
            "-r",
            metavar="NAME=RANGE",
            help="A parameter and where to look for it: low..high, low..high:log, or values apart by commas, or by "
            "semicolons where they have commas themselves: (5,);(10,). Once for each parameter.",
            show_default=False,
        ),
    ],
    trials: Annotated[int, typer.Option("--trials", min=1, help="How many draws from the ranges to try.")] = 30,
    halving: Annotated[
        bool,
        typer.Option(
            "--halving",
            help="Successive halving: all trials for a few epochs, the best third of them for three times as many, and "
            "so on up to --epochs.",
        ),
    ] = False,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file of the best model.")] = Path("best.podium"),
    study: Annotated[
        Path | None,
        typer.Option(
            "--study",
            help="The file that keeps the trials, a JSON line each. By default OUT.study.jsonl.",
            show_default=False,
        ),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin anew where the study is there already.")] = False,
    show_trials: Annotated[int, typer.Option("--show", min=1, help="How many of the best trials to show.")] = 10,
    format_name: FormatName = None,
    read: ReadOption = None,
    json: Json = False,
) -> None:
    """Search for parameters: train with draws from ranges, and keep what is best on the validation data.

    Every trial that is done is a line of the study. When the search is stopped, in whatever way, the same command goes on
    from there; with more --trials it goes on searching (not so with --halving). The winner is the same each time.
    """
    refuse_stream(out, "--out")
    check_outputs(
        Output(out, "model", "--out"),
        Output(study or Path(f"{out}.study.jsonl"), "study", "--study" if study else "", continued=not fresh),
        inputs=[data, valid],
        read=read,
    )
    study = study or Path(f"{out}.study.jsonl")
    declared = named_words(ranges, "--range")
    expected = _check_early(ranker, declared, trials, halving)
    judged, checked = read_parts([data, valid], format_name, read, ranker.num_threads)
    before = study.read_bytes().count(b"\n") - 1 if study.is_file() and not fresh else 0
    with Stoppable() as stop:
        try:
            result = _search(
                ranker,
                judged,
                valid=checked,
                ranges=declared,
                trials=trials,
                halving=halving,
                seed=ranker.seed,
                study=study,
                fresh=fresh,
                before=before,
                expected=expected,
                callbacks=[stop],
            )
        except KeyboardInterrupt:
            raise Stopped(
                f"interrupted; no model was written; the trials so far are in {study}: the same command goes on",
                stop.code,
            ) from None
        stop.finish()
        result.ranker.save(out)
        if json:
            print_json(
                {
                    "model": str(out),
                    "study": str(study),
                    "metric": result.metric,
                    "best": result.best.to_dict(),
                    "trials": [trial.to_dict() for trial in result.trials],
                }
            )
        else:
            _tell(result, out, study, show_trials)


def _check_early(ranker: BaseRanker, ranges: dict[str, str], trials: int, halving: bool) -> int:
    """Finds out what is wrong with the ranges before the data is read; gives how many trainings there will be."""
    from podium.rankers.search import check_ranges, draw_trials, rungs

    if "force" in ranges:
        look_in_current_folder()
    count = len(draw_trials(ranker, check_ranges(ranker, ranges), trials, seed=ranker.seed, halving=halving))
    if count < trials:
        note(f"only {count} combination{'s exist' if count > 1 else ' exists'}, so {count} of {trials} trials are run")
    return sum(each for each, _ in rungs(count, ranker.max_epochs, 3)) if halving else count


def _search(
    ranker: BaseRanker, data: Any, *, trials: int, study: Path, before: int, expected: int, **settings: Any
) -> Tuning:
    """The search, shown as it goes; `before` trials of the study are done already, of those `expected`."""
    from podium.rankers.search import tune as search

    done = before
    with plain_warnings(), progress(f"{trials} trials") as bar:

        def watch(trial: Trial) -> None:
            nonlocal done
            if before and done == before:
                note(f"going on after {before} trials ({study}); --fresh begins anew")
            done += 1
            if bar is not None:
                bar(done, max(expected, done))
            else:
                note(_line(trial, ranker.metric))

        try:
            result = search(ranker, data, trials=trials, study=study, on_trial=watch, **settings)
        except (FormatError, ParameterError) as error:
            raise ParameterError(str(error).replace(REMEDY, "--fresh begins anew")) from None
    if before and done == before:
        more = "" if settings["halving"] else "more --trials go on, "
        note(
            f"the search is finished ({study}): best is trial {result.best.number}, {result.metric} "
            f"{result.best.value:.4f}; {more}--fresh begins anew"
        )
    return result


def _line(trial: Trial, metric: str) -> str:
    value = f"failed ({trial.error})" if trial.value is None else f"{metric} {trial.value:.4f}"
    return f"trial {trial.number}, {trial.epochs} epochs: {value}; {_words(trial)}"


def _words(trial: Trial) -> str:
    return " ".join(f"{name}={_plain(value)}" for name, value in trial.parameters.items())


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else repr(value).replace(" ", "")


def _tell(result: Tuning, out: Path, study: Path, count: int) -> None:
    names = list(result.best.parameters)
    table = make_table(
        f"best of {len(result.trials)} trials", "trial", result.metric, "best epoch", "of", *names, "seconds"
    )
    for trial in result.trials[:count]:
        value, epoch = ("failed", "–") if trial.value is None else (f"{trial.value:.4f}", str(trial.best_epoch))
        drawn = (escape(_plain(value)) for value in trial.parameters.values())
        table.add_row(str(trial.number), value, epoch, str(trial.epochs), *drawn, f"{trial.seconds:.1f}")
    show(table)
    say(f"wrote {out}: trial {result.best.number}, {result.metric} {result.best.value:.4f} on the validation data")
    say(f"wrote {study}; to train with these parameters again:")
    words = [
        f"--{name} {shlex.quote(_plain(value))}"
        if name in ("force", "model")
        else f"--set {shlex.quote(f'{name}={_plain(value)}')}"
        for name, value in result.best.parameters.items()
    ]
    say(f"  podium train … {' '.join(words)}")
