"""What commands share: printing, progress bars, errors, and the options for reading data."""

from __future__ import annotations

import contextlib
import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from podium.data import RankingData
from podium.data.canonical import fingerprint
from podium.errors import OutputError, ParameterError, UnknownNameError
from podium.files import Output
from podium.files import check_outputs as check_files
from podium.forces import FORCES, Force, force
from podium.formats import FORMATS, Format, Source, read_on_disk, read_sources, resolve
from podium.formats.format import Progress as ProgressCall
from podium.formats.sizes import side_files
from podium.metrics import METRICS

DROPPABLE = ("categorical_features", "document_ids", "document_weights", "feature_names", "pairs", "query_weights")

REPLACED: list[str] = []  # notes that are printed by note_replaced()
out = Console()
err = Console(stderr=True)


def _formats(incomplete: str) -> list[str]:
    return [name for name in FORMATS if name.startswith(incomplete)]


def complete_metric(incomplete: str) -> list[str]:
    """Return metric names for the shell's completion."""
    return [name for name in METRICS if name.startswith(incomplete)]


DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", help="Judged data in any format (podium data convert --help lists them).", show_default=False
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads", help="Number of threads. By default every core that this process may use.", show_default=False
    ),
]
Confidence = Annotated[float, typer.Option("--confidence", help="Confidence level of the intervals.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of all random numbers. The same seed gives the same result.")]
FormatName = Annotated[
    str | None,
    typer.Option(
        "--format",
        help=f"Format of the data: {', '.join(FORMATS)}. By default it is recognized by the file's name or first lines.",
        autocompletion=_formats,
        show_default=False,
    ),
]
ReadOption = Annotated[
    list[str] | None,
    typer.Option(
        "--read",
        metavar="NAME=VALUE",
        help="An option of the format's reader, such as absent=missing, index_base=0, scattered=group, label_column=grade, "
        "features=price,clicks or ignore=sku,listed. May be given more than once.",
        show_default=False,
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        "--drop",
        help=f"A part of the data to leave out: {', '.join(DROPPABLE)}. May be given more than once.",
        show_default=False,
    ),
]


def metric_option(default: str = "") -> Any:
    """Return the option for one or several metrics; `default` says which ones are used without it."""
    return typer.Option(
        "--metric",
        "-m",
        metavar="METRIC",
        help="A metric such as ndcg@10, ndcg@1,3,5 or \"ndcg(empty='skip')@5\" (podium metrics lists them), or module:function "
        f"for your own. May be given more than once.{default and f' Default: {default}.'}",
        autocompletion=complete_metric,
        show_default=False,
    )


MetricNames = Annotated[list[str] | None, metric_option()]


def named_force(name: str) -> Force:
    """Return the force of a command's argument. `module:function` is looked up in the current folder first."""
    find_functions(name)
    module = name.removesuffix(".py")
    if ":" not in name and module.lower() not in FORCES and Path(f"{module}.py").is_file():
        raise ParameterError("force", name, "names a module, not a function in it", f"write it as in {module}:function")
    return force(name)


def find_functions(*names: str) -> None:
    """Let modules be found in the current folder first, if one of these names is `module:function`."""
    if any(":" in name for name in names):
        look_in_current_folder()


def look_in_current_folder() -> None:
    """Let modules be found in the current folder first."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)


def say(text: str) -> None:
    """Print one line on standard output, without markup."""
    out.print(text, markup=False, highlight=False, soft_wrap=True)


def note(text: str) -> None:
    """Print one line on standard error, without markup."""
    err.print(text, markup=False, highlight=False, soft_wrap=True)


def print_json(value: Any) -> None:
    """Print indented JSON on standard output. Characters that cannot be encoded there are escaped."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False, default=str)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=2, allow_nan=False, default=str)
    sys.stdout.write(text + "\n")


@contextlib.contextmanager
def progress(title: str) -> Iterator[ProgressCall | None]:
    """Show a progress bar on standard error if it is a terminal; otherwise yield None."""
    if not err.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def make_table(title: str, *columns: str) -> Table:
    """Print a title and return an empty table whose columns are aligned to the right, except the first."""
    out.print(title, style="bold", markup=False, highlight=False, soft_wrap=True)
    return empty_table(*columns)


def empty_table(*columns: str) -> Table:
    """Return an empty table whose columns are aligned to the right, except the first."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for number, column in enumerate(columns):
        table.add_column(escape(column), justify="right" if number else "left")
    return table


def table_width(table: Table) -> int:
    """Return how wide a table is if nothing is cut or wrapped."""
    return out.measure(table, options=out.options.update(max_width=1000)).maximum


def show(table: Table) -> None:
    """Print a table at its full width, so that a narrow terminal wraps lines instead of cutting names."""
    width, before = table_width(table), out.width
    out.width = max(width, before)  # Rich never prints a table wider than the console
    try:
        out.print(table, width=width, crop=False, soft_wrap=True)
    finally:
        out.width = before


def data_source(path: Path, format_name: str | None, words: list[str] | None) -> Source:
    """Return the data file of a command's argument, with its format and the options of --read. The file is opened only once."""
    source = resolve(path, format_name)
    return source.with_options(_read_options(source.format, words))


