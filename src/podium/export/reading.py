"""What the readers of other libraries' models share: trees in any numbering become the arrays of a forest.

A reader hands over trees as it finds them. Here they are checked (every child inside its tree, no node met twice), renumbered
from the root, and laid out as arrays. Whatever a file claims, the work is bounded by its length.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data.categories import Categories
from podium.errors import DataError
from podium.export.floats import LARGEST
from podium.models.feature_rules import FLOOR_OR_OTHER, OTHER_CATEGORY
from podium.models.trees import MOST_FEATURES, Arrays, TreeModel, forest_of

MOST_CATEGORIES = 255
MISSING_BIT = 255
MOST_OUTPUTS = 1 << 16


class BadModelError(ValueError):
    """A file does not hold the model that its format promises; the importer adds the path."""


@dataclass(frozen=True)
class CategorySplit:
    """A split of categories.

    Attributes:
        named: some categories, which go one way; all others go the other way.
        named_left: whether the named ones go left.
        missing_left: whether a missing value goes left.
    """

    named: frozenset[int]
    named_left: bool
    missing_left: bool


@dataclass
class ReadTree:
    """A tree as a file has it: nodes and leaves in any order, the root is node 0; without nodes the only leaf is number 0.

    A child is a node (0 or more), or −1 − leaf. x ≤ threshold goes left; a threshold of −∞ sends every value right. A node
    of categories has its split in `categories`.
    """

    feature: list[int]
    threshold: list[float]
    left: list[int]
    right: list[int]
    missing_left: list[bool]
    value: list[float]
    gain: list[float] = field(default_factory=list)
    documents: list[int] = field(default_factory=list)
    categories: dict[int, CategorySplit] = field(default_factory=dict)


@dataclass(frozen=True)
class ReadModel:
    """A model of another library.

    Attributes:
        model: its trees.
        feature_names: names of the features, or None.
        categories: names of the categories by column, or None.
        format: name of the format that it was read from.
    """

    model: TreeModel
    feature_names: tuple[str, ...] | None = None
    categories: Categories | None = None
    format: str = ""


def require(holds: bool, what: str) -> None:
    """Raise a BadModelError unless the condition holds."""
    if not holds:
        raise BadModelError(what)


def whole(value: Any, what: str, least: int, most: int) -> int:
    """Return a whole number of a file, if it lies in the range."""
    number = int(value)
    require(number == value or isinstance(value, str), f"{what} is {value!r}, not a whole number")
    require(least <= number <= most, f"{what} is {number}; it must lie from {least} to {most}")
    return number


def feature_count(value: Any) -> int:
    """Return the number of features that a file claims, if a forest may have so many."""
    return whole(value, "the number of features", 0, MOST_FEATURES)


def checked_names(names: Sequence[Any], n_features: int) -> tuple[str, ...] | None:
    """Return the names of features if there is one for each and no two are the same; otherwise None."""
    texts = tuple(str(name) for name in names)
    return texts if len(texts) == n_features and len(set(texts)) == n_features and all(texts) else None


def build_model(
    trees: Sequence[ReadTree],
    *,
    n_features: int,
    base: Sequence[float],
    sums: str = "float64",
    rules: npt.NDArray[np.uint8] | None = None,
) -> TreeModel:
    """Return the forest of some trees; tree t adds to output t mod outputs, of which there is one per base score."""
    require(1 <= len(base) <= MOST_OUTPUTS, f"there are {len(base)} outputs")
    require(len(trees) % len(base) == 0, f"{len(trees)} trees cannot be shared by {len(base)} outputs")
    require(all(map(math.isfinite, base)), "a base score is not finite")
    known = _known_categories(trees, n_features, rules)
    laid = [_lay_out(tree, n_features, known, number) for number, tree in enumerate(trees)]
    arrays = forest_of(laid, np.array(base, np.float64), known)
    if rules is not None and rules.any():
        arrays["feature_rules"] = rules
    try:
        return TreeModel(arrays, n_features, len(base), sums=sums)
    except (DataError, ValueError) as error:
        raise BadModelError(str(error)) from None


def _known_categories(
    trees: Sequence[ReadTree], n_features: int, rules: npt.NDArray[np.uint8] | None
) -> dict[int, npt.NDArray[np.float32]]:
    """Return the categories of each feature that some split sorts by category."""
    found: dict[int, set[int]] = {}
    for tree in trees:
        for node, split in tree.categories.items():
            found.setdefault(tree.feature[node], set()).update(split.named)
    known = {}
    for feature, categories in found.items():
        require(0 <= feature < n_features, f"a split is on feature {feature}, and there are {n_features}")
        most = MOST_CATEGORIES
        if rules is not None and rules[feature] == FLOOR_OR_OTHER:
            categories = categories | {int(OTHER_CATEGORY)}
            most -= 1
        require(
            len(categories) <= MOST_CATEGORIES,
            f"the splits of feature {feature} name {len(categories)} categories, and Podium's trees take at most {most}; train "
            "with the rare ones grouped",
        )
        known[feature] = np.array(sorted(categories), np.float32)
    return known


def _lay_out(tree: ReadTree, n_features: int, known: dict[int, npt.NDArray[np.float32]], number: int) -> Arrays:
    """Return the arrays of one tree, numbered from the root so that every child comes after its parent."""
    order, leaves, left, right = _walk(tree, number)
    require(
        all(math.isfinite(tree.value[leaf]) for leaf in leaves), f"the value of a leaf of tree {number} is not finite"
    )
    feature = [tree.feature[node] for node in order]
    require(
        all(0 <= f < n_features for f in feature),
        f"tree {number} tests a feature that is not among the {n_features} of the model",
    )
    threshold: list[float] = []
    missing: list[bool] = []
    sets: list[list[int]] = []
    chosen: list[int] = []
    for place, node in enumerate(order):
        split = tree.categories.get(node)
        require(
            (split is None) == (feature[place] not in known),
            f"feature {feature[place]} is split as a number and by categories",
        )
        limit, to_left = (0.0, False) if split is not None else (tree.threshold[node], tree.missing_left[node])
        require(not math.isnan(limit), f"a threshold of tree {number} is not a number")
        if limit < -LARGEST:  # no value goes left: the children change places, and every value goes left instead
            left[place], right[place] = right[place], left[place]
            limit, to_left = LARGEST, not to_left
        threshold.append(min(limit, LARGEST))
        missing.append(to_left)
        chosen.append(-1 if split is None else len(sets))
        if split is not None:
            sets.append(_set_words(split, known[feature[place]]))
    return {
        "feature": np.array(feature, np.int32),
        "threshold": np.array(threshold, np.float32),
        "left": np.array(left, np.int32),
        "right": np.array(right, np.int32),
        "missing_left": np.array(missing, np.uint8),
        "set": np.array(chosen, np.int32),
        "gain": np.array([tree.gain[node] if tree.gain else 0.0 for node in order], np.float64),
        "value": np.array([tree.value[leaf] for leaf in leaves], np.float64),
        "documents": np.array([tree.documents[leaf] if tree.documents else 1 for leaf in leaves], np.int64),
        "sets": np.array([word for words in sets for word in words], np.uint64),
    }


def _walk(tree: ReadTree, number: int) -> tuple[list[int], list[int], list[int], list[int]]:
    """Return (nodes, leaves, left children, right children) in the order of a walk from the root."""
    nodes, n_leaves = len(tree.feature), len(tree.value)
    require(n_leaves > 0, f"tree {number} has no leaf")
    if nodes == 0:
        return [], [0], [], []
    order: list[int] = []
    leaves: list[int] = []
    left, right = [0] * nodes, [0] * nodes
    sides = (left, right)
    met: set[int] = set()
    todo = [(0, 0, -1)]
    while todo:
        child, side, parent = todo.pop()
        require(child < nodes and child >= -n_leaves, f"tree {number} has a child that is not in the tree")
        require(child not in met, f"a node of tree {number} is reached twice")
        met.add(child)
        if child < 0:
            sides[side][parent] = -1 - len(leaves)
            leaves.append(-1 - child)
            continue
        if parent >= 0:
            sides[side][parent] = len(order)
        place = len(order)
        order.append(child)
        todo.append((tree.right[child], 1, place))
        todo.append((tree.left[child], 0, place))
    return order, leaves, left[: len(order)], right[: len(order)]


def _set_words(split: CategorySplit, known: npt.NDArray[np.float32]) -> list[int]:
    """Return the four words of a set: bit k for the k-th known category, the last bit for a missing value."""
    bits = int(split.missing_left) << MISSING_BIT
    for place, value in enumerate(known.tolist()):
        bits |= int((value in split.named) == split.named_left) << place
    return [bits >> (64 * word) & (2**64 - 1) for word in range(4)]


Reader = Callable[[bytes], ReadModel]
