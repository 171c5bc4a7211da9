"""Writing models for Vespa: trees as the LightGBM JSON that it imports, linear models and nets as a rank profile.

The rules are those of LightGBMParser (model-integration in vespa-engine/vespa) and of gbdt (eval/src/vespa/eval/eval): x < threshold
goes left, so thresholds are the next float32; a node with `default_left` also sends missing values left; large forests hold
values as float32 and add them in float64. Categories are compared as text, and anything else than text in
`pandas_categorical` would be read as null.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from podium.export.changes import Changes
from podium.export.deep_json import dumps
from podium.export.definitions import feature_definitions
from podium.export.floats import LARGEST, above
from podium.export.options import ExportOptions
from podium.export.source import IDENTITY, CategorySides, Layer, WrittenTree, layers_of, refuse, written_trees
from podium.models.net import Net
from podium.models.trees import TreeModel, categories_of
from podium.scoring import Scorer

IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
RANK_FEATURE = re.compile(r"[A-Za-z_]\w*(\([\w$., \"'-]*\))?(\.\w+)*", re.ASCII)
FUNCTIONS = {"tanh": "tanh", "relu": "relu", "sigmoid": "sigmoid"}


def write_vespa(scorer: Scorer, options: ExportOptions, changes: Changes) -> bytes:
    """Return LightGBM's JSON for trees, and a rank profile for linear models and nets."""
    names = [feature["name"] for feature in feature_definitions(scorer, options, rank_feature)]
    model = scorer.model
    if isinstance(model, TreeModel):
        return (dumps(_forest(scorer, model, names)) + "\n").encode()
    assert isinstance(model, Net)
    return _profile(model, names, options.name).encode()


def rank_feature(name: str) -> dict[str, Any]:
    """Return a plain name as the attribute of that name; what looks like a rank feature stays as it is."""
    if IDENTIFIER.fullmatch(name):
        return {"name": f"attribute({name})"}
    if RANK_FEATURE.fullmatch(name):
        return {"name": name}
    raise refuse(
        "vespa", f"cannot have the feature {name!r} in a ranking expression", "give rank features as {features}"
    )


def category_text(scorer: Scorer, feature: int) -> Callable[[float], str]:
    """Return the function from the code of a category to its name, or to the code itself as text; a missing value is empty.

    Vespa compares categories as text, so the feature is a string attribute that holds these texts.
    """
    names = (scorer.categories or {}).get(feature)

    def text(code: float) -> str:
        if math.isnan(code):
            return ""
        known = names is not None and code == int(code) and 0 <= code < len(names)
        return str(names[int(code)]) if known and names is not None else str(int(code))

    return text


def _forest(scorer: Scorer, model: TreeModel, names: list[str]) -> dict[str, Any]:
    known = {k: [value for value in values.tolist() if value >= 0] for k, values in categories_of(model).items()}
    trees = [_tree(number, tree, known) for number, tree in enumerate(written_trees(model))]
    base = float(model.arrays()["base"][0])
    if base or not trees:  # Vespa reads no model without trees
        trees.append({"tree_index": len(trees), "num_leaves": 1, "tree_structure": {"leaf_value": base}})
    infos = {
        name: {"min_value": 0, "max_value": 0, "values": [int(value) for value in known[k]] if k in known else []}
        for k, name in enumerate(names)
    }
    return {
        "name": "tree",
        "version": "v4",
        "num_class": 1,
        "num_tree_per_iteration": 1,
        "label_index": 0,
        "max_feature_idx": model.n_features - 1,
        "objective": "lambdarank",
        "average_output": False,
        "feature_names": names,
        "feature_infos": infos,
        "tree_info": trees,
        "pandas_categorical": [list(map(category_text(scorer, k), known[k])) for k in sorted(known)],
    }


