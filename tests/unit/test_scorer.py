"""The scorer by itself: a linear model whose weights are given, so that every expected score is arithmetic."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import podium
from podium.models import restore_model
from podium.scoring import Scorer

HUGE = 1e300  # a weight; times the largest float32 it is beyond the largest float64


def linear(*weights: float, outputs: int = 1) -> Scorer:
    """Return the scorer of s = w·x; of several outputs, all but the first are 0."""
    table = np.zeros((len(weights), outputs))
    table[:, 0] = weights
    arrays = {
        "layer1.weights": table,
        "layer1.bias": np.zeros(outputs),
        "inputs.center": np.zeros(len(weights)),
        "inputs.scale": np.ones(len(weights)),
        "inputs.filled": np.zeros(len(weights)),
    }
    settings = {"widths": [len(weights), outputs], "activation": "tanh"}
    return Scorer(restore_model("linear", settings, arrays))


def test_scores_are_in_the_callers_row_order() -> None:
    X = [[1, 0], [0, 1], [2, 2], [0, 3]]
    data = podium.RankingData(X, [0, 0, 0, 0], ["b", "a", "b", "a"])
    for rows in (X, data):
        assert linear(1, 10).scores(rows).tolist() == [1, 10, 22, 30]


@pytest.mark.parametrize(
    ("weights", "row"),
    [((HUGE, 0), [3e38, 0]), ((-HUGE, 0), [3e38, 0]), ((HUGE, -HUGE), [3e38, 3e38])],
    ids=["infinite", "minus infinite", "not a number"],
)
def test_a_score_that_is_not_finite_is_refused_by_its_row(weights: tuple[float, ...], row: list[float]) -> None:
    scorer = linear(*weights)
    X = np.array([[1, 0], [0, 0], row, [2, 0]], np.float32)
    assert np.isfinite(scorer.scores(X[:2])).all()
    with pytest.raises(podium.DataError, match="the score of row 2 is not finite; its features are too large"):
        scorer.scores(X)
    mixed = podium.RankingData(X, np.zeros(4), ["b", "a", "b", "a"])  # the queries are not contiguous in these rows
    with pytest.raises(podium.DataError, match="the score of row 2 is not finite"):
        scorer.scores(mixed)


def test_one_of_several_outputs_that_is_not_finite_is_refused() -> None:
    scorer = linear(-HUGE, outputs=3)  # a level with log odds of −∞ would still give a finite expected gain
    assert scorer.scores([[0.0]]).tolist() == [pytest.approx((0 + 1 + 3) / 3)]
    with pytest.raises(podium.DataError, match="the score of row 1 is not finite"):
        scorer.scores([[0.0], [3e38]])


# ---- features of the data and of the model


@pytest.mark.parametrize(("absent", "counted"), [("zero", "0"), ("missing", "missing")])
def test_features_that_sparse_text_leaves_out_are_filled_in(tmp_path: Path, absent: str, counted: str) -> None:
    (tmp_path / "narrow.txt").write_text("1 qid:1 1:5 2:7\n0 qid:1 1:2\n")
    data = podium.read(tmp_path / "narrow.txt", absent=absent)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        features = linear(1, 10, 100).features(data)
    assert [str(one.message) for one in said] == [
        f"the data has 2 features, but the model has 3; the other is taken as {counted}"
    ]
    filled = 0 if absent == "zero" else np.nan
    np.testing.assert_array_equal(features, np.array([[5, 7, filled], [2, filled, filled]], np.float32))
    with pytest.warns(UserWarning, match="the data has 2 features, but the model has 4; the other 2 are taken as"):
        assert linear(1, 10, 100, 1000).scores(data).tolist() == [75, 2]


def test_features_are_filled_in_for_sparse_text_alone(tmp_path: Path) -> None:
    dense = podium.RankingData([[5.0, 7.0]], [0], [1])
    named = podium.RankingData([[5.0, 7.0]], [0], [1], feature_names=["a", "b"])
    (tmp_path / "wide.txt").write_text("1 qid:1 1:5 2:7 3:1 4:1\n")
    for data in (dense, named, named.with_absent_value(0.0), podium.read(tmp_path / "wide.txt")):
        with pytest.raises(podium.DataError, match=rf"have {data.n_features} features, the model was trained on 3"):
            linear(1, 10, 100).scores(data)
    (tmp_path / "same.txt").write_text("1 qid:1 1:5 2:7 3:1\n")
    assert linear(1, 10, 100).scores(podium.read(tmp_path / "same.txt")).tolist() == [175]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "x"], "has no feature 'b', which the model was trained on; its features: a, x"),
        (["x", "y"], "has no features 'a', 'b', which the model was trained on; its features: x, y"),
        (["a"], "has no feature 'b', which the model was trained on; its features: a"),
    ],
    ids=str,
)
def test_a_feature_that_is_missing_by_name_is_refused(names: list[str], message: str) -> None:
    scorer = replace(linear(1, 10), feature_names=("a", "b"))
    rows = np.zeros((2, len(names)))
    for given in (podium.RankingData(rows, [0, 1], [1, 1], feature_names=names), pd.DataFrame(rows, columns=names)):
        with pytest.raises(podium.DataError, match=message):
            scorer.scores(given)


def test_features_are_matched_by_name() -> None:
    scorer = replace(linear(1, 10), feature_names=("a", "b"))
    turned = pd.DataFrame([[2, 1]], columns=["b", "a"])
    assert scorer.scores(turned).tolist() == [21]
    data = podium.RankingData([[2, 1]], [0], [1], feature_names=["b", "a"])
    assert scorer.scores(data).tolist() == [21]
    more = pd.DataFrame([[2, 5, 1]], columns=["b", "c", "a"])
    for given in (more, podium.RankingData(more, [0], [1])):
        with pytest.warns(UserWarning, match="has more features than the model was trained on; left out: c"):
            assert scorer.scores(given).tolist() == [21]
    same = pd.DataFrame([[1, 2]], columns=["a", "b"])
    assert (
        scorer.scores(same).tolist() == linear(1, 10).scores(same).tolist() == scorer.scores([[1, 2]]).tolist() == [21]
    )


def test_features_are_rescaled_inside_each_query_if_the_model_was_trained_so() -> None:
    scorer = replace(linear(1, 10), normalize="minmax")
    data = podium.RankingData([[1, 0], [0, 5], [3, 1], [4, 9]], [0] * 4, ["a", "b", "a", "b"])
    assert scorer.scores(data).tolist() == [0, 0, 11, 11]  # each query has its least and its greatest value
    with pytest.raises(
        podium.DataError, match=r"normalize='minmax'\), so it scores whole queries: give podium.RankingData"
    ):
        scorer.scores(data.features)


# ---- categories

COLORS = pd.DataFrame(
    {"color": pd.Categorical(["red", "blue", None, "red"], categories=["red", "blue"]), "x": [1.0, 2, 3, 4]}
)


def test_categories_get_the_codes_of_the_training_data() -> None:
    """The training data had blue as code 0 and red as code 1; green has no code there, so that it is missing: 0 to this model."""
    scorer = replace(linear(1, 10), feature_names=("color", "x"), categories={0: ("blue", "red")})
    assert scorer.scores(COLORS).tolist() == [11, 20, 30, 41]
    assert scorer.scores(podium.from_frame(COLORS.assign(label=0, qid=1))).tolist() == [11, 20, 30, 41]
    green = pd.DataFrame({"color": pd.Categorical(["green", "red"]), "x": [0.0, 0.0]})
    assert scorer.scores(green).tolist() == [0, 1]
    assert scorer.scores(np.array([[0, 0], [1, 0], [2, 0], [7, 0], [np.nan, 0]])).tolist() == [0, 1, 0, 0, 0]
    with pytest.raises(
        podium.DataError, match="feature 'x' is categorical here and a number in the data the model was"
    ):
        scorer.scores(COLORS.assign(x=COLORS["color"]))
    without = replace(scorer, categories=None)
    with pytest.raises(podium.DataError, match="feature 'color' is categorical here and a number"):
        without.scores(COLORS)
    assert replace(scorer, categories={0: None}).scores(COLORS).tolist() == [10, 21, 30, 40]  # coded already


def test_categories_are_saved_with_the_model(tmp_path: Path) -> None:
    frame = pd.concat([COLORS.assign(label=[2, 0, 1, 2], qid=k) for k in range(10)])
    data = podium.from_frame(frame)
    podium.LambdaMART(n_estimators=5, min_documents=1).fit(data).save(tmp_path / "a.podium")
    loaded = podium.load_scorer(tmp_path / "a.podium")
    assert loaded.categories == {0: ("red", "blue")}
    other = COLORS.assign(color=COLORS["color"].cat.reorder_categories(["blue", "red"]))
    np.testing.assert_array_equal(loaded.scores(COLORS), loaded.scores(other))
    assert len(set(loaded.scores(COLORS))) > 1
    unnamed = podium.RankingData(data.features, data.labels, data.qid, categorical_features=[0])
    podium.LambdaMART(n_estimators=5, min_documents=1).fit(unnamed).save(tmp_path / "b.podium")
    assert podium.load_scorer(tmp_path / "b.podium").categories == {0: None}


@pytest.mark.parametrize("column", [-1, 2])
def test_categories_of_a_feature_that_is_not_there_are_refused(tmp_path: Path, column: int) -> None:
    podium.RankSVM().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1], qid=[1, 1]).save(tmp_path / "a.podium")
    whole = podium.artifact.load_artifact(tmp_path / "a.podium")
    header: dict[str, Any] = {**whole.header, "features": {**whole.header["features"], "categories": [[column, ["a"]]]}}
    with pytest.raises(podium.FormatError, match="categories of features that are not among the 2"):
        Scorer.of(header, whole.arrays, "a.podium")
    header["features"]["categories"] = [[0, ["a"]], [1, None]]
    assert Scorer.of(header, whole.arrays, "a.podium").categories == {0: ("a",), 1: None}


# ---- arrays that trees read as they are, and those they do not


def test_arrays_of_every_kind_give_trees_the_same_scores() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, (60, 3)).astype(np.float32)
    ranker = podium.MART(n_estimators=5, min_documents=1).fit(X, X[:, 0] % 3, qid=np.repeat(np.arange(6), 10))
    scorer, wanted = ranker.scorer_, ranker.predict(podium.RankingData(X, np.zeros(60), np.zeros(60)))
    assert len(set(wanted)) > 5
    raw = np.zeros(X.nbytes + 1, np.uint8)
    unaligned = raw[1:].view(np.float32).reshape(X.shape)
    unaligned[:] = X
    assert not unaligned.flags.aligned
    kinds = [X.astype(kind) for kind in ("f2", ">f4", ">f8", "i1", "u8", "i4", object)]
    for same in (X, unaligned, np.ma.array(X), *kinds):
        np.testing.assert_array_equal(scorer.scores(same), wanted)
    masked = np.ma.array(X, mask=np.arange(180).reshape(60, 3) % 7 == 0)
    np.testing.assert_array_equal(scorer.scores(masked), scorer.scores(masked.filled(np.nan)))
    assert not np.array_equal(scorer.scores(masked), wanted)
    for wrong in (X[0], X[None], X.astype(complex)):
        with pytest.raises(podium.DataError, match=r"it must have 2|must be numbers"):
            scorer.scores(wrong)


def test_a_frame_for_a_model_without_names_is_matched_by_the_default_names() -> None:
    frame = pd.DataFrame([[2, 1, 7]], columns=["f1", "f0", "sku"])
    with pytest.warns(UserWarning, match="left out: sku"):
        assert linear(1, 10).scores(frame).tolist() == [21]


def test_the_columns_of_a_frame_are_converted_as_for_training() -> None:
    days = pd.Timestamp("1970-01-01") + pd.to_timedelta([3, 5], "D")
    frame = pd.DataFrame({"listed": days, "brand": ["puma", "nike"], "v": [[1.0, 2.0], [3.0, 4.0]]})
    scorer = replace(
        linear(1, 10, 100, 1000),
        feature_names=("v[1]", "brand", "listed", "v[0]"),
        categories={1: ("nike", "puma")},
    )
    assert scorer.scores(frame).tolist() == [2 + 10 + 300 + 1000, 4 + 500 + 3000]


def test_the_number_of_features_is_compared_before_their_kinds() -> None:
    data = podium.RankingData(pd.DataFrame({"brand": pd.Categorical(["a", "b"])}), [0, 1], [1, 1])
    with pytest.raises(podium.DataError, match="the documents have 1 features, the model was trained on 3"):
        linear(1, 10, 100).scores(data)
