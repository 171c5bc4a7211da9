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


def convert(
    source: Annotated[Path, typer.Argument(help="The file to read.", show_default=False)],
    target: Annotated[
        Path,
        typer.Argument(help="The file to write; its ending says the format (.gz compresses text).", show_default=False),
    ],
    source_format: Annotated[
        str | None,
        typer.Option("--from", help="Format of SOURCE; by default its name or first lines tell.", show_default=False),
    ] = None,
    target_format: Annotated[
        str | None, typer.Option("--to", help="Format of TARGET; by default its ending tells.", show_default=False)
    ] = None,
    read: ReadOption = None,
    sparse: Annotated[bool, typer.Option("--sparse", help="LETOR text: leave zeros out.")] = False,
    drop: Drop = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", help="To turn scores into a TREC run or back: the data that was scored.", show_default=False
        ),
    ] = None,
    missing: Annotated[
        float | None,
        typer.Option("--missing", help="TREC run to scores: the score of rows that the run lacks.", show_default=False),
    ] = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """One format to another. LETOR text to the cache streams, so the file may be larger than memory."""
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
