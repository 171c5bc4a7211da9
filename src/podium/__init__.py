"""Podium: learning to rank, where a ranker is a force × a function class × a schedule, judged by a metric."""

import podium.posteriors as posteriors
from podium.data import Pairs, RankingData, Run, describe, folds, normalise, sample_unlabelled, split, synthetic
from podium.errors import DataError, FormatError, MissingExtraError, OutputError, ParameterError, PodiumError
from podium.evaluation import Comparison, Evaluation, compare, evaluate
from podium.forces import Force, force
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
    "compare",
    "convert",
    "describe",
    "evaluate",
    "folds",
    "force",
    "from_frame",
    "metric",
    "normalise",
    "posteriors",
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
