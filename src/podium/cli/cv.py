"""podium cv."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from podium.cli.console import (
    Confidence,
    DataFile,
    FormatName,
    Json,
    ReadOption,
    check_outputs,
    complete_metric,
    data_source,
    err,
    make_table,
    note,
    out,
    plain_warnings,
    print_json,
    progress,
    read_data,
    say,
    show,
)
from podium.cli.evaluate import evaluation_table
from podium.cli.on_workers import EngineName, find_engine
from podium.cli.ranker_options import refuse_idle_stopping, takes_ranker
from podium.files import Output
from podium.formats import write
from podium.training import Epoch

if TYPE_CHECKING:
    from podium.data import RankingData
    from podium.rankers import BaseRanker
    from podium.rankers.cross_validation import CrossValidation, Fold


FoldsOption = Annotated[
    int | None,
    typer.Option(
        "--folds", min=2, help="Number of folds into which the queries are divided. Default: 5.", show_default=False
    ),
]
PartsOption = Annotated[
    str | None,
    typer.Option(
        "--parts",
        metavar="TRAIN+VALID+1",
        help="Numbers of folds that each ranker is trained on, validated on (to choose the best epoch) and tested on, as in "
        "2+2+1. Default: all other folds are trained on.",
        show_default=False,
    ),
]
ValidShareOption = Annotated[
    float | None,
    typer.Option(
        "--valid-share",
        help="Share of each fold's training queries on which the best epoch is chosen and training stops early. Default: none.",
        show_default=False,
    ),
]
AlsoOption = Annotated[
    list[str] | None,
    typer.Option(
        "--also",
        metavar="METRIC",
        help="A further metric to report. May be given more than once.",
        autocompletion=complete_metric,
        show_default=False,
    ),
]
TargetOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="File to write the scores to, one per row of DATA, by the ranker that was not trained on the row's query.",
        show_default=False,
    ),
]


@takes_ranker
def cv(
    ranker: BaseRanker,
    data: DataFile,
    folds: FoldsOption = None,
    parts: PartsOption = None,
    valid_share: ValidShareOption = None,
    also: AlsoOption = None,
    target: TargetOption = None,
    confidence: Confidence = 0.95,
    format_name: FormatName = None,
    read: ReadOption = None,
    engine: EngineName = "local",
    json: Json = False,
) -> None:
    """Cross-validate a ranker: every query is ranked once, by a ranker trained on the other folds.

    Folds are made of whole queries. The same seed gives the same folds, whatever the order of queries in DATA. The means
    and intervals at the end are over all queries. With --engine "ray(workers=4)", four folds are trained at a time on a Ray cluster.
    """
    from podium.rankers.cross_validation import plan_rotation

    if target is not None:
        check_outputs(Output(target, "scores", "--out"), inputs=[data], read=read)
    if valid_share is None and parts is None:
        refuse_idle_stopping(ranker, "--valid-share SHARE or --parts")
    count = plan_rotation(folds, parts, valid_share).folds
    judged = read_data(data_source(data, format_name, read), ranker.num_threads)
    how: dict[str, Any] = {
        "folds": folds,
        "parts": parts,
        "valid_share": valid_share,
        "confidence": confidence,
        "engine": find_engine(engine),
    }
    result = _cross_validate(ranker, judged, count, metrics=[ranker.metric, *(also or [])], **how)
    if target is not None:
        write(result.scores, target, format="scores")
    if json:
        print_json({"data": str(data), "out": None if target is None else str(target), **result.to_dict()})
        return
    _tell(result, data, target)


def _cross_validate(ranker: BaseRanker, data: RankingData, count: int, **how: Any) -> CrossValidation:
    """Cross-validate, and show how it proceeds: a bar on a terminal, one line per fold elsewhere."""
    from podium.rankers.cross_validation import cross_validate

    done: list[Fold] = []
    epochs = ranker.max_epochs

    def finished(fold: Fold) -> None:
        done.append(fold)
        if bar is not None and how["engine"].distributes:
            bar(len(done), count)
        if not err.is_terminal:
            value = fold.evaluation.mean[ranker.metric]
            note(f"fold {fold.number} of {count}: {ranker.metric} {value:.4f}")

    with plain_warnings(), progress(f"{count} folds") as bar:

        def watch(row: Epoch) -> None:
            if bar is not None:
                bar(len(done) * epochs + row.epoch, count * epochs)

        watched = [] if how["engine"].distributes else [watch]
        return cross_validate(ranker, data, seed=ranker.seed, callbacks=watched, on_fold=finished, **how)


def _tell(result: CrossValidation, data: Path, target: Path | None) -> None:
    metrics = list(result.evaluation.mean)
    table = make_table(
        f"{len(result.folds)} folds of {data}", "fold", "train", "valid", "test", result.folds[0].ranker.unit, *metrics
    )
    for fold in result.folds:
        counts = (fold.n_train, fold.n_valid, len(fold.queries), fold.ranker.best_epoch_)
        means = (f"{fold.evaluation.mean[name]:.4f}" for name in metrics)
        table.add_row(str(fold.number), *map(str, counts), *means)
    show(table)
    out.print()
    show(evaluation_table(result.evaluation, escape("all queries, each ranked by a ranker that was not trained on it")))
    if target is not None:
        say(f"wrote {target}: {len(result.scores)} scores")
