"""Scoring: from a saved model to scores, with no training code imported."""

from podium.scoring.scorer import Scorer, check_names, check_rows

__all__ = ["Scorer", "check_names", "check_rows"]
