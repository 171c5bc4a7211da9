"""Every format writes every kind of model it can hold, and the file scores as the model does; what it cannot hold is refused."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import json
from typing import Any

import numpy as np
import pytest
from export_models import DENSE, TREES, ranker, training_data, with_thresholds
from foreign_rows import rows_of
from hypothesis import given, settings
from hypothesis import strategies as st
from test_golden_imports import FILES, FOLDER

import podium
from podium.errors import OutputError, ParameterError
from podium.export import CHANGES, EXPORTS, export_model, read_model
from podium.export.verifying import Arithmetic
from podium.models.trees import TreeModel, forest_of

NEEDED = {"onnx": "onnxruntime", "treelite": "treelite"}
WRITABLE = [name for name, row in EXPORTS.items() if row.write is not None]
ALLOWED = tuple(CHANGES)


def need(format: str) -> None:
    if format in NEEDED and importlib.util.find_spec(NEEDED[format]) is None:
        pytest.skip(f"{NEEDED[format]} is not installed")


def pairs(kinds: list[str]) -> list[tuple[str, str]]:
    shapes = {kind: "trees" if kind in TREES else "linear" if "linear" in kind else "net" for kind in kinds}
    return [(name, kind) for name in WRITABLE for kind in kinds if shapes[kind] in EXPORTS[name].models]


@pytest.mark.parametrize(("format", "kind"), pairs([*TREES, *DENSE]))
def test_files_score_as_the_model_does(format, kind, tmp_path):
    need(format)
    report = ranker(kind).export(tmp_path / "a", format=format, allow=ALLOWED, data=training_data(kind))
    assert report.passed
    assert report.bytes == (tmp_path / "a").stat().st_size
    assert report.rows >= 480
    if EXPORTS[format].arithmetic(podium.export.options.ExportOptions()) is Arithmetic.SAME:
        assert report.largest_difference == 0
    assert report.pairs == 40 * 12 * 11 // 2
    assert report.changed_orders == 0
    assert report.changed_probes < 1e-4 * report.rows**2  # rows whose scores differ by rounding alone


@pytest.mark.parametrize("format", [name for name in WRITABLE if "trees" in EXPORTS[name].models])
def test_only_needed_changes_are_made(format, tmp_path):
    need(format)
    scorer = with_thresholds([0.5, -0.5, 3e10])
    report = export_model(scorer, tmp_path / "a", format=format, allow=ALLOWED)
    assert report.changes == (("missing-as-zero",) if format == "ranklib" else ())


@pytest.mark.parametrize("opset", [3, 5])
@pytest.mark.parametrize("kind", [*TREES, "categories", "classes"])
def test_both_versions_of_onnx_trees(opset, kind, tmp_path):
    need("onnx")
    report = ranker(kind).export(tmp_path / "a.onnx", format="onnx", opset=opset, data=training_data(kind))
    assert report.largest_difference <= (1e-5 if opset == 3 else 1e-12)


@pytest.mark.parametrize("trees_as", ["xgboost+json", "ranklib"])
def test_both_ways_of_trees_into_elasticsearch(trees_as, tmp_path):
    ranker("plain").export(tmp_path / "a", format="opensearch", trees_as=trees_as, allow=ALLOWED, name="mine")
    body = json.loads((tmp_path / "a").read_text())["model"]
    assert body["model"]["type"] == f"model/{trees_as}"
    assert body["name"] == "mine"
    assert [feature["name"] for feature in body["feature_set"]["features"]][:2] == ["title", "body"]


@pytest.mark.parametrize("format", ["lightgbm", "xgboost", "onnx", "treelite", "vespa"])
def test_categories(format, tmp_path):
    need(format)
    report = ranker("categories").export(tmp_path / "a", format=format, allow=ALLOWED, data=training_data("categories"))
    assert report.passed
    text = "categories are compared as text" if format == "vespa" else "categories are given as whole numbers"
    assert text in str(report)


BRANDS = ["acme", "globex", "hooli, inc.", "initech", "umbrella", "wayne", "stark"]
CODES = "brand (acme = 0, globex = 1, hooli, inc. = 2, initech = 3, umbrella = 4, …)"


def branded(**more: Any) -> podium.RankingData:
    rng = np.random.default_rng(8)
    X = np.column_stack([rng.integers(0, 7, 400), rng.normal(size=400)]).astype(np.float32)
    X[::19, 0] = np.nan
    labels = np.isin(X[:, 0], [1, 3, 6]) + (X[:, 1] > 0)
    named = {"feature_names": ["brand", "price"], "categorical_features": {"brand": BRANDS}}
    return podium.RankingData(X, labels, np.repeat(np.arange(40), 10), **named | more)


def test_categories_of_the_data_reach_lightgbm(tmp_path):
    """The splits are LightGBM's own, and its runtime gives the same bits, for known, unknown and missing categories."""
    need("lightgbm")
    lightgbm = pytest.importorskip("lightgbm")
    fitted = podium.LambdaMART(n_estimators=10, num_leaves=5, min_documents=3).fit(branded())
    report = fitted.export(tmp_path / "a.txt", format="lightgbm", allow=ALLOWED, data=branded())
    assert f"the engine must be given codes: {CODES}" in str(report)
    booster = lightgbm.Booster(model_file=tmp_path / "a.txt")
    assert any("cat_threshold" in line for line in (tmp_path / "a.txt").read_text().splitlines())
    rows = np.array([[code, price] for code in (*range(9), np.nan) for price in (-1.0, 0.0, 1.0)])
    assert booster.predict(rows, raw_score=True).tolist() == fitted.model_.scores(rows.astype(np.float32)).tolist()


