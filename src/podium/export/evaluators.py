"""What engines without a Python package compute from an exported file: small evaluators that follow their documented rules.

They read the file again and share no code with the writers. Rows go through a tree together, and each node divides them into those
that go left and those that go right. docs/export.md names the source file of every rule.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt

from podium.export.deep_json import loads

Features = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Values = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
Decide = Callable[[Any, Features], tuple[Any, Any, Mask]]


def route(root: Any, rows: Features, leaf: Callable[[Any], float | None], decide: Decide) -> Singles:
    """Return the value of the leaf of each row; `decide(node, rows)` gives both children and who goes to the first."""
    out = np.empty(len(rows), np.float32)
    todo = [(root, np.arange(len(rows)))]
    while todo:
        node, which = todo.pop()
        value = leaf(node)
        if value is not None:
            out[which] = np.float32(value)
        elif len(which):
            first, second, mask = decide(node, rows[which])
            todo += [(first, which[mask]), (second, which[~mask])]
    return out


def score_xgboost_dump(trees: list[Any], names: list[str], rows: Features) -> Floats:
    """Return what the plugins' NaiveAdditiveDecisionTree computes: condition > x goes to `yes`, sums are float32."""
    column = {name: k for k, name in enumerate(names)}

    def decide(node: Any, rows: Features) -> tuple[Any, Any, Mask]:
        yes, no = node["children"]
        assert (yes["nodeid"], no["nodeid"]) == (node["yes"], node["no"])
        values = rows[:, column[node["split"]]]
        missing = np.isnan(values)
        return yes, no, np.where(missing, node["missing"] == node["yes"], np.float32(node["split_condition"]) > values)

    total = np.zeros(len(rows), np.float32)
    for tree in trees:
        total += route(tree, rows, lambda node: node.get("leaf"), decide)
    return total.astype(np.float64)


def score_ranklib(text: str, rows: Features) -> Floats:
    """Return what RankLib's Ensemble computes: a missing value is 0, x ≤ threshold goes left, sums are float32."""
    filled = np.nan_to_num(rows, nan=0.0, posinf=np.inf, neginf=-np.inf)
    lines = [line for line in text.splitlines() if not line.startswith("##")]
    total = np.zeros(len(rows), np.float32)

    def leaf(node: Any) -> float | None:
        output = node.find("output")
        return None if output is None else float(output.text)

    def decide(node: Any, rows: Features) -> tuple[Any, Any, Mask]:
        column = int(node.find("feature").text) - 1
        left, right = (node.find(f"split[@pos='{side}']") for side in ("left", "right"))
        return left, right, rows[:, column] <= np.float32(float(node.find("threshold").text))

    for tree in ElementTree.fromstring("\n".join(lines)):
        weight = np.float64(np.float32(float(tree.attrib["weight"])))
        values = route(tree.find("split"), filled, leaf, decide)
        total = (total.astype(np.float64) + values.astype(np.float64) * weight).astype(np.float32)
    return total.astype(np.float64)


def score_elasticsearch(raw: bytes, rows: Features) -> Floats:
    """Return what the plugin computes from a stored model."""
    stored = json.loads(raw)["model"]
    names = [feature["name"] for feature in stored["feature_set"]["features"]]
    model = stored["model"]
    if model["type"] == "model/xgboost+json":
        return score_xgboost_dump(loads(model["definition"])["splits"], names, rows)
    if model["type"] == "model/ranklib":
        return score_ranklib(model["definition"], rows)
    total = np.zeros(len(rows), np.float32)
    weights = json.loads(model["definition"])
    for k, name in enumerate(names):  # the plugin's dense vector begins with zeros
        values = np.nan_to_num(rows[:, k], nan=0.0)
        if name in model.get("feature_normalizers", {}):
            norm = model["feature_normalizers"][name]["standard"]
            values = (values - np.float32(norm["mean"])) / np.float32(norm["standard_deviation"])
        total += np.float32(weights[name]) * values
    return total.astype(np.float64)


