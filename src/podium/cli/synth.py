"""podium data synth."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from podium.cli.console import Json, Seed, check_outputs, print_json, say
from podium.data import RankingData, synthetic
from podium.errors import UnknownNameError
from podium.files import Output
from podium.formats import find_target_format, write

KINDS: dict[str, Callable[..., RankingData]] = {"network": synthetic.network, "polynomial": synthetic.polynomial}


KindArgument = Annotated[
    str,
    typer.Argument(
        metavar="KIND", help="What turns features into relevance: network or polynomial.", show_default=False
    ),
]
TargetArgument = Annotated[
    Path,
    typer.Argument(metavar="TARGET", help="File to write. Its suffix determines the format.", show_default=False),
]
GeneratorSeedOption = Annotated[
    int | None,
    typer.Option(
        "--generator-seed",
        help="Seed of the network or polynomial itself, to generate several data sets from the same one. Default: --seed.",
        show_default=False,
    ),
]


def synth(
    kind: KindArgument,
    target: TargetArgument,
    queries: Annotated[int, typer.Option("--queries", min=1, help="Number of queries.")] = 1000,
    documents: Annotated[int, typer.Option("--documents", min=1, help="Number of documents per query.")] = 50,
    features: Annotated[int, typer.Option("--features", min=1, help="Number of features.")] = 50,
    levels: Annotated[int, typer.Option("--levels", min=2, help="Number of labels, which are equally frequent.")] = 6,
    seed: Seed = 0,
    generator_seed: GeneratorSeedOption = None,
    json: Json = False,
) -> None:
    """Generate data whose true scores are known: those of a random network or a random polynomial."""
    if kind not in KINDS:
        raise UnknownNameError("kind of synthetic data", kind, KINDS)
    check_outputs(Output(target, find_target_format(target, None).name), inputs=[])
    data = KINDS[kind](
        queries=queries, documents=documents, features=features, levels=levels, seed=seed, generator_seed=generator_seed
    )
    write(data, target)
    if json:
        print_json(
            {
                "file": str(target),
                "kind": kind,
                "queries": data.n_queries,
                "documents": data.n_documents,
                "features": data.n_features,
            }
        )
    else:
        say(f"wrote {target}: {data.n_queries} queries, {data.n_documents} documents, {data.n_features} features")
