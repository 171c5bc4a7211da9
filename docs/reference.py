"""Writes the pages and pictures that are made from the program itself: references, verdicts and pictures.

python docs/reference.py
"""

from __future__ import annotations

import contextlib
import inspect
import io
import re
import shlex
import sys
import tempfile
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.console import Console

import podium
from podium.cli import console as shared
from podium.cli.app import app
from podium.cli.ranker_options import RankerCommand, declared_options, defaults_sentence
from podium.forces import FORCES
from podium.metrics import METRICS
from podium.ranker_table import RANKER_MODULES

DOCS = Path(__file__).parent
SIGNATURE_WIDTH = 100  # longer signatures are folded


def commands(group: Any, prefix: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with the words that call it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*prefix, name))
        else:
            yield (*prefix, name), command


def stub() -> str:
    """Return the stub of the package, which names the module of every public name, sorted as ruff sorts imports."""
    homes = {name: f"podium.{module}" for module, names in podium._MODULES.items() for name in names}
    homes |= {name: f"podium.rankers.{module}" for name, module in RANKER_MODULES.items()}
    homes |= dict.fromkeys(set(podium.__all__) - set(homes), "podium")  # modules
    order = sorted(homes, key=lambda name: (homes[name], not name.isupper(), not name[0].isupper(), name))
    lines = [f"from {homes[name]} import {name} as {name}" for name in order]
    head = '"""The public names, for editors and type checkers; `__init__.py` imports each when it is first used."""'
    return "\n".join([head, "", *lines, "", "__version__: str", "__all__: list[str]", ""])


def command_page() -> str:
    """The reference of the command line, from its own help."""
    lines = [
        "# Command line",
        "",
        "Made from the program's own help by `make docs`. Bad input ends with exit code 2 and a sentence on standard",
        "error; `--json` prints for machines. `podium --install-completion` teaches your shell the names.",
        "",
        "No command writes over a file that it reads (links are followed), or over an existing file of another kind: a log never",
        "replaces a model, and a model never replaces data. Files are told apart by their content. Replacing an older output of the",
        "same kind is fine; a line on standard error says so before the work begins. `ranker.save`, `podium.write` and the other",
        "functions that write keep the same rule and raise `OutputError`.",
    ]
    for words, command in commands(typer.main.get_command(app)):
        call = " ".join(["podium", *words])
        arguments = [p for p in command.params if p.param_type_name == "argument"]
        options = [p for p in command.params if p.param_type_name == "option" and p.name != "help"]
        lines += ["", f"## `{call}`", "", command.help.split("\n\n")[0].replace("\n", " "), ""]
        shown = " ".join(
            (p.metavar or p.name.upper()) if p.required else f"[{p.metavar or p.name.upper()}]" for p in arguments
        )
        lines += ["```", f"{call} {shown} [options]".replace("  ", " "), "```", "", "| | |", "|---|---|"]
        lines += [f"| `{p.metavar or p.name.upper()}` | {cell(p.help)} |" for p in arguments]
        for p in options:
            default = "" if p.default in (None, False) or not p.show_default else f" (default {p.default})"
            if isinstance(command, RankerCommand) and p.name in declared_options():
                default = f" {cell(defaults_sentence(p.name))}"
            lines.append(f"| {', '.join(f'`{name}`' for name in p.opts)} | {cell(p.help)}{default} |")
    return "\n".join(lines) + "\n"


def cell(text: str) -> str:
    """Help as it fits into a table."""
    return text.replace("|", "\\|").replace("\n", " ")


def names_page() -> str:
    """The public names of the package, with what their docstrings say."""
    lines = ["# Python names", "", "Every public name of `podium`, made from the docstrings by `make docs`.", ""]
    for name in podium.__all__:
        value = getattr(podium, name)
        if inspect.ismodule(value) and callable(value):  # the module of a function of the same name
            lines.append(entry(name, inspect.unwrap(value), "##"))
        elif inspect.ismodule(value):
            lines += [f"## `podium.{name}`", "", (inspect.getdoc(value) or "").split("\n\n")[0], ""]
            lines += [entry(f"{name}.{inner}", getattr(value, inner), "###") for inner in value.__all__]
        else:
            lines.append(entry(name, value, "##"))
    return "\n".join(lines)


def entry(name: str, value: Any, level: str) -> str:
    """One name: its signature, and its docstring as it stands."""
    signature = "" if isinstance(value, type) and issubclass(value, Exception) else str(inspect.signature(value))
    signature = re.sub(r"(: |-> )'([^']*)'", r"\1\2", signature)
    signature = folded(name, signature.removesuffix(" -> None") if isinstance(value, type) else signature)
    text = (inspect.getdoc(value) or "").replace("```", "")
    head, _, rest = text.partition("\n\n")
    body = f"\n```text\n{rest}\n```\n" if rest else ""
    return f"{level} `podium.{name}`\n\n```python\n{signature}\n```\n\n{head}\n{body}"


def folded(name: str, signature: str) -> str:
    """A call on one line if it is short, else with one parameter per line."""
    if len(name + signature) <= SIGNATURE_WIDTH:
        return name + signature
    inside, _, result = signature[1:].rpartition(")")
    parts, depth, start = [], 0, 0
    for place, sign in enumerate(inside):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            parts.append(inside[start:place].strip())
            start = place + 1
    parts.append(inside[start:].strip())
    return "\n".join([f"{name}(", *(f"    {part}," for part in parts), f"){result}"])


