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
from podium.cli.ranker_options import range_words, refuse_idle_stopping, takes_ranker
from podium.cli.stopping import Stoppable, Stopped
from podium.files import Output

if TYPE_CHECKING:
    from podium.rankers import BaseRanker, Tuning
    from podium.rankers.tuning.result import Trial

LEAST_TRIALS = 10  # importances that are computed from fewer trials say nothing


@takes_ranker
def tune(
    ranker: BaseRanker,
    data: DataFile,
    valid: Annotated[
        Path | None,
        typer.Option(
            "--valid",
            metavar="FILE",
            help="Judged data to compare trials on. Give either this or --folds.",
            show_default=False,
        ),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            "--folds",
            min=2,
            help="Instead of --valid: compare trials by cross-validation with this many folds of whole queries.",
            show_default=False,
        ),
    ] = None,
    valid_share: Annotated[
        float | None,
        typer.Option(
            "--valid-share",
            help="With --folds: choose the best round on this share of each fold's training queries. By default every "
            "training runs to its last round.",
            show_default=False,
        ),
    ] = None,
    ranges: Annotated[
        list[str] | None,
        typer.Option(
            "--range",
            "-r",
            metavar="NAME=RANGE",
            help="Search this setting in this range: low..high, low..high:log, or values separated by commas, or by "
            "semicolons if they contain commas, as in (5,);(10,). NAME alone takes the range that the setting declares. May be "
            "given more than once. By default every setting with a declared range is searched, unless you set it.",
            show_default=False,
        ),
    ] = None,
    trials: Annotated[int, typer.Option("--trials", min=1, help="Number of trials in all.")] = 30,
    sampler: Annotated[
        str,
        typer.Option(
            "--sampler", help="How settings are proposed: tpe, near those that did well; or random, independently."
        ),
    ] = "tpe",
    pruner: Annotated[
        str,
        typer.Option(
            "--pruner",
            help="Which trials are given up early: median, those below the median of others at the same round; hyperband, by "
            "comparisons at a few rounds; or none.",
        ),
    ] = "median",
    jobs: Annotated[
        int,
        typer.Option("--jobs", "-j", min=1, help="Number of processes that train trials at the same time."),
    ] = 1,
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write the best model to.")] = Path("best.podium"),
    study: Annotated[
        Path | None,
        typer.Option(
            "--study",
            help="File that keeps the trials, and that a search resumes from. By default OUT.study.jsonl.",
            show_default=False,
        ),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over if the study exists.")] = False,
    show_trials: Annotated[int, typer.Option("--show", min=1, help="Number of trials to show, the best first.")] = 10,
    format_name: FormatName = None,
    read: ReadOption = None,
    json: Json = False,
) -> None:
    """Search for the settings with which a ranker is best, with Optuna.

    Every trial that has ended is kept in the study. If the search is stopped, run the same command again: it resumes. With more
    --trials it searches further.

    A trial is judged by the metric of the model that it keeps, on the validation data; or, with --folds, by the mean over all
    queries, each ranked by a ranker that was not trained on it. The model that is written is trained with the best settings.
    """
    refuse_stream(out, "--out")
    target = study or Path(f"{out}.study.jsonl")
    check_outputs(
        Output(out, "model", "--out"),
        Output(target, "study", "--study" if study else "", continued=not fresh),
        inputs=[data, valid],
        read=read,
    )
    declared = range_words(ranges) if ranges else None
    _check_early(ranker, declared, sampler, pruner, valid=valid, folds=folds, valid_share=valid_share)
    if folds is not None and valid_share is None:
        refuse_idle_stopping(ranker, "--valid-share SHARE")
    judged, *rest = read_parts([data, *([] if valid is None else [valid])], format_name, read, ranker.num_threads)
    with Stoppable() as stop:
        try:
            result = _search(
                ranker,
                judged,
                valid=rest[0] if rest else None,
                folds=folds,
                valid_share=valid_share,
                ranges=declared,
                trials=trials,
                sampler=sampler,
                pruner=pruner,
                jobs=jobs,
                seed=ranker.seed,
                study=target,
                fresh=fresh,
                callbacks=[stop],
            )
        except KeyboardInterrupt:
            raise Stopped(
                f"interrupted; no model was written; the trials that have ended are in {target}: run the same command again "
                "to resume the search",
                stop.code,
            ) from None
        stop.finish()
        result.ranker.save(out)
        if json:
            print_json({"model": str(out), **result.to_dict()})
        else:
            files = {"--valid": valid, "--format": format_name}
            words = ["podium", "train", data, *(w for flag, given in files.items() if given for w in (flag, given))]
            words += [word for option in read or () for word in ("--read", option)]
            _tell(result, out, show_trials, [*map(str, words)], is_exact=valid_share is None)