def score_solr(raw: bytes, rows: Features) -> Floats:
    """Return what Solr's models compute from a feature store and a model."""
    model = loads(raw.decode())["model"]
    names, inputs = [feature["name"] for feature in model["features"]], rows.copy()
    kind, parameters = model["class"].rpartition(".")[2], model["params"]
    keeps_missing = parameters.get("isNullSameAsZero") is False
    if not keeps_missing:
        inputs[np.isnan(inputs)] = 0
    with np.errstate(over="ignore"):
        for k, feature in enumerate(model["features"]):
            if "norm" in feature:
                norm = feature["norm"]["params"]
                inputs[:, k] = (inputs[:, k] - np.float32(float(norm["avg"]))) / np.float32(float(norm["std"]))
    if kind == "MultipleAdditiveTreesModel":
        return _solr_trees(parameters["trees"], names, inputs)
    total = np.zeros(len(rows), np.float32)
    if kind == "LinearModel":
        for k, name in enumerate(names):
            total += inputs[:, k] * np.float32(parameters["weights"][name])
        return total.astype(np.float64)
    return _solr_net(parameters["layers"], inputs)


def _solr_trees(trees: list[Any], names: list[str], rows: Features) -> Floats:
    column = {name: k for k, name in enumerate(names)}

    def leaf(node: Any) -> float | None:
        return None if "feature" in node else float(node["value"])

    def decide(node: Any, rows: Features) -> tuple[Any, Any, Mask]:
        values = rows[:, column[node["feature"]]]
        threshold = np.float32(float(node["threshold"])) + np.float32(1e-6)
        goes_left = np.where(np.isnan(values), node["missing"] == "left", values <= threshold)
        return node["left"], node["right"], goes_left

    total = np.zeros(len(rows), np.float32)
    for tree in trees:
        total += np.float32(float(tree["weight"])) * route(tree["root"], rows, leaf, decide)
    return total.astype(np.float64)


def _solr_net(layers: list[Any], inputs: Singles) -> Floats:
    functions: dict[str, Callable[[Singles], Values]] = {
        "identity": lambda x: x,
        "relu": lambda x: np.where(x < 0, 0, x),
        "tanh": lambda x: np.tanh(x.astype(np.float64)),
        "sigmoid": lambda x: 1 / (1 + np.exp(-x.astype(np.float64))),
    }
    values = inputs
    for layer in layers:
        matrix, sums = (
            np.array(layer["matrix"], np.float32),
            np.tile(np.array(layer["bias"], np.float32), (len(values), 1)),
        )
        for j in range(matrix.shape[1]):
            sums += matrix[:, j] * values[:, j : j + 1]
        with np.errstate(over="ignore"):
            values = functions[layer["activation"]](sums).astype(np.float32)
    return values[:, 0].astype(np.float64)


def score_vespa_trees(raw: bytes, texts: dict[int, Callable[[float], str]], rows: Features) -> Floats:
    """Return what Vespa computes from LightGBM's JSON: float32 values, added in float64.

    `texts` are the categorical features: what the string attribute of a document holds for a value.
    """
    model = loads(raw.decode())
    categories = dict(zip(_categorical(model), model["pandas_categorical"], strict=True))

    def decide(node: Any, rows: Features) -> tuple[Any, Any, Mask]:
        values = rows[:, node["split_feature"]].astype(np.float64)
        if node["decision_type"] == "==":
            listed = [categories[node["split_feature"]][int(place)] for place in node["threshold"].split("||")]
            held = [texts[node["split_feature"]](value) for value in values.tolist()]
            mask = np.array([text in listed for text in held]) | (np.isnan(values) & node["default_left"])
        elif node["default_left"]:
            mask = ~(values >= np.float64(np.float32(node["threshold"])))
        else:
            mask = values < np.float64(np.float32(node["threshold"]))
        return node["left_child"], node["right_child"], mask

    total = np.zeros(len(rows))
    for tree in model["tree_info"]:
        total += route(tree["tree_structure"], rows, lambda node: node.get("leaf_value"), decide)
    return total


def _categorical(model: Any) -> list[int]:
    return [k for k, name in enumerate(model["feature_names"]) if model["feature_infos"][name]["values"]]
