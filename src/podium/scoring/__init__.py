"""Scoring: from a saved model to scores, with no training code imported."""

from podium.scoring.scorer import Scorer, check_rows

__all__ = ["Scorer", "check_rows"]
