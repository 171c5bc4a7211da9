"""Function classes: what turns features into scores. One table; gradient descent and boosting fit any of them to any force."""

from __future__ import annotations

from typing import Any

from podium.errors import UnknownNameError
from podium.models.kernel import KernelSpec
from podium.models.model import CoreModel, GradientModel, GradientSpec, Model, Spec
from podium.models.nadaraya_watson import NadarayaWatsonSpec
from podium.models.net import LinearSpec, NetSpec
from podium.models.quadratic import QuadraticSpec
from podium.models.tree_settings import TreesSpec
from podium.parameters import read_value

__all__ = ["MODELS", "CoreModel", "GradientModel", "GradientSpec", "Model", "Spec", "model", "restore_model"]

MODELS: dict[str, type[Spec]] = {
    kind.name: kind
    for kind in (
        LinearSpec,
        NetSpec,
        KernelSpec,
        QuadraticSpec,
        NadarayaWatsonSpec,
        TreesSpec,
    )
}
EXAMPLES = "linear, net(10), net(128, 64, activation='relu'), kernel(rbf) or trees(num_leaves=31)"


def model(name: str | Spec) -> Spec:
    """Return the function class of a name such as `net(10)`; a function class is returned as it is."""
    return read_value(name, "model", MODELS, EXAMPLES)


def restore_model(name: str, settings: dict[str, Any], arrays: dict[str, Any]) -> Model:
    """Return the model that was saved under this name."""
    if name not in MODELS:
        raise UnknownNameError("model", name, MODELS)
    return MODELS[name].model.restore(settings, arrays)
