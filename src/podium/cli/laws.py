"""podium laws."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium.cli.console import Json, Seed, check_outputs, complete_metric, named_force, out, print_json, say
from podium.errors import ParameterError
from podium.files import Output
from podium.forces import FORCES, Verdict
from podium.forces import laws as test_laws


def _complete(incomplete: str) -> list[str]:
    return [name for name in FORCES if name.startswith(incomplete)]


ForceArgument = Annotated[
    str,
    typer.Argument(
        metavar="FORCE",
        help="A force such as ranknet or 'lambdarank(ndcg@10)', or module:function for your own.",
        autocompletion=_complete,
        show_default=False,
    ),
]
MetricOption = Annotated[
    str | None,
    typer.Option(
        "--metric",
        "-m",
        help="The metric that the force should improve. By default its own metric, or ndcg if it has none.",
        autocompletion=complete_metric,
        show_default=False,
    ),
]
AtOption = Annotated[
    list[str] | None,
    typer.Option(
        "--at",
        metavar="SCORES:LABELS",
        help="A further query to test, as in 0.5,0.2,-1:0,2,1. May be given more than once.",
        show_default=False,
    ),
]
PlotOption = Annotated[
    Path | None,
    typer.Option(
        "--plot", metavar="FILE.svg", help="File to draw the force into: .svg, .png or .html.", show_default=False
    ),
]
BesideOption = Annotated[
    list[str] | None,
    typer.Option(
        "--beside",
        help="Another force to draw in the same picture. May be given more than once.",
        show_default=False,
    ),
]


def laws(
    force: ForceArgument,
    metric: MetricOption = None,
    at: AtOption = None,
    draws: Annotated[int, typer.Option("--draws", help="Number of random queries to test.")] = 100,
    seed: Seed = 0,
    plot: PlotOption = None,
    beside: BesideOption = None,
    json: Json = False,
) -> None:
    """Test which laws a force obeys: momentum, action and reaction, a convex cost, and agreement with its metric."""
    if beside and plot is None:
        raise ParameterError("beside", rule="adds a force to the picture", remedy="give {plot} too")
    if plot is not None:
        from podium.plots.force_charts import force_charts
        from podium.plots.output import file_format, save

        check_outputs(Output(plot, file_format(plot, "plot"), "--plot"), inputs=[])
    judged, others = named_force(force), [named_force(name) for name in beside or ()]
    verdict = test_laws(judged, metric=metric, points=[_point(word) for word in at or ()], draws=draws, seed=seed)
    if plot is not None:
        save(force_charts(judged, others, metric), plot)
    if json:
        print_json(verdict.to_dict())
        return
    _print(verdict)
    if plot is not None:
        out.print()
        say(f"wrote {plot}")


def _point(word: str) -> tuple[list[float], list[float]]:
    """Parse `0.5,0.2:1,0` into scores and labels."""
    parts = word.split(":")
    try:
        scores, labels = ([float(number) for number in part.split(",")] for part in parts)
    except ValueError:
        raise ParameterError(
            "at", word, "must have the form SCORES:LABELS with commas between numbers", "write it as in 0.5,0.2:1,0"
        ) from None
    return scores, labels


def _print(verdict: Verdict) -> None:
    """Print the verdict, with colors for what holds and what is broken."""
    for line in repr(verdict).splitlines():
        for word, style in (("holds ", "bold green"), ("BROKEN", "bold red")):
            if line.startswith(word):
                out.print(word, style=style, end="", highlight=False)
                line = line[len(word) :]
        say(line)
