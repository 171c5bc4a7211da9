"""Models and names at the edges of what formats hold: written so that the engine reads them, or refused with a sentence."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import tracemalloc

import numpy as np
import pytest
from export_models import ranker, training_data, with_thresholds

import podium
from podium.errors import OutputError, ParameterError
from podium.export import EXPORTS, export_model, read_model
from podium.export.verifying import Arithmetic, bounds_of
from podium.models.trees import TreeModel, forest_of
from podium.scoring import Scorer

NEEDED = {"onnx": "onnxruntime", "treelite": "treelite"}
TREE_FORMATS = [name for name, row in EXPORTS.items() if row.write is not None and "trees" in row.models]


def need(format: str) -> None:
    if format in NEEDED and importlib.util.find_spec(NEEDED[format]) is None:
        pytest.skip(f"{NEEDED[format]} is not installed")


def without_trees(base: list[float], n_features: int = 3) -> Scorer:
    return Scorer(TreeModel(forest_of([], np.array(base), {}), n_features, len(base)))


@pytest.mark.parametrize("base", [0.0, 0.5])
@pytest.mark.parametrize("format", TREE_FORMATS)
def test_a_forest_without_trees_is_written(format, base, tmp_path):
    need(format)
    assert export_model(without_trees([base]), tmp_path / "a", format=format).passed


@pytest.mark.parametrize("opset", [3, 5])
def test_several_outputs_without_trees_are_written_as_onnx(opset, tmp_path):
    need("onnx")
    assert export_model(without_trees([0.1, 0.2, 0.3]), tmp_path / "a", format="onnx", opset=opset).passed


def test_engines_that_refuse_a_model_without_trees_get_one(tmp_path):
    """The plugins' XGBoostJsonParser demands a tree, and Vespa's LightGBMParser joins the expressions of trees."""
    for format in ("elasticsearch", "opensearch", "vespa", "xgboost-dump"):
        export_model(without_trees([0.0]), tmp_path / format, format=format)
    body = json.loads((tmp_path / "elasticsearch").read_text())
    assert json.loads(body["model"]["model"]["definition"])["splits"] == [{"nodeid": 0, "leaf": 0.0}]
    assert json.loads((tmp_path / "xgboost-dump").read_text()) == [{"nodeid": 0, "leaf": 0.0}]
    assert json.loads((tmp_path / "vespa").read_text())["tree_info"][0]["tree_structure"] == {"leaf_value": 0.0}


@pytest.mark.parametrize("format", TREE_FORMATS)
def test_a_model_without_features_is_refused(format, tmp_path):
    with pytest.raises(ParameterError, match="at least one feature"):
        export_model(without_trees([0.5], n_features=0), tmp_path / "a", format=format)


@pytest.mark.parametrize("format", TREE_FORMATS)
def test_values_beyond_float32_are_refused_where_they_have_no_place(format, tmp_path):
    need(format)
    plain = with_thresholds([0.5, 1.5]).model
    arrays = plain.arrays()
    scorer = Scorer(TreeModel(arrays | {"value": arrays["value"] * 1e60}, 2, 1))
    if format in ("lightgbm", "treelite"):
        assert export_model(scorer, tmp_path / "a", format=format).passed
    else:
        with pytest.raises(ParameterError, match=r"holds float32 values, and the model has values up to 7e\+59; use"):
            export_model(scorer, tmp_path / "a", format=format, allow="missing-as-zero")


ODD = ["a<b", "c[0]", "two words", "null\0byte", "plain", "d]"]


@pytest.mark.parametrize(
    ("format", "names", "words"),
    [
        ("lightgbm", ["a<b", "c[0]", "two_words", "null_byte", "plain", "d]"], "'two words' is called 'two_words'"),
        ("xgboost", ["a_b", "c_0_", "two words", "null\0byte", "plain", "d_"], "'a<b' is called 'a_b'"),
    ],
)
def test_names_that_a_library_refuses_are_changed_and_reported(format, names, words, tmp_path):
    made = podium.LambdaMART(n_estimators=2, min_documents=3).fit(training_data("plain").replace(feature_names=ODD))
    report = made.export(tmp_path / "a", format=format, allow=["tiny-as-zero"])
    assert words in str(report)
    assert list(read_model(tmp_path / "a").feature_names) == names
    assert not any("called" in note for note in ranker("plain").export(tmp_path / "b", format=format).notes)


def test_names_that_would_become_the_same_are_numbered(tmp_path):
    data = training_data("plain").replace(feature_names=["a[", "a]", "c", "d", "e", "f"])
    made = podium.LambdaMART(n_estimators=2, min_documents=3).fit(data)
    assert "6 features have other names" in str(made.export(tmp_path / "a.json", format="xgboost"))
    assert list(read_model(tmp_path / "a.json").feature_names) == ["f0", "f1", "f2", "f3", "f4", "f5"]


@pytest.mark.parametrize(
    ("format", "definition", "words"),
    [
        ("solr", {"name": "f", "params": {}}, "'f' without 'class'"),
        ("opensearch", {"name": "f", "params": []}, "'f' without 'template'"),
        ("solr", {"name": "f", "class": "x", "params": {"value": float("nan")}}, "'f' that JSON cannot hold"),
        ("elasticsearch", {"name": "f", "template": {"a": {1, 2}}}, "'f' that JSON cannot hold"),
        ("vespa", {"name": "f", "more": object()}, "'f' that JSON cannot hold"),
    ],
)
def test_definitions_that_an_engine_cannot_take_are_refused(format, definition, words, tmp_path):
    with pytest.raises(ParameterError, match=words):
        ranker("plain").export(tmp_path / "a", format=format, features=[*"abcde", definition])
    assert list(tmp_path.iterdir()) == []


def test_vespa_takes_ascii_names_only(tmp_path):
    with pytest.raises(ParameterError, match="cannot have the feature 'agé'"):
        ranker("plain").export(tmp_path / "a", format="vespa", features=[*"abcde", "agé"])


@pytest.mark.parametrize("options", [{}, {"trees_as": "ranklib"}])
def test_refusals_name_the_format_that_was_asked_for(options, tmp_path):
    kind = "missing" if options else "linear"
    with pytest.raises(ParameterError, match=r"format='opensearch' .*allow='missing-as-zero'"):
        ranker(kind).export(tmp_path / "a", format="opensearch", **options)


def test_what_the_runtime_of_the_target_raises_is_told(tmp_path, monkeypatch):
    def fail(*_: object) -> None:
        raise RuntimeError("no such operator\nin line 7")

    monkeypatch.setitem(EXPORTS, "lightgbm", dataclasses.replace(EXPORTS["lightgbm"], score=fail))
    with pytest.raises(OutputError, match=r"not written, because .* cannot score the lightgbm file: no such operator$"):
        export_model(with_thresholds([0.5]), tmp_path / "a", format="lightgbm")
    assert list(tmp_path.iterdir()) == []


def test_a_query_longer_than_what_is_compared_is_compared_in_part(tmp_path, monkeypatch):
    data = podium.RankingData(training_data("plain").features, np.arange(480) % 3, np.zeros(480))
    for module in ("verifying", "notes"):
        monkeypatch.setattr(f"podium.export.{module}.DATA_ROWS", 100)
    report = ranker("plain").export(tmp_path / "a", format="lightgbm", data=data)
    assert report.pairs == 100 * 99 // 2
    assert "compared on the first 100 of 480 documents" in str(report)


def test_bounds_of_a_large_forest_take_little_memory():
    """Rows are taken in blocks that get smaller as the forest gets larger."""
    model = with_thresholds([0.5] * 30_000).model
    rows = np.zeros((1000, 2), np.float32)
    tracemalloc.start()
    bounds_of(model, rows, Arithmetic.FLOAT32)
    assert tracemalloc.get_traced_memory()[1] < 200_000_000  # all rows at once take more than 700 MB
    tracemalloc.stop()
