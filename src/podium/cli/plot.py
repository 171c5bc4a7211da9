"""podium plot: charts of trainings and evaluations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium.cli.console import (
    Confidence,
    DataFile,
    FormatName,
    Json,
    ReadOption,
    Seed,
    Threads,
    complete_metric,
    data_source,
    find_functions,
)
from podium.cli.file_order import data_and_rankings, model_and_data
from podium.cli.models import MODEL_HELP, Rows, named_files, read_systems
from podium.cli.plot_output import ChartFile, Theme, out_option
from podium.errors import ParameterError
from podium.kinds import kind_of
from podium.rankers.opening import open_ranker

AMONG_HELP = "With --kind permutation: permute values within each 'query', or among 'all' documents."
Systems = Annotated[
    list[str],
    typer.Argument(
        metavar="[NAME=]RANKING…",
        help="Models, files of scores or TREC runs. Each may have a name, as in lambda=a.txt.",
        show_default=False,
    ),
]
OneRanking = Annotated[
    Path,
    typer.Argument(
        metavar="RANKING",
        help="A model, or a file of scores (one per row of DATA, in its order).",
        show_default=False,
    ),
]


def learning_curve(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]MODEL…",
            help="Models that podium train wrote, with their logs MODEL.log.jsonl next to them, or the logs themselves. Each may have "
            "a name, as in small=a.podium.",
            show_default=False,
        ),
    ],
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            "-m",
            help="Which of the logged values to draw: a metric, or cost. By default the metric of the training.",
            autocompletion=complete_metric,
            show_default=False,
        ),
    ] = None,
    by: Annotated[str, typer.Option("--by", help="Draw against the 'epoch', or against 'seconds'.")] = "epoch",
    out: Annotated[Path, out_option()] = Path("learning-curve.svg"),
    theme: Theme = "auto",
    json: Json = False,
) -> None:
    """Draw the metric on training and validation data by epoch, for one training or several."""
    files = named_files(runs, "runs")
    logs = [Path(f"{path}.log.jsonl") for path in files.values()]
    chart = ChartFile(out, theme, json, inputs=[*files.values(), *logs])
    from podium.plots.learning import learning_curve

    chart.write(learning_curve(dict(files), metric=metric, by=by))


def importance(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help=MODEL_HELP, show_default=False)],
    data: Annotated[
        Path | None,
        typer.Argument(metavar="DATA", help="With --kind permutation: judged data in any format.", show_default=False),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind",
            help="'gain' or 'split', for trees, 'weight', for linear models, or 'permutation', for every model. By default gain, or weight.",
            show_default=False,
        ),
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Maximum number of features to draw.")] = 20,
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            "-m",
            help="With --kind permutation: the metric. By default the one that the model was trained for.",
            autocompletion=complete_metric,
            show_default=False,
        ),
    ] = None,
    repeats: Annotated[int, typer.Option("--repeats", help="With --kind permutation: number of permutations.")] = 5,
    among: Annotated[str, typer.Option("--among", help=AMONG_HELP)] = "query",
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    format_name: FormatName = None,
    read: ReadOption = None,
    threads: Threads = None,
    out: Annotated[Path, out_option()] = Path("importance.svg"),
    theme: Theme = "auto",
    json: Json = False,
) -> None:
    """Draw the importance of each feature: by the gains or the number of splits, or by permutation with intervals."""
    if (data is None) == (kind == "permutation"):
        rule = "needs judged data" if data is None else "takes no data"
        raise ParameterError("kind", kind or "gain", rule, "write podium plot importance MODEL DATA --kind permutation")
    if data is not None:
        model, data = model_and_data(model, data)
    chart = ChartFile(out, theme, json, inputs=[model, data], read=read)
    source = None if data is None else data_source(data, format_name, read)
    from podium.plots.importances import importance

    ranker = open_ranker(model)
    ranker.num_threads = threads
    judged = None if source is None else Rows.read(source, threads, [ranker.scorer_]).matched(ranker.scorer_)
    chart.write(
        importance(
            ranker,
            judged,
            kind=kind,
            top=top,
            metric=metric,
            repeats=repeats,
            seed=seed,
            among=among,
            confidence=confidence,
            num_threads=threads,
        )
    )


def metric_at_k(
    data: DataFile,
    rankings: Systems,
    metric: Annotated[
        str,
        typer.Option(
            "--metric", "-m", help="A metric that takes a cutoff, without one.", autocompletion=complete_metric
        ),
    ] = "ndcg",
    k: Annotated[int, typer.Option("--k", "-k", help="The largest cutoff.")] = 10,
    confidence: Confidence = 0.95,
    format_name: FormatName = None,
    read: ReadOption = None,
    threads: Threads = None,
    out: Annotated[Path, out_option()] = Path("metric-at-k.svg"),
    theme: Theme = "auto",
    json: Json = False,
) -> None:
    """Draw a metric at the cutoffs 1 to k with confidence intervals, for one ranking or several."""
    find_functions(metric)
    data, rankings = data_and_rankings(data, rankings, data_first=True)
    files = named_files(rankings, "rankings")
    chart = ChartFile(out, theme, json, inputs=[data, *files.values()], read=read)
    from podium.plots.evaluations import metric_at_k

    systems, judged = read_systems(files, data_source(data, format_name, read), threads)
    chart.write(metric_at_k(systems, judged, metric=metric, k=k, confidence=confidence, num_threads=threads))


def query_differences(
    data: DataFile,
    rankings: Systems,
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            "-m",
            help="The metric to compare by, or module:function for your own.",
            autocompletion=complete_metric,
        ),
    ] = "ndcg@10",
    format_name: FormatName = None,
    read: ReadOption = None,
    threads: Threads = None,
    out: Annotated[Path, out_option()] = Path("query-differences.svg"),
    theme: Theme = "auto",
    json: Json = False,
) -> None:
    """Draw by how much the first of two rankings is better or worse than the second, query by query."""
    find_functions(metric)
    data, rankings = data_and_rankings(data, rankings, data_first=True)
    files = named_files(rankings, "rankings", least=2)
    if len(files) > 2:
        raise ParameterError("rankings", rule=f"must name two files, and there are {len(files)}")
    chart = ChartFile(out, theme, json, inputs=[data, *files.values()], read=read)
    from podium.plots.evaluations import query_differences

    systems, judged = read_systems(files, data_source(data, format_name, read), threads)
    chart.write(query_differences(systems, judged, metric=metric, num_threads=threads))


def scores(
    ranking: OneRanking,
    data: DataFile,
    bins: Annotated[int, typer.Option("--bins", help="Number of bins.")] = 40,
    within_query: Annotated[
        bool, typer.Option("--within-query", help="Subtract the mean score of each query from its scores.")
    ] = False,
    format_name: FormatName = None,
    read: ReadOption = None,
    threads: Threads = None,
    out: Annotated[Path, out_option()] = Path("scores.svg"),
    theme: Theme = "auto",
    json: Json = False,
) -> None:
    """Draw how the scores of a ranking are distributed, one histogram per label."""
    ranking, data = model_and_data(ranking, data)
    chart = ChartFile(out, theme, json, inputs=[ranking, data], read=read)
    from podium.plots.evaluations import score_distribution

    systems, judged = read_systems({"": ranking}, data_source(data, format_name, read), threads)
    chart.write(score_distribution(systems[""], judged, bins=bins, within_query=within_query))


def calibration(
    ranking: OneRanking,
    data: DataFile,
    sigma: Annotated[
        float | None,
        typer.Option(
            "--sigma", help="Scale of the scores. By default that of the model's force, or 1.", show_default=False
        ),
    ] = None,
    bins: Annotated[int, typer.Option("--bins", help="Number of bins between ½ and 1.")] = 10,
    confidence: Confidence = 0.95,
    max_pairs: Annotated[
        int, typer.Option("--max-pairs", help="Maximum number of pairs; of more, a sample is drawn.")
    ] = 1_000_000,
    seed: Seed = 0,
    format_name: FormatName = None,
    read: ReadOption = None,
    threads: Threads = None,
    out: Annotated[Path, out_option()] = Path("calibration.svg"),
    theme: Theme = "auto",
    json: Json = False,
) -> None:
    """Draw how often pairs are in the right order, against the probability that the scores give to it."""
    ranking, data = model_and_data(ranking, data)
    chart = ChartFile(out, theme, json, inputs=[ranking, data], read=read)
    from podium.plots.calibration import pair_calibration, sigma_of

    systems, judged = read_systems({"": ranking}, data_source(data, format_name, read), threads)
    if sigma is None and kind_of(ranking) == "model":
        from podium.rankers import load

        sigma = sigma_of(load(ranking))
    chart.write(
        pair_calibration(
            systems[""],
            judged,
            sigma=sigma,
            bins=bins,
            confidence=confidence,
            max_pairs=max_pairs,
            seed=seed,
        )
    )
