"""A model as the writers see it: its trees node by node, or its layers, and the names of its features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from podium.data.feature_names import feature_name
from podium.errors import ParameterError
from podium.models.feature_rules import FLOOR_OR_OTHER, OTHER_CATEGORY
from podium.models.net import Net
from podium.models.trees import TreeModel, categories_of
from podium.scoring import Scorer

MISSING_BIT = 255
IDENTITY = "identity"
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class CategorySides:
    """Where a split sends categories.

    Attributes:
        left, right: the known categories that go each way.
        missing_left: whether a missing value goes left.
        others_left: whether a value that is no known category goes left.
    """

    left: list[float]
    right: list[float]
    missing_left: bool
    others_left: bool


@dataclass(frozen=True)
class WrittenTree:
    """One tree: nodes from the root on, every child behind its parent. A child is a node, or −1 − leaf."""

    feature: list[int]
    threshold: list[float]
    left: list[int]
    right: list[int]
    missing_left: list[bool]
    gain: list[float]
    value: list[float]
    documents: list[int]
    categories: dict[int, CategorySides]

    def node_documents(self) -> list[int]:
        """Return how many training documents fell into each node."""
        counts = [0] * len(self.feature)
        for node in reversed(range(len(counts))):
            for child in (self.left[node], self.right[node]):
                counts[node] += counts[child] if child >= 0 else self.documents[-1 - child]
        return counts


EMPTY_TREE = WrittenTree([], [], [], [], [], [], [0.0], [1], {})  # one leaf, which adds nothing


def written_trees(model: TreeModel) -> list[WrittenTree]:
    """Return the trees of a forest as plain lists."""
    return [written_tree(model, number) for number in range(model.n_trees)]


def some_trees(model: TreeModel) -> list[WrittenTree]:
    """Return the trees of a forest, or empty trees if it has none, for formats that need at least one per output."""
    return written_trees(model) or [EMPTY_TREE] * model.n_outputs


def written_tree(model: TreeModel, number: int) -> WrittenTree:
    """Return one tree of a forest as plain lists."""
    arrays = model.tree(number)
    known = categories_of(model)
    categories = {}
    for node in np.flatnonzero(arrays["set"] >= 0).tolist():
        place = int(arrays["set"][node])
        bits = sum(int(word) << (64 * k) for k, word in enumerate(arrays["sets"][4 * place : 4 * place + 4]))
        feature = int(arrays["feature"][node])
        sides: tuple[list[float], list[float]] = ([], [])
        others = missing = bool(bits >> MISSING_BIT & 1)
        for code, value in enumerate(known[feature].tolist()):
            to_left = bool(bits >> code & 1)
            if value == OTHER_CATEGORY and model.rules.rules[feature] == FLOOR_OR_OTHER:
                others = to_left
            else:
                sides[0 if to_left else 1].append(value)
        categories[node] = CategorySides(*sides, missing, others)
    return WrittenTree(
        arrays["feature"].tolist(),
        arrays["threshold"].tolist(),
        arrays["left"].tolist(),
        arrays["right"].tolist(),
        arrays["missing_left"].astype(bool).tolist(),
        arrays["gain"].tolist(),
        arrays["value"].tolist(),
        arrays["documents"].tolist(),
        categories,
    )


def depth_of(model: TreeModel) -> int:
    """Return the number of splits on the longest way from a root to a leaf."""
    arrays = model.arrays()
    starts = np.repeat(arrays["node_offsets"][:-1], np.diff(arrays["node_offsets"]))
    depth = [1] * len(starts)
    children = [np.where(arrays[side] >= 0, arrays[side] + starts, -1).tolist() for side in ("left", "right")]
    for node, both in enumerate(zip(*children, strict=True)):  # every child comes after its parent
        for child in both:
            if child >= 0:
                depth[child] = depth[node] + 1
    return max(depth, default=0)


@dataclass(frozen=True)
class Layer:
    """One layer of a net: activation(inputs · weights + bias), weights [inputs × units]; identity leaves sums as they are."""

    weights: Floats
    bias: Floats
    activation: str


def layers_of(net: Net) -> list[Layer]:
    """Return the layers of a net; a linear model has one."""
    arrays, count = net.arrays(), len(net.widths) - 1
    activations = [net.activation] * (count - 1) + [net.output]
    return [
        Layer(arrays[f"layer{k}.weights"], arrays[f"layer{k}.bias"], activation)
        for k, activation in enumerate(activations, start=1)
    ]


def feature_names(scorer: Scorer) -> list[str]:
    """Return the names of the features; f0, f1, … if the model has none."""
    return [feature_name(k, scorer.feature_names) for k in range(scorer.model.n_features)]


def kind_of_model(scorer: Scorer) -> str:
    """Return trees, linear, net, or another name, for which no format has a place."""
    model = scorer.model
    if isinstance(model, TreeModel):
        return "trees"
    if isinstance(model, Net):
        return "linear" if model.is_linear else "net"
    return type(model).__name__


def refuse(format: str, what: str, remedy: str = "") -> ParameterError:
    """Return the error for a model that a format cannot hold."""
    return ParameterError("format", format, what, remedy)
