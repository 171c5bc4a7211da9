"""Judged queries in memory: RankingData, preference pairs, splits, normalization, synthetic data."""

from podium.data import synthetic
from podium.data.describe import Description, describe
from podium.data.normalize import NORMALIZATIONS, normalize
from podium.data.pairs import Pairs
from podium.data.ranking_data import RankingData
from podium.data.run import Run
from podium.data.sampling import sample_unlabeled
from podium.data.splits import folds, split
from podium.data.strings import Strings

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
