"""What a fitted ranker can explain about its model."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from podium.data import RankingData
from podium.errors import ParameterError
from podium.explaining.forest import attributions, importance
from podium.explaining.reasons import Why, why
from podium.models.trees import TreeModel
from podium.scoring import Scorer
from podium.threads import resolve_threads

Floats = npt.NDArray[np.float64]


class ExplainMixin:
    """The explanations that rankers offer.

    Attributions, leaves, and importance by gain or by number of splits need trees. `why` needs trees or a linear model.
    """

    scorer_: Scorer
    num_threads: int | None
    predict: Any
    _checked_features: Any

    def attributions(self, X: Any) -> Floats:
        """Return what each feature adds to each score, [rows × (features + 1)], in the caller's row order; for trees.

        The last column is the expected score, the same in every row, and each row sums to its score. The attributions are
        exact Shapley values of the mean score given some of the features. If the model has several outputs, the result is
        [rows × outputs × (features + 1)], with one table per output. [tree SHAP]

        Args:
            X: a RankingData, a frame, or features [rows × features].
        """
        model = self._forest("attributions")
        found = attributions(model, self._rows(X), num_threads=resolve_threads(self.num_threads))
        return X.to_caller_order(found) if isinstance(X, RankingData) else found

    def leaves(self, X: Any) -> npt.NDArray[np.int32]:
        """Return the number of the leaf that each row falls into, [rows × trees], in the caller's row order; for trees.

        Args:
            X: a RankingData, a frame, or features [rows × features].
        """
        model = self._forest("leaves")
        found = model.leaves(self._rows(X), num_threads=resolve_threads(self.num_threads))
        return X.to_caller_order(found) if isinstance(X, RankingData) else found

    def why(self, data: RankingData, *, above: int | str, below: int | str, query: Any = None) -> Why:
        """Explain why one document of a query ranks above another: what each feature adds to the gap between their scores.

        For trees and linear models. In a linear model, a feature adds its weight times the difference of the standardized
        values.

        Args:
            data: the query, alone or among others.
            above: one document: its number in the query, counted from 1, or its id as text.
            below: the other document, named in the same way.
            query: the id of the query; not needed if there is only one.
        """
        return why(self, data, above=above, below=below, query=query)

    def importance(self, kind: str = "gain") -> npt.NDArray[Any]:
        """Return the importance of each feature: the sum of the gains of its splits (gain) or their number (split); for trees.

        Args:
            kind: gain or split.
        """
        return importance(self._forest("importance"), kind)

    @property
    def feature_importances_(self) -> Floats:
        """The importance by gain, scaled to sum to 1, under scikit-learn's name; for trees."""
        if not getattr(getattr(self, "model_", None), "has_splits", False):
            raise AttributeError("feature_importances_ exists for fitted rankers made of trees only")
        gains = np.asarray(self.importance("gain"), np.float64)
        return gains / gains.sum() if gains.sum() > 0 else gains

    def _rows(self, X: Any) -> npt.NDArray[np.float32]:
        """Return the features of X; those of a RankingData in its grouped order."""
        return self.scorer_.features(X if isinstance(X, RankingData) else self._checked_features(X))

    def _forest(self, asked: str) -> TreeModel:
        check_is_fitted(self, "scorer_")
        if not self.scorer_.model.has_splits:
            raise ParameterError(
                asked,
                rule=f"needs a model of trees, and this {type(self).__name__} has another",
                remedy="permutation_importance works for every ranker",
            )
        return cast(TreeModel, self.scorer_.model)
