"""Reading XGBoost's models, JSON and UBJSON.

The rules are those of src/predictor/cpu_predictor.cc, src/predictor/predict_fn.h and src/common/categorical.h in
dmlc/xgboost: x < condition goes left, a listed category goes right, and float32 sums begin at the base score. The base score
passes through the objective's link (`ProbToMargin` in src/objective).
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data.categories import Categories
from podium.export.floats import below, round32
from podium.export.reading import (
    MOST_OUTPUTS,
    CategorySplit,
    ReadModel,
    ReadTree,
    build_model,
    checked_names,
    feature_count,
    require,
    whole,
)
from podium.export.ubjson import read_ubjson
from podium.model_kinds import looks_like_xgboost_ubjson
from podium.models.feature_rules import FLOOR_OR_OTHER

ATTRIBUTE = "podium"  # of files that Podium wrote: the digest of its float64 values
LOGIT = ("binary:logistic", "reg:logistic")
LOG = ("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft")
SMALLEST_PROBABILITY = np.float32(1e-6)
COVER_UNIT = 1e-6  # covers are kept as whole numbers of this unit
LARGEST_COVER = 1e12
LARGEST_CATEGORY = 2**24


def read_xgboost(raw: bytes) -> ReadModel:
    """Return the model of an XGBoost file, JSON or UBJSON."""
    require(
        raw.lstrip()[:1] == b"{",
        "it is neither JSON nor UBJSON; if it is XGBoost's older binary format, load it with XGBoost and save it as JSON",
    )
    document = read_ubjson(raw) if looks_like_xgboost_ubjson(raw[:64]) else json.loads(raw)
    learner = document["learner"]
    booster = learner["gradient_booster"]
    kind = booster["name"]
    require(kind in ("gbtree", "dart"), f"its booster is {kind!r}; only trees (gbtree and dart) can be imported")
    forest = booster["gbtree"]["model"] if kind == "dart" else booster["model"]
    parameters = learner["learner_model_param"]
    n_features = feature_count(int(parameters["num_feature"]))
    outputs = max(1, *(whole(parameters.get(name, 0), name, 0, MOST_OUTPUTS) for name in ("num_class", "num_target")))
    weights = [round32(weight) for weight in booster["weight_drop"]] if kind == "dart" else None
    base, written = _base(parameters, learner["objective"]["name"], outputs)
    trees = _ordered(forest, weights, outputs, n_features)
    own = weights is None and learner.get("attributes", {}).get(ATTRIBUTE) == values_digest(
        (tree.value for tree in trees), written
    )
    if not own:
        for tree in trees:
            tree.value = [round32(value) for value in tree.value]
    model = build_model(
        trees,
        n_features=n_features,
        base=written if own else base,
        sums="float64" if own else "float32",
        rules=_rules(trees, n_features),
    )
    names = checked_names(list(learner.get("feature_names", [])), n_features)
    return ReadModel(model, names, _category_names(forest, n_features))


def values_digest(trees: Iterable[Sequence[float]], base: Sequence[float]) -> str:
    """Return a digest of all leaves in float64, in the order of the file: XGBoost rounds them to float32, so a file it wrote again has another one."""
    values = np.array([*base, *(value for tree in trees for value in tree)], "<f8")
    return hashlib.sha256(values.tobytes()).hexdigest()


def _base(parameters: dict[str, Any], objective: str, outputs: int) -> tuple[list[float], list[float]]:
    """Return the base score of every output as XGBoost adds it, and as it is written."""
    text = str(parameters["base_score"]).strip()
    written = [float(word) for word in text.removeprefix("[").removesuffix("]").split(",")]
    require(len(written) in (1, outputs), f"there are {len(written)} base scores for {outputs} outputs")
    written = written * outputs if len(written) == 1 else written
    return [_linked(np.float32(value), objective) for value in written], written


def _linked(score: np.float32, objective: str) -> float:
    one = np.float32(1)
    if objective in LOGIT:
        bounded = min(max(score, SMALLEST_PROBABILITY), one - SMALLEST_PROBABILITY)
        return -round32(math.log(one / bounded - one))  # as exact as the C library's logarithm of a float
    if objective in LOG:
        require(bool(score > 0), f"the base score {score} of {objective} is not positive")
        return round32(math.log(score))
    return float(score)


def _ordered(forest: dict[str, Any], weights: list[float] | None, outputs: int, n_features: int) -> list[ReadTree]:
    """Return the trees in the order that forests have: one per output, again and again."""
    groups = [whole(group, "tree_info", 0, outputs - 1) for group in forest["tree_info"]]
    require(len(groups) == len(forest["trees"]), "tree_info has another length than trees")
    require(weights is None or len(weights) == len(groups), "weight_drop has another length than trees")
    by_output: list[list[ReadTree]] = [[] for _ in range(outputs)]
    for number, (group, tree) in enumerate(zip(groups, forest["trees"], strict=True)):
        weight = 1.0 if weights is None else weights[number]
        size = whole(tree["tree_param"].get("size_leaf_vector", 1), "size_leaf_vector", 0, MOST_OUTPUTS)
        if size <= 1:
            by_output[group].append(_read_tree(tree, weight, None, 1))
            continue
        require(size == outputs, f"a tree has leaves of {size} values for {outputs} outputs")
        for output in range(outputs):
            by_output[output].append(_read_tree(tree, weight, output, size))
    counts = {len(own) for own in by_output}
    require(len(counts) == 1, "outputs have different numbers of trees")
    return [own[place] for place in range(counts.pop()) for own in by_output]


def _read_tree(tree: dict[str, Any], weight: float, output: int | None, size: int) -> ReadTree:
    """Return one tree; of one whose leaves have several values, the tree of one output."""
    left, right = _list(tree["left_children"]), _list(tree["right_children"])
    nodes = len(left)
    indices, conditions, default_left = (
        _list(tree[name]) for name in ("split_indices", "split_conditions", "default_left")
    )
    require(
        nodes > 0 and all(len(field) == nodes for field in (right, indices, conditions, default_left)),
        "the arrays of a tree are empty or differ in length",
    )
    inner = [node for node in range(nodes) if left[node] != -1]
    ends = [node for node in range(nodes) if left[node] == -1]
    if left[0] == -1:  # the root is a leaf; whatever else is there was pruned
        inner, ends = [], [0]
    number = {node: k for k, node in enumerate(inner)} | {node: -1 - k for k, node in enumerate(ends)}
    gains, covers = _optional(tree, "loss_changes", nodes), _optional(tree, "sum_hessian", nodes)
    read = ReadTree(
        feature=[int(indices[node]) for node in inner],
        threshold=[_limit(conditions[node]) for node in inner],
        left=[number.get(left[node], nodes) for node in inner],
        right=[number.get(right[node], nodes) for node in inner],
        missing_left=[bool(default_left[node]) for node in inner],
        value=_leaf_values(tree, ends, conditions, right, weight, output, size),
        gain=[float(gains[node]) for node in inner],
        documents=[round(min(max(float(covers[node]), 0.0), LARGEST_COVER) / COVER_UNIT) for node in ends],
    )
    for node, named in _category_lists(tree, nodes).items():
        if node in number and number[node] >= 0:
            place = number[node]
            read.categories[place] = CategorySplit(named, False, read.missing_left[place])
    return read


def _limit(condition: float) -> float:
    """Return the threshold of `x ≤ threshold` for XGBoost's `x < condition`."""
    require(not math.isnan(condition), "a split condition is not a number")
    return below(round32(condition))


