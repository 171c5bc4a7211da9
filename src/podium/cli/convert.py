"""podium data convert."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from podium.cli.console import (
    Drop,
    Json,
    ReadOption,
    Threads,
    check_drop,
    check_outputs,
    data_source,
    print_json,
    progress,
    read_data,
    say,
)
from podium.files import Output
from podium.formats import FORMATS, convert_source, find_target_format

FORMAT_LIST = "\n\n".join(
    f"[bold]{format.name}[/] ({', '.join(format.suffixes) or 'by content'}): {format.description}"
    for format in FORMATS.values()
)


TargetArgument = Annotated[
    Path,
    typer.Argument(
        metavar="TARGET",
        help="File to write. Its suffix determines the format; .gz compresses text.",
        show_default=False,
    ),
]
SourceFormatOption = Annotated[
    str | None,
    typer.Option(
        "--from",
        help="Format of SOURCE. By default it is recognized by the name or the first lines.",
        show_default=False,
    ),
]
TargetFormatOption = Annotated[
    str | None,
    typer.Option("--to", help="Format of TARGET. By default its suffix determines it.", show_default=False),
]
DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data", help="The data that was scored, to convert scores to a TREC run or back.", show_default=False
    ),
]
MissingOption = Annotated[
    float | None,
    typer.Option(
        "--missing",
        help="From a TREC run to scores: the score of rows that are missing from the run.",
        show_default=False,
    ),
]


def convert(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="File to read.", show_default=False)],
    target: TargetArgument,
    source_format: SourceFormatOption = None,
    target_format: TargetFormatOption = None,
    read: ReadOption = None,
    sparse: Annotated[bool, typer.Option("--sparse", help="With LETOR text: leave zeros out.")] = False,
    drop: Drop = None,
    data: DataOption = None,
    missing: MissingOption = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Convert a file from one format to another. From LETOR text to the cache, the file may be larger than memory."""
    given = data_source(source, source_format, read)
    writer = find_target_format(target, target_format)
    check_outputs(Output(target, writer.name), inputs=[source, data], read=read)
    with progress(f"converting {source.name}") as bar:
        convert_source(
            given,
            target,
            writer,
            num_threads=threads,
            progress=bar,
            write_options={"sparse": True} if sparse else {},
            drop=check_drop(drop),
            data=None if data is None else read_data(data_source(data, None, None), threads),
            missing=missing,
        )
    size = os.path.getsize(target)  # noqa: PTH202
    if json:
        print_json({"source": str(source), "target": str(target), "format": writer.name, "bytes": size})
    else:
        say(f"wrote {target} ({writer.name}, {size / 1e6:,.1f} MB)")


convert.__doc__ = f"{convert.__doc__}\n\n{FORMAT_LIST}"
