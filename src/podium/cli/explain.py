"""podium explain."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import numpy.typing as npt
import typer
from rich.markup import escape

from podium.cli.console import (
    FormatName,
    Json,
    ReadOption,
    Seed,
    Threads,
    complete_metric,
    data_source,
    make_table,
    print_json,
    say,
    show,
)
from podium.cli.file_order import model_and_data
from podium.cli.models import MODEL_HELP, Rows
from podium.data.feature_names import default_names, feature_name
from podium.data.presentation import query_title
from podium.errors import FormatError, ParameterError
from podium.rankers.opening import open_ranker

if TYPE_CHECKING:
    from podium.data import RankingData
    from podium.explaining import PermutationImportance, Why
    from podium.rankers import BaseRanker


Model = Annotated[Path, typer.Argument(metavar="MODEL", help=MODEL_HELP, show_default=False)]
Data = Annotated[
    Path | None,
    typer.Argument(
        metavar="DATA",
        help="Judged data in any format. It is needed for --permutation and --query.",
        show_default=False,
    ),
]
Query = Annotated[
    str | None,
    typer.Option(
        "--query",
        help="A query id: list its documents in the model's order or, with --above and --below, explain the order of two of "
        "them.",
        show_default=False,
    ),
]
Above = Annotated[
    str | None,
    typer.Option(
        "--above",
        metavar="DOC",
        help="The first document: its id, or its row in the query, counted from 1.",
        show_default=False,
    ),
]
Below = Annotated[
    str | None,
    typer.Option("--below", metavar="DOC", help="The second document, given in the same way.", show_default=False),
]
Permutation = Annotated[
    bool,
    typer.Option(
        "--permutation", help="Also measure how far a metric falls when the values of a feature are permuted."
    ),
]
PermutationMetric = Annotated[
    str | None,
    typer.Option(
        "--metric",
        "-m",
        help="With --permutation: the metric. By default the one that the model was trained for.",
        autocompletion=complete_metric,
        show_default=False,
    ),
]
Repeats = Annotated[int, typer.Option("--repeats", help="With --permutation: number of permutations.")]
Among = Annotated[
    str,
    typer.Option("--among", help="With --permutation: permute values within each 'query', or among 'all' documents."),
]
Top = Annotated[int, typer.Option("--top", min=1, help="Number of features or documents to print.")]


def explain(
    context: typer.Context,
    model: Model,
    data: Data = None,
    query: Query = None,
    above: Above = None,
    below: Below = None,
    permutation: Permutation = False,
    metric: PermutationMetric = None,
    repeats: Repeats = 5,
    among: Among = "query",
    top: Top = 20,
    seed: Seed = 0,
    format_name: FormatName = None,
    read: ReadOption = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Explain which features a model uses, or why it ranks one document above another.

    For trees, the table shows the total gain and the number of each feature's splits; for a linear model, the weights.
    For any model, --permutation measures how much a metric falls without the feature.
    With --query, the documents of the query are listed in the model's order.
    With --query, --above and --below, the table shows what each feature contributes to the difference between two scores (trees and linear models).
    """
    _check(data, query, above, below, permutation)
    if not permutation:
        _refuse_what_permutation_takes(context)
    if data is not None:
        model, data = model_and_data(model, data)
    source = None if data is None else data_source(data, format_name, read)
    ranker = open_ranker(model)
    ranker.num_threads = threads
    if source is None or not (permutation or query is not None):
        _importance(ranker, model, None, top, json)
        return
    judged = Rows.read(source, threads, [ranker.scorer_]).matched(ranker.scorer_)
    if query is None:
        from podium.explaining import permutation_importance

        how: dict[str, Any] = {"metric": metric, "repeats": repeats, "seed": seed, "among": among}
        _importance(ranker, model, permutation_importance(ranker, judged, num_threads=threads, **how), top, json)
    elif above is None or below is None:
        _order(ranker, judged, query, top, json)
    else:
        _why(ranker.why(judged, query=query, above=above, below=below), top, json)


def _check(data: Path | None, query: str | None, above: str | None, below: str | None, permutation: bool) -> None:
    if (above is None) != (below is None) or (above is not None and query is None):
        name, other = ("below", "above") if above is None else ("above", "below")
        raise ParameterError(
            name, rule=f"needs {{query}} and {{{other}}} too", remedy="give a query and two of its documents"
        )
    if query is not None and permutation:
        raise ParameterError(
            "permutation", rule="is about all queries, and {query} about one", remedy="leave one of them out"
        )
    if data is None and (permutation or query is not None):
        name = "permutation" if permutation else "query"
        raise ParameterError(name, rule="needs judged data", remedy="write it as podium explain MODEL DATA …")


