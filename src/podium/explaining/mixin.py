"""What a fitted ranker can explain about its model."""

from __future__ import annotations

from typing import Any

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
    """What a ranker can say about its model. Attributions and importance by gain or splits are known of trees; why one
    document stands above another, of trees and linear models."""

    scorer_: Scorer
    num_threads: int | None
    predict: Any
    _checked_features: Any

    def attributions(self, X: Any) -> Floats:
        """What each feature adds to each score, [rows × (features + 1)], in the caller's order; for trees.

        The last column is the expected score, the same in every row; a row's sum is its score. These are Shapley values,
        exactly, of the mean score where only some features are known. A model with several outputs has a table an
        output, [rows × outputs × (features + 1)], whose rows sum to the outputs. [tree SHAP]
        """
        model = self._forest("attributions")
        found = attributions(model, self._rows(X), num_threads=resolve_threads(self.num_threads))
        return X.to_caller_order(found) if isinstance(X, RankingData) else found

    def leaves(self, X: Any) -> npt.NDArray[np.int32]:
        """The number of the leaf that each row falls into, [rows × trees], in the caller's order; for trees."""
        model = self._forest("leaves")
        found = model.leaves(self._rows(X), num_threads=resolve_threads(self.num_threads))
        return X.to_caller_order(found) if isinstance(X, RankingData) else found

    def why(self, data: RankingData, *, above: int | str, below: int | str, query: Any = None) -> Why:
        """Why one document of a query stands above another: what each feature adds to the gap of their scores.

        For trees, and for linear models, where it is the weight times the difference of the standardized values.

        Args:
            data: the query, alone or among others.
            above: one document: its number in the query, from 1, or its id as text.
            below: the other one.
            query: the id of the query; may be left out where there is only one.
        """
        return why(self, data, above=above, below=below, query=query)

    def importance(self, kind: str = "gain") -> npt.NDArray[Any]:
        """Of each feature: the sum of the gains of its splits (gain), or how many there are (split); for trees."""
        return importance(self._forest("importance"), kind)

    @property
    def feature_importances_(self) -> Floats:
        """The importance by gain as shares of 1, by scikit-learn's name; for trees."""
        if not isinstance(getattr(self, "model_", None), TreeModel):
            raise AttributeError("feature_importances_ is known of fitted rankers of trees only")
        gains = np.asarray(self.importance("gain"), np.float64)
        return gains / gains.sum() if gains.sum() > 0 else gains

    def _rows(self, X: Any) -> npt.NDArray[np.float32]:
        """The features of what is given, in the order they are held in."""
        return self.scorer_.features(X if isinstance(X, RankingData) else self._checked_features(X))

    def _forest(self, asked: str) -> TreeModel:
        check_is_fitted(self, "scorer_")
        model = self.scorer_.model
        if not isinstance(model, TreeModel):
            raise ParameterError(
                f"{asked}: the model of this {type(self).__name__} is not made of trees; "
                "permutation importance says of any ranker which features it needs"
            )
        return model
