"""podium score."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from podium.cli.console import (
    DataFile,
    FormatName,
    Json,
    ReadOption,
    Threads,
    check_outputs,
    data_source,
    print_json,
    say,
)
from podium.cli.file_order import model_and_data
from podium.cli.models import MODEL_HELP, Rows, scores_of
from podium.cli.on_workers import EngineName, Scoring, find_engine, run_of, scored_files, without_labels
from podium.cluster import Engine, Ray
from podium.errors import ParameterError
from podium.files import Output, check_folder, make_folder
from podium.formats import FORMATS, SHARDS, Source, write
from podium.formats.decimals import shortest
from podium.formats.scores import SCORES
from podium.formats.trec import TREC_RUN
from podium.rankers.opening import open_scorer
from podium.rules import Choice

TARGETS = (SCORES.name, TREC_RUN.name)


def _target_format(out: Path | None, target: str | None) -> str:
    """Return the format to write: the one that is named, or the one of the file's suffix, or scores."""
    if target is not None:
        Choice(*TARGETS).check("to", target)
        if out is None and target == TREC_RUN.name:
            raise ParameterError("to", target, "needs a file to write", "give {out}")
        return target
    ending = "" if out is None else out.name.lower().removesuffix(".gz")
    return TREC_RUN.name if ending.endswith(TREC_RUN.suffixes) else SCORES.name


ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help=MODEL_HELP, show_default=False)]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="File to write. By default scores are printed. A file named *.run becomes a TREC run. If DATA is a directory: the directory to write one file per file of it to.",
        show_default=False,
    ),
]
ToOption = Annotated[
    str | None,
    typer.Option(
        "--to",
        help=f"Format to write: {' or '.join(TARGETS)}. By default the name of the file determines it.",
        show_default=False,
    ),
]


def score(
    model: ModelArgument,
    data: DataFile,
    out: OutOption = None,
    to: ToOption = None,
    format_name: FormatName = None,
    read: ReadOption = None,
    threads: Threads = None,
    engine: EngineName = "local",
    json: Json = False,
) -> None:
    """Score documents with a model: one score per row of DATA, in its order.

    Higher scores are better, and only scores of the same query can be compared. With --to trec-run, or a file named *.run, a TREC run is written, which names queries and documents. Each score is written so that exactly the same number is read back. DATA needs no labels, and those that it has are ignored: a table may lack the column, and a line of LETOR text may begin with qid:.

    DATA may be a directory of shards. They are scored one after the other in their order, so that only one of them is in memory at a time, and --out is a directory with one file per shard. With --engine "ray(workers=4)", four of them are scored at a time on a Ray cluster, and the files that are written are the same.
    """
    if to is None and format_name in TARGETS:  # as it was spelled before there was --to; no data has these formats
        to, format_name = format_name, None
    target, runs_on = _target_format(out, to), find_engine(engine)
    model, data = model_and_data(model, data)
    source = data_source(data, format_name, read)
    if source.format is SHARDS:
        each = runs_on.threads if isinstance(runs_on, Ray) else threads or runs_on.threads
        how = Scoring(open_scorer(model), model, as_run=target == TREC_RUN.name, threads=each)
        _score_folder(source, how, runs_on, out, target, json)
        return
    if isinstance(runs_on, Ray):
        raise ParameterError("engine", engine, f"needs a directory of shards, and {data} is one file", "leave it out")
    source = without_labels(source)
    scorer = open_scorer(model)
    if out is not None:
        check_outputs(Output(out, target, "--out"), inputs=[model, data], read=read)
    rows = Rows.read(source, threads, [scorer])
    scores = scores_of(scorer, model, rows, threads)
    if out is not None:
        write(run_of(scores, rows, model) if target == TREC_RUN.name else scores, out, format=target)
    if json:
        made = {"scores": scores.tolist()} if out is None else {"file": str(out)}
        print_json({"model": str(model), "data": str(data), "documents": len(scores), **made})
    elif out is None:
        sys.stdout.writelines(f"{text}\n" for text in shortest(scores))
    else:
        say(f"wrote {out}: {len(scores)} scores")


def _score_folder(folder: Source, how: Scoring, runs_on: Engine, out: Path | None, target: str, json: bool) -> None:
    """Score the files of a directory, and write one file for each."""
    if out is not None:
        check_folder(out)
        make_folder(out)
    documents, files = 0, 0
    found: list[Any] = []
    try:
        for name, scored in scored_files(runs_on, folder, how):
            documents, files = documents + len(scored.scores), files + 1
            if out is None and json:
                found += scored.scores.tolist()
            elif out is None:
                sys.stdout.writelines(f"{text}\n" for text in shortest(scored.scores))
            else:
                found.append(str(out / f"{name.split('.')[0]}{FORMATS[target].suffixes[0]}"))
                write(scored.scores if scored.run is None else scored.run, found[-1], format=target)
    except BaseException:
        if out is not None:  # a directory of some of the files would look like all of them
            shutil.rmtree(out, ignore_errors=True)
        raise
    if json:
        made = {"scores": found} if out is None else {"files": found}
        print_json({"model": str(how.model), "data": str(folder.path), "documents": documents, **made})
    elif out is not None:
        say(f"wrote {out}: {documents} scores in {files} files")
