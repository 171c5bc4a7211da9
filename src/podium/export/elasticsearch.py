"""Writing models for the learning-to-rank plugins of Elasticsearch and OpenSearch: the body of PUT _ltr/_model/NAME.

Trees go as `model/xgboost+json` (the plugin's NaiveAdditiveDecisionTree: x < condition goes left, a document that a feature's
query does not match is missing, sums are float32), or as `model/ranklib`. Linear models go as `model/linear` with
`feature_normalizers`; the plugin has no bias, which becomes part of one normalizer.
"""

from __future__ import annotations

import json
from typing import Any

from podium.export.changes import Changes
from podium.export.deep_json import dumps
from podium.export.definitions import Definition, feature_definitions
from podium.export.floats import short32
from podium.export.linear import standardized, without_bias
from podium.export.options import ExportOptions
from podium.export.ranklib_writing import ranklib_text
from podium.export.source import written_trees
from podium.export.xgboost_writing import dump_trees
from podium.models.net import Net
from podium.models.trees import TreeModel
from podium.scoring import Scorer


def write_elasticsearch(
    scorer: Scorer, options: ExportOptions, changes: Changes, *, format: str = "elasticsearch"
) -> bytes:
    """Return the body of the request that stores a model together with its features; messages name the `format`."""
    features = feature_definitions(scorer, options, field_feature, needed=("template",))
    names = [feature["name"] for feature in features]
    model = scorer.model
    if isinstance(model, TreeModel):
        definition: dict[str, Any] = _trees(model, names, options, changes, format)
    else:
        assert isinstance(model, Net)
        definition = _linear(model, names, changes, format)
    body = {
        "model": {
            "name": options.name,
            "feature_set": {"name": f"{options.name}_features", "features": features},
            "model": definition,
        }
    }
    return (json.dumps(body, indent=1, allow_nan=False) + "\n").encode()


def field_feature(name: str) -> Definition:
    """Return a feature that is the value of a numeric field; documents without the field do not match."""
    value = {"query": {"exists": {"field": name}}, "field_value_factor": {"field": name}, "boost_mode": "replace"}
    return {"name": name, "params": [], "template_language": "mustache", "template": {"function_score": value}}


def _trees(model: TreeModel, names: list[str], options: ExportOptions, changes: Changes, format: str) -> dict[str, Any]:
    if options.trees_as == "ranklib":
        return {"type": "model/ranklib", "definition": ranklib_text(model, changes, format)}
    trees = dump_trees(written_trees(model), float(model.arrays()["base"][0]), names, format)
    return {"type": "model/xgboost+json", "definition": dumps({"objective": "rank:ndcg", "splits": trees})}


def _linear(net: Net, names: list[str], changes: Changes, format: str) -> dict[str, Any]:
    model = without_bias(standardized(net, format, changes), format)
    weights = {
        name: short32(weight) for name, weight in zip(names, model.layers[0].weights[:, 0].tolist(), strict=True)
    }
    normalizers = {
        name: {"standard": {"mean": short32(model.mean[k]), "standard_deviation": short32(model.deviation[k])}}
        for k, name in enumerate(names)
        if model.has_normalizer(k)
    }
    definition = {"type": "model/linear", "definition": json.dumps(weights)}
    return definition | ({"feature_normalizers": normalizers} if normalizers else {})
