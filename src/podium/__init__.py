"""Podium: learning to rank, where a ranker is a force × a function class × a schedule, judged by a metric."""

from podium.data import Pairs, RankingData, Run
from podium.errors import DataError, FormatError, MissingExtraError, ParameterError, PodiumError

__version__ = "0.1.0"

__all__ = [
    "DataError",
    "FormatError",
    "MissingExtraError",
    "Pairs",
    "ParameterError",
    "PodiumError",
    "RankingData",
    "Run",
]
