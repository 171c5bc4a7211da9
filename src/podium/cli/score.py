"""podium score."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from podium.cli.console import DataFile, FormatName, Json, ReadOption, Threads, check_outputs, print_json, say
from podium.cli.models import Rows, load_scorer, scores_of
from podium.files import Output
from podium.formats import write
from podium.formats.decimals import shortest


def score(
    model: Annotated[Path, typer.Argument(help="A model that podium train wrote.", show_default=False)],
    data: DataFile,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The file to write; by default scores are printed.", show_default=False),
    ] = None,
    format_name: FormatName = None,
    read: ReadOption = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Score documents with a model: one score a row of DATA, in its order; higher is better, inside a query.

    Each score is written so that it reads back as exactly the same number. Labels in DATA are not looked at.
    """
    scorer = load_scorer(model, data)
    if out is not None:
        check_outputs(Output(out, "scores", "--out"), inputs=[model, data], read=read)
    scores = scores_of(scorer, model, Rows.read(data, format_name, read, threads), threads)
    if out is not None:
        write(scores, out, format="scores")
    if json:
        made = {"scores": scores.tolist()} if out is None else {"file": str(out)}
        print_json({"model": str(model), "data": str(data), "documents": len(scores), **made})
    elif out is None:
        sys.stdout.writelines(f"{text}\n" for text in shortest(scores))
    else:
        say(f"wrote {out}: {len(scores)} scores")
