"""Scoring: from a saved model to scores, with no training code imported."""

from podium.scoring.scorer import Scorer, check_names, load_scorer, match_features, save_categories

__all__ = ["Scorer", "check_names", "load_scorer", "match_features", "save_categories"]
