"""Function classes: what turns features into scores. One table; any of them can be fitted to any force."""

from __future__ import annotations

from typing import Any

from podium.errors import ParameterError, unknown_name
from podium.models.kernel import KernelSpec
from podium.models.model import CoreModel, GradientModel, GradientSpec, Model, Spec
from podium.models.nadaraya_watson import NadarayaWatsonSpec
from podium.models.net import LinearSpec, NetSpec
from podium.models.quadratic import QuadraticSpec
from podium.models.tree_settings import TreesSpec
from podium.names import split_name

__all__ = ["MODELS", "CoreModel", "GradientModel", "GradientSpec", "Model", "Spec", "model", "restore_model"]

MODELS: dict[str, type[Spec]] = {
    kind.name: kind for kind in (LinearSpec, NetSpec, KernelSpec, QuadraticSpec, NadarayaWatsonSpec, TreesSpec)
}
EXAMPLES = "linear, net(10), net(128, 64, activation='relu'), kernel(rbf) or trees(num_leaves=31)"


def model(name: str | Spec) -> Spec:
    """Return the function class of a name such as `net(10)`; a function class is returned as it is."""
    if isinstance(name, Spec):
        return name
    if not isinstance(name, str):
        raise ParameterError("model", name, f"must be a name such as {EXAMPLES}")
    parts = split_name(name, "model", EXAMPLES)
    kind = MODELS.get(parts.base.lower())
    if kind is None:
        raise unknown_name("model", parts.base, MODELS)
    return kind.of(parts.values(), parts.settings)


def restore_model(name: str, settings: dict[str, Any], arrays: dict[str, Any]) -> Model:
    """Return the model that was saved under this name."""
    if name not in MODELS:
        raise unknown_name("model", name, MODELS)
    return MODELS[name].model.restore(settings, arrays)
