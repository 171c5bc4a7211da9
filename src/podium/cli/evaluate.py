"""podium evaluate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from podium.cli.console import (
    Confidence,
    DataFile,
    FormatName,
    Json,
    ReadOption,
    Seed,
    Threads,
    check_outputs,
    data_source,
    find_functions,
    make_table,
    metric_option,
    print_json,
    say,
    show,
)
from podium.cli.file_order import model_and_data
from podium.cli.models import Rankings, Rows
from podium.cli.on_workers import EngineName, Scoring, find_engine, score_judged
from podium.cluster import Ray
from podium.data import RankingData, Run
from podium.errors import ParameterError
from podium.evaluation import Evaluation
from podium.evaluation import evaluate as evaluate_scores
from podium.evaluation.evaluate import DEFAULT_METRICS
from podium.evaluation.remarks import empty_lines, single_lines
from podium.evaluation.result import percent
from podium.files import Output, atomic_write
from podium.formats import Source

EvaluateMetrics = Annotated[list[str] | None, metric_option(", ".join(DEFAULT_METRICS))]
RankingArgument = Annotated[
    Path,
    typer.Argument(
        metavar="RANKING",
        help="A model, a file of scores (one per row of DATA, in its order), or a TREC run.",
        show_default=False,
    ),
]
PerQueryOption = Annotated[
    Path | None,
    typer.Option("--per-query", help="TSV file to write the values of every query to.", show_default=False),
]
CompleteOption = Annotated[
    bool,
    typer.Option(
        "--complete",
        "-c",
        help="With a TREC run: average over all judged queries. Those missing from the run count as 0 (trec_eval -c).",
    ),
]
MaxDocumentsOption = Annotated[
    int | None,
    typer.Option(
        "--max-documents",
        "-M",
        min=1,
        help="With a TREC run: use only the top M documents of each query (trec_eval -M).",
        show_default=False,
    ),
]


def evaluate(
    ranking: RankingArgument,
    data: DataFile,
    metric: EvaluateMetrics = None,
    per_query: PerQueryOption = None,
    confidence: Confidence = 0.95,
    complete: CompleteOption = False,
    max_documents: MaxDocumentsOption = None,
    seed: Seed = 0,
    format_name: FormatName = None,
    read: ReadOption = None,
    threads: Threads = None,
    engine: EngineName = "local",
    json: Json = False,
) -> None:
    """Evaluate a model or a ranking: the mean of each metric with its confidence interval.

    With a TREC run, metrics follow trec_eval's conventions unless they name another. With --engine "ray(workers=4)", a model scores the files of a directory on a Ray cluster. The values are exactly the same.
    """
    runs_on = find_engine(engine)
    ranking, data = model_and_data(ranking, data)
    if per_query is not None:
        check_outputs(Output(per_query, "per-query", "--per-query"), inputs=[ranking, data], read=read)
    find_functions(*metric or ())
    source = data_source(data, format_name, read)
    rankings = Rankings([ranking], source)
    if isinstance(runs_on, Ray):
        scores, judged = _on_cluster(runs_on, ranking, rankings, source)
    else:
        threads = threads or runs_on.threads
        rows = Rows.read(source, threads, rankings.scorers)
        judged, scores = rows.data, rankings.read(ranking, rows, threads)
    result = evaluate_scores(
        scores,
        judged,
        metric or DEFAULT_METRICS,
        confidence=confidence,
        complete=complete,
        max_documents=max_documents,
        seed=seed,
        num_threads=threads,
    )
    if per_query is not None:
        _write_per_query(result, per_query)
    if json:
        print_json({"ranking": str(ranking), "data": str(data), **result.to_dict()})
        return
    _tell(result, judged, f"{ranking} on {data}", is_run=isinstance(scores, Run))
    if per_query is not None:
        say(f"wrote {per_query}")


def _on_cluster(runs_on: Ray, ranking: Path, rankings: Rankings, source: Source) -> tuple[Any, RankingData]:
    if not rankings.scorers:
        raise ParameterError(
            "engine", str(runs_on), f"needs a model, and {ranking} holds scores that exist already", "leave it out"
        )
    how = Scoring(rankings.scorers[0], ranking, judged=True, threads=runs_on.threads)
    return score_judged(runs_on, source, how)


def _tell(result: Evaluation, judged: RankingData, title: str, *, is_run: bool) -> None:
    show(evaluation_table(result, title))
    say(f"{result.n_queries} queries" + ("; trec_eval's conventions" if is_run else ""))
    for line in [*result.missing_lines(), *single_lines(judged), *empty_lines(result), *result.tie_lines()]:
        say(line)


def evaluation_table(result: Evaluation, title: str) -> Table:
    """Return a table with one row per metric: its mean, its intervals, and the number of queries without relevant documents."""
    table = make_table(title, "metric", "mean", f"{percent(result.confidence)} interval", "bootstrap", "no relevant")
    for name in result.mean:
        spans = [f"[{low:.4f}, {high:.4f}]" for low, high in (result.interval[name], result.bootstrap_interval[name])]
        table.add_row(escape(name), f"{result.mean[name]:.4f}", *map(escape, spans), str(result.n_empty[name]))
    return table


def _write_per_query(result: Evaluation, path: Path) -> None:
    names = list(result.mean)
    with atomic_write(path, "per-query") as file:
        file.write("\t".join(["qid", *names]).encode() + b"\n")
        for k, query in enumerate(result.query_ids.tolist()):
            values = [repr(float(result.per_query[name][k])) for name in names]
            file.write("\t".join([str(query), *values]).encode() + b"\n")