@pytest.mark.parametrize("format", ["xgboost-dump", "elasticsearch", "opensearch", "solr", "ranklib"])
def test_categories_of_the_data_are_refused_by_search_engines(format, tmp_path):
    fitted = podium.LambdaMART(n_estimators=3, num_leaves=5, min_documents=3).fit(branded())
    with pytest.raises(ParameterError, match="has no splits by category; train without the categorical features"):
        fitted.export(tmp_path / "a", format=format, allow=ALLOWED)


@pytest.mark.parametrize("format", WRITABLE)
def test_codes_that_are_taken_as_numbers_are_announced(format, tmp_path):
    need(format)
    fitted = podium.LambdaMART(n_estimators=5, num_leaves=5, min_documents=3, categorical=()).fit(branded())
    report = fitted.export(tmp_path / "a", format=format, allow=ALLOWED)
    words = "the model takes the codes of categories as numbers, and the engine must be given codes and not text"
    assert f"note: {words}: {CODES}" in str(report)
    unnamed = branded(categorical_features=["brand"])
    fitted = podium.LambdaMART(n_estimators=5, num_leaves=5, min_documents=3, categorical=()).fit(unnamed)
    assert f"note: {words}: brand" in str(fitted.export(tmp_path / "a", format=format, allow=ALLOWED)).splitlines()


def test_codes_in_a_linear_model_are_announced(tmp_path):
    """New linear models have no categories, but older files do."""
    numbers = podium.RankSVM().fit(branded(categorical_features=None)).scorer_
    scorer = dataclasses.replace(numbers, categories={0: tuple(BRANDS)})
    assert CODES in str(export_model(scorer, tmp_path / "a", format="elasticsearch", allow=ALLOWED))
    assert "note" not in str(export_model(numbers, tmp_path / "a", format="elasticsearch", allow=ALLOWED))


@pytest.mark.parametrize("format", ["xgboost-dump", "elasticsearch", "solr", "ranklib"])
def test_categories_are_refused_where_there_is_no_place_for_them(format, tmp_path):
    with pytest.raises(ParameterError, match="has no splits by category; train without the categorical features"):
        ranker("categories").export(tmp_path / "a", format=format, allow=ALLOWED)
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("format", ["lightgbm", "xgboost", "onnx", "treelite"])
def test_several_outputs(format, tmp_path):
    need(format)
    assert ranker("classes").export(tmp_path / "a", format=format, allow=ALLOWED, data=training_data("classes")).passed


@pytest.mark.parametrize("format", ["xgboost-dump", "elasticsearch", "solr", "ranklib", "vespa"])
def test_several_outputs_are_refused_by_engines(format, tmp_path):
    with pytest.raises(ParameterError, match="holds one output, and the model has"):
        ranker("classes").export(tmp_path / "a", format=format, allow=ALLOWED)


