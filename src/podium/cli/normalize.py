"""podium data normalize."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium.cli.console import (
    DataFile,
    Drop,
    FormatName,
    Json,
    ReadOption,
    Threads,
    check_outputs,
    data_source,
    print_json,
    read_data,
    say,
)
from podium.data import normalize as normalize_data
from podium.errors import ParameterError
from podium.files import Output
from podium.formats import find_target_format, write

TargetArgument = Annotated[
    Path,
    typer.Argument(metavar="TARGET", help="File to write. Its suffix determines the format.", show_default=False),
]
MethodOption = Annotated[
    str, typer.Option("--method", help="How to rescale: minmax or zscore within each query, or log for counts.")
]
FeatureOption = Annotated[
    list[str] | None,
    typer.Option(
        "--feature",
        help="A feature to rescale, by name or by its number counted from 0. May be given more than once. By default all.",
        show_default=False,
    ),
]


def normalize(
    data: DataFile,
    target: TargetArgument,
    method: MethodOption = "minmax",
    feature: FeatureOption = None,
    format_name: FormatName = None,
    read: ReadOption = None,
    drop: Drop = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Rescale features, within each query or by a logarithm."""
    check_outputs(Output(target, find_target_format(target, None).name), inputs=[data], read=read)
    whole = read_data(data_source(data, format_name, read), threads, drop)
    try:
        changed = normalize_data(whole, method, features=feature or None)
    except ParameterError as error:
        raise (error.renamed("features", "feature") if error.parameter == "features" else error) from None
    count = len(feature) if feature else whole.n_features - len(whole.categorical_features or {})
    write(changed, target)
    if json:
        print_json(
            {"file": str(target), "method": method, "documents": changed.n_documents, "features": changed.n_features}
        )
    else:
        rest = (
            f"; {left} categorical features are left as they are"
            if (left := changed.n_features - count) and not feature
            else ""
        )
        say(f"wrote {target}: {method} of {count} features{rest}")