def _check_early(ranker: BaseRanker, ranges: dict[str, str | None] | None, *chosen: str, **judging: Any) -> None:
    """Find out what is wrong with the options before the data is read."""
    from podium.rankers.tuning.search import check_search

    if "force" in (ranges or ()):
        look_in_current_folder()
    check_search(ranker, ranges, *chosen, **judging)


def _search(ranker: BaseRanker, data: Any, *, trials: int, study: Path, **settings: Any) -> Tuning:
    """Run the search, and show how it proceeds: a bar on a terminal, one line per trial elsewhere."""
    from podium.rankers.tuning.search import tune as search

    done, planned = 0, 0

    def began(found: int, more: int) -> None:
        nonlocal planned
        planned = more
        if found + more < trials:
            note(f"the ranges hold only {found + more} combinations, so that {found + more} of {trials} trials are run")
        if found and more:
            note(f"resuming after {found} trials ({study}); use --fresh to start over")
        elif found:
            note(
                f"all {found} trials are done already ({study}); give more --trials to search further, or --fresh to start over"
            )

    with plain_warnings(), progress(f"{trials} trials") as bar:

        def ended(trial: Trial) -> None:
            nonlocal done
            done += 1
            if bar is not None:
                bar(done, planned)
            else:
                note(_line(trial, ranker.metric))

        return search(ranker, data, trials=trials, study=study, on_trial=ended, on_start=began, **settings)


def _line(trial: Trial, metric: Any) -> str:
    found = f"{metric} {trial.value:.4f}" if trial.value is not None else trial.state
    reason = f" ({trial.error})" if trial.error else ""
    return f"trial {trial.number}: {found}{reason}; {_words(trial)}"


def _words(trial: Trial) -> str:
    return " ".join(f"{name}={_plain(value)}" for name, value in trial.parameters.items())


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else repr(value).replace(" ", "")


def _tell(result: Tuning, out: Path, count: int, command: list[str], *, is_exact: bool) -> None:
    names = list(result.best.parameters)
    states = [trial.state for trial in result.trials]
    counts = ", ".join(f"{states.count(state)} {state}" for state in ("complete", "pruned", "failed"))
    table = make_table(f"{len(states)} trials: {counts}", "trial", result.metric, *names, "best epoch", "seconds")
    for trial in result.trials[:count]:
        value = trial.state if trial.value is None else f"{trial.value:.4f}"
        epoch = "–" if trial.best_epoch is None else str(trial.best_epoch)
        drawn = (escape(_plain(value)) for value in trial.parameters.values())
        table.add_row(str(trial.number), value, *drawn, epoch, f"{trial.seconds:.1f}")
    show(table)
    if result.importances and states.count("complete") >= LEAST_TRIALS:
        shares = ", ".join(f"{name} {share:.2f}" for name, share in result.importances.items())
        say(f"importance (share of the variation between trials): {shares}")
    assert result.best.value is not None
    say(f"wrote {out}: trial {result.best.number}, {result.metric} {result.best.value:.4f}")
    again = "to train the same model again" if is_exact else "to train with these settings on all of the data"
    say(f"wrote {result.study}; {again}:")
    say(f"  {shlex.join([*command, *_train_options(result.ranker)])}")


def _train_options(ranker: BaseRanker) -> list[str]:
    """Return the options of podium train that give this ranker: its name, or its axes, and every setting without its default."""
    from podium.rankers import find_ranker_name

    axes = {name: str(getattr(ranker, name)) for name in ("force", "model", "schedule") if hasattr(ranker, name)}
    words = [word for name, value in axes.items() for word in (f"--{name}", value)]
    if not axes:  # a setting of a force, a model or a schedule is part of its name
        words = ["--ranker", find_ranker_name(type(ranker).__name__)]
    for name, parameter in ranker.parameters().items():
        value = getattr(ranker, name)
        if name in (*axes, "num_threads") or value == parameter.default:
            continue
        words += ["--metric", str(value)] if name == "metric" else ["--set", f"{name}={_plain(value)}"]
    return words