# What trees of float32 thresholds can meet: denormals, both zeros, the largest and the smallest numbers, 1e-6 and less.
EDGES = [0.0, -0.0, 1e-45, -1e-45, 1e-40, 1e-35, -1e-35, 1e-12, 1e-7, -1e-7, 1e-6, -1e-6, 2e-6, 0.1, -0.1, 16.0, 1e20]


@pytest.mark.parametrize("format", [name for name in WRITABLE if "trees" in EXPORTS[name].models])
@pytest.mark.parametrize("value", [*EDGES, 3.4028235e38, -3.4028235e38])
def test_thresholds_at_the_edges(format, value, tmp_path):
    need(format)
    report = export_model(with_thresholds([value, value, 1.5]), tmp_path / "a", format=format, allow=ALLOWED)
    assert report.passed


@pytest.mark.parametrize("format", [name for name in WRITABLE if "trees" in EXPORTS[name].models])
@given(values=st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=6))
@settings(max_examples=15)
def test_any_thresholds(format, values, tmp_path_factory):
    need(format)
    path = tmp_path_factory.mktemp("any") / "a"
    expected = contextlib.nullcontext()
    if format == "solr":
        expected = contextlib.suppress(ParameterError)  # thresholds too far apart for one scale
    with expected:
        assert export_model(with_thresholds(values), path, format=format, allow=ALLOWED).passed


def chain(depth: int) -> podium.scoring.Scorer:
    """Return a model of one tree, each split of which has a leaf on the right."""
    tree = {
        "feature": np.zeros(depth, np.int32),
        "threshold": -np.arange(depth, dtype=np.float32),
        "left": np.array([*range(1, depth), -1], np.int32),
        "right": (-2 - np.arange(depth)).astype(np.int32),
        "missing_left": np.zeros(depth, np.uint8),
        "set": np.full(depth, -1, np.int32),
        "gain": np.ones(depth),
        "value": np.linspace(-1, 1, depth + 1),
        "documents": np.ones(depth + 1, np.int64),
        "sets": np.empty(0, np.uint64),
    }
    return podium.scoring.Scorer(TreeModel(forest_of([tree], np.array([0.25]), {}), 1, 1))


@pytest.mark.parametrize("format", [name for name in WRITABLE if "trees" in EXPORTS[name].models])
def test_trees_are_as_deep_as_the_format_takes_them(format, tmp_path):
    """A deeper tree than that would overflow the stack of a reader that recurses."""
    need(format)
    deepest = EXPORTS[format].deepest_tree
    assert export_model(chain(deepest or 3000), tmp_path / "a", format=format, allow=ALLOWED).passed
    if deepest is not None:
        with pytest.raises(ParameterError, match=f"at most {deepest} levels, and one of the model has {deepest + 1}"):
            export_model(chain(deepest + 1), tmp_path / "b", format=format, allow=ALLOWED)


def test_thresholds_of_tiny_numbers_must_be_allowed_in_lightgbm(tmp_path):
    with pytest.raises(ParameterError, match=r"takes every value from −1e-35 to 1e-35 as 0.*allow='tiny-as-zero'"):
        export_model(with_thresholds([0.0]), tmp_path / "a", format="lightgbm")
    report = export_model(with_thresholds([0.0]), tmp_path / "a", format="lightgbm", allow="tiny-as-zero")
    assert report.changes == ("tiny-as-zero",)
    assert "changed: a value from −1e-35 to 1e-35 counts as 0" in str(report)


def test_missing_values_that_become_zero_must_be_allowed(tmp_path):
    with pytest.raises(ParameterError, match=r"takes a missing value as 0.*allow='missing-as-zero'"):
        ranker("missing").export(tmp_path / "a", format="ranklib")
    with pytest.raises(ParameterError, match="has no place for missing values"):
        ranker("linear").export(tmp_path / "a", format="elasticsearch")
    assert list(tmp_path.iterdir()) == []


def test_features_that_are_rescaled_in_queries_must_be_allowed(tmp_path):
    scorer = podium.scoring.Scorer(ranker("plain").model_, normalize="minmax")
    with pytest.raises(ParameterError, match=r"rescales features within each query.*allow='normalized-input'"):
        export_model(scorer, tmp_path / "a", format="lightgbm")
    assert export_model(scorer, tmp_path / "a", format="lightgbm", allow="normalized-input").passed


