"""The named rankers, each a few lines: a force × a model × a schedule.

Classes are imported on first access, because they are scikit-learn estimators and scikit-learn is slow to load.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from podium.artifact import load_artifact
from podium.errors import FormatError, UnknownNameError

if TYPE_CHECKING:
    from podium.rankers.base import BaseRanker
    from podium.rankers.boost import AdaRank, RankBoost
    from podium.rankers.cross_validation import CrossValidation, cross_validate
    from podium.rankers.imported import ImportedRanker, from_catboost, from_lightgbm, from_ranklib, from_xgboost
    from podium.rankers.lists import ListMLE, ListNet
    from podium.rankers.ordinal import OrdinalRegression
    from podium.rankers.pairs import KernelRankNet, LambdaRank, RankNet
    from podium.rankers.perceptrons import OAPBPM, PRank, QuadraticPRank
    from podium.rankers.ranker import Ranker
    from podium.rankers.rankprop import RankProp
    from podium.rankers.structrank import StructRank
    from podium.rankers.svm import RankSVM
    from podium.rankers.trees import MART, LambdaMART
    from podium.rankers.tuning.result import Tuning
    from podium.rankers.tuning.search import tune

__all__ = [
    "MART",
    "OAPBPM",
    "RANKERS",
    "AdaRank",
    "BaseRanker",
    "CrossValidation",
    "ImportedRanker",
    "KernelRankNet",
    "LambdaMART",
    "LambdaRank",
    "ListMLE",
    "ListNet",
    "OrdinalRegression",
    "PRank",
    "QuadraticPRank",
    "RankBoost",
    "RankNet",
    "RankProp",
    "RankSVM",
    "Ranker",
    "StructRank",
    "Tuning",
    "cross_validate",
    "find_ranker_name",
    "from_catboost",
    "from_lightgbm",
    "from_ranklib",
    "from_xgboost",
    "load",
    "tune",
]

# The named rankers: the name on the command line, and the module and class.
PLACES = {
    "ranknet": "pairs:RankNet",
    "lambdarank": "pairs:LambdaRank",
    "lambdamart": "trees:LambdaMART",
    "mart": "trees:MART",
    "rankboost": "boost:RankBoost",
    "adarank": "boost:AdaRank",
    "listnet": "lists:ListNet",
    "listmle": "lists:ListMLE",
    "kernel-ranknet": "pairs:KernelRankNet",
    "ranksvm": "svm:RankSVM",
    "structrank": "structrank:StructRank",
    "ordinal": "ordinal:OrdinalRegression",
    "prank": "perceptrons:PRank",
    "quadratic-prank": "perceptrons:QuadraticPRank",
    "oap-bpm": "perceptrons:OAPBPM",
    "rankprop": "rankprop:RankProp",
}
# Names that work with any ranker, and their modules.
TOOLS = {
    "BaseRanker": "base",
    "CrossValidation": "cross_validation",
    "ImportedRanker": "imported",
    "Ranker": "ranker",
    "Tuning": "tuning.result",
    "cross_validate": "cross_validation",
    **dict.fromkeys(("from_catboost", "from_lightgbm", "from_ranklib", "from_xgboost"), "imported"),
    "tune": "tuning.search",
}
HOMES = {place.partition(":")[2]: place.partition(":")[0] for place in PLACES.values()} | TOOLS


def __getattr__(name: str) -> Any:
    if name in HOMES:
        return getattr(import_module(f"podium.rankers.{HOMES[name]}"), name)
    raise AttributeError(f"module 'podium.rankers' has no attribute {name!r}")


class _Rankers(Mapping[str, "type[BaseRanker]"]):
    """The class of each name. A class is imported when it is looked up."""

    def __getitem__(self, name: str) -> type[BaseRanker]:
        kind: type[BaseRanker] = __getattr__(PLACES[name].partition(":")[2])
        return kind

    def __iter__(self) -> Iterator[str]:
        return iter(PLACES)

    def __len__(self) -> int:
        return len(PLACES)


RANKERS: Mapping[str, type[BaseRanker]] = _Rankers()


def find_ranker_name(name: str) -> str:
    """Return the name of a ranker on the command line, given in any case, or as the name of its class."""
    classes = {place.partition(":")[2].lower(): key for key, place in PLACES.items()}
    found = next((key for key in (name.lower(), classes.get(name.lower())) if key in PLACES), None)
    if found is None:
        raise UnknownNameError("ranker", name, PLACES)
    return found


def load(path: str | os.PathLike[str]) -> BaseRanker:
    """Return the ranker that `ranker.save` or `podium train` wrote. Its scores are the same as before."""
    artifact = load_artifact(path)
    name = artifact.header.get("ranker")
    if name not in ("Ranker", "ImportedRanker") and not any(place.endswith(f":{name}") for place in PLACES.values()):
        raise FormatError(path, f"holds a {name!r}, which this Podium does not know")
    kind: type[BaseRanker] = __getattr__(str(name))
    return kind.restore(artifact, path)
