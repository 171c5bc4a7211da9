"""Writing XGBoost's models: the JSON that `Booster.load_model` reads, and the dump that search engines read.

XGBoost holds float32 values and adds them in float32. The file has all digits of the float64 values, and a digest of them: if
Podium reads the file again, it finds its own numbers, while XGBoost rounds what it reads.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from podium.export.changes import Changes
from podium.export.deep_json import dumps
from podium.export.floats import LARGEST, above, short32
from podium.export.names import xgboost_names
from podium.export.options import ExportOptions
from podium.export.source import WrittenTree, feature_names, refuse, written_trees
from podium.export.xgboost_model import ATTRIBUTE, values_digest
from podium.models.trees import TreeModel
from podium.scoring import Scorer

NO_PARENT = 2**31 - 1
VERSION = [2, 1, 0]
LAMBDARANK = {
    "lambdarank_bias_norm": "1",
    "lambdarank_normalization": "1",
    "lambdarank_num_pair_per_sample": "4294967295",
    "lambdarank_pair_method": "topk",
    "lambdarank_unbiased": "0",
    "ndcg_exp_gain": "1",
}


def write_xgboost(scorer: Scorer, options: ExportOptions, changes: Changes) -> bytes:
    """Return the bytes of a model file of XGBoost, as JSON."""
    model = scorer.model
    assert isinstance(model, TreeModel)
    trees = written_trees(model)
    base, outputs = model.arrays()["base"].tolist(), model.n_outputs
    if outputs > 1:
        objective: dict[str, Any] = {"name": "multi:softprob", "softmax_multiclass_param": {"num_class": str(outputs)}}
    else:
        objective = {"name": "rank:ndcg", "lambdarank_param": LAMBDARANK}
    written = [_json_tree(number, tree, model.n_features) for number, tree in enumerate(trees)]
    attributes = {}
    if model.sums == "float64":
        attributes[ATTRIBUTE] = values_digest(map(_leaf_values, written), base)
    categorical = set(model.arrays()["category_features"].tolist())
    document = {
        "learner": {
            "attributes": attributes,
            "feature_names": xgboost_names(scorer.feature_names or ()),
            "feature_types": ["c" if k in categorical else "float" for k in range(model.n_features)],
            "gradient_booster": {
                "model": {
                    "cats": {"enc": [], "feature_segments": [], "sorted_idx": []},
                    "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(trees))},
                    "iteration_indptr": list(range(0, len(trees) + 1, outputs)),
                    "tree_info": [number % outputs for number in range(len(trees))],
                    "trees": written,
                },
                "name": "gbtree",
            },
            "learner_model_param": {
                "base_score": repr(base[0]) if outputs == 1 else "[" + ",".join(map(repr, base)) + "]",
                "boost_from_average": "1",
                "num_class": str(outputs if outputs > 1 else 0),
                "num_feature": str(model.n_features),
                "num_target": "1",
            },
            "objective": objective,
        },
        "version": VERSION,
    }
    return json.dumps(document, separators=(",", ":")).encode()


def _json_tree(number: int, tree: WrittenTree, n_features: int) -> dict[str, Any]:
    """Return one tree as XGBoost's arrays, which hold nodes and leaves together."""
    nodes, leaves = len(tree.feature), len(tree.value)
    conditions: list[float] = []
    default_left: list[int] = []
    left, right = _children(tree)
    named: dict[int, list[int]] = {}
    for node in range(nodes):
        condition, swapped, categories = condition_of(tree, node)
        if swapped:
            left[node], right[node] = right[node], left[node]
        conditions.append(condition)
        default_left.append(int(missing_left(tree, node) != swapped))
        if categories is not None:
            named[node] = categories
    order = _siblings_together(left, right)
    place = {old: new for new, old in enumerate(order)}

    def laid(of_nodes: Sequence[Any], of_leaves: Sequence[Any]) -> list[Any]:
        both = [*of_nodes, *of_leaves]
        return [both[old] for old in order]

    parents = [NO_PARENT] * len(order)
    for node in range(nodes):
        parents[place[left[node]]] = parents[place[right[node]]] = place[node]
    no_child, nothing = [-1] * leaves, [0] * leaves
    return {
        "base_weights": laid([0.0] * nodes, tree.value),
        **_category_lists({place[node]: categories for node, categories in named.items()}),
        "default_left": laid(default_left, nothing),
        "id": number,
        "left_children": laid([place[child] for child in left], no_child),
        "loss_changes": laid([short32(gain) for gain in tree.gain], [0.0] * leaves),
        "parents": parents,
        "right_children": laid([place[child] for child in right], no_child),
        "split_conditions": laid(conditions, tree.value),
        "split_indices": laid(tree.feature, nothing),
        "split_type": laid([int(node in named) for node in range(nodes)], nothing),
        "sum_hessian": laid(*(list(map(short32, covers)) for covers in (tree.node_documents(), tree.documents))),
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(n_features),
            "num_nodes": str(len(order)),
            "size_leaf_vector": "1",
        },
    }


