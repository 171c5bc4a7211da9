"""The tables of the docs that are made from the declarations of forces, models, schedules and rankers.

python docs/setting_tables.py
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from pathlib import Path

from podium.forces import FORCES
from podium.models import MODELS
from podium.models.tree_defaults import DOCUMENTS, EFFORTS, Budget, tree_defaults
from podium.models.tree_defaults import TABLES as TREE_TABLES
from podium.parameters import Parameter
from podium.rankers import RANKERS
from podium.training import SCHEDULES

DOCS = Path(__file__).parent
BLOCK = re.compile(r"(<!-- (?P<name>[\w -]+) table: begin -->\n).*?(<!-- (?P=name) table: end -->)", re.DOTALL)


def rows(header: Iterable[str], cells: Iterable[Iterable[str]]) -> str:
    """Return a table; pipes inside cells are escaped."""
    head = list(header)
    lines = [head, ["---"] * len(head), *([cell.replace("|", r"\|") for cell in row] for row in cells)]
    return (
        "\n".join(f"| {' | '.join(line)} |" if line[0] != "---" else "|" + "---|" * len(line) for line in lines) + "\n"
    )


def settings(parameters: Iterable[Parameter]) -> str:
    """Return a table of settings: name, default, meaning, and the range that a search looks in."""
    return rows(("setting", "default", "meaning", "range of a search"), [(*cells(p), searched(p)) for p in parameters])


def cells(parameter: Parameter) -> tuple[str, str, str]:
    """Return name, default and meaning."""
    name = f"`{parameter.name}`" + (f" (`{parameter.alias}`)" if parameter.alias else "")
    return name, f"`{parameter.default!r}`", parameter.meaning


def searched(parameter: Parameter) -> str:
    """Return the range that a search looks in, as it is written."""
    if parameter.search is None:
        return ""
    return f"`{parameter.search.low:g}..{parameter.search.high:g}{':log' if parameter.search.log else ''}`"


def defaults_table() -> str:
    """Return what each effort chooses, by the number of training documents."""
    header = ("effort", "setting", *(f"{documents:,}" for documents in DOCUMENTS))
    found = []
    for effort in EFFORTS:
        chosen = [tree_defaults(Budget(documents, effort=effort), "symmetric") for documents in DOCUMENTS]
        names = ["num_leaves", *(name for name in TREE_TABLES[effort] if name != "depth")]
        found += [(f"`{effort}`", f"`{name}`", *(f"{each[name]:g}" for each in chosen)) for name in names]
    return rows(header, found)


def forces_table() -> str:
    """Return every force with its formula and source."""
    found = []
    for definition in FORCES.values():
        inside = [
            *([definition.takes] if definition.takes else []),
            *(f"{p.name}={p.default}" for p in definition.parameters),
        ]
        name = f"{definition.name}({', '.join(inside)})" if inside else definition.name
        found.append((f"`{name}`", definition.summary, definition.formula, definition.source))
    return rows(("force", "definition", "formula", "source"), found)


def models_table() -> str:
    """Return every model with its formula and settings."""
    found = [
        (f"`{name}`", kind.summary, kind.formula, ", ".join(f"`{p}`" for p in kind.parameters()))
        for name, kind in MODELS.items()
    ]
    return rows(("model", "what it is", "formula", "settings"), found)


def rankers_table() -> str:
    """Return every named ranker with its class and definition."""
    found = []
    for name, kind in RANKERS.items():
        summary = (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ").replace("|", "&#124;")
        found.append((f"`{name}`", f"`podium.{kind.__name__}`", summary))
    return rows(("on the command line", "in Python", "definition"), found)


def schedules_table() -> str:
    """Return every schedule with the forces and models that it goes with, and its settings."""
    found = [
        (f"`{name}`", kind.summary, kind.fits, ", ".join(f"`{p.short}`" for p in kind.parameters().values()))
        for name, kind in SCHEDULES.items()
    ]
    return rows(("schedule", "what it does", "forces; models", "settings"), found)


def settings_page() -> str:
    """Return the page that lists every setting of every force, model, schedule and ranker."""
    lines = [
        "# Every setting",
        "",
        "Made from the declarations of the settings by `make docs`. A setting is declared once, and the constructor, its check, the",
        "option of the command line, the range of a search and this page follow from it. A name in parentheses is the short name that",
        'printable names use, as in `"adam(rate=0.001)"`. `ranker.resolved_` and the training log show what a default was resolved to.',
        "",
        "## Forces",
    ]
    for definition in FORCES.values():
        if definition.parameters:
            lines += ["", f"### `{definition.name}`", "", settings(definition.parameters).rstrip()]
    for title, table in (("Models", MODELS), ("Schedules", SCHEDULES)):
        lines += ["", f"## {title}"]
        for name, kind in table.items():
            lines += ["", f"### `{name}`", "", kind.summary, "", settings(kind.parameters().values()).rstrip()]
    lines += ["", "## Rankers"]
    for name, ranker in RANKERS.items():
        summary = (inspect.getdoc(ranker) or "").split("\n\n")[0].replace("\n", " ")
        lines += ["", f"### `{name}` (`podium.{ranker.__name__}`)", "", summary, ""]
        lines += [settings(ranker.parameters().values()).rstrip()]
    return "\n".join(lines) + "\n"


TABLES = {
    "defaults": defaults_table,
    "forces": forces_table,
    "models": models_table,
    "rankers": rankers_table,
    "schedules": schedules_table,
}


def filled(text: str) -> str:
    """Return a page with the tables that are made here filled in."""
    return BLOCK.sub(lambda m: m[1] + TABLES[m["name"]]() + m[3] if m["name"] in TABLES else m[0], text)


def main() -> None:
    """Write the page of settings, and fill the tables of the others."""
    (DOCS / "settings.md").write_text(settings_page())
    for path in DOCS.glob("*.md"):
        text = path.read_text()
        if filled(text) != text:
            path.write_text(filled(text))


if __name__ == "__main__":
    main()
