"""What each feature adds to the scores of documents of one query, for models whose score is a sum over features."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from podium.explaining.forest import attributions
from podium.models.heads import to_scores
from podium.models.model import Floats
from podium.models.trees import TreeModel

if TYPE_CHECKING:
    from podium.models.model import Model


def has_contributions(model: Model) -> bool:
    """Return whether the score of a model is a sum of contributions of features: trees, or linear, with one output."""
    return model.n_outputs == 1 and (model.has_splits or model.is_linear_in_features)


def query_contributions(
    model: Model,
    features: npt.NDArray[np.float32],
    documents: npt.NDArray[Any] | None = None,
    *,
    num_threads: int = 1,
) -> Floats:
    """Return what each feature adds to the scores of some documents of a query: [documents × features].

    For trees, these are Shapley values. For a linear model, it is the difference that the feature makes against its mean over
    the query.

    Args:
        model: a model for which `has_contributions` is true.
        features: those of all documents of the query, as the model takes them.
        documents: numbers of rows; all by default.
        num_threads: how many threads to use.
    """
    wanted = features if documents is None else features[documents]
    if model.has_splits:
        return attributions(cast(TreeModel, model), wanted, num_threads=num_threads)[:, :-1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the mean of a feature that is missing everywhere is NaN
        mean = np.asarray(np.nanmean(features, axis=0, dtype=np.float64), np.float32)
    parts = np.empty(wanted.shape)
    for column in range(wanted.shape[1]):
        rows = np.repeat(mean[None], len(wanted), axis=0)
        rows[:, column] = wanted[:, column]
        parts[:, column] = to_scores(model.scores(rows, num_threads=num_threads))
    found: Floats = parts - to_scores(model.scores(mean[None], num_threads=1))[0]
    return found
