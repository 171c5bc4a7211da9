"""Judged queries in memory: RankingData, preference pairs, splits, normalization, synthetic data."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from podium.data.describe import Description, describe
from podium.data.normalize import NORMALIZATIONS, normalize
from podium.data.pairs import Pairs
from podium.data.ranking_data import RankingData
from podium.data.run import Run
from podium.data.sampling import sample_unlabeled
from podium.data.splits import folds, split
from podium.data.strings import Strings

if TYPE_CHECKING:
    from podium.data import synthetic

__all__ = [
    "NORMALIZATIONS",
    "Description",
    "Pairs",
    "RankingData",
    "Run",
    "Strings",
    "describe",
    "folds",
    "normalize",
    "sample_unlabeled",
    "split",
    "synthetic",
]


def __getattr__(name: str) -> Any:
    """Import the synthetic data on first access, because NumPy's random numbers take long to import."""
    if name != "synthetic":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("podium.data.synthetic")
