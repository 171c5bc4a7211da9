"""podium export."""

from __future__ import annotations

import inspect
import json as json_text
from pathlib import Path
from typing import Annotated, Any

import typer

from podium.cli.console import (
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
from podium.errors import FormatError
from podium.export import CHANGES, EXPORTS, export_model
from podium.export.exporting import find_export
from podium.export.options import OPSETS, TREE_KINDS
from podium.files import Output
from podium.scoring import load_scorer

WRITABLE = [name for name, row in EXPORTS.items() if row.write is not None]
FORMAT_LIST = "\n\n".join(
    f"[bold]{row.name}[/] ({row.suffixes[0]}; {', '.join(row.models)}): {row.summary}"
    for row in EXPORTS.values()
    if row.write is not None
)
CHANGE_LIST = "; ".join(f"{name} ({meaning})" for name, meaning in CHANGES.items())


TargetFormatOption = Annotated[
    str,
    typer.Option(
        "--to",
        help=f"Format to write: {', '.join(WRITABLE)}.",
        autocompletion=lambda incomplete: [name for name in WRITABLE if name.startswith(incomplete)],
        show_default=False,
    ),
]
DataOption = Annotated[
    Path | None,
    typer.Option("--data", help="Data to compare scores on, besides rows made from the model.", show_default=False),
]
AllowOption = Annotated[
    list[str] | None,
    typer.Option(
        "--allow",
        metavar="CHANGE",
        help=f"Allow a change that the format needs: {CHANGE_LIST}. May be given more than once.",
        show_default=False,
    ),
]
NameOption = Annotated[
    str | None,
    typer.Option("--name", help="Name of the model in the engine; podium by default.", show_default=False),
]
FeaturesOption = Annotated[
    Path | None,
    typer.Option(
        "--features",
        help="JSON file with one definition per feature, as the engine takes them: queries of Elasticsearch, features of Solr, "
        "rank features of Vespa. By default each feature is the field of its name.",
        show_default=False,
    ),
]
OpsetOption = Annotated[
    int | None,
    typer.Option("--opset", help=f"ONNX: version of ai.onnx.ml, {' or '.join(map(str, OPSETS))}.", show_default=False),
]
TreesAsOption = Annotated[
    str | None,
    typer.Option("--trees-as", help=f"Elasticsearch and OpenSearch: {' or '.join(TREE_KINDS)}.", show_default=False),
]


def export(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A Podium model.", show_default=False)],
    target_format: TargetFormatOption,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.", show_default=False)],
    data: DataOption = None,
    allow: AllowOption = None,
    name: NameOption = None,
    features: FeaturesOption = None,
    opset: OpsetOption = None,
    trees_as: TreesAsOption = None,
    format_name: FormatName = None,
    read: ReadOption = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Write a model in the format of another library or search engine, and check that it scores the same.

    The file is read back and scored by the target's own runtime, or by an evaluator of its rules, on values on thresholds and
    beside them, missing, tiny and huge ones, and on --data. It is written only if every score agrees up to rounding.
    """
    row = find_export(target_format)
    check_outputs(Output(out, row.file_kind, "--out"), inputs=[model, data, features], read=read)
    scorer = load_scorer(model)
    given = {
        "name": name,
        "features": None if features is None else _definitions(features),
        "opset": opset,
        "trees_as": trees_as,
    }
    report = export_model(
        scorer,
        out,
        format=target_format,
        allow=allow or (),
        data=None if data is None else read_data(data_source(data, format_name, read), threads),
        **{key: value for key, value in given.items() if value is not None},
    )
    if json:
        print_json(report.to_dict())
    else:
        say(f"wrote {out} ({target_format}, {report.bytes / 1e3:,.1f} kB)")
        say(str(report))


def _definitions(path: Path) -> Any:
    try:
        return json_text.loads(path.read_text())
    except (ValueError, RecursionError) as error:
        raise FormatError(path, f"is not JSON: {error}") from None


export.__doc__ = f"{inspect.getdoc(export)}\n\n{FORMAT_LIST}"
