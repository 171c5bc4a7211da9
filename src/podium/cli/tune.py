"""podium tune."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
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
    empty_table,
    look_in_current_folder,
    make_table,
    note,
    note_same_data,
    out,
    plain_warnings,
    print_json,
    progress,
    read_parts,
    refuse_stream,
    say,
    show,
    table_width,
)
from podium.cli.on_workers import EngineName, find_engine
from podium.cli.ranker_options import range_words, refuse_idle_stopping, takes_ranker
from podium.cli.stopping import Stoppable, Stopped
from podium.files import Output

if TYPE_CHECKING:
    from podium.data import RankingData
    from podium.formats.format import Progress as ProgressCall
    from podium.rankers import BaseRanker, Tuning
    from podium.rankers.tuning.result import Trial

LEAST_TRIALS = 10  # importances that are computed from fewer trials say nothing

Valid = Annotated[
    Path | None,
    typer.Option(
        "--valid",
        metavar="FILE",
        help="Judged data to compare trials on. Give either this or --folds.",
        show_default=False,
    ),
]
Folds = Annotated[
    int | None,
    typer.Option(
        "--folds",
        min=2,
        help="Instead of --valid: compare trials by cross-validation with this many folds of whole queries.",
        show_default=False,
    ),
]
ValidShare = Annotated[
    float | None,
    typer.Option(
        "--valid-share",
        help="With --folds: choose the best round on this share of each fold's training queries. By default every "
        "training runs to its last round.",
        show_default=False,
    ),
]
RangeWords = Annotated[
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
]
Trials = Annotated[int, typer.Option("--trials", min=1, help="Number of trials in all.")]
SamplerName = Annotated[
    str,
    typer.Option(
        "--sampler", help="How settings are proposed: tpe, near those that did well; or random, independently."
    ),
]
PrunerName = Annotated[
    str,
    typer.Option(
        "--pruner",
        help="Which trials are given up early: median, those below the median of others at the same round; hyperband, by "
        "comparisons at a few rounds; or none.",
    ),
]
Jobs = Annotated[
    int, typer.Option("--jobs", "-j", min=1, help="Number of processes that train trials at the same time.")
]
Out = Annotated[Path, typer.Option("--out", "-o", help="File to write the best model to.")]
StudyFile = Annotated[
    Path | None,
    typer.Option(
        "--study",
        help="File that keeps the trials, and that a search resumes from. By default OUT.study.jsonl.",
        show_default=False,
    ),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Start over if the study exists.")]
Shown = Annotated[int, typer.Option("--show", min=1, help="Number of trials to show, the best first.")]


@dataclass(frozen=True)
class SearchFiles:
    """The files of one search, and how its data is read."""

    data: Path
    valid: Path | None
    out: Path
    study: Path
    format_name: str | None
    read: list[str] | None

    def check(self, *, study_named: bool, fresh: bool) -> None:
        """Check the files that will be written."""
        refuse_stream(self.out, "--out")
        check_outputs(
            Output(self.out, "model", "--out"),
            Output(self.study, "study", "--study" if study_named else "", continued=not fresh),
            inputs=[self.data, self.valid],
            read=self.read,
        )

    def parts(self, threads: int | None) -> tuple[RankingData, RankingData | None]:
        """Read the training data, and the validation data if there is any."""
        files = [self.data, *([] if self.valid is None else [self.valid])]
        judged, *rest = read_parts(files, self.format_name, self.read, threads)
        return judged, rest[0] if rest else None

    def train_words(self) -> list[str]:
        """Return the beginning of the command that trains on the same data."""
        given = {"--valid": self.valid, "--format": self.format_name}
        words = ["podium", "train", self.data, *(w for flag, value in given.items() if value for w in (flag, value))]
        return [*map(str, words), *(word for option in self.read or () for word in ("--read", option))]


@takes_ranker
def tune(
    ranker: BaseRanker,
    data: DataFile,
    valid: Valid = None,
    folds: Folds = None,
    valid_share: ValidShare = None,
    ranges: RangeWords = None,
    trials: Trials = 30,
    sampler: SamplerName = "tpe",
    pruner: PrunerName = "median",
    jobs: Jobs = 1,
    out: Out = Path("best.podium"),
    study: StudyFile = None,
    fresh: Fresh = False,
    show_trials: Shown = 10,
    format_name: FormatName = None,
    read: ReadOption = None,
    engine: EngineName = "local",
    json: Json = False,
) -> None:
    """Search for the settings with which a ranker is best, with Optuna.

    Every trial that has ended is kept in the study. If the search is stopped, run the same command again: it resumes. With more
    --trials it searches further.

    A trial is judged by the metric of the model that it keeps, on the validation data; or, with --folds, by the mean over all
    queries, each ranked by a ranker that was not trained on it. The model that is written is trained with the best settings.

    With --engine "ray(workers=4)", four trials are trained at a time on a Ray cluster.
    """
    files = SearchFiles(data, valid, out, study or Path(f"{out}.study.jsonl"), format_name, read)
    files.check(study_named=study is not None, fresh=fresh)
    declared = range_words(ranges) if ranges else None
    _check_early(ranker, declared, sampler, pruner, valid=valid, folds=folds, valid_share=valid_share)
    judged, checked = files.parts(ranker.num_threads)
    note_same_data(judged, checked)
    how: dict[str, Any] = {
        "ranges": declared,
        "trials": trials,
        "sampler": sampler,
        "pruner": pruner,
        "jobs": jobs,
        "fresh": fresh,
        "engine": find_engine(engine),
    }
    with Stoppable() as stop:
        result = _search(ranker, judged, files.study, stop, valid=checked, folds=folds, valid_share=valid_share, **how)
        stop.finish()
        result.ranker.save(out)
        if json:
            print_json({"model": str(out), **result.to_dict()})
        else:
            _tell(result, files, show_trials, is_exact=valid_share is None)


def _check_early(ranker: BaseRanker, ranges: dict[str, str | None] | None, *chosen: str, **judging: Any) -> None:
    """Find out what is wrong with the options before the data is read."""
    from podium.rankers.tuning.search import check_search

    if "force" in (ranges or ()):
        look_in_current_folder()
    check_search(ranker, ranges, *chosen, **judging)
    if judging["folds"] is not None and judging["valid_share"] is None:
        refuse_idle_stopping(ranker, "--valid-share SHARE")


def _search(
    ranker: BaseRanker, data: RankingData, study: Path, stop: Stoppable, *, trials: int, **settings: Any
) -> Tuning:
    """Run the search, and show how it proceeds: a bar on a terminal, one line per trial elsewhere."""
    from podium.rankers.tuning.search import tune as search

    with plain_warnings(), progress(f"{trials} trials") as bar:
        shown = SearchProgress(study, trials, str(ranker.metric), bar)
        try:
            return search(
                ranker,
                data,
                trials=trials,
                study=study,
                seed=ranker.seed,
                callbacks=[stop],
                on_trial=shown.ended,
                on_start=shown.began,
                **settings,
            )
        except KeyboardInterrupt:
            raise Stopped(
                f"interrupted; no model was written; the trials that have ended are in {study}: run the same command again "
                "to resume the search",
                stop.code,
            ) from None


@dataclass
class SearchProgress:
    """What is shown while a search runs."""

    study: Path
    trials: int
    metric: str
    bar: ProgressCall | None
    done: int = 0
    planned: int = 0

    def began(self, found: int, more: int) -> None:
        """Say how many trials are there already, and how many will be run."""
        self.planned = more
        if found + more < self.trials:
            note(
                f"the ranges hold only {found + more} combinations, so that {found + more} of {self.trials} trials are run"
            )
        if found and more:
            note(f"resuming after {found} trials ({self.study}); use --fresh to start over")
        elif found:
            note(
                f"all {found} trials are done already ({self.study}); give more --trials to search further, or --fresh to start "
                "over"
            )

    def ended(self, trial: Trial) -> None:
        """Show that a trial has ended."""
        self.done += 1
        if self.bar is not None:
            self.bar(self.done, self.planned)
        else:
            note(_line(trial, self.metric))


def _line(trial: Trial, metric: Any) -> str:
    found = f"{metric} {trial.value:.4f}" if trial.value is not None else trial.state
    reason = f" ({trial.error})" if trial.error else ""
    return f"trial {trial.number}: {found}{reason}; {_words(trial)}"


def _words(trial: Trial) -> str:
    return " ".join(f"{name}={_plain(value)}" for name, value in trial.parameters.items())


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else repr(value).replace(" ", "")


def _tell(result: Tuning, files: SearchFiles, count: int, *, is_exact: bool) -> None:
    """Print the best trials, what was written, and the command that trains the best model again."""
    states = [trial.state for trial in result.trials]
    counts = ", ".join(f"{states.count(state)} {state}" for state in ("complete", "pruned", "failed"))
    _show_trials(result, f"{len(states)} trials: {counts}", count)
    if result.importances and states.count("complete") >= LEAST_TRIALS:
        shares = ", ".join(f"{name} {share:.2f}" for name, share in result.importances.items())
        say(f"importance (share of the variation between trials): {shares}")
    assert result.best.value is not None
    say(f"wrote {files.out}: trial {result.best.number}, {result.metric} {result.best.value:.4f}")
    again = "to train the same model again" if is_exact else "to train with these settings on all of the data"
    say(f"wrote {result.study}; {again}:")
    say(f"  {shlex.join([*files.train_words(), *_train_options(result.ranker)])}")


def _show_trials(result: Tuning, title: str, count: int) -> None:
    """Print one row per trial, with a column for every setting; on a terminal that is too narrow, with one column for all."""
    names = list(result.best.parameters)
    frame = ["trial", result.metric, f"best {result.ranker.unit}", "seconds"]
    rows = []
    for trial in result.trials[:count]:
        value = trial.state if trial.value is None else f"{trial.value:.4f}"
        epoch = "–" if trial.best_epoch is None else str(trial.best_epoch)
        rows.append(([str(trial.number), value, epoch, f"{trial.seconds:.1f}"], trial))
    table = make_table(title, *frame, *names)
    for cells, trial in rows:
        table.add_row(*cells, *(escape(_plain(value)) for value in trial.parameters.values()))
    if not out.is_terminal or table_width(table) <= out.width:
        show(table)
        return
    table = empty_table(*frame, "settings")
    table.columns[-1].justify, table.columns[-1].overflow = "left", "fold"
    for cells, trial in rows:
        table.add_row(*cells, escape(_words(trial)))
    out.print(table)


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
