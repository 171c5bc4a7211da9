"""podium votes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from podium.cli.console import Json, make_table, print_json, say, show
from podium.posteriors import bradley_terry, read_votes


def votes(
    votes: Annotated[
        Path,
        typer.Argument(
            metavar="VOTES",
            help="A CSV or TSV file of votes on pairs, with columns qid, a, b, outcome and perhaps who; or, with counts, qid, a, b, "
            "a_wins, b_wins and perhaps ties.",
            show_default=False,
        ),
    ],
    prior: Annotated[
        float,
        typer.Option(
            "--prior",
            help="Number of votes to add to each side of every pair. Above 0, one-sided votes give finite scores too.",
        ),
    ] = 0.0,
    undetermined: Annotated[
        str,
        typer.Option(
            "--undetermined",
            help="What to do if the votes of a query do not determine its scores: 'error', or 'nan' for missing scores.",
        ),
    ] = "error",
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            "--ignore", help="A column of VOTES to leave out. May be given more than once.", show_default=False
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Score documents from votes on pairs (Bradley–Terry), with standard errors."""
    result = bradley_terry(read_votes(votes, ignore=ignore or ()), prior=prior, undetermined=undetermined)
    if json:
        print_json(result.to_dict())
        return
    columns = ["document", "score", "standard error"]
    table = make_table(
        f"{result.n_votes:g} votes of {votes}", *(columns if result.queries is None else ["query", *columns])
    )
    for row in result.to_dict()["documents"]:
        known = row["score"] is not None
        cells = [f"{row['score']:+.4f}", f"{row['standard_error']:.4f}"] if known else ["none", ""]
        table.add_row(*(escape(str(row[name])) for name in ("query", "document") if name in row), *cells)
    show(table)
    say(f"log likelihood {result.log_likelihood:.6g}")
    for sentence in result.undetermined:
        say(sentence)