def test_models_of_other_kinds_are_refused(tmp_path):
    made = podium.KernelRankNet(l2=10.0).fit(training_data("plain"))
    with pytest.raises(ParameterError, match=r"the model is of the kind .*; score with podium.load_scorer instead"):
        made.export(tmp_path / "a", format="onnx")
    with pytest.raises(
        ParameterError, match="holds trees, and the model is of the kind linear; use format='elasticsearch'"
    ):
        ranker("linear").export(tmp_path / "a", format="lightgbm")


@pytest.mark.parametrize("path", sorted((FOLDER.parent / "models").glob("*.podium")), ids=lambda path: path.stem)
def test_every_kind_of_model_is_exported_or_refused(path, tmp_path):
    """No model ends with a file that scores differently: what a format cannot hold is known before it is written."""
    scorer = podium.load_scorer(path)
    for format in WRITABLE:
        if format not in NEEDED or importlib.util.find_spec(NEEDED[format]) is not None:
            with contextlib.suppress(ParameterError):
                assert export_model(scorer, tmp_path / format, format=format, allow=ALLOWED).passed


def test_names_and_options_are_checked(tmp_path):
    made = ranker("plain")
    for options, words in [
        ({"format": "lightbgm"}, "unknown format 'lightbgm'. Did you mean 'lightgbm'"),
        ({"format": "catboost"}, "unknown format 'catboost'"),
        ({"format": "lightgbm", "opset": 3}, "unknown option of format 'lightgbm' 'opset'"),
        ({"format": "lightgbm", "allow": ["nothing"]}, "unknown change 'nothing'"),
        ({"format": "onnx", "opset": 4}, "opset=4 must be one of 3, 5"),
        ({"format": "solr", "name": "a b"}, "name='a b' must be"),
        ({"format": "elasticsearch", "trees_as": "c"}, "trees_as='c' must be"),
        ({"format": "elasticsearch", "features": ["a"]}, "has 1 definitions; the model has 6"),
        ({"format": "elasticsearch", "features": ["a", "b", "c", "d", "e", "a"]}, "two features of one name"),
        ({"format": "elasticsearch", "features": ["a", "b", "c", "d", "e", 3]}, "is neither a name nor a definition"),
        ({"format": "vespa", "features": ["a", "b", "c", "d", "e", "f +"]}, "cannot have the feature 'f \\+'"),
    ]:
        with pytest.raises(ParameterError, match=words):
            made.export(tmp_path / "a", **options)
    assert list(tmp_path.iterdir()) == []


def test_definitions_of_features_are_taken_over(tmp_path):
    names = [
        "a",
        {"name": "b", "params": ["keywords"], "template": {"match": {"title": "{{keywords}}"}}},
        "c",
        "d",
        "e",
        "f",
    ]
    ranker("plain").export(tmp_path / "a", format="elasticsearch", features=names)
    features = json.loads((tmp_path / "a").read_text())["model"]["feature_set"]["features"]
    assert features[1] == names[1]
    assert features[0]["template"]["function_score"]["field_value_factor"] == {"field": "a"}
    ranker("plain").export(
        tmp_path / "b", format="vespa", features=["bm25(title)", "fieldMatch(body).queryCompleteness", *"cdef"]
    )
    forest = json.loads((tmp_path / "b").read_text())
    assert forest["feature_names"][:3] == ["bm25(title)", "fieldMatch(body).queryCompleteness", "attribute(c)"]


@pytest.mark.parametrize("format", WRITABLE)
def test_a_file_that_scores_differently_is_not_written(format, tmp_path, monkeypatch):
    need(format)
    row, model = EXPORTS[format], ranker("plain" if "trees" in EXPORTS[format].models else "linear")
    wrong = dataclasses.replace(row, score=lambda raw, scorer, options, rows: scorer.model.scores(rows) + 1e-2)
    monkeypatch.setitem(EXPORTS, format, wrong)
    with pytest.raises(OutputError, match=r"not written, because the .* file would score differently"):
        model.export(tmp_path / "a", format=format, allow=ALLOWED)
    assert list(tmp_path.iterdir()) == []


