"""podium rankers."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.cli.console import Json, print_json, say
from podium.rankers import RANKERS, find_ranker_name

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
    name = None if name is None else find_ranker_name(name)
    chosen = {key: describe_ranker(RANKERS[key]) for key in (RANKERS if name is None else [name])}
    if json:
        print_json(chosen)
        return
    if name is not None:
        _explain(name, chosen[name])
        return
    width = max(map(len, chosen))
    for key, described in chosen.items():
        say(f"{key:{width}}  {described['summary'].partition('. ')[0].rstrip('.')}")
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


def _explain(name: str, described: dict[str, Any]) -> None:
    say(f"{name} ({described['class']})")
    say(described["summary"])
    say("")
    for parameter, row in sorted(described["parameters"].items()):
        say(f"  {parameter} = {row['default']!r}: {row['description']}")
