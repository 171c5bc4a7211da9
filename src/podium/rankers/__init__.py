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
from podium.ranker_table import RANKER_MODULES, RANKER_PLACES

if TYPE_CHECKING:
    from podium.rankers.base import BaseRanker as BaseRanker
    from podium.rankers.cross_validation import CrossValidation as CrossValidation
    from podium.rankers.cross_validation import cross_validate as cross_validate
    from podium.rankers.imported import ImportedRanker as ImportedRanker
    from podium.rankers.imported import from_catboost as from_catboost
    from podium.rankers.imported import from_lightgbm as from_lightgbm
    from podium.rankers.imported import from_ranklib as from_ranklib
    from podium.rankers.imported import from_xgboost as from_xgboost
    from podium.rankers.ranker import Ranker as Ranker
    from podium.rankers.tuning.result import Tuning as Tuning
    from podium.rankers.tuning.search import tune as tune

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
HOMES = RANKER_MODULES | TOOLS

__all__ = sorted(["RANKERS", "find_ranker_name", "load", *HOMES])


def __getattr__(name: str) -> Any:
    if name in HOMES:
        return getattr(import_module(f"podium.rankers.{HOMES[name]}"), name)
    raise AttributeError(f"module 'podium.rankers' has no attribute {name!r}")


class _Rankers(Mapping[str, "type[BaseRanker]"]):
    """The class of each name. A class is imported when it is looked up."""

    def __getitem__(self, name: str) -> type[BaseRanker]:
        kind: type[BaseRanker] = __getattr__(RANKER_PLACES[name].partition(":")[2])
        return kind

    def __iter__(self) -> Iterator[str]:
        return iter(RANKER_PLACES)

    def __len__(self) -> int:
        return len(RANKER_PLACES)


RANKERS: Mapping[str, type[BaseRanker]] = _Rankers()


def find_ranker_name(name: str) -> str:
    """Return the name of a ranker on the command line, given in any case, or as the name of its class."""
    classes = {place.partition(":")[2].lower(): key for key, place in RANKER_PLACES.items()}
    found = next((key for key in (name.lower(), classes.get(name.lower())) if key in RANKER_PLACES), None)
    if found is None:
        raise UnknownNameError("ranker", name, RANKER_PLACES)
    return found


def load(path: str | os.PathLike[str]) -> BaseRanker:
    """Return the ranker that `ranker.save` or `podium train` wrote. Its scores are the same as before.

    Args:
        path: the file of the model.
    """
    artifact = load_artifact(path)
    name = artifact.header.get("ranker")
    if name not in ("Ranker", "ImportedRanker", *RANKER_MODULES):
        raise FormatError(path, f"holds a {name!r}, which this Podium does not know")
    kind: type[BaseRanker] = __getattr__(str(name))
    return kind.restore(artifact, path)
