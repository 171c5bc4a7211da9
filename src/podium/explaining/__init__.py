"""Explaining a ranker: attributions, importances, and the reasons why one document ranks above another."""

from podium.explaining.mixin import ExplainMixin
from podium.explaining.permutation import PermutationImportance, permutation_importance
from podium.explaining.reasons import Reason, Why, why

__all__ = ["ExplainMixin", "PermutationImportance", "Reason", "Why", "permutation_importance", "why"]
