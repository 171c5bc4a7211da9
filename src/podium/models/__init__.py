"""Function classes: what turns features into scores. One table; any of them absorbs any force."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from podium.errors import ParameterError, short_repr, unknown_name
from podium.models.kernel import KernelModel, KernelSpec
from podium.models.model import CoreModel, GradientModel, GradientSpec, Model, Spec
from podium.models.nadaraya_watson import NadarayaWatson, NadarayaWatsonSpec
from podium.models.names import split_name
from podium.models.net import LinearSpec, Net, NetSpec
from podium.models.quadratic import QuadraticModel, QuadraticSpec
from podium.models.trees import TreeModel, TreesSpec

__all__ = [
    "MODELS",
    "CoreModel",
    "Definition",
    "GradientModel",
    "GradientSpec",
    "Model",
    "Spec",
    "model",
    "restore_model",
]


@dataclass(frozen=True)
class Definition:
    """One row of the table: what a name makes, and what reads its saved form."""

    name: str
    summary: str
    formula: str
    parameters: tuple[str, ...]
    make: Callable[..., Spec]
    restore: Callable[[dict[str, Any], dict[str, Any]], Model]


def _make_net(*hidden: int, **settings: Any) -> Spec:
    return NetSpec(hidden, **settings) if hidden else NetSpec(**settings)


MODELS: dict[str, Definition] = {
    definition.name: definition
    for definition in (
        Definition(
            "linear",
            "A weight a feature.",
            "s = w · x̂ + b",
            ("standardize",),
            lambda **settings: LinearSpec(**settings),
            Net.restore,
        ),
        Definition(
            "net",
            "Dense layers of any depth and width: net(10), net(128, 64, activation='relu').",
            "s = W_L a(… a(W_1 x̂ + b_1) …) + b_L",
            ("activation", "standardize", "init"),
            _make_net,
            Net.restore,
        ),
        Definition(
            "kernel",
            "A kernel expansion over the training documents, or over landmarks where there are many: kernel(rbf).",
            "s = Σ_i α_i k(x̂, x̂_i) + b",
            ("width", "degree", "offset", "landmarks", "standardize"),
            lambda *kernel, **settings: KernelSpec(*kernel, **settings),
            KernelModel.restore,
        ),
        Definition(
            "quadratic",
            "A weight a feature and a weight a product of two features: quadratic.",
            "s = x̂ᵀ A x̂ + w · x̂ + b, x̂ divided by `width`, √features unless told otherwise",
            ("width", "standardize"),
            lambda **settings: QuadraticSpec(**settings),
            QuadraticModel.restore,
        ),
        Definition(
            "nadaraya-watson",
            "The mean label of the training documents, near ones counting most, with a width a feature: nadaraya-watson.",
            "s = Σ_t K(x_t, x) y_t / Σ_t K(x_t, x), K = exp(−½ Σ_f a_f² (x̂_f − x̂_tf)²)",
            tuple(field.name for field in fields(NadarayaWatsonSpec)),
            lambda **settings: NadarayaWatsonSpec(**settings),
            NadarayaWatson.restore,
        ),
        Definition(
            "trees",
            "Boosted regression trees: trees, trees(num_leaves=31, l2=1).",
            "s = Σ_t tree_t(x), a leaf gives rate · Σλ / (Σw + l2)",
            tuple(field.name for field in fields(TreesSpec)),
            lambda **settings: TreesSpec(**settings),
            TreeModel.restore,
        ),
    )
}


def model(name: str | Spec) -> Spec:
    """The function class of a name such as `net(10)`; one already made comes back as it is."""
    if isinstance(name, Spec):
        return name
    if not isinstance(name, str):
        raise ParameterError(
            f"model={short_repr(name)} must be a name such as 'linear', 'net(10)', 'kernel(rbf)' or 'trees'"
        )
    base, first, parameters = split_name(name)
    definition = MODELS.get(base.lower())
    if definition is None:
        raise unknown_name("model", base, MODELS)
    for parameter in parameters:
        if parameter not in definition.parameters:
            raise unknown_name(f"parameter of {base}", parameter, definition.parameters)
    try:
        return definition.make(*first, **parameters)
    except TypeError:
        raise ParameterError(
            f"model {name!r}: {base} takes no {short_repr(first)} in front of its parameters"
        ) from None


def restore_model(name: str, settings: dict[str, Any], arrays: dict[str, Any]) -> Model:
    """The model that was saved under this name."""
    definition = MODELS.get(name)
    if definition is None:
        raise unknown_name("model", name, MODELS)
    return definition.restore(settings, arrays)
