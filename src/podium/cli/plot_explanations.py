"""podium plot: charts of models, of what features add to scores, and of forces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium.cli.console import (
    DataFile,
    FormatName,
    Json,
    ReadOption,
    Seed,
    Threads,
    complete_metric,
    data_source,
    named_force,
)
from podium.cli.file_order import model_and_data
from podium.cli.models import MODEL_HELP, Rows
from podium.cli.plot_output import ChartFile, Theme, out_option
from podium.rankers.opening import open_ranker

if TYPE_CHECKING:
    from podium.data import RankingData
    from podium.rankers import BaseRanker

Model = Annotated[Path, typer.Argument(metavar="MODEL", help=MODEL_HELP, show_default=False)]
QUERY_HELP = "The id of the query. Not needed if DATA has only one."
Query = Annotated[str | None, typer.Option("--query", help=QUERY_HELP, show_default=False)]
Top = Annotated[int, typer.Option("--top", min=1, help="Maximum number of features to draw one by one.")]


def _document(name: str, text: str) -> object:
    return typer.Option(f"--{name}", metavar="DOC", help=text, show_default=False)


def _read(
    model: Path, data: Path, format_name: str | None, read: list[str] | None, threads: int | None
) -> tuple[BaseRanker, RankingData]:
    """Return a model and the data as it takes them."""
    model, data = model_and_data(model, data)
    source = data_source(data, format_name, read)
    ranker = open_ranker(model)
    ranker.num_threads = threads
    return ranker, Rows.read(source, threads, [ranker.scorer_]).matched(ranker.scorer_)


def waterfall(
    model: Model,
    data: DataFile,
    document: Annotated[str, _document("document", "The document: its id, or its row in the query, counted from 1.")],
    query: Query = None,
    top: Top = 10,
    format_name: FormatName = None,
    read: ReadOption = None,
    threads: Threads = None,
    out: Annotated[Path, out_option()] = Path("waterfall.svg"),
    theme: Theme = "auto",
    json: Json = False,
) -> None:
    """Draw how the features of one document lead from the expected score to its score (trees)."""
    chart = ChartFile(out, theme, json, inputs=[model, data], read=read)
    from podium.plots.attributions import waterfall

    ranker, judged = _read(model, data, format_name, read, threads)
    chart.write(waterfall(ranker, judged, document=document, query=query, top=top))


def why(
    model: Model,
    data: DataFile,
    above: Annotated[str, _document("above", "The first document: its id, or its row in the query, counted from 1.")],
    below: Annotated[str, _document("below", "The second document, given in the same way.")],
    query: Query = None,
    top: Top = 10,
    format_name: FormatName = None,
    read: ReadOption = None,
    threads: Threads = None,
    out: Annotated[Path, out_option()] = Path("why.svg"),
    theme: Theme = "auto",
    json: Json = False,
) -> None:
    """Draw what each feature adds to the gap between the scores of two documents (trees and linear models)."""
    chart = ChartFile(out, theme, json, inputs=[model, data], read=read)
    from podium.plots.attributions import why

    ranker, judged = _read(model, data, format_name, read, threads)
    chart.write(why(ranker.why(judged, query=query, above=above, below=below), top=top))


def beeswarm(
    model: Model,
    data: DataFile,
    top: Annotated[int, typer.Option("--top", min=1, help="Maximum number of features to draw.")] = 15,
    max_documents: Annotated[
        int, typer.Option("--max-documents", help="Maximum number of documents; of more, a sample is drawn.")
    ] = 300,
    seed: Seed = 0,
    format_name: FormatName = None,
    read: ReadOption = None,
    threads: Threads = None,
    out: Annotated[Path, out_option()] = Path("beeswarm.svg"),
    theme: Theme = "auto",
    json: Json = False,
) -> None:
    """Draw what the features add to the scores of many documents, one point per document and feature (trees)."""
    chart = ChartFile(out, theme, json, inputs=[model, data], read=read)
    from podium.plots.attributions import beeswarm

    ranker, judged = _read(model, data, format_name, read, threads)
    chart.write(beeswarm(ranker, judged, top=top, max_documents=max_documents, seed=seed))


def dependence(
    model: Model,
    data: DataFile,
    feature: Annotated[
        str, typer.Option("--feature", help="The feature: its name, or its number counted from 0.", show_default=False)
    ],
    query: Annotated[
        str | None,
        typer.Option(
            "--query",
            help="A query whose documents alone are drawn. By default documents of all queries.",
            show_default=False,
        ),
    ] = None,
    curves: Annotated[int, typer.Option("--curves", help="Maximum number of documents with their own curve.")] = 30,
    points: Annotated[int, typer.Option("--points", help="Maximum number of values of the feature.")] = 40,
    seed: Seed = 0,
    format_name: FormatName = None,
    read: ReadOption = None,
    threads: Threads = None,
    out: Annotated[Path, out_option()] = Path("dependence.svg"),
    theme: Theme = "auto",
    json: Json = False,
) -> None:
    """Draw how scores depend on one feature: on average, and document by document."""
    chart = ChartFile(out, theme, json, inputs=[model, data], read=read)
    from podium.plots.dependence import partial_dependence

    ranker, judged = _read(model, data, format_name, read, threads)
    chart.write(partial_dependence(ranker, judged, feature, query=query, curves=curves, points=points, seed=seed))


def tree(
    model: Model,
    number: Annotated[int, typer.Option("--number", help="The number of the tree, counted from 1.")] = 1,
    max_depth: Annotated[
        int | None,
        typer.Option(
            "--max-depth",
            help="The depth below which the tree is cut off. By default the largest with at most 32 leaves.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path, out_option()] = Path("tree.svg"),
    theme: Theme = "auto",
    json: Json = False,
) -> None:
    """Draw one tree of a model."""
    chart = ChartFile(out, theme, json, inputs=[model])
    from podium.plots.trees import tree

    chart.write(tree(open_ranker(model), number, max_depth=max_depth))


def force_gap(
    forces: Annotated[
        list[str],
        typer.Argument(
            metavar="FORCE…",
            help="Forces such as ranknet or 'lambdarank(ndcg@10)', or module:function for your own.",
            show_default=False,
        ),
    ],
    reach: Annotated[float, typer.Option("--reach", help="The largest gap between the two scores.")] = 4.0,
    out: Annotated[Path, out_option()] = Path("force-gap.svg"),
    theme: Theme = "auto",
    json: Json = False,
) -> None:
    """Draw the force on the document of a pair that should win, against the gap between the scores."""
    chart = ChartFile(out, theme, json, inputs=[])
    from podium.plots.force_charts import force_gap

    chart.write(force_gap([named_force(name) for name in forces], reach=reach))


def force_field(
    force: Annotated[
        str,
        typer.Argument(
            metavar="FORCE",
            help="A force such as ranknet or 'lambdarank(ndcg@10)', or module:function for your own.",
            show_default=False,
        ),
    ],
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            "-m",
            help="The metric that shades the six orders. By default the force's own metric, or ndcg.",
            autocompletion=complete_metric,
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path, out_option()] = Path("force-field.svg"),
    theme: Theme = "auto",
    json: Json = False,
) -> None:
    """Draw the field of a force on three documents with labels 2, 1 and 0."""
    chart = ChartFile(out, theme, json, inputs=[])
    from podium.plots.force_charts import force_field

    chart.write(force_field(named_force(force), metric=metric))