def picture() -> str:
    """A terminal with a comparison of two rankings, as an SVG."""
    recorder = Console(record=True, width=86, file=io.StringIO(), force_terminal=True)
    shared.out = recorder
    for module in ("evaluate", "compare"):
        __import__(f"podium.cli.{module}", fromlist=["out"]).out = recorder
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        data = podium.synthetic.network(queries=200, seed=3)
        podium.write(data, "test.txt")
        rng = np.random.default_rng(0)
        noise = rng.normal(size=(2, len(data)))
        podium.write(data.labels + 2.0 * noise[0], "before.scores")
        podium.write(data.labels + 1.8 * noise[1], "after.scores")
        for words in (
            "evaluate after.scores test.txt -m ndcg@10 -m 'map(rel=4)' -m 'err(max=5)@10'",
            "compare test.txt after.scores before.scores -m ndcg@10 --changed 3",
        ):
            recorder.print(f"[bold green]$[/] podium {words}", highlight=False)
            app(shlex.split(words), standalone_mode=False)
            recorder.print()
        return recorder.export_svg(title="podium", unique_id="podium")


BETWEEN = re.compile("(?<=<!-- laws table: begin -->\n).*?(?=<!-- laws table: end -->)", re.DOTALL)
METRIC_TABLES = re.compile(
    r"(<!-- (?P<name>metrics|parameters) table: begin -->\n).*?(<!-- (?P=name) table: end -->)", re.DOTALL
)
EXAMPLE = re.compile(r"```python\n(.*?)```(\n\n```text\n.*?```)?", re.DOTALL)


def laws_table() -> str:
    """Return the table of the laws that the built-in forces obey."""
    lines = ["| force | momentum | action = reaction | conservative | convex | consistent |", "|---" * 6 + "|"]
    names = [name for definition in FORCES.values() for name in (definition.example, *definition.examples)]
    for name in names:
        verdict, words = podium.laws(name), []
        for law, finding in verdict.findings.items():
            why = {"convex": f" (α = {verdict.alpha:.3g})", "consistent": f" ({100 * share_worse(verdict):.2g} %)"}.get(
                law, ""
            )
            words.append("yes" if finding.holds else f"**no**{why.replace('α = inf', 'no α')}")
        lines.append(f"| `{name}` | {' | '.join(words[:5])} |")
    return "\n".join(lines) + "\n"


def metrics_table() -> str:
    """Every metric with its definition."""
    lines = ["| metric | definition | formula | parameters | source |", "|---" * 5 + "|"]
    for name, definition in METRICS.items():
        shown = name + ("@k" if definition.takes_cutoff else "")
        parameters = ", ".join(f"`{parameter.name}`" for parameter in definition.parameters)
        cells = (f"`{shown}`", definition.summary, cell(definition.formula), parameters, definition.source)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def parameters_table() -> str:
    """Every parameter of metrics, and which metrics take it."""
    lines = ["| parameter | default | meaning | metrics |", "|---" * 4 + "|"]
    takers: dict[Any, list[str]] = {}
    for name, definition in METRICS.items():
        for parameter in definition.parameters:
            takers.setdefault(parameter, []).append(f"`{name}`")
    for parameter, names in takers.items():
        lines.append(f"| `{parameter.name}` | `{parameter.default!r}` | {parameter.description} | {', '.join(names)} |")
    return "\n".join(lines)


def metrics_page(text: str) -> str:
    """The page of the metrics with its tables filled."""
    tables = {"metrics": metrics_table, "parameters": parameters_table}
    return METRIC_TABLES.sub(lambda found: f"{found[1]}\n{tables[found['name']]()}\n\n{found[3]}", text)


def share_worse(verdict: podium.Verdict) -> float:
    """The share of meetings where the force worsens its metric."""
    return verdict["consistent"].numbers["share_worse"]


def laws_page(text: str) -> str:
    """The page of the laws with its table filled and what the program says of each example after it."""
    module = types.ModuleType("mine")
    sys.modules["mine"] = module

    def with_output(match: re.Match[str]) -> str:
        exec(match[1], module.__dict__)
        return f"```python\n{match[1]}```" + (f"\n\n```text\n{module.verdict!r}\n```" if match[2] else "")

    try:
        return EXAMPLE.sub(with_output, BETWEEN.sub(lambda _: laws_table(), text))
    finally:
        del sys.modules["mine"]


def force_pictures() -> dict[str, str]:
    """The pictures of the page of the laws, by file name."""
    pairs = ("ranknet", "spring", "hinge", "squared_hinge", "exponential", "lambdarank(ndcg)")
    fields = [podium.plots.force_field(name) for name in ("ranknet", "lambdarank(ndcg)")]
    return {
        "forces-gap.svg": podium.plots.to_svg(podium.plots.force_gap(pairs)),
        "forces-field.svg": podium.plots.to_svg(podium.plots.beside(*fields)),
    }


if __name__ == "__main__":
    (DOCS / "cli.md").write_text(command_page())
    (DOCS.parent / "src" / "podium" / "__init__.pyi").write_text(stub())
    (DOCS / "api.md").write_text(names_page())
    (DOCS / "metrics.md").write_text(metrics_page((DOCS / "metrics.md").read_text()))
    (DOCS / "laws.md").write_text(laws_page((DOCS / "laws.md").read_text()))
    (DOCS / "images").mkdir(exist_ok=True)
    for name, svg in force_pictures().items():
        (DOCS / "images" / name).write_text(svg)
    (DOCS / "images" / "compare.svg").write_text(picture())
