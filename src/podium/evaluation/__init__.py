"""Evaluation: per-query values, means with intervals, paired tests."""

from podium.evaluation.compare import Change, Comparison, PairComparison, compare
from podium.evaluation.evaluate import evaluate
from podium.evaluation.result import Evaluation

__all__ = ["Change", "Comparison", "Evaluation", "PairComparison", "compare", "evaluate"]