def _leaf_values(tree: dict[str, Any]) -> list[float]:
    both = zip(tree["left_children"], tree["split_conditions"], strict=True)
    return [value for child, value in both if child == -1]


def _siblings_together(left: Sequence[int], right: Sequence[int]) -> list[int]:
    """Return the nodes and leaves level by level: XGBoost takes the node after a left child as the right child.

    (`GetNextNode` in src/predictor/predict_fn.h.)
    """
    order = [0]
    for node in order:
        if node < len(left):
            order += [left[node], right[node]]
    return order


def _category_lists(named: dict[int, list[int]]) -> dict[str, list[int]]:
    """Return the categories that go right, one list behind the other, and where the list of each node begins."""
    where = sorted(named)
    sizes = [len(named[node]) for node in where]
    return {
        "categories": [value for node in where for value in named[node]],
        "categories_nodes": where,
        "categories_segments": [sum(sizes[:k]) for k in range(len(sizes))],
        "categories_sizes": sizes,
    }


def _children(tree: WrittenTree) -> tuple[list[int], list[int]]:
    """Return the children with leaves numbered behind the nodes."""
    nodes = len(tree.feature)
    left, right = (
        [child if child >= 0 else nodes - 1 - child for child in children] for children in (tree.left, tree.right)
    )
    return left, right


def missing_left(tree: WrittenTree, node: int) -> bool:
    """Return whether a missing value goes left at a node."""
    sides = tree.categories.get(node)
    return tree.missing_left[node] if sides is None else sides.missing_left


def condition_of(tree: WrittenTree, node: int) -> tuple[float, bool, list[int] | None]:
    """Return XGBoost's condition for a node, whether its children change places, and the categories that go right.

    x ≤ threshold is x < the next float32. Nothing is above the largest float32, so a threshold there becomes a condition
    that no value meets, with the children exchanged. Unknown categories go left in XGBoost.
    """
    sides = tree.categories.get(node)
    if sides is None:
        threshold = tree.threshold[node]
        return (-LARGEST, True, None) if threshold >= LARGEST else (short32(above(threshold)), False, None)
    for value in (*sides.left, *sides.right):
        if value != int(value) or not 0 <= value < 2**24:
            raise refuse("xgboost", f"has whole numbers as categories, and feature {tree.feature[node]} has {value:g}")
    named = sides.right if sides.others_left else sides.left
    return 0.0, not sides.others_left, sorted(int(value) for value in named)


def dump_trees(trees: Sequence[WrittenTree], base: float, names: Sequence[str], format: str) -> list[dict[str, Any]]:
    """Return the trees as XGBoost's `dump_model` nests them; a base score, which a dump loses, becomes an additional tree.

    Engines refuse a model without trees, so that there is at least one.
    """
    dumped = [_dumped(tree, names, format) for tree in trees]
    return [*dumped, {"nodeid": 0, "leaf": short32(base)}] if base or not dumped else dumped


def _dumped(tree: WrittenTree, names: Sequence[str], format: str) -> dict[str, Any]:
    nodes = len(tree.feature)
    left, right = _children(tree)
    parts: list[dict[str, Any]] = []
    depth = [0] * (nodes + len(tree.value))
    for node in range(nodes):
        if node in tree.categories:
            raise refuse(
                format,
                "has no splits by category",
                "train without the categorical features, or use {format='onnx'} or {format='vespa'}",
            )
        condition, swapped, _ = condition_of(tree, node)
        yes, no = (right[node], left[node]) if swapped else (left[node], right[node])
        depth[yes] = depth[no] = depth[node] + 1
        parts.append(
            {
                "nodeid": node,
                "depth": depth[node],
                "split": names[tree.feature[node]],
                "split_condition": condition,
                "yes": yes,
                "no": no,
                "missing": yes if tree.missing_left[node] != swapped else no,
            }
        )
    parts += [{"nodeid": nodes + leaf, "leaf": short32(value)} for leaf, value in enumerate(tree.value)]
    for part in parts[:nodes]:
        part["children"] = [parts[part["yes"]], parts[part["no"]]]
    return parts[0]


def write_xgboost_dump(scorer: Scorer, options: ExportOptions, changes: Changes) -> bytes:
    """Return the bytes of a JSON dump, a list of nested trees."""
    model = scorer.model
    assert isinstance(model, TreeModel)
    trees = dump_trees(written_trees(model), float(model.arrays()["base"][0]), feature_names(scorer), "xgboost-dump")
    return (dumps(trees) + "\n").encode()