def _tree(number: int, tree: WrittenTree, known: dict[int, Any]) -> dict[str, Any]:
    parts = [_node(tree, node, known) for node in range(len(tree.feature))]
    leaves = [{"leaf_index": k, "leaf_value": value} for k, value in enumerate(tree.value)]
    for node, (part, swapped) in enumerate(parts):
        children = (tree.right[node], tree.left[node]) if swapped else (tree.left[node], tree.right[node])
        for side, child in zip(("left_child", "right_child"), children, strict=True):
            part[side] = parts[child][0] if child >= 0 else leaves[-1 - child]
    root = parts[0][0] if parts else leaves[0]
    return {"tree_index": number, "num_leaves": len(leaves), "shrinkage": 1, "tree_structure": root}


def _node(tree: WrittenTree, node: int, known: dict[int, Any]) -> tuple[dict[str, Any], bool]:
    """Return a node, and whether its children change places."""
    feature = tree.feature[node]
    sides = tree.categories.get(node)
    if sides is not None:
        return _category_node(feature, sides, known[feature])
    threshold, to_left = tree.threshold[node], tree.missing_left[node]
    swapped = threshold >= LARGEST  # nothing is above the largest number: no value is below the smallest
    return {
        "split_feature": feature,
        "threshold": -LARGEST if swapped else above(threshold),
        "decision_type": "<=",
        "default_left": to_left != swapped,
        "missing_type": "NaN",
    }, swapped


def _category_node(feature: int, sides: CategorySides, known: list[float]) -> tuple[dict[str, Any], bool]:
    """Return a node of categories: what is not listed goes right in Vespa, an empty string attribute too."""
    if sides.missing_left != sides.others_left:
        raise refuse(
            "vespa",
            f"sends unknown categories where missing ones go, and the model tells them apart at feature {feature}",
            "use {format='xgboost'}",
        )
    if any(value != int(value) for value in known):
        raise refuse("vespa", f"has whole numbers as categories, and feature {feature} has others")
    swapped = sides.others_left
    named = sides.right if swapped else sides.left
    if not named:
        raise refuse("vespa", f"needs at least one category in a split, and one of feature {feature} has none")
    places = "||".join(str(known.index(value)) for value in named)
    return {
        "split_feature": feature,
        "threshold": places,
        "decision_type": "==",
        "default_left": False,
        "missing_type": "NaN",
    }, swapped


def _profile(net: Net, names: list[str], name: str) -> str:
    """Return a rank profile with one function per input and unit, and the score in the first phase."""
    functions = []
    for k, feature in enumerate(names):
        center, scale, filled = (float(part[k]) for part in (net.map.center, net.map.scale, net.map.filled))
        moved = f"({feature} - {_number(center)}) * {_number(scale)}"
        functions.append((f"{name}_x{k + 1}", f"if (isNan({feature}), {_number(filled)}, {moved})"))
    inputs = [function for function, _ in functions]
    layers = layers_of(net)
    for number, layer in enumerate(layers, start=1):
        is_last = number == len(layers)
        units = [f"{name}_score"] if is_last else [f"{name}_h{number}_{k + 1}" for k in range(layer.weights.shape[1])]
        for k, unit in enumerate(units):
            total = _weighted_sum(layer, k, inputs)
            is_plain = layer.activation == IDENTITY
            functions.append((unit, total if is_plain else f"{FUNCTIONS[layer.activation]}({total})"))
        inputs = units
    lines = [f"rank-profile {name} inherits default {{"]
    for function, expression in functions:
        lines += [f"    function {function}() {{", f"        expression: {expression}", "    }"]
    lines += ["    first-phase {", f"        expression: {name}_score", "    }", "}", ""]
    return "\n".join(lines)


def _weighted_sum(layer: Layer, unit: int, inputs: list[str]) -> str:
    terms = [
        f"{name} * {_number(weight)}" for name, weight in zip(inputs, layer.weights[:, unit].tolist(), strict=True)
    ]
    return " + ".join([*terms, _number(float(layer.bias[unit]))])


def _number(value: float) -> str:
    return repr(value) if value >= 0 else f"({value!r})"
