"""Writing LightGBM's text files: the same scores to the last bit, because LightGBM also adds float64 values tree by tree.

A base score becomes an additional tree with one leaf. LightGBM sends missing categories right, so a split that sends them left is written
with its children exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from podium.export.changes import TINY_AS_ZERO, Changes
from podium.export.floats import below
from podium.export.names import lightgbm_names
from podium.export.options import ExportOptions
from podium.export.source import CategorySides, WrittenTree, refuse, written_trees
from podium.models.feature_rules import AS_IS, ZERO_IS_MISSING, ZERO_THRESHOLD
from podium.models.trees import TreeModel
from podium.scoring import Scorer

CATEGORICAL, DEFAULT_LEFT = 1, 2
MISSING_ZERO, MISSING_NAN = 1 << 2, 2 << 2
LARGEST_CATEGORY = 2**16


def write_lightgbm(scorer: Scorer, options: ExportOptions, changes: Changes) -> bytes:
    """Return the bytes of a LightGBM text file."""
    model = scorer.model
    assert isinstance(model, TreeModel)
    trees = written_trees(model)
    rules = model.rules.rules
    _check_thresholds(trees, rules, changes)
    base = model.arrays()["base"].tolist()
    blocks = [_tree_block(number, tree, rules) for number, tree in enumerate(trees)]
    if any(base):
        blocks += [_leaf_block(len(blocks) + output, value) for output, value in enumerate(base)]
    names = lightgbm_names(scorer.feature_names or [f"Column_{k}" for k in range(model.n_features)])
    head = [
        "tree",
        "version=v4",
        f"num_class={model.n_outputs}",
        f"num_tree_per_iteration={model.n_outputs}",
        "label_index=0",
        f"max_feature_idx={model.n_features - 1}",
        f"objective={'lambdarank' if model.n_outputs == 1 else f'multiclass num_class:{model.n_outputs}'}",
        f"feature_names={' '.join(names)}",
        f"feature_infos={' '.join(_feature_infos(model))}",
        f"tree_sizes={' '.join(str(len(block.encode())) for block in blocks)}",
        "",
        "",
    ]
    tail = [
        "end of trees",
        "",
        "feature_importances:",
        "",
        "parameters:",
        "end of parameters",
        "",
        "pandas_categorical:null",
        "",
    ]
    return ("\n".join(head) + "".join(blocks) + "\n".join(tail)).encode()


def _feature_infos(model: TreeModel) -> list[str]:
    known = set(model.arrays()["category_features"].tolist())
    used = set(model.used_features.tolist())
    return ["0" if f in known else "[-1e+308:1e+308]" if f in used else "none" for f in range(model.n_features)]


def _check_thresholds(trees: Sequence[WrittenTree], rules: np.ndarray, changes: Changes) -> None:
    """LightGBM takes values up to 1e-35 in size as 0, whatever the model says: a threshold among them decides otherwise."""
    exact = (ZERO_THRESHOLD, below(-ZERO_THRESHOLD))
    for tree in trees:
        for node, threshold in enumerate(tree.threshold):
            plain = node not in tree.categories and rules[tree.feature[node]] == AS_IS
            if plain and -ZERO_THRESHOLD <= threshold < ZERO_THRESHOLD and threshold not in exact:
                changes.need(
                    TINY_AS_ZERO,
                    "lightgbm",
                    f"takes every value from −1e-35 to 1e-35 as 0, and the model has the threshold {threshold:g} there",
                )
                return


def _tree_block(number: int, tree: WrittenTree, rules: np.ndarray) -> str:
    nodes, leaves = len(tree.feature), len(tree.value)
    if nodes == 0:
        return _leaf_block(number, tree.value[0])
    left, right = list(tree.left), list(tree.right)
    thresholds, decisions = [], []
    bounds, words = [0], []
    for node in range(nodes):
        sides = tree.categories.get(node)
        if sides is None:
            zero = rules[tree.feature[node]] == ZERO_IS_MISSING
            decisions.append((MISSING_ZERO if zero else MISSING_NAN) | DEFAULT_LEFT * tree.missing_left[node])
            thresholds.append(repr(tree.threshold[node]))
            continue
        named = _left_categories(sides, tree.feature[node])
        if sides.missing_left:
            left[node], right[node] = right[node], left[node]
        thresholds.append(str(len(bounds) - 1))
        decisions.append(CATEGORICAL | MISSING_NAN)
        words += _bitset(named)
        bounds.append(len(words))
    counts = tree.node_documents()
    fields = {
        "num_leaves": leaves,
        "num_cat": len(bounds) - 1,
        "split_feature": _joined(tree.feature),
        "split_gain": _joined(f"{gain:.9g}" for gain in tree.gain),
        "threshold": " ".join(thresholds),
        "decision_type": _joined(decisions),
        "left_child": _joined(left),
        "right_child": _joined(right),
        "leaf_value": _joined(map(repr, tree.value)),
        "leaf_weight": _joined(tree.documents),
        "leaf_count": _joined(min(count, 2**31 - 1) for count in tree.documents),
        "internal_value": _joined("0" for _ in counts),
        "internal_weight": _joined(counts),
        "internal_count": _joined(min(count, 2**31 - 1) for count in counts),
        **({"cat_boundaries": _joined(bounds), "cat_threshold": _joined(words)} if words else {}),
        "is_linear": 0,
        "shrinkage": 1,
    }
    return f"Tree={number}\n" + "".join(f"{name}={value}\n" for name, value in fields.items()) + "\n\n"


def _leaf_block(number: int, value: float) -> str:
    fields = ("split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child")
    empty = "".join(f"{name}=\n" for name in fields)
    rest = "leaf_weight=\nleaf_count=\ninternal_value=\ninternal_weight=\ninternal_count=\nis_linear=0\nshrinkage=1\n"
    return f"Tree={number}\nnum_leaves=1\nnum_cat=0\n{empty}leaf_value={value!r}\n{rest}\n\n"


def _left_categories(sides: CategorySides, feature: int) -> list[int]:
    """Return the categories that LightGBM sends left: those of the side that missing values do not go to."""
    if sides.others_left != sides.missing_left:
        raise refuse(
            "lightgbm",
            f"sends unknown categories where missing ones go, and the model tells them apart at feature {feature}",
            "use {format='xgboost'}",
        )
    values = sides.right if sides.missing_left else sides.left
    for value in (*sides.left, *sides.right):
        if value != int(value) or not 0 <= value < LARGEST_CATEGORY:
            raise refuse(
                "lightgbm",
                f"has whole numbers below {LARGEST_CATEGORY} as categories, and feature {feature} has {value:g}",
            )
    return [int(value) for value in values]


def _bitset(named: Sequence[int]) -> list[int]:
    words = [0] * (max(named, default=0) // 32 + 1)
    for value in named:
        words[value // 32] |= 1 << (value % 32)
    return words


def _joined(values: object) -> str:
    return " ".join(str(value) for value in values)  # type: ignore[attr-defined]
