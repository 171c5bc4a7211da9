"""podium data split."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from podium.cli.console import (
    DataFile,
    Drop,
    FormatName,
    Json,
    ReadOption,
    Seed,
    Threads,
    check_outputs,
    data_source,
    print_json,
    read_data,
    say,
)
from podium.cli.stopping import Stopped
from podium.data import RankingData
from podium.data import split as split_data
from podium.data.splits import query_folds
from podium.errors import ParameterError, UnknownNameError
from podium.files import Output, make_folder
from podium.formats import FORMATS, write

NAMES = {2: ["train", "test"], 3: ["train", "vali", "test"]}
PLAIN_NAME = re.compile(r"[\w-]+")


FolderArgument = Annotated[
    Path,
    typer.Argument(
        metavar="FOLDER",
        help="Folder to write train, vali and test to, or Fold1, Fold2, … with these parts.",
        show_default=False,
    ),
]
SharesOption = Annotated[
    str | None,
    typer.Option(
        "--shares",
        help="Shares of the queries in train, vali and test, or in train and test. Default: 0.6,0.2,0.2.",
        show_default=False,
    ),
]
NamesOption = Annotated[
    str | None,
    typer.Option("--names", help="Names of the parts of --shares, such as train,vali.", show_default=False),
]
FoldsOption = Annotated[
    int | None,
    typer.Option(
        "--folds",
        min=3,
        help="Instead of --shares: number of folds, each with train, vali and test.",
        show_default=False,
    ),
]
TargetFormatOption = Annotated[
    str | None, typer.Option("--to", help="Format of the parts. By default the format of DATA.", show_default=False)
]


def split(
    data: DataFile,
    folder: FolderArgument,
    shares: SharesOption = None,
    names: NamesOption = None,
    folds: FoldsOption = None,
    seed: Seed = 0,
    target_format: TargetFormatOption = None,
    format_name: FormatName = None,
    read: ReadOption = None,
    drop: Drop = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Split data by whole queries, into shares or folds. The same seed always gives the same parts."""
    source = data_source(data, format_name, read)
    target_format = target_format or source.format.name
    if target_format not in FORMATS:
        raise UnknownNameError("format", target_format, FORMATS)
    if shares is not None and folds is not None:
        raise ParameterError("shares", shares, "cannot be combined with {folds}", "leave one of them out")
    if names is not None and folds is not None:
        raise ParameterError(
            "names", names, "names the parts of {shares}", "leave it out: folds have train, vali and test"
        )
    suffix = ".txt" if target_format == "letor" else FORMATS[target_format].suffixes[0]
    sizes = _read_shares(shares or "0.6,0.2,0.2")
    parts = _fold_names(folds) if folds else _part_names(sizes, names)
    targets = [folder / f"{part}{suffix}" for part in parts]
    check_outputs(*(Output(target, target_format) for target in targets), inputs=[data], read=read, make_folders=True)
    whole = read_data(source, threads, drop)
    made = _folds(whole, folds, seed) if folds else split_data(whole, sizes, seed=seed)
    written = []
    try:
        for target, part in zip(targets, made, strict=True):
            make_folder(target.parent)
            write(part, target, format=target_format)
            written.append({"file": str(target), "queries": part.n_queries, "documents": part.n_documents})
    except KeyboardInterrupt:
        raise Stopped(f"interrupted; {len(written)} of {len(targets)} parts are written to {folder}") from None
    if json:
        print_json(written)
        return
    for row in written:
        say(f"wrote {row['file']}: {row['queries']} queries, {row['documents']} documents")


def _read_shares(text: str) -> list[float]:
    try:
        return [float(share) for share in text.split(",")]
    except ValueError:
        raise ParameterError("shares", text, "must be two or three numbers", "write them as in 0.6,0.2,0.2") from None


def _part_names(shares: list[float], named: str | None) -> list[str]:
    """Return the name of each share's file."""
    names = NAMES.get(len(shares)) if named is None else named.split(",")
    if names is None:
        raise ParameterError(
            "shares",
            ",".join(f"{share:g}" for share in shares),
            "must be two numbers (train, test) or three (train, vali, test)",
            "give {names} for other parts",
        )
    if len(set(names)) != len(shares) or not all(PLAIN_NAME.fullmatch(name) for name in names):
        raise ParameterError(
            "names",
            named,
            f"must be {len(shares)} different names of letters, digits, - and _",
            f"write them as in {','.join(NAMES.get(len(shares), ['first', 'second', '…']))}",
        )
    return names


def _fold_names(k: int) -> list[str]:
    return [f"Fold{number}/{name}" for number in range(1, k + 1) for name in NAMES[3]]


def _folds(data: RankingData, k: int, seed: int) -> list[RankingData]:
    """Return train, validation and test data of each fold.

    Fold i tests on part i, validates on part i + 1 and trains on the rest, as the LETOR sets do.
    """
    if k > data.n_queries:
        raise ParameterError("folds", k, f"must be at most {data.n_queries}, the number of queries")
    parts = [test for _, test in query_folds(data, k, seed=seed)]
    made = []
    for i in range(k):
        test, vali = parts[i], parts[(i + 1) % k]
        train = np.setdiff1d(np.arange(data.n_queries), np.concatenate([test, vali]))
        made += [data.select(queries) for queries in (train, vali, test)]
    return made
