"""podium compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
    complete_metric,
    data_source,
    find_functions,
    make_table,
    out,
    print_json,
    say,
    show,
)
from podium.cli.file_order import data_and_rankings
from podium.cli.models import named_files, read_systems
from podium.evaluation import Comparison, PairComparison
from podium.evaluation import compare as compare_systems
from podium.evaluation.result import percent
from podium.metrics import metric as as_metric
from podium.names import expand_cutoffs

RankingsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="[NAME=]RANKING…",
        help="Two or more models, files of scores or TREC runs. Each may have a name, as in lambda=a.txt.",
        show_default=False,
    ),
]
MetricOption = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        help="A metric to compare by, or module:function for your own. May be given more than once. Default: ndcg@10.",
        autocompletion=complete_metric,
        show_default=False,
    ),
]
ChangedOption = Annotated[
    int, typer.Option("--changed", min=0, help="Number of queries to show, of those that differ most.")
]


def compare(
    data: DataFile,
    rankings: RankingsArgument,
    metric: MetricOption = None,
    changed: ChangedOption = 5,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    format_name: FormatName = None,
    read: ReadOption = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Compare rankings by paired tests over the queries, with Holm's correction for more than two rankings.

    With several metrics, each is compared by itself.
    """
    metrics = list(dict.fromkeys(name for each in metric or ["ndcg@10"] for name in expand_cutoffs(each)))
    find_functions(*metrics)
    for name in metrics:
        as_metric(name)
    data, rankings = data_and_rankings(data, rankings, data_first=True)
    files = named_files(rankings, "rankings", least=2)
    systems, judged = read_systems(files, data_source(data, format_name, read), threads)
    results = [
        compare_systems(systems, judged, name, confidence=confidence, seed=seed, n_changed=changed, num_threads=threads)
        for name in metrics
    ]
    if json:
        found = [result.to_dict() for result in results]
        whole = found[0] if len(found) == 1 else {"comparisons": found}
        print_json({"data": str(data), "rankings": {name: str(path) for name, path in files.items()}, **whole})
        return
    for number, result in enumerate(results):
        if number:
            out.print()
        _tell(result, data)


def _tell(result: Comparison, data: Path) -> None:
    """Print what was found by one metric."""
    means = make_table(f"{result.metric.label} over {result.n_queries} queries of {data}", "ranking", "mean")
    for name, mean in sorted(result.mean.items(), key=lambda item: -item[1]):
        means.add_row(escape(name), f"{mean:.4f}")
    show(means)
    for line in [*result.missing_lines(), *result.tie_lines()]:
        say(line)
    out.print()
    show(_differences(result))
    out.print()
    show(_p_values(result))
    for pair in result.pairs:
        if pair.most_changed:
            out.print()
            show(_changed(pair))


def _differences(result: Comparison) -> Table:
    table = make_table("differences", "pair", "mean", f"{percent(result.confidence)} interval", "won", "lost", "tied")
    for pair in result.pairs:
        low, high = pair.interval
        counts = (str(count) for count in (pair.wins, pair.losses, pair.ties))
        table.add_row(escape(_title(pair)), f"{pair.difference:+.4f}", escape(f"[{low:+.4f}, {high:+.4f}]"), *counts)
    return table


def _p_values(result: Comparison) -> Table:
    several = len(result.pairs) > 1
    title = "p-values" + (", corrected for several pairs (Holm)" if several else "")
    table = make_table(title, "pair", *result.pairs[0].p_values)
    for pair in result.pairs:
        p_values = (pair.corrected if several else pair.p_values).values()
        table.add_row(escape(_title(pair)), *(f"{p:.4f}" if p >= 0.0001 else f"{p:.1e}" for p in p_values))
    return table


def _title(pair: PairComparison) -> str:
    return f"{pair.first} − {pair.second}"


def _changed(pair: PairComparison) -> Table:
    table = make_table(f"queries that changed most, {_title(pair)}", "query", pair.first, pair.second, "difference")
    for change in pair.most_changed:
        table.add_row(
            escape(str(change.query_id)), f"{change.first:.4f}", f"{change.second:.4f}", f"{change.difference:+.4f}"
        )
    return table
