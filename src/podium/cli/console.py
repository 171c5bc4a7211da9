"""What the commands share: how they print, show progress, fail, and take the options of reading."""

from __future__ import annotations

import contextlib
import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from podium.data import RankingData, Run
from podium.errors import FormatError, ParameterError
from podium.formats import FORMATS, find_format, read, read_scores
from podium.formats.format import Progress as ProgressCall
from podium.metrics import METRICS

out = Console()
err = Console(stderr=True)


def _formats(incomplete: str) -> list[str]:
    return [name for name in FORMATS if name.startswith(incomplete)]


def complete_metric(incomplete: str) -> list[str]:
    """Metric names for the shell's completion."""
    return [name for name in METRICS if name.startswith(incomplete)]


DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", help="Judged data, any format (podium data convert --help lists them).", show_default=False
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of tables.")]
Threads = Annotated[
    int | None,
    typer.Option("--threads", help="Threads to use; by default every core this process may use.", show_default=False),
]
Confidence = Annotated[float, typer.Option("--confidence", help="Confidence of the intervals.")]
Seed = Annotated[int, typer.Option("--seed", help="The same seed gives the same result.")]
FormatName = Annotated[
    str | None,
    typer.Option(
        "--format",
        help=f"Format of the data: {', '.join(FORMATS)}. By default its name or first lines tell.",
        autocompletion=_formats,
        show_default=False,
    ),
]
ReadOption = Annotated[
    list[str] | None,
    typer.Option(
        "--read",
        metavar="NAME=VALUE",
        help="An option of the format's reader, e.g. absent=missing, index_base=0, scattered=group, label_column=grade. May be given more than once.",
        show_default=False,
    ),
]
MetricNames = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        help="A metric such as ndcg@10 or \"ndcg(empty='skip')@5\" (podium metrics lists them). May be given more than once.",
        autocompletion=complete_metric,
        show_default=False,
    ),
]


def fail(sentence: str, code: int = 2) -> NoReturn:
    """One clear sentence on stderr, and the exit code for bad input."""
    err.print(f"podium: {sentence}", markup=False, highlight=False, soft_wrap=True)
    sys.exit(code)


def print_json(value: Any) -> None:
    """JSON on stdout, readable and stable."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


@contextlib.contextmanager
def progress(title: str) -> Iterator[ProgressCall | None]:
    """A bar on stderr while something long goes on; nothing where nobody watches."""
    if not err.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def make_table(title: str, *columns: str) -> Table:
    """An open table with its title on a line of its own; all columns but the first are numbers."""
    out.print(title, style="bold", highlight=False, soft_wrap=True)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left")
    return table


def read_ranking(path: Path, judged: RankingData, data: Path) -> Any:
    """Scores for every row of the data, or a run."""
    scores = read_scores(path)
    if not isinstance(scores, Run) and len(scores) != judged.n_documents:
        raise FormatError(
            path,
            f"has {len(scores)} scores, but {data} has {judged.n_documents} documents; there must be one a document, in the same order",
        )
    return scores


def read_options(path: Path, format_name: str | None, given: list[str] | None) -> dict[str, Any]:
    """`NAME=VALUE` words as keyword options of the format's reader, with the type its signature asks for."""
    reader = find_format(path, format_name, reading=True)
    known = {
        name: p
        for name, p in inspect.signature(reader.read).parameters.items()
        if p.kind is p.KEYWORD_ONLY and name not in ("num_threads", "progress")
    }
    options: dict[str, Any] = {}
    for word in given or []:
        name, equals, text = word.partition("=")
        if not equals or name not in known:
            names = ", ".join(known) or "none"
            raise ParameterError(
                f"--read {word}: format {reader.name!r} has no such option; write NAME=VALUE with a name of: {names}"
            )
        options[name] = _value(name, text, known[name])
    return options


def _value(name: str, text: str, parameter: inspect.Parameter) -> Any:
    annotation = str(parameter.annotation)
    if isinstance(parameter.default, bool):
        if text.lower() not in ("true", "false"):
            raise ParameterError(f"--read {name}={text} must be true or false")
        return text.lower() == "true"
    if "Sequence" in annotation or "list" in annotation:
        return text.split(",")
    if text.lstrip("-").isdigit() and ("int" in annotation or "Literal" in annotation):
        return int(text)
    return text


def read_data(path: Path, format_name: str | None, options: list[str] | None, threads: int | None) -> RankingData:
    """The data of a command's argument, with a progress bar."""
    keywords = read_options(path, format_name, options)
    with progress(f"reading {path.name}") as bar:
        return read(path, format=format_name, num_threads=threads, progress=bar, **keywords)
