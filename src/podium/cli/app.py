"""The tree of commands."""

from __future__ import annotations

from typing import Annotated

import typer

from podium.cli import (
    compare,
    convert,
    cv,
    describe,
    evaluate,
    explain,
    export,
    imports,
    laws,
    metrics,
    normalize,
    papers,
    plot,
    plot_explanations,
    rankers,
    report,
    score,
    serve,
    shard,
    split,
    studio,
    synth,
    train,
    tune,
    votes,
)
from podium.cli.help import use_plain_help
from podium.cli.ranker_options import RankerCommand

app = typer.Typer(
    name="podium",
    help="Learning to rank: train, evaluate, compare, explain, tune and serve rankers.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
data = typer.Typer(help="Describe, convert, split, shard, generate and normalize judged data.", no_args_is_help=True)

plots = typer.Typer(help="Draw charts of trainings, evaluations, explanations and forces.", no_args_is_help=True)

paper = typer.Typer(help="Reproduce the tables and figures of the source papers.", no_args_is_help=True)

app.command("train", cls=RankerCommand)(train.train)
app.command("score")(score.score)
app.command("serve")(serve.serve)
app.command("studio")(studio.studio)
app.command("cv", cls=RankerCommand)(cv.cv)
app.command("tune", cls=RankerCommand)(tune.tune)
app.command("evaluate")(evaluate.evaluate)
app.command("compare")(compare.compare)
app.command("explain")(explain.explain)
app.command("report")(report.report)
app.command("export")(export.export)
app.command("import")(imports.import_model)
app.command("metrics")(metrics.metrics)
app.command("rankers")(rankers.rankers)
app.command("laws")(laws.laws)
app.command("votes")(votes.votes)
data.command("describe")(describe.describe)
data.command("convert")(convert.convert)
data.command("split")(split.split)
data.command("shard")(shard.shard)
data.command("synth")(synth.synth)
data.command("normalize")(normalize.normalize)
app.add_typer(data, name="data")
plots.command("learning-curve")(plot.learning_curve)
plots.command("importance")(plot.importance)
plots.command("metric-at-k")(plot.metric_at_k)
plots.command("query-differences")(plot.query_differences)
plots.command("scores")(plot.scores)
plots.command("calibration")(plot.calibration)
plots.command("waterfall")(plot_explanations.waterfall)
plots.command("why")(plot_explanations.why)
plots.command("beeswarm")(plot_explanations.beeswarm)
plots.command("dependence")(plot_explanations.dependence)
plots.command("tree")(plot_explanations.tree)
plots.command("force-gap")(plot_explanations.force_gap)
plots.command("force-field")(plot_explanations.force_field)
app.add_typer(plots, name="plot")
paper.command("list")(papers.papers_list)
paper.command("run")(papers.papers_run)
paper.command("all")(papers.papers_all)
app.add_typer(paper, name="papers")
use_plain_help(app)


def _version(show: bool) -> None:
    if show:
        from podium import __version__

        typer.echo(f"podium {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass
