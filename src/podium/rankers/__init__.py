"""The named systems, each a few lines: a force × a function class × a schedule. One table."""

from __future__ import annotations

import os

from podium.artefact import load_artefact
from podium.errors import FormatError
from podium.rankers.base import BaseRanker
from podium.rankers.lists import ListMLE, ListNet
from podium.rankers.ordinal import OrdinalRegression
from podium.rankers.pairs import KernelRankNet, LambdaRank, RankNet
from podium.rankers.ranker import GradientRanker, Ranker
from podium.rankers.svm import RankSVM

__all__ = [
    "RANKERS",
    "BaseRanker",
    "GradientRanker",
    "KernelRankNet",
    "LambdaRank",
    "ListMLE",
    "ListNet",
    "OrdinalRegression",
    "RankNet",
    "RankSVM",
    "Ranker",
    "load",
]

RANKERS: dict[str, type[BaseRanker]] = {
    "ranknet": RankNet,
    "lambdarank": LambdaRank,
    "listnet": ListNet,
    "listmle": ListMLE,
    "kernel-ranknet": KernelRankNet,
    "ranksvm": RankSVM,
    "ordinal": OrdinalRegression,
}


def load(path: str | os.PathLike[str]) -> BaseRanker:
    """The ranker that `ranker.save` or `podium train` wrote; it scores as it did."""
    artefact = load_artefact(path)
    kinds: dict[str, type[BaseRanker]] = {kind.__name__: kind for kind in (*RANKERS.values(), Ranker)}
    kind = kinds.get(str(artefact.header.get("ranker")))
    if kind is None:
        raise FormatError(path, f"holds a {artefact.header.get('ranker')!r}, which this Podium does not know")
    return kind.restore(artefact, path)
