"""podium data shard."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium.cli.console import FormatName, Json, ReadOption, Threads, data_source, note, print_json, progress, say
from podium.cli.on_workers import EngineName, find_engine
from podium.data import RankingData
from podium.formats import read_on_disk_together, write_shards
from podium.formats.shards import TARGETS, check_target
from podium.formats.shuffling import Places

InputsArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="INPUT...",
        help="Judged data: files of any format, or directories of them. All make one data set, in the order given.",
        show_default=False,
    ),
]
ShardsOption = Annotated[int, typer.Option("--shards", min=1, help="Number of files to write.", show_default=False)]
FolderOption = Annotated[
    Path, typer.Option("--out", "-o", metavar="DIR", help="New directory to write to.", show_default=False)
]
TargetOption = Annotated[str, typer.Option("--to", help=f"Format of the shards: {' or '.join(TARGETS)}.")]
ByQueryOption = Annotated[
    bool,
    typer.Option("--by-query", help="Cut between queries, never inside one. This is always done."),
]


def shard(
    inputs: InputsArgument,
    shards: ShardsOption,
    folder: FolderOption,
    target_format: TargetOption = "cache",
    by_query: ByQueryOption = True,
    format_name: FormatName = None,
    read: ReadOption = None,
    threads: Threads = None,
    engine: EngineName = "local",
    json: Json = False,
) -> None:
    """Write data as shards: files of whole queries with about as many documents each, and a manifest.

    The data may be larger than memory. If the rows of every query are together, the data is only cut. If not, they are put together first, in this process or, with --engine "ray(workers=4)", by a shuffle of Ray Data; the order of the rows of a query stays. The manifest holds the number of documents, queries and features, and a checksum of every file, by which a shard that is missing, damaged or changed is noticed when the directory is read.
    """
    check_target(folder, shards, target_format)
    runs_on = find_engine(engine)
    sources = [data_source(path, format_name, read) for path in inputs]
    with progress("reading") as bar:
        data = read_on_disk_together(sources, num_threads=threads, progress=bar, scattered=True)
    _note_split(data)
    with progress("writing shards") as bar:
        made = write_shards(data, folder, shards, format=target_format, progress=bar, engine=runs_on)
    if json:
        rows = [
            {"file": str(folder / each.file), "queries": each.queries, "documents": each.documents}
            for each in made.shards
        ]
        print_json({"folder": str(folder), "format": made.format, "features": made.features, "shards": rows})
        return
    for each in made.shards:
        say(f"wrote {folder / each.file}: {each.queries} queries, {each.documents} documents")
    say(
        f"wrote {folder / 'manifest.json'}: {made.queries} queries, {made.documents} documents, {made.features} features"
    )


def _note_split(data: RankingData) -> None:
    """Print a note if the rows of a query are not together."""
    places = Places.of(data)
    if places.order is not None:
        several = f"{places.n_split} queries are in several places, the first of them"
        subject = several if places.n_split > 1 else "One query is in several places:"
        note(f"{subject} {places.first_split(data)}; the rows of a query are put together, in their order")