def _read_options(reader: Format, given: list[str] | None) -> dict[str, Any]:
    """Parse the `NAME=VALUE` words of --read as options of the format's reader."""
    options: dict[str, Any] = {}
    for word in given or []:
        name, equals, text = word.partition("=")
        if not equals:
            raise ParameterError(
                "read",
                word,
                "must have the form NAME=VALUE",
                f"names that {reader.name} knows: {', '.join(reader.read_options) or 'none'}",
            )
        reader.check_options([name], reading=True)
        options[name] = reader.read_options[name].parse(text)
    return options


def check_drop(drop: list[str] | None) -> list[str]:
    """Return the parts to leave out. Raise UnknownNameError if one does not exist."""
    for name in drop or []:
        if name not in DROPPABLE:
            raise UnknownNameError("part to drop", name, DROPPABLE)
    return drop or []


def read_data(source: Source, threads: int | None, drop: list[str] | None = None) -> RankingData:
    """Read a data file, with a progress bar, and leave some parts out."""
    dropped: dict[str, Any] = dict.fromkeys(check_drop(drop))
    with progress(f"reading {Path(source.path).name}") as bar:
        data = source.read_data(num_threads=threads, progress=bar)
    note_replaced()
    return data.replace(**dropped) if dropped else data


def read_parts(
    paths: Sequence[Path],
    format_name: str | None,
    options: list[str] | None,
    threads: int | None,
    *,
    on_disk: bool = False,
) -> list[RankingData]:
    """Read training and validation data with the same features. A note says if features of sparse text had to be added.

    With `on_disk`, features are kept in files, and document ids are left out.
    """
    sources = [data_source(path, format_name, options) for path in paths]
    found: list[int] = []
    more: dict[str, Any] = {"document_ids": False} if on_disk else {}
    with progress(f"reading {', '.join(path.name for path in paths)}") as bar:
        read = read_on_disk if on_disk else read_sources
        parts = read(sources, num_threads=threads, progress=bar, on_widths=found.extend, **more)
    note_replaced()
    most = max(found, default=0)
    for path, width in zip(paths, found, strict=False):
        if width < most:
            note_filled(path, width, str(paths[found.index(most)]), most, sources[0].options.get("absent", "zero"))
    return parts


def note_same_data(data: RankingData, valid: RankingData | None) -> None:
    """Print a note if the validation data is the training data, on which nothing can be judged."""
    if valid is not None and fingerprint(data) == fingerprint(valid):
        note(
            "the validation data is the training data: values on it say nothing about new queries, and the last epochs "
            "look best; podium data split can set queries aside"
        )


def note_filled(path: Path, found: int, other: str, wanted: int, absent: str) -> None:
    """Print a note that a file of sparse text has fewer features than something else, and what the others count as."""
    rest = wanted - found
    taken = f"the other {rest} count" if rest > 1 else "the other one counts"
    note(f"{path} has {found} features, and {other} has {wanted}; {taken} as {'0' if absent == 'zero' else 'missing'}")


def check_outputs(
    *outputs: Output, inputs: Sequence[Path | None], read: list[str] | None = None, make_folders: bool = False
) -> None:
    """Check the files that a command will write before any work is done. Which ones it replaces is printed after the data was read.

    Args:
        outputs: the files to be written.
        inputs: the files that the command reads.
        read: the words of --read, which can name a file too.
        make_folders: whether missing folders will be created.
    """
    sizes = [Path(word.removeprefix("sizes=")) for word in read or () if word.startswith("sizes=")]
    beside = [side for path in inputs if path is not None for side in side_files(path)]
    found = check_files(outputs, inputs=[*inputs, *sizes, *beside], make_folders=make_folders)
    REPLACED.extend(f"{path} exists and will be replaced" for path in found)


def note_replaced() -> None:
    """Print which files will be replaced, once nothing can be wrong with the inputs any more."""
    for text in REPLACED:
        note(text)
    REPLACED.clear()


def refuse_stream(path: Path, option: str) -> None:
    """Refuse a pipe or a device for an output that has other files next to it."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise OutputError(
            f"{option} {path}: is a pipe or a device, and other files are written next to it; give the name of a file"
        )


@contextlib.contextmanager
def plain_warnings() -> Iterator[None]:
    """Print warnings as plain lines, with the options of the command in place of Python's arguments.

    A warning with a method `phrase` is about a training that has ended. It is printed at the end of the context, after the last
    lines about the training.
    """
    held: list[Any] = []

    def show(message: Warning | str, *rest: Any, **more: Any) -> None:
        if hasattr(message, "phrase"):
            held.append(message)
        else:
            note(f"podium: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        try:
            yield
        finally:
            for message in held:
                from podium.cli.spelling import phrase

                note(f"podium: {phrase(message)}")