def _refuse_what_permutation_takes(context: typer.Context) -> None:
    for name in ("metric", "repeats", "among", "seed"):
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise ParameterError(
                name, rule="belongs to {permutation}", remedy="add {permutation} and judged data, or leave it out"
            )


def _order(ranker: BaseRanker, judged: RankingData, query: str, top: int, json: bool) -> None:
    from podium.explaining.reasons import query_number

    data = judged.select([query_number(judged, query)])
    scores = ranker.predict(data)
    order = np.argsort(-scores, kind="stable")
    ids = data.document_ids
    rows: list[dict[str, Any]] = [
        {
            "rank": rank,
            "row": int(row) + 1,
            **({} if ids is None else {"document": ids[row]}),
            "label": float(data.labels[row]),
            "score": float(scores[row]),
        }
        for rank, row in enumerate(order, start=1)
    ]
    if json:
        print_json({"query": query, "documents": rows})
        return
    table = make_table(f"{query_title(str(query))}, {len(rows)} documents", *rows[0])
    for each in rows[:top]:
        table.add_row(*(f"{v:.6g}" if isinstance(v, float) else escape(str(v)) for v in each.values()))
    show(table)
    if len(rows) > top:
        say(f"{len(rows) - top} more; use --top {len(rows)} to print all")


def _why(found: Why, top: int, json: bool) -> None:
    if json:
        print_json(found.to_dict())
        return
    table = make_table(found.title(), "feature", *found.titles(), "contribution")
    for row in found.rows(top):
        table.add_row(*map(escape, row))
    show(table)


def _importance(ranker: BaseRanker, model: Path, fall: PermutationImportance | None, top: int, json: bool) -> None:
    columns = _known_columns(ranker)
    if not columns and fall is None:
        raise FormatError(
            model,
            "is neither a model of trees nor a linear one, so that its features have neither gains nor weights; add --permutation "
            "and judged data",
        )
    if json:
        names = fall.features if fall else ranker.feature_names_ or default_names(ranker.n_features_in_)
        known = {title: dict(zip(names, values.tolist(), strict=True)) for title, (values, _) in columns.items()}
        print_json({"model": str(model), **known, **({} if fall is None else {"permutation": fall.to_dict()})})
        return
    if fall is not None:
        order = fall.order
    else:
        first, _ = next(iter(columns.values()))
        order = np.argsort(-np.abs(first), kind="stable")
    _show_features(ranker, model, columns, fall, order[:top])


def _known_columns(ranker: BaseRanker) -> dict[str, tuple[npt.NDArray[Any], str]]:
    """Return what the model says of its features, by title, with the format of its values; the first orders the features."""
    weights = ranker.model_.feature_weights
    if weights is not None:
        return {"standardized_weight": (weights.standardized, "+.4g"), "weight": (weights.raw, "+.4g")}
    if not ranker.model_.has_splits:
        return {}
    return {
        "gain": (ranker.importance("gain"), ".4g"),
        "share": (ranker.feature_importances_, ".1%"),
        "splits": (ranker.importance("split"), "d"),
    }


def _show_features(
    ranker: BaseRanker,
    model: Path,
    known: dict[str, tuple[npt.NDArray[Any], str]],
    fall: PermutationImportance | None,
    shown: npt.NDArray[np.int64],
) -> None:
    named = fall.features if fall else ranker.feature_names_
    columns: dict[str, list[str]] = {"feature": [feature_name(int(k), named) for k in shown]}
    for title, (values, form) in known.items():
        columns[title.replace("_", " ")] = [f"{value:{form}}" for value in values[shown]]
    if fall is not None:
        columns[f"fall of {fall.metric}"] = [f"{mean:+.4f}" for mean in fall.mean[shown]]
        columns[f"{fall.confidence:.0%} interval"] = [
            f"[{low:+.4f}, {high:+.4f}]" for low, high in fall.interval[shown]
        ]
    table = make_table(f"{model}: {ranker.n_features_in_} features", *columns)
    for cells in zip(*columns.values(), strict=True):
        table.add_row(*map(escape, cells))
    show(table)
    if fall is not None:
        say(f"{fall.metric} is {fall.baseline:.4f} before any feature is permuted")
