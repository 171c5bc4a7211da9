"""The one table of formats."""

from __future__ import annotations

from functools import partial
from typing import Any

from podium.export.catboost_json import read_catboost
from podium.export.definitions import feature_definitions
from podium.export.elasticsearch import write_elasticsearch
from podium.export.evaluators import (
    score_elasticsearch,
    score_ranklib,
    score_solr,
    score_vespa_trees,
    score_xgboost_dump,
)
from podium.export.format import ExportFormat
from podium.export.lightgbm_text import read_lightgbm
from podium.export.lightgbm_writing import write_lightgbm
from podium.export.names import lightgbm_names, xgboost_names
from podium.export.onnx_graph import score_onnx, write_onnx
from podium.export.options import ExportOptions
from podium.export.ranklib_writing import write_ranklib
from podium.export.ranklib_xml import read_ranklib
from podium.export.runtimes import (
    lightgbm_runtime,
    package_version,
    score_lightgbm,
    score_xgboost,
    xgboost_runtime,
)
from podium.export.solr import write_solr
from podium.export.source import feature_names
from podium.export.treelite_model import score_treelite, write_treelite
from podium.export.verifying import Arithmetic
from podium.export.vespa import category_text, rank_feature, write_vespa
from podium.export.vespa_expressions import score_vespa_profile
from podium.export.xgboost_model import read_xgboost
from podium.export.xgboost_writing import write_xgboost, write_xgboost_dump
from podium.model_kinds import (
    looks_like_catboost,
    looks_like_lightgbm,
    looks_like_ltr_plugin,
    looks_like_onnx,
    looks_like_ranklib,
    looks_like_solr,
    looks_like_treelite,
    looks_like_vespa,
    looks_like_xgboost,
    looks_like_xgboost_dump,
)
from podium.models.trees import TreeModel, categories_of
from podium.scoring import Scorer

NESTED_DEPTH = 400  # a split nests two levels of JSON, and parsers such as Jackson read 1,000 levels
RECURSIVE_DEPTH = 2000  # of trees that runtimes build by functions that call themselves


def _score_vespa(raw: bytes, scorer: Scorer, options: ExportOptions, rows: Any) -> Any:
    if isinstance(scorer.model, TreeModel):
        return score_vespa_trees(raw, {f: category_text(scorer, f) for f in categories_of(scorer.model)}, rows)
    names = [feature["name"] for feature in feature_definitions(scorer, options, rank_feature)]
    return score_vespa_profile(raw, names, rows)


def _score_dump(raw: bytes, scorer: Scorer, options: ExportOptions, rows: Any) -> Any:
    from podium.export.deep_json import loads

    return score_xgboost_dump(loads(raw), feature_names(scorer), rows)


def _onnx_arithmetic(options: ExportOptions) -> Arithmetic:
    return Arithmetic.FLOAT64_ROUNDED if options.opset == 3 else Arithmetic.FLOAT64


def _ltr_plugin(name: str, engine: str, missing_since: str) -> ExportFormat:
    return ExportFormat(
        name,
        f"The body of PUT _ltr/_model/NAME for {engine}'s learning to rank: features and model.",
        (".json",),
        looks_like_ltr_plugin,
        write=partial(write_elasticsearch, format=name),
        models=("trees", "linear"),
        options=("name", "features", "trees_as"),
        score=lambda raw, scorer, options, rows: score_elasticsearch(raw, rows),
        missing_since=missing_since,
        deepest_tree=NESTED_DEPTH,
        kind="ltr-plugin",
    )


EXPORTS: dict[str, ExportFormat] = {
    row.name: row
    for row in (
        ExportFormat(
            "lightgbm",
            "LightGBM's text file.",
            (".txt",),
            looks_like_lightgbm,
            read=read_lightgbm,
            write=write_lightgbm,
            outputs=True,
            score=score_lightgbm,
            runtime=lightgbm_runtime,
            arithmetic=lambda options: Arithmetic.SAME,
            zero_is_missing=True,
            file_names=lightgbm_names,
            compares_float64=True,
        ),
        ExportFormat(
            "xgboost",
            "XGBoost's model file, JSON; UBJSON can be imported too.",
            (".json", ".ubj"),
            looks_like_xgboost,
            read=read_xgboost,
            write=write_xgboost,
            outputs=True,
            score=score_xgboost,
            runtime=xgboost_runtime,
            file_names=xgboost_names,
        ),
        ExportFormat(
            "xgboost-dump",
            "The JSON of XGBoost's dump_model, which model/xgboost+json of Elasticsearch and OpenSearch reads.",
            (".json",),
            looks_like_xgboost_dump,
            write=write_xgboost_dump,
            score=_score_dump,
            deepest_tree=NESTED_DEPTH,
        ),
        ExportFormat(
            "catboost",
            "CatBoost's JSON file; .cbm is read too if CatBoost is installed.",
            (".json", ".cbm"),
            looks_like_catboost,
            read=read_catboost,
        ),
        ExportFormat(
            "ranklib",
            "RankLib's XML file of LambdaMART.",
            (".xml", ".txt"),
            looks_like_ranklib,
            read=read_ranklib,
            write=write_ranklib,
            score=lambda raw, scorer, options, rows: score_ranklib(raw.decode(), rows),
            deepest_tree=RECURSIVE_DEPTH,
        ),
        _ltr_plugin("elasticsearch", "Elasticsearch", "version 1.5.9 of the plugin; before, they were 0"),
        _ltr_plugin("opensearch", "OpenSearch", "OpenSearch 3.8; before, they went right, and before 3.2 they were 0"),
        ExportFormat(
            "solr",
            "A feature store and a model for Solr.",
            (".json",),
            looks_like_solr,
            write=write_solr,
            models=("trees", "linear", "net"),
            options=("name", "features"),
            score=lambda raw, scorer, options, rows: score_solr(raw, rows),
            missing_since="Solr 9.2; before, they were 0",
            deepest_tree=NESTED_DEPTH,
        ),
        ExportFormat(
            "vespa",
            "LightGBM's JSON for Vespa, or a rank profile with ranking expressions for linear models and nets.",
            (".json", ".profile"),
            looks_like_vespa,
            write=write_vespa,
            models=("trees", "linear", "net"),
            options=("name", "features"),
            score=_score_vespa,
            arithmetic=lambda options: Arithmetic.FLOAT32_VALUES,
            category_names=True,
            deepest_tree=NESTED_DEPTH,
        ),
        ExportFormat(
            "onnx",
            "ONNX: trees, linear models and nets, missing values and standardization included.",
            (".onnx",),
            looks_like_onnx,
            write=write_onnx,
            models=("trees", "linear", "net"),
            options=("name", "opset"),
            outputs=True,
            gives_scores=True,
            score=lambda raw, scorer, options, rows: score_onnx(raw, rows),
            runtime=lambda: package_version("onnxruntime"),
            arithmetic=_onnx_arithmetic,
            deepest_tree=RECURSIVE_DEPTH,
            zero_is_missing=True,
        ),
        ExportFormat(
            "treelite",
            "A treelite checkpoint.",
            (".tl",),
            looks_like_treelite,
            write=write_treelite,
            outputs=True,
            score=lambda raw, scorer, options, rows: score_treelite(raw, rows),
            runtime=lambda: package_version("treelite"),
            arithmetic=lambda options: Arithmetic.FLOAT64,
            deepest_tree=RECURSIVE_DEPTH,
        ),
    )
}
