"""Podium: learning to rank, where a ranker is a force × a function class × a schedule, judged by a metric."""

from podium.data import Pairs, RankingData, Run, describe, folds, normalise, sample_unlabelled, split, synthetic
from podium.errors import DataError, FormatError, MissingExtraError, OutputError, ParameterError, PodiumError
from podium.evaluation import Comparison, Evaluation, compare, evaluate
from podium.forces import Force, Verdict, force, force_picture, laws, own_force
from podium.formats import convert, from_frame, read, read_all_folds, read_folds, read_scores, to_frame, write
from podium.metrics import Metric, metric

__version__ = "0.1.0"

__all__ = [
    "Comparison",
    "DataError",
    "Evaluation",
    "Force",
    "FormatError",
    "Metric",
    "MissingExtraError",
    "OutputError",
    "Pairs",
    "ParameterError",
    "PodiumError",
    "RankingData",
    "Run",
    "Verdict",
    "compare",
    "convert",
    "describe",
    "evaluate",
    "folds",
    "force",
    "force_picture",
    "from_frame",
    "laws",
    "metric",
    "normalise",
    "own_force",
    "read",
    "read_all_folds",
    "read_folds",
    "read_scores",
    "sample_unlabelled",
    "split",
    "synthetic",
    "to_frame",
    "write",
]