def test_outputs_never_replace_files_of_another_kind(tmp_path):
    (tmp_path / "notes").write_text("important")
    with pytest.raises(OutputError, match="exists and is not a LightGBM model"):
        ranker("plain").export(tmp_path / "notes", format="lightgbm", allow=ALLOWED)
    assert (tmp_path / "notes").read_text() == "important"
    for format in WRITABLE:
        need(format)
        model = ranker("plain")
        model.export(tmp_path / format, format=format, allow=ALLOWED)
        model.export(tmp_path / format, format=format, allow=ALLOWED)  # an older file of the same kind
    ranker("plain").save(tmp_path / "model.podium")
    with pytest.raises(OutputError, match="is a Podium model, not a LightGBM model"):
        ranker("plain").export(tmp_path / "model.podium", format="lightgbm", allow=ALLOWED)


@pytest.mark.parametrize("kind", [*TREES, "categories", "classes"])
@pytest.mark.parametrize("format", ["lightgbm", "xgboost"])
@given(data=st.data())
@settings(max_examples=15)
def test_round_trips_have_the_same_bits(format, kind, data, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / f"{format}-{kind}.model"
    model = ranker(kind).model_
    if not path.exists():
        ranker(kind).export(path, format=format, allow=ALLOWED)
    again = read_model(path, format=format)
    rows = data.draw(rows_of(model, fractions=False))
    if format == "lightgbm":
        rows[np.abs(rows) <= 1e-35] = 0
    rows[:, 5] = np.abs(rows[:, 5]) if kind == "categories" else rows[:, 5]
    assert again.model.scores(rows).tobytes() == model.scores(rows).tobytes()
    assert again.feature_names == tuple(training_data(kind).feature_names or ())


@pytest.mark.parametrize("format", ["lightgbm", "xgboost"])
def test_a_model_without_names_comes_back_without_names(format, tmp_path):
    export_model(with_thresholds([0.5, -2.0]), tmp_path / "a", format=format)
    assert read_model(tmp_path / "a").feature_names is None


def test_a_model_that_xgboost_saved_again_has_float32_values(tmp_path):
    xgboost = pytest.importorskip("xgboost")
    ranker("plain").export(tmp_path / "a.json", format="xgboost", allow=ALLOWED)
    xgboost.Booster(model_file=tmp_path / "a.json").save_model(tmp_path / "b.json")
    again = read_model(tmp_path / "b.json").model
    assert again.sums == "float32"
    assert (again.arrays()["value"] == again.arrays()["value"].astype(np.float32)).all()
    assert read_model(tmp_path / "a.json").model.sums == "float64"


REFUSED = {
    ("lightgbm-zero.txt", "xgboost"),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("format", ["lightgbm", "xgboost", "onnx"])
def test_imported_models_are_exported(format, name, tmp_path):
    need(format)
    imported = podium.ImportedRanker.of(read_model(FOLDER / name))
    expected = contextlib.nullcontext()
    if (name, format) in REFUSED:
        expected = pytest.raises(ParameterError, match="zeros that count as missing")
    with expected:
        assert imported.export(tmp_path / "a", format=format, allow=ALLOWED).passed


def test_unknown_categories_that_do_not_go_with_missing_ones_are_refused_by_lightgbm(tmp_path):
    document = json.loads((FOLDER / "xgboost-categories.json").read_text())
    for tree in document["learner"]["gradient_booster"]["model"]["trees"]:
        tree["default_left"] = [0 for _ in tree["default_left"]]
    (tmp_path / "a.json").write_text(json.dumps(document))
    imported = podium.from_xgboost(tmp_path / "a.json")
    with pytest.raises(ParameterError, match="the model tells them apart"):
        imported.export(tmp_path / "a.txt", format="lightgbm", allow=ALLOWED)
    assert imported.export(tmp_path / "b.json", format="xgboost").passed


def test_reports_name_the_versions_that_know_missing_values(tmp_path):
    assert "since OpenSearch 3.8" in str(ranker("missing").export(tmp_path / "a", format="opensearch"))
    changed = ranker("missing").export(tmp_path / "b", format="opensearch", trees_as="ranklib", allow=ALLOWED)
    assert "since" not in str(changed)
    assert "since" not in str(ranker("linear").export(tmp_path / "c", format="opensearch", allow=ALLOWED))


def test_reports_are_json(tmp_path):
    report = ranker("plain").export(tmp_path / "a", format="vespa")
    assert json.loads(json.dumps(report.to_dict(), allow_nan=False))["format"] == "vespa"
