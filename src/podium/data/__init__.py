"""Judged queries in memory: RankingData, preference pairs, splits, normalisation, synthetic data."""

from podium.data import synthetic
from podium.data.describe import Description, describe
from podium.data.normalise import NORMALISATIONS, normalise
from podium.data.pairs import Pairs
from podium.data.ranking_data import RankingData
from podium.data.run import Run
from podium.data.sampling import sample_unlabelled
from podium.data.splits import folds, split
from podium.data.strings import Strings

__all__ = [
    "NORMALISATIONS",
    "Description",
    "Pairs",
    "RankingData",
    "Run",
    "Strings",
    "describe",
    "folds",
    "normalise",
    "sample_unlabelled",
    "split",
    "synthetic",
]
