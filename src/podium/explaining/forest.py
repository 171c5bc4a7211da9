"""Attributions and importances of the features of a forest."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.errors import UnknownNameError
from podium.models.model import Features, Floats
from podium.models.trees import TreeModel

KINDS = ("gain", "split")
NOT_EXPLAINED = ("gain", "base", "feature_rules")  # arrays that attributions do not need


def attributions(model: TreeModel, features: Features, *, num_threads: int = 1) -> Floats:
    """Return the Shapley values of every row, [documents × (features + 1)]; the last column is the expected score.

    The value of a set of features is the mean of the trees if only these are known: a split on another feature goes both
    ways, weighted by the shares of the training documents. A forest with several outputs has one table per output:
    [documents × outputs × (features + 1)]. [Lundberg et al. 2020]
    """
    model.check_features(features)
    arrays = model.arrays()
    shap = _core.ForestShap(
        n_features=model.n_features,
        outputs=model.n_outputs,
        **{name: value for name, value in arrays.items() if name not in NOT_EXPLAINED},
    )
    out = np.empty(len(features) * model.n_outputs * (model.n_features + 1))
    shap.attributions(np.ascontiguousarray(model.prepared(features), np.float32), out, num_threads)
    shaped = out.reshape(len(features), model.n_outputs, model.n_features + 1)
    shaped[:, :, -1] += arrays["base"]
    return shaped[:, 0] if model.n_outputs == 1 else shaped


def importance(model: TreeModel, kind: str = "gain") -> npt.NDArray[Any]:
    """Return the importance of each feature over all its splits: the sum of their gains (gain), or their number (split)."""
    if kind not in KINDS:
        raise UnknownNameError("kind of importance", kind, KINDS)
    arrays = model.arrays()
    if kind == "split":
        return np.bincount(arrays["feature"], minlength=model.n_features)
    return np.bincount(arrays["feature"], arrays["gain"], minlength=model.n_features)
