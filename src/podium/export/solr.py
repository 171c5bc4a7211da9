"""Writing models for Solr's learning to rank: a feature store and a model.

The rules are those of MultipleAdditiveTreesModel, LinearModel and NeuralNetworkModel in solr/modules/ltr (apache/solr). Solr adds
1e-6 to every threshold, in float32, so each is written as the number that becomes the threshold; where float32 has no such
number, the feature is scaled by a power of two first, which is exact. Missing values need `isNullSameAsZero: false`, a boolean, because its setter takes no text (Solr 9.2).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from podium.export.changes import Changes
from podium.export.deep_json import dumps
from podium.export.definitions import Definition, feature_definitions
from podium.export.floats import LARGEST, above, below, round32, short32
from podium.export.linear import Standardized, standardized, without_bias
from podium.export.options import ExportOptions
from podium.export.source import WrittenTree, refuse, written_trees
from podium.models.net import Net
from podium.models.trees import TreeModel
from podium.scoring import Scorer

SLACK = np.float32(1e-6)
SCALES = (0, 8, 16, 24, 32, 48, 64, 80, 96, 112, 120)  # powers of two that a feature may be multiplied by
PACKAGE = "org.apache.solr.ltr"


def write_solr(scorer: Scorer, options: ExportOptions, changes: Changes) -> bytes:
    """Return a JSON object with `features`, for the feature store, and `model`, for the model store."""
    store = f"{options.name}_store"
    model = scorer.model
    features = feature_definitions(
        scorer, options, lambda name: field_feature(name, isinstance(model, TreeModel)), needed=("class",)
    )
    names = [feature["name"] for feature in features]
    if isinstance(model, TreeModel):
        kind, parameters, norms = _trees(model, names)
    else:
        assert isinstance(model, Net)
        plain = standardized(model, "solr", changes)
        kind, parameters, norms = _linear(plain, names) if model.is_linear else _net(plain)
    listed = [{"name": name, **({"norm": norms[k]} if k in norms else {})} for k, name in enumerate(names)]
    body = {
        "features": [{"store": store, **feature} for feature in features],
        "model": {
            "store": store,
            "name": options.name,
            "class": f"{PACKAGE}.model.{kind}",
            "features": listed,
            "params": parameters,
        },
    }
    return (dumps(body) + "\n").encode()


def field_feature(name: str, can_be_missing: bool) -> Definition:
    """Return a feature that is the value of a field."""
    default = {"defaultValue": "NaN"} if can_be_missing else {}
    return {"name": name, "class": f"{PACKAGE}.feature.FieldValueFeature", "params": {"field": name, **default}}


def _normalizer(mean: float, deviation: float) -> dict[str, Any]:
    numbers = {"avg": repr(short32(mean)), "std": repr(short32(deviation))}
    return {"class": f"{PACKAGE}.norm.StandardNormalizer", "params": numbers}


def _trees(model: TreeModel, names: list[str]) -> tuple[str, dict[str, Any], dict[int, Any]]:
    trees = written_trees(model)
    thresholds: dict[int, set[float]] = {}
    for tree in trees:
        _add_thresholds(tree, thresholds)
    powers = {feature: _power_of_two(found, names[feature]) for feature, found in thresholds.items()}
    parts = [{"weight": "1.0", "root": _root(tree, names, powers)} for tree in trees]
    base = float(model.arrays()["base"][0])
    if base:
        parts.append({"weight": "1.0", "root": {"value": repr(short32(base))}})
    norms = {feature: _normalizer(0.0, 2.0**-power) for feature, power in powers.items() if power}
    return "MultipleAdditiveTreesModel", {"isNullSameAsZero": False, "trees": parts}, norms


def _add_thresholds(tree: WrittenTree, found: dict[int, set[float]]) -> None:
    """Add the thresholds of a tree to those of each feature."""
    if tree.categories:
        raise refuse(
            "solr",
            "has no splits by category",
            "train without the categorical features, or use {format='onnx'} or {format='vespa'}",
        )
    for feature, threshold in zip(tree.feature, tree.threshold, strict=True):
        found.setdefault(feature, set()).add(threshold)


def _power_of_two(thresholds: Iterable[float], name: str) -> int:
    """Return the smallest power of two by which a feature must be multiplied for Solr to have its thresholds exactly."""
    for power in SCALES:
        scaled = [threshold * 2.0**power for threshold in thresholds]
        if all(abs(value) <= LARGEST and solr_threshold(value) is not None for value in scaled):
            return power
    raise refuse(
        "solr",
        f"adds 1e-6 to every threshold, and those of feature {name!r} reach from too small to too large numbers for that",
        "rescale the feature",
    )


def solr_threshold(threshold: float) -> float | None:
    """Return the float32 to which Solr adds 1e-6 to get a threshold, or None if there is none."""
    near = round32(threshold - float(SLACK))
    for candidate in (near, below(near), above(near)):
        if float(np.float32(candidate) + SLACK) == threshold:
            return candidate
    return None


def _root(tree: WrittenTree, names: list[str], powers: dict[int, int]) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    for node, feature in enumerate(tree.feature):
        threshold = solr_threshold(tree.threshold[node] * 2.0 ** powers[feature])
        assert threshold is not None
        missing = "left" if tree.missing_left[node] else "right"
        parts.append({"feature": names[feature], "threshold": repr(short32(threshold)), "missing": missing})
    leaves = [{"value": repr(short32(value))} for value in tree.value]
    for node, part in enumerate(parts):
        for side, child in (("left", tree.left[node]), ("right", tree.right[node])):
            part[side] = parts[child] if child >= 0 else leaves[-1 - child]
    return parts[0] if parts else leaves[0]


def _norms(model: Standardized) -> dict[int, Any]:
    count = len(model.mean)
    return {k: _normalizer(model.mean[k], model.deviation[k]) for k in range(count) if model.has_normalizer(k)}


def _linear(model: Standardized, names: list[str]) -> tuple[str, dict[str, Any], dict[int, Any]]:
    plain = without_bias(model, "solr")
    weights = plain.layers[0].weights[:, 0].tolist()
    return "LinearModel", {"weights": dict(zip(names, map(short32, weights), strict=True))}, _norms(plain)


def _net(model: Standardized) -> tuple[str, dict[str, Any], dict[int, Any]]:
    layers = [
        {
            "matrix": [[short32(weight) for weight in unit] for unit in layer.weights.T.tolist()],
            "bias": [short32(value) for value in layer.bias.tolist()],
            "activation": layer.activation,
        }
        for layer in model.layers
    ]
    return "NeuralNetworkModel", {"layers": layers}, _norms(model)
