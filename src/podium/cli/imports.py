"""podium import."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium.cli.console import Json, check_outputs, print_json, say
from podium.export import EXPORTS, read_model
from podium.export.notes import rounding_notes
from podium.files import Output

IMPORTABLE = [name for name, row in EXPORTS.items() if row.read is not None]


FileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="A model that another library saved.", show_default=False)
]
FormatNameOption = Annotated[
    str | None,
    typer.Option(
        "--from",
        help=f"Format of FILE: {', '.join(IMPORTABLE)}. By default it is recognized by its first bytes.",
        autocompletion=lambda incomplete: [name for name in IMPORTABLE if name.startswith(incomplete)],
        show_default=False,
    ),
]
NFeaturesOption = Annotated[
    int | None,
    typer.Option(
        "--features",
        help="Number of features, if FILE does not say it and its trees do not use the last ones (RankLib).",
        show_default=False,
    ),
]


def import_model(
    file: FileArgument,
    out: Annotated[Path, typer.Option("--out", "-o", help="The model to write.", show_default=False)],
    format_name: FormatNameOption = None,
    n_features: NFeaturesOption = None,
    json: Json = False,
) -> None:
    """Turn a model of LightGBM, XGBoost, CatBoost or RankLib into a Podium model with the same scores.

    For float32 values, the scores are the same to the last bit. LightGBM compares float64 values, so that a few scores of other data
    can differ from its own; give LightGBM float32 values to compare with.

    The result can be used wherever a model of podium train can: score, evaluate, compare, explain, export.
    """
    check_outputs(Output(out, "model", "--out"), inputs=[file])
    read = read_model(file, format=format_name)
    from podium.rankers.imported import ImportedRanker

    ranker = ImportedRanker.of(read, n_features)
    ranker.save(out)
    made = {
        "file": str(out),
        "source": ranker.source,
        "trees": ranker.n_trees_,
        "features": ranker.model_.n_features,
        "outputs": ranker.model_.n_outputs,
        "notes": rounding_notes(EXPORTS[ranker.source]),
    }
    if json:
        print_json(made)
    else:
        say(f"wrote {out}: {made['trees']} trees of {made['source']} over {made['features']} features")
        for note in rounding_notes(EXPORTS[ranker.source]):
            say(f"note: {note}")
