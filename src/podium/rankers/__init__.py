"""The named systems, each a few lines: a force × a function class × a schedule. One table.

Classes are imported when they are asked for: they are scikit-learn's estimators, and loading scikit-learn takes longer
than most commands do.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from podium.artifact import load_artifact
from podium.errors import FormatError

if TYPE_CHECKING:
    from podium.rankers.base import BaseRanker
    from podium.rankers.boost import RankBoost
    from podium.rankers.cross_validation import CrossValidation, cross_validate
    from podium.rankers.explaining import Reason, Why, why
    from podium.rankers.lists import ListMLE, ListNet
    from podium.rankers.ordinal import OrdinalRegression
    from podium.rankers.pairs import KernelRankNet, LambdaRank, RankNet
    from podium.rankers.perceptrons import OAPBPM, PRank, QuadraticPRank
    from podium.rankers.permuting import PermutationImportance, permutation_importance
    from podium.rankers.ranker import Ranker
    from podium.rankers.rankprop import RankProp
    from podium.rankers.search import Tuning, tune
    from podium.rankers.structrank import StructRank
    from podium.rankers.svm import RankSVM
    from podium.rankers.trees import MART, LambdaMART

__all__ = [
    "MART",
    "OAPBPM",
    "RANKERS",
    "BaseRanker",
    "CrossValidation",
    "KernelRankNet",
    "LambdaMART",
    "LambdaRank",
    "ListMLE",
    "ListNet",
    "OrdinalRegression",
    "PRank",
    "PermutationImportance",
    "QuadraticPRank",
    "RankBoost",
    "RankNet",
    "RankProp",
    "RankSVM",
    "Ranker",
    "Reason",
    "StructRank",
    "Tuning",
    "Why",
    "cross_validate",
    "load",
    "permutation_importance",
    "tune",
    "why",
]

NAMES = {
    "ranknet": "RankNet",
    "lambdarank": "LambdaRank",
    "lambdamart": "LambdaMART",
    "mart": "MART",
    "rankboost": "RankBoost",
    "listnet": "ListNet",
    "listmle": "ListMLE",
    "kernel-ranknet": "KernelRankNet",
    "ranksvm": "RankSVM",
    "structrank": "StructRank",
    "ordinal": "OrdinalRegression",
    "prank": "PRank",
    "quadratic-prank": "QuadraticPRank",
    "oap-bpm": "OAPBPM",
    "rankprop": "RankProp",
}
HOMES = {
    "BaseRanker": "base",
    "Ranker": "ranker",
    "RankNet": "pairs",
    "LambdaRank": "pairs",
    "LambdaMART": "trees",
    "MART": "trees",
    "RankBoost": "boost",
    "KernelRankNet": "pairs",
    "ListNet": "lists",
    "ListMLE": "lists",
    "RankSVM": "svm",
    "StructRank": "structrank",
    "OrdinalRegression": "ordinal",
    "PRank": "perceptrons",
    "QuadraticPRank": "perceptrons",
    "OAPBPM": "perceptrons",
    "RankProp": "rankprop",
}


# What works on any ranker, imported when it is asked for too.
TOOLS = {
    "CrossValidation": "cross_validation",
    "PermutationImportance": "permuting",
    "Reason": "explaining",
    "Tuning": "search",
    "Why": "explaining",
    "cross_validate": "cross_validation",
    "permutation_importance": "permuting",
    "tune": "search",
    "why": "explaining",
}


def __getattr__(name: str) -> Any:
    home = HOMES.get(name) or TOOLS.get(name)
    if home is not None:
        return getattr(import_module(f"podium.rankers.{home}"), name)
    raise AttributeError(f"module 'podium.rankers' has no attribute {name!r}")


class _Rankers(Mapping[str, "type[BaseRanker]"]):
    """Name on the command line → class, imported when it is looked up."""

    def __getitem__(self, name: str) -> type[BaseRanker]:
        kind: type[BaseRanker] = __getattr__(NAMES[name])
        return kind

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


RANKERS: Mapping[str, type[BaseRanker]] = _Rankers()


def load(path: str | os.PathLike[str]) -> BaseRanker:
    """The ranker that `ranker.save` or `podium train` wrote; it scores as it did."""
    artifact = load_artifact(path)
    name = artifact.header.get("ranker")
    if name not in (*NAMES.values(), "Ranker"):
        raise FormatError(path, f"holds a {name!r}, which this Podium does not know")
    kind: type[BaseRanker] = __getattr__(str(name))
    return kind.restore(artifact, path)
