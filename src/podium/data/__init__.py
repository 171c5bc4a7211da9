"""Judged queries in memory: RankingData, preference pairs, splits, normalisation, synthetic data."""

from podium.data.pairs import Pairs
from podium.data.ranking_data import RankingData
from podium.data.run import Run
from podium.data.strings import Strings

__all__ = ["Pairs", "RankingData", "Run", "Strings"]
