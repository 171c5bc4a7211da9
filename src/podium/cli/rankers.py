"""podium rankers."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from podium.cli.console import Json, out, print_json, say
from podium.errors import UnknownNameError
from podium.rankers import RANKERS

if TYPE_CHECKING:
    from podium.rankers import BaseRanker


def rankers(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A ranker to describe with all its settings.",
            autocompletion=lambda incomplete: [name for name in RANKERS if name.startswith(incomplete)],
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List the named rankers, or the settings of one."""
    if name is not None and name not in RANKERS:
        raise UnknownNameError("ranker", name, RANKERS)
    chosen = {key: describe_ranker(RANKERS[key]) for key in (RANKERS if name is None else [name])}
    if json:
        print_json(chosen)
        return
    if name is not None:
        _explain(name, chosen[name])
        return
    table = Table(show_lines=True)
    for column in ("ranker", "definition", "defaults"):
        table.add_column(column)
    for key, described in chosen.items():
        summary = f"{described['summary']}\nIn Python: {described['class']}"
        table.add_row(key, escape(summary), escape(_defaults(described["parameters"])))
    out.print(table)
    say("podium rankers NAME lists a ranker's settings; podium train --set gives them values.")


def describe_ranker(kind: type[BaseRanker]) -> dict[str, Any]:
    """Return a ranker's class, the first sentence of its docstring, and its settings with defaults and descriptions."""
    return {
        "class": f"podium.{kind.__name__}",
        "summary": (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " "),
        "parameters": {
            name: {"default": parameter.default, "description": parameter.meaning}
            for name, parameter in kind.parameters().items()
        },
    }


def _defaults(parameters: dict[str, Any]) -> str:
    """Return the defaults that differ between rankers and are not switched off; `podium rankers NAME` shows all."""
    rows = {name: row["default"] for name, row in parameters.items() if name not in ("metric", "seed", "num_threads")}
    shown = {name: value for name, value in rows.items() if value is not None and value is not False}
    return "\n".join(f"{name}={str(value).replace(' ', '')}" for name, value in shown.items())


def _explain(name: str, described: dict[str, Any]) -> None:
    say(f"{name} ({described['class']})")
    say(described["summary"])
    say("")
    for parameter, row in sorted(described["parameters"].items()):
        say(f"  {parameter} = {row['default']!r}: {row['description']}")
