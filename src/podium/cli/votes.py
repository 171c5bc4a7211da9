"""podium votes."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from podium.cli.console import Json, check_outputs, make_table, print_json, say, show
from podium.files import Output, atomic_write
from podium.posteriors import bradley_terry, read_votes

VotesArgument = Annotated[
    Path,
    typer.Argument(
        metavar="VOTES",
        help="A CSV or TSV file of votes on pairs, with columns qid, a, b, outcome and perhaps who; or, with counts, qid, a, b, "
        "a_wins, b_wins and perhaps ties.",
        show_default=False,
    ),
]
PriorOption = Annotated[
    float,
    typer.Option(
        "--prior",
        help="Number of votes to add to each side of every pair. Above 0, one-sided votes give finite scores too.",
    ),
]
UndeterminedOption = Annotated[
    str,
    typer.Option(
        "--undetermined",
        help="What to do if the votes of a query do not determine its scores: 'error', or 'nan' for missing scores.",
    ),
]
IgnoreOption = Annotated[
    list[str] | None,
    typer.Option("--ignore", help="A column of VOTES to leave out. May be given more than once.", show_default=False),
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="CSV file to write the scores to, one row per document: query, document, score and standard_error.",
        show_default=False,
    ),
]


def votes(
    votes: VotesArgument,
    prior: PriorOption = 0.0,
    undetermined: UndeterminedOption = "error",
    ignore: IgnoreOption = None,
    out: OutOption = None,
    json: Json = False,
) -> None:
    """Score documents from votes on pairs (Bradley–Terry), with standard errors."""
    if out is not None:
        check_outputs(Output(out, "csv", "--out"), inputs=[votes])
    result = bradley_terry(read_votes(votes, ignore=ignore or ()), prior=prior, undetermined=undetermined)
    rows = result.to_dict()["documents"]
    if out is not None:
        _write(rows, out)
    if json:
        print_json({**result.to_dict(), **({} if out is None else {"file": str(out)})})
        return
    columns = ["document", "score", "standard error"]
    table = make_table(
        f"{result.n_votes:g} votes of {votes}", *(columns if result.queries is None else ["query", *columns])
    )
    for row in rows:
        known = row["score"] is not None
        cells = [f"{row['score']:+.4f}", f"{row['standard_error']:.4f}"] if known else ["–", "–"]
        table.add_row(*(escape(str(row[name])) for name in ("query", "document") if name in row), *cells)
    show(table)
    if any(row["score"] is not None for row in rows):
        say(f"log likelihood {result.log_likelihood:.6g}")
    for sentence in result.undetermined:
        say(sentence)
    if out is not None:
        say(f"wrote {out}: {len(rows)} documents")


def _write(rows: list[dict[str, Any]], path: Path) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)  # an unknown score is an empty cell
    with atomic_write(path, "csv") as file:
        file.write(text.getvalue().encode())