def _leaf_values(
    tree: dict[str, Any],
    ends: list[int],
    conditions: list[float],
    right: list[int],
    weight: float,
    output: int | None,
    size: int,
) -> list[float]:
    if output is None:
        values = [float(conditions[node]) for node in ends]
    elif "leaf_weights" in tree:  # of a leaf, `right_children` holds its number
        table = _list(tree["leaf_weights"])
        require(len(table) >= len(ends) * size, f"there are {len(table)} values for {len(ends)} leaves of {size}")
        require(all(0 <= right[node] < len(table) // size for node in ends), "a leaf has no values")
        values = [float(table[right[node] * size + output]) for node in ends]
    else:
        table = _list(tree["base_weights"])
        require(len(table) == len(conditions) * size, "base_weights has another length than nodes and outputs say")
        values = [float(table[node * size + output]) for node in ends]
    return values if weight == 1.0 else [round32(round32(value) * weight) for value in values]


def _category_lists(tree: dict[str, Any], nodes: int) -> dict[int, frozenset[int]]:
    """Return the categories that go right, of every node that splits by category."""
    where, begins, sizes, categories = (
        [int(value) for value in tree.get(name, [])]
        for name in ("categories_nodes", "categories_segments", "categories_sizes", "categories")
    )
    require(len(where) == len(begins) == len(sizes), "the lists of categories differ in length")
    marked = {node for node, kind in enumerate(_list(tree.get("split_type", []))) if kind == 1 and node < nodes}
    require(marked <= set(where), "a node that splits by category has no categories")
    found = {}
    for node, begin, size in zip(where, begins, sizes, strict=True):
        require(begin >= 0 and size >= 0 and begin + size <= len(categories), "a list of categories is out of range")
        named = frozenset(categories[begin : begin + size])
        require(all(0 <= value < LARGEST_CATEGORY for value in named), "a category is out of range")
        found[node] = named
    return found


def _rules(trees: Sequence[ReadTree], n_features: int) -> npt.NDArray[np.uint8]:
    rules = np.zeros(n_features, np.uint8)
    for tree in trees:
        for node in tree.categories:
            if 0 <= tree.feature[node] < n_features:
                rules[tree.feature[node]] = FLOOR_OR_OTHER
    return rules


def _list(values: Any) -> list[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def _optional(tree: dict[str, Any], name: str, count: int) -> list[Any]:
    """Return what training noted about every node, or zeros."""
    values = _list(tree.get(name, []))
    finite = len(values) == count and all(isinstance(v, int | float) and math.isfinite(v) for v in values)
    return values if finite else [0.0] * count


def _category_names(forest: dict[str, Any], n_features: int) -> Categories | None:
    """Return the names of the categories, if the model was trained on a frame with categorical columns."""
    columns = forest.get("cats", {}).get("enc", [])
    if len(columns) != n_features:
        return None
    names: dict[int, tuple[str, ...]] = {}
    for column, encoded in enumerate(columns):
        values = _list(encoded.get("values", []))
        if "offsets" in encoded:
            letters = bytes(value % 256 for value in values)
            offsets = _list(encoded["offsets"])
            named = tuple(letters[a:b].decode() for a, b in itertools.pairwise(offsets))
        else:
            named = tuple(str(value) for value in values)
        if named and len(set(named)) == len(named):
            names[column] = named
    return names or None
