"""The attributes of ONNX's operators for trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.export.source import CategorySides, WrittenTree, some_trees
from podium.models.trees import TreeModel

LEQ, MEMBER = 0, 6  # modes of TreeEnsemble
SUM = 1


def ensemble_regressor(model: TreeModel, onnx: Any) -> dict[str, Any]:
    """Return the attributes of TreeEnsembleRegressor: nodes and leaves in one list, by tree and number."""
    lists: dict[str, list[Any]] = {
        name: []
        for name in (
            "treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids", "missing_value_tracks_true",
        )
    }  # fmt: skip
    targets: dict[str, list[Any]] = {"treeids": [], "nodeids": [], "ids": [], "weights": []}
    for number, tree in enumerate(some_trees(model)):
        for node in _regressor_nodes(tree):
            for name, value in zip(lists, (number, *node), strict=True):
                lists[name].append(value)
        nodes = len(tree.feature)
        for leaf, weight in enumerate(tree.value):
            for name, value in zip(lists, (number, nodes + leaf, 0, "LEAF", 0.0, 0, 0, 0), strict=True):
                lists[name].append(value)
            for name, value in zip(targets, (number, nodes + leaf, number % model.n_outputs, weight), strict=True):
                targets[name].append(value)
    doubles = {
        "nodes_values_as_tensor": lists.pop("values"),
        "target_weights_as_tensor": targets.pop("weights"),
        "base_values_as_tensor": model.arrays()["base"].tolist(),
    }
    return {
        "n_targets": model.n_outputs,
        "aggregate_function": "SUM",
        "post_transform": "NONE",
        **{f"nodes_{name}": values for name, values in lists.items()},
        **{f"target_{name}": values for name, values in targets.items()},
        **{name: _tensor(onnx, name, values, np.float64) for name, values in doubles.items()},
    }


def _tensor(onnx: Any, name: str, values: Any, kind: Any) -> Any:
    return onnx.numpy_helper.from_array(np.asarray(values, kind), name)


def _regressor_nodes(tree: WrittenTree) -> list[tuple[Any, ...]]:
    """Return the nodes of a tree; a split by category becomes a chain of nodes, one per category."""
    nodes, leaves = len(tree.feature), len(tree.value)
    made, free = [], nodes + leaves
    for node in range(nodes):
        left, right = (child if child >= 0 else nodes - 1 - child for child in (tree.left[node], tree.right[node]))
        sides = tree.categories.get(node)
        if sides is None:
            tracks = int(tree.missing_left[node])
            made.append((node, tree.feature[node], "BRANCH_LEQ", tree.threshold[node], left, right, tracks))
            continue
        named, inside, outside = _named(sides, left, right)
        tracks = int((sides.missing_left and inside == left) or (not sides.missing_left and inside == right))
        numbers = [node, *range(free, free + len(named) - 1)]
        free += len(named) - 1
        for place, (number, value) in enumerate(zip(numbers, named, strict=True)):
            beyond = numbers[place + 1] if place + 1 < len(numbers) else outside
            made.append((number, tree.feature[node], "BRANCH_EQ", value, inside, beyond, tracks if place == 0 else 0))
    return made


def _named(sides: CategorySides, left: int, right: int) -> tuple[list[float], int, int]:
    """Return the categories that a chain names, where they go, and where all others go."""
    if sides.others_left:
        return sides.right or [-1.0], right, left
    return sides.left or [-1.0], left, right


def tree_ensemble(model: TreeModel, onnx: Any) -> dict[str, Any]:
    """Return the attributes of TreeEnsemble: nodes of all trees in one list, leaves in another, sets for categories."""
    roots: list[int] = []
    rows: list[tuple[Any, ...]] = []
    members: list[float] = []
    targets: list[int] = []
    weights: list[float] = []
    for number, tree in enumerate(some_trees(model)):
        first_node, first_leaf = len(rows), len(weights)
        roots.append(first_node)
        targets += [number % model.n_outputs] * len(tree.value)
        weights += tree.value
        if not tree.feature:  # a tree of one leaf: both ways lead to it
            rows.append((0, 0.0, LEQ, first_leaf, first_leaf, 1, 1, 0))
        nodes = range(len(tree.feature))
        rows += [_ensemble_node(tree, node, first_node, first_leaf, members) for node in nodes]
    columns = list(zip(*rows, strict=True)) or [()] * 8
    features, splits, modes, true_ids, false_ids, true_leafs, false_leafs, tracks = columns
    attributes = {
        "n_targets": model.n_outputs,
        "aggregate_function": SUM,
        "post_transform": 0,
        "tree_roots": roots,
        "nodes_featureids": list(features),
        "nodes_truenodeids": list(true_ids),
        "nodes_falsenodeids": list(false_ids),
        "nodes_trueleafs": list(true_leafs),
        "nodes_falseleafs": list(false_leafs),
        "nodes_missing_value_tracks_true": list(tracks),
        "leaf_targetids": targets,
        "nodes_splits": _tensor(onnx, "nodes_splits", splits, np.float64),
        "nodes_modes": _tensor(onnx, "nodes_modes", modes, np.uint8),
        "leaf_weights": _tensor(onnx, "leaf_weights", weights, np.float64),
    }
    if members:
        attributes["membership_values"] = _tensor(onnx, "membership_values", members, np.float64)
    return attributes


def _ensemble_node(
    tree: WrittenTree, node: int, first_node: int, first_leaf: int, members: list[float]
) -> tuple[Any, ...]:
    """Return one node; a split by category appends its set, and NaN as its end, to `members`."""
    split, mode, tracks = tree.threshold[node], LEQ, tree.missing_left[node]
    children = [tree.left[node], tree.right[node]]
    sides = tree.categories.get(node)
    if sides is not None:
        named = sides.right if sides.others_left else sides.left
        if sides.others_left:
            children.reverse()
        split, mode, tracks = 0.0, MEMBER, sides.missing_left != sides.others_left
        members += [*(named or [-1.0]), np.nan]
    places = [child + first_node if child >= 0 else first_leaf - 1 - child for child in children]
    leafs = [int(child < 0) for child in children]
    return (tree.feature[node], split, mode, *places, *leafs, int(tracks))
