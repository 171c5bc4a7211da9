"""podium metrics."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from podium.cli.console import Json, complete_metric, out, print_json, say
from podium.metrics import METRICS, MetricDefinition, metric


def metrics(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="METRIC", help="A metric to describe in full.", autocompletion=complete_metric, show_default=False
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List every metric with its definition and parameters."""
    chosen = METRICS if name is None else {metric(name).name: metric(name).definition}
    if json:
        print_json({key: _as_dict(definition) for key, definition in chosen.items()})
        return
    if name is not None:
        _explain(metric(name).definition)
        return
    table = Table(show_lines=True)
    for column in ("metric", "definition", "parameters (default)"):
        table.add_column(column)
    for key, definition in chosen.items():
        table.add_row(
            f"{key}[@k]" if definition.takes_cutoff else key,
            f"{definition.summary}\n{definition.formula}\n[{definition.source}]",
            "\n".join(f"{p.name} = {p.default!r}" for p in definition.parameters),
        )
    out.print(table, markup=False)
    out.print(
        "A metric is written NAME(parameter=value, …)@cutoff, as in ndcg(gain='linear', empty='skip')@10.",
        markup=False,
        highlight=False,
    )


def _explain(definition: MetricDefinition) -> None:
    title = f"{definition.name}[@k]" if definition.takes_cutoff else definition.name
    lines = [title, definition.summary, definition.formula, f"Source: {definition.source}", "", "Parameters:"]
    lines += [f"  {p.name} = {p.default!r}: {p.description}" for p in definition.parameters]
    for line in lines:
        say(line)


def _as_dict(definition: MetricDefinition) -> dict[str, object]:
    return {
        "summary": definition.summary,
        "formula": definition.formula,
        "source": definition.source,
        "takes_cutoff": definition.takes_cutoff,
        "higher_is_better": definition.higher_is_better,
        "parameters": {parameter.name: parameter.default for parameter in definition.parameters},
    }
