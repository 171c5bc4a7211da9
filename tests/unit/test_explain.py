"""Attributions equal Shapley values over all sets of features; importances and reasons equal their definitions."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import podium
from podium import _core
from podium.explaining.forest import attributions, importance
from podium.explaining.reasons import Reason
from podium.models.trees import TreeModel, forest_of

CATEGORIES = {1: np.array([0, 1, 2, 5], np.float32)}


def random_tree(rng, n_features, n_leaves, *, categorical=(), empty=0.3):
    """Return a tree that grew by splitting random leaves; some leaves have no training document."""
    nodes, slots, sets = [], [(None, None)], []
    for number in range(n_leaves - 1):
        parent, side = slots.pop(rng.integers(len(slots)))
        feature = int(rng.integers(n_features))
        node = {"feature": feature, "threshold": float(rng.integers(-2, 3)), "left": None, "right": None, "set": -1}
        node["missing_left"] = int(rng.integers(2))
        if feature in categorical:
            node["set"] = len(sets) // 4
            sets += [int(rng.integers(16)), 0, 0, int(rng.integers(2)) << 63]
        nodes.append(node)
        if parent is not None:
            nodes[parent][side] = number
        slots += [(number, "left"), (number, "right")]
    for leaf, (parent, side) in enumerate(slots):
        if parent is not None:
            nodes[parent][side] = ~leaf
    documents = rng.integers(1, 20, len(slots)) * (rng.random(len(slots)) >= empty)
    tree = {name: np.array([node[name] for node in nodes]) for name in ("feature", "threshold", "left", "right", "set")}
    tree["missing_left"] = np.array([node["missing_left"] for node in nodes])
    return {
        **tree,
        "sets": np.array(sets, np.uint64),
        "gain": rng.random(len(nodes)),
        "value": rng.normal(size=len(slots)),
        "documents": documents,
    }


def random_forest(seed, *, n_trees=3, n_features=4, n_leaves=6, outputs=1, categorical=(), empty=0.3):
    rng = np.random.default_rng(seed)
    trees = [
        random_tree(rng, n_features, int(rng.integers(1, n_leaves + 1)), categorical=categorical, empty=empty)
        for _ in range(n_trees * outputs)
    ]
    known = {feature: CATEGORIES[feature] for feature in categorical}
    model = TreeModel(forest_of(trees, rng.normal(size=outputs), known), n_features, outputs)
    rows = rng.integers(-3, 6, (5, n_features)).astype(np.float32)
    rows[rng.random(rows.shape) < 0.2] = np.nan
    return model, rows


def goes_left(tree, node, row, categories):
    value, chosen = row[tree["feature"][node]], tree["set"][node]
    if chosen >= 0:
        known = categories[int(tree["feature"][node])].tolist()
        bin = known.index(value) if value in known else 255
        return bool(int(tree["sets"][4 * chosen + bin // 64]) >> (bin % 64) & 1)
    return bool(tree["missing_left"][node]) if np.isnan(value) else value <= tree["threshold"][node]


def covered(tree, node):
    if node < 0:
        return int(tree["documents"][~node])
    return covered(tree, tree["left"][node]) + covered(tree, tree["right"][node])


def value_of(tree, row, known, categories, node=0):
    """Return the mean of a tree if only the features in `known` are known."""
    if node < 0 or not len(tree["feature"]):
        return tree["value"][~node if node < 0 else 0]
    left, right = int(tree["left"][node]), int(tree["right"][node])
    if tree["feature"][node] in known:
        there = left if goes_left(tree, node, row, categories) else right
        return value_of(tree, row, known, categories, there)
    total = covered(tree, node)
    share = covered(tree, left) / total if total else 0.5
    return share * value_of(tree, row, known, categories, left) + (1 - share) * value_of(
        tree, row, known, categories, right
    )


def naive_attributions(model, rows, categories):
    """Σ_S |S|! (n − |S| − 1)! / n! · (v(S ∪ j) − v(S)) over all sets S of the other features."""
    n, outputs = model.n_features, model.n_outputs
    out = np.zeros((len(rows), outputs, n + 1))
    out[:, :, n] = model.arrays()["base"]
    for t, (i, row) in itertools.product(range(model.n_trees), enumerate(rows)):
        tree = model.tree(t)
        worth = {
            known: value_of(tree, row, known, categories)
            for size in range(n + 1)
            for known in map(frozenset, itertools.combinations(range(n), size))
        }
        out[i, t % outputs, n] += worth[frozenset()]
        for j in range(n):
            for known, value in worth.items():
                if j not in known:
                    weight = math.factorial(len(known)) * math.factorial(n - len(known) - 1) / math.factorial(n)
                    out[i, t % outputs, j] += weight * (worth[known | {j}] - value)
    return out if outputs > 1 else out[:, 0]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n_features=st.integers(2, 6),
    n_leaves=st.integers(1, 12),
    outputs=st.integers(1, 3),
    categorical=st.booleans(),
    empty=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_attributions_are_shapley_values(seed, n_features, n_leaves, outputs, categorical, empty):
    chosen = (1,) if categorical else ()
    model, rows = random_forest(
        seed, n_trees=2, n_features=n_features, n_leaves=n_leaves, outputs=outputs, categorical=chosen, empty=empty
    )
    found = attributions(model, rows)
    np.testing.assert_allclose(found, naive_attributions(model, rows, CATEGORIES), rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=-1), model.scores(rows), rtol=0, atol=1e-12)


def test_a_split_by_hand():
    # x0 ≤ 0: 3 documents get 1; the others by x1 ≤ 0: 1 document gets 2, and 4 get 6. Both of the row's go right.
    tree = {"feature": [0, 1], "threshold": [0, 0], "left": [-1, -2], "right": [1, -3], "missing_left": [0, 0]}
    tree |= {"set": [-1, -1], "sets": [], "gain": [1, 1], "value": [1, 2, 6], "documents": [3, 1, 4]}
    model = TreeModel(forest_of([{k: np.array(v) for k, v in tree.items()}], np.zeros(1), {}), 2, 1)
    none = 3 / 8 * 1 + 1 / 8 * 2 + 4 / 8 * 6
    first, second, both = (1 * 2 + 4 * 6) / 5, 3 / 8 * 1 + 5 / 8 * 6, 6
    expected = [(first - none + both - second) / 2, (second - none + both - first) / 2, none]
    assert attributions(model, np.ones((1, 2), np.float32))[0] == pytest.approx(expected)


@pytest.mark.parametrize("n_features", [12, 40, 300])
def test_deep_trees_keep_local_accuracy(n_features):
    model, _ = random_forest(7, n_trees=2, n_features=n_features, n_leaves=900, empty=0.1)
    rows = np.random.default_rng(0).normal(0, 2, (20, n_features)).astype(np.float32)
    np.testing.assert_allclose(attributions(model, rows).sum(axis=1), model.scores(rows), rtol=0, atol=1e-11)


def test_a_chain_of_many_features_is_exact():
    """x_j ≤ 0 for all j leads to the only leaf with a value, so that every feature contributes the same."""
    n = 61
    tree = {"feature": np.arange(n), "threshold": np.zeros(n), "left": np.append(np.arange(1, n), ~n)}
    tree |= {"right": ~np.arange(n), "missing_left": np.zeros(n), "set": np.full(n, -1), "sets": np.empty(0)}
    tree |= {"gain": np.ones(n), "value": np.append(np.zeros(n), 1.0)}
    tree |= {"documents": np.append(2 ** np.arange(n)[::-1], 1)}  # each split halves
    model = TreeModel(forest_of([tree], np.zeros(1), {}), n, 1)
    found = attributions(model, np.zeros((1, n), np.float32))[0]
    np.testing.assert_allclose(found[:n], (1 - 2.0**-n) / n, rtol=1e-12)


def test_every_number_of_threads_and_any_rows_give_the_same_bytes():
    model, _ = random_forest(3, n_trees=20, n_features=8, n_leaves=30)
    rows = np.random.default_rng(0).normal(0, 2, (1000, 8)).astype(np.float32)
    found = attributions(model, rows)
    for threads in (2, 5):
        assert attributions(model, rows, num_threads=threads).tobytes() == found.tobytes()
    assert attributions(model, rows[::-1]).tobytes() == found[::-1].tobytes()
    assert attributions(model, rows[17:18]).tobytes() == found[17:18].tobytes()
    assert attributions(model, rows[:0]).shape == (0, 9)


def test_the_core_refuses_an_invalid_forest():
    model, rows = random_forest(1)
    arrays = {name: value for name, value in model.arrays().items() if name not in ("gain", "base")}
    with pytest.raises(ValueError, match="at least 0"):
        _core.ForestShap(n_features=4, outputs=1, **{**arrays, "documents": arrays["documents"] - 100})
    shap = _core.ForestShap(n_features=4, outputs=1, **arrays)
    with pytest.raises(ValueError, match="as many features"):
        shap.attributions(rows[:, :3].copy(), np.empty(20), 1)
    with pytest.raises(ValueError, match="one number"):
        shap.attributions(rows, np.empty(20), 1)


def test_lightgbm_gives_the_same():
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    X = rng.integers(0, 20, (800, 6)).astype(np.float64)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0] * X[:, 1]) + np.nan_to_num(X[:, 2], nan=30)
    booster = lightgbm.train(
        {"objective": "regression", "num_leaves": 15, "verbose": -1, "num_threads": 1}, lightgbm.Dataset(X, y), 20
    )
    trees = [as_arrays(info["tree_structure"]) for info in booster.dump_model()["tree_info"]]
    model = TreeModel(forest_of(trees, np.zeros(1), {}), 6, 1)
    rows = X[:50].astype(np.float32)
    np.testing.assert_allclose(model.scores(rows), booster.predict(X[:50]), rtol=1e-12)
    np.testing.assert_allclose(attributions(model, rows), booster.predict(X[:50], pred_contrib=True), atol=1e-9)


def as_arrays(root):
    """LightGBM's nested nodes as arrays."""
    nodes, values, documents = [], [], []

    def visit(node):
        if "leaf_value" in node:
            values.append(node["leaf_value"])
            documents.append(node["leaf_count"])
            return ~(len(values) - 1)
        number = len(nodes)
        nodes.append(dict.fromkeys(()))
        left, right = visit(node["left_child"]), visit(node["right_child"])
        threshold = min(node["threshold"], 1e30)  # LightGBM's 1e300 for "all that is not missing" is no float32
        nodes[number] = {"feature": node["split_feature"], "threshold": threshold, "left": left, "right": right}
        nodes[number] |= {"missing_left": node["default_left"], "gain": node["split_gain"], "set": -1}
        return number

    visit(root)
    out = {name: np.array([node[name] for node in nodes]) for name in nodes[0]}
    return {**out, "value": np.array(values), "documents": np.array(documents), "sets": np.empty(0)}


@pytest.fixture(scope="module")
def trained():
    data = podium.synthetic.network(queries=60, documents=15, features=6, seed=1)
    features = np.array(data.features)
    features[:, 4] = np.round(features[:, 4] * 2)
    features[np.random.default_rng(0).random(features.shape) < 0.05] = np.nan
    data = data.replace(features=features, feature_names=("title", "body", "url", "age", "site", "clicks"))
    settings = {"n_estimators": 30, "num_leaves": 15, "min_documents": 5, "categorical": (4,), "num_threads": 2}
    return podium.LambdaMART(**settings).fit(data), data


def scattered(data):
    """Return the same rows interleaved, so that the caller's order is not the grouped one."""
    order = np.random.default_rng(5).permutation(data.n_documents)
    ids = np.array([f"d{k}" for k in range(data.n_documents)])
    return order, podium.RankingData(
        data.features[order],
        data.labels[order],
        data.qid[order],
        document_ids=ids[order],
        feature_names=data.feature_names,
    )


class TestRankers:
    def test_rows_sum_to_the_scores_in_the_callers_order(self, trained):
        ranker, data = trained
        found = ranker.attributions(data)
        assert found.shape == (len(data), 7)
        np.testing.assert_allclose(found.sum(axis=1), ranker.predict(data), atol=1e-12)
        assert len(np.unique(found[:, -1])) == 1
        order, mixed = scattered(data)
        np.testing.assert_array_equal(ranker.attributions(mixed), found[order])

    def test_the_expected_score_is_the_mean_over_the_training_documents(self, trained):
        ranker, data = trained
        assert ranker.attributions(data)[0, -1] == pytest.approx(ranker.predict(data).mean(), abs=1e-9)

    def test_arrays_are_taken_as_predict_takes_them(self, trained):
        _, data = trained
        ranker = podium.MART(n_estimators=5).fit(data.features, data.labels, qid=data.qid)
        np.testing.assert_array_equal(ranker.attributions(data.features[:9]), ranker.attributions(data)[:9])
        with pytest.raises(ValueError, match="5 features"):
            ranker.attributions(data.features[:, :5])

    def test_any_force_over_trees(self, trained):
        _, data = trained
        ranker = podium.Ranker(force="listnet", model="trees", schedule="boosting(rounds=5)").fit(data)
        np.testing.assert_allclose(ranker.attributions(data).sum(axis=1), ranker.predict(data), atol=1e-12)
        levels = podium.Ranker(force="multiclass", model="trees", schedule="boosting(rounds=5)").fit(data)
        found = levels.attributions(data)
        np.testing.assert_allclose(found.sum(axis=2), levels.model_.scores(data.features), atol=1e-12)
        with pytest.raises(podium.ParameterError, match=r"and its score is not their sum"):
            levels.why(data, query=data.query_ids[0], above=1, below=2)

    @pytest.mark.parametrize("standardize", [True, False])
    def test_linear_models_give_reasons(self, trained, standardize):
        _, data = trained  # some values are missing: a linear model takes them as the mean, or as 0
        filled = data.replace(features=np.where(np.isnan(data.features), 0.5, data.features))
        ranker = podium.RankNet(hidden=(), epochs=3, standardize=standardize).fit(filled)
        rows = np.arange(*filled.query_offsets[3:5])[[1, 4]]
        why = ranker.why(filled, query=filled.query_ids[3], above=2, below=5)
        assert math.fsum(reason.contribution for reason in why.reasons) == pytest.approx(why.gap)
        weights = ranker.model_.arrays()["layer1.weights"][:, 0]
        inputs = ranker.model_.map(filled.features[rows])
        expected = weights * (inputs[0] - inputs[1])
        found = dict.fromkeys(range(filled.n_features), 0.0)
        names = filled.feature_names or [f"f{k}" for k in found]
        found |= {names.index(reason.feature): reason.contribution for reason in why.reasons}
        np.testing.assert_allclose(list(found.values()), expected, atol=1e-9)
        with pytest.raises(
            podium.ParameterError, match="cannot explain the order of two documents: this needs trees or a linear model"
        ):
            podium.RankNet(hidden=(3,), epochs=1).fit(filled).why(filled, query=3, above=1, below=2)

    def test_other_models_are_refused_with_advice(self, trained):
        _, data = trained
        filled = data.replace(features=np.nan_to_num(data.features))
        ranker = podium.ListNet(epochs=1).fit(filled)
        for call in (lambda: ranker.attributions(filled), ranker.importance):
            with pytest.raises(
                podium.ParameterError,
                match=r"needs a model of trees, .*; permutation_importance works for every ranker",
            ):
                call()
        assert not hasattr(ranker, "feature_importances_")
        assert not hasattr(podium.MART(), "feature_importances_")
        with pytest.raises(NotFittedError):
            podium.MART().importance()

    def test_importance_by_gain_and_split(self, trained):
        ranker, _ = trained
        arrays = ranker.model_.arrays()
        for feature in range(6):
            mine = arrays["feature"] == feature
            assert ranker.importance("split")[feature] == mine.sum()
            assert ranker.importance("gain")[feature] == pytest.approx(arrays["gain"][mine].sum())
        assert ranker.importance("split").sum() == len(arrays["feature"])
        np.testing.assert_allclose(ranker.feature_importances_, ranker.importance() / ranker.importance().sum())
        assert ranker.feature_importances_.sum() == pytest.approx(1)
        with pytest.raises(podium.ParameterError, match="Did you mean 'gain'"):
            ranker.importance("gian")

    def test_a_forest_without_splits_has_no_importance(self):
        flat = TreeModel(forest_of([], np.zeros(1), {}), 3, 1)
        assert importance(flat).tolist() == importance(flat, "split").tolist() == [0, 0, 0]
        assert attributions(flat, np.zeros((2, 3), np.float32)).tolist() == [[0] * 4] * 2

    def test_a_saved_ranker_explains_the_same(self, trained, tmp_path):
        ranker, data = trained
        ranker.save(tmp_path / "model.podium")
        again = podium.load(tmp_path / "model.podium")
        np.testing.assert_array_equal(again.attributions(data), ranker.attributions(data))
        np.testing.assert_array_equal(again.importance(), ranker.importance())


class TestWhy:
    def test_contributions_sum_to_the_gap(self, trained):
        ranker, data = trained
        start = int(data.query_offsets[3])
        scores, parts = ranker.predict(data), ranker.attributions(data)
        why = podium.why(ranker, data, query=data.query_ids[3], above=2, below=5)
        assert (why.query, why.above, why.below) == (data.query_ids[3], "2", "5")
        assert (why.above_score, why.below_score) == (scores[start + 1], scores[start + 4])
        assert sum(reason.contribution for reason in why.reasons) == pytest.approx(why.gap)
        sizes = [abs(reason.contribution) for reason in why.reasons]
        assert sizes == sorted(sizes, reverse=True)
        for reason in why.reasons:
            k = data.feature_names.index(reason.feature)
            np.testing.assert_equal(reason.above, float(data.features[start + 1, k]))
            assert reason.contribution == parts[start + 1, k] - parts[start + 4, k]
        assert ranker.why(data, query=str(data.query_ids[3]), above="2", below="5").to_dict() == why.to_dict()

    def test_documents_by_id_and_number(self, trained):
        ranker, data = trained
        _, mixed = scattered(data)
        first = int(mixed.query_offsets[4])
        by_id = ranker.why(
            mixed, query=mixed.query_ids[4], above=mixed.document_ids[first + 2], below=mixed.document_ids[first]
        )
        by_number = ranker.why(mixed, query=mixed.query_ids[4], above=3, below=1)
        assert by_id.to_dict() == by_number.to_dict()
        assert by_id.above == mixed.document_ids[first + 2]

    def test_one_query_needs_no_name(self, trained):
        ranker, data = trained
        alone, among = ranker.why(data.select([2]), above=1, below=2), ranker.why(data, query=2, above=1, below=2)
        assert alone.to_dict() == among.to_dict()

    def test_explanations_print(self, trained):
        ranker, data = trained
        scores = ranker.predict(data)[: data.query_offsets[1]]
        best, worst = int(scores.argmax()) + 1, int(scores.argmin()) + 1
        why = ranker.why(data, query=data.query_ids[0], above=best, below=worst)
        lines = str(why).splitlines()
        assert f"document {best} ({why.above_score:.4f}) stands above document {worst}" in lines[0]
        assert lines[2].split()[0] == why.reasons[0].feature
        assert lines[-1].split() == ["sum", f"{why.gap:+.4f}"]
        assert "stands BELOW" in str(ranker.why(data, query=data.query_ids[0], above=worst, below=best))
        assert why.to_dict()["reasons"][0]["feature"] == why.reasons[0].feature
        assert lines[1].split() == ["feature", "document", str(best), "document", str(worst), "contribution"]
        long = dataclasses.replace(why, below="https://a.page/with/a/long/address")
        assert str(long).splitlines()[1].split() == ["feature", "above", "below", "contribution"]
        few = why.rows(2)
        assert few[2][0] == f"{len(why.reasons) - 2} more"

    @pytest.mark.parametrize(
        ("asked", "message"),
        [
            ({"query": "nowhere", "above": 1, "below": 2}, "query='nowhere' is not in the data; it has 60 queries"),
            ({"above": 1, "below": 2}, "query is needed: the data has 60"),
            ({"query": 0, "above": 0, "below": 2}, "above=0 must be a document of the query, a number from 1 to 15"),
            ({"query": 0, "above": 1, "below": 16}, "below=16 must be"),
            ({"query": 0, "above": 3, "below": "3"}, "below='3' is the same document as above; name two"),
            ({"query": 0, "above": "x", "below": 3}, "above='x' cannot be an id: the data has none; give a number"),
            ({"query": 0, "above": 1.5, "below": 3}, r"above=1\.5 cannot be an id"),
        ],
    )
    def test_unknown_documents_and_features_are_refused(self, trained, asked, message):
        ranker, data = trained
        asked = {**asked, **({"query": data.query_ids[0]} if asked.get("query") == 0 else {})}
        with pytest.raises(podium.ParameterError, match=message):
            ranker.why(data, **asked)

    def test_repeated_ids_and_arrays_are_refused(self, trained):
        ranker, data = trained
        same = podium.RankingData(data.features, data.labels, data.qid, document_ids=["a"] * len(data))
        with pytest.raises(
            podium.ParameterError, match="is the id of 15 documents of the query; give the document's number"
        ):
            ranker.why(same, query=data.query_ids[0], above="a", below=2)
        with pytest.raises(podium.ParameterError, match="is not an id of the query"):
            ranker.why(same, query=data.query_ids[0], above="b", below=2)
        with pytest.raises(podium.DataError, match="must be a RankingData, not ndarray"):
            ranker.why(data.features, above=1, below=2)


class TestPermutation:
    def test_a_naive_twin(self, trained):
        """The loss without feature 0, with the permutation read off a feature that holds the row numbers."""
        ranker, data = trained
        found = podium.permutation_importance(ranker, data, metric="ndcg@5", repeats=3, seed=4)
        assert found.mean.shape == (6,)
        assert found.per_query.shape == (6, 60)
        assert found.baseline == podium.evaluate(ranker.predict(data), data, "ndcg@5").mean["ndcg@5"]
        places = []

        class Spy:
            def predict(self, features):
                places.append(features[:, 0].copy())
                return np.zeros(len(features))

        number = np.arange(len(data), dtype=np.float32)[:, None]
        podium.permutation_importance(Spy(), data.replace(features=number, feature_names=None), repeats=3, seed=4)
        before = podium.evaluate(ranker.predict(data), data, "ndcg@5").per_query["ndcg@5"]
        falls = []
        for order in places[1:]:
            order = order.astype(int)
            np.testing.assert_array_equal(data.document_queries[order], data.document_queries)
            assert sorted(order) == list(range(len(data)))
            moved = np.array(data.features)
            moved[:, 0] = moved[order, 0]
            after = podium.evaluate(ranker.predict(data.replace(features=moved)), data, "ndcg@5").per_query["ndcg@5"]
            falls.append(before - after)
        assert len(falls) == 3
        np.testing.assert_allclose(found.per_query[0], np.mean(falls, axis=0), atol=1e-15)
        assert found.mean[0] == pytest.approx(np.mean(falls))
        low, high = podium.evaluation.intervals.student_interval(np.mean(falls, axis=0), 0.95)
        np.testing.assert_allclose(found.interval[0], [low, high])

    @pytest.mark.parametrize("among", ["query", "all"])
    def test_permutation_importance_does_not_depend_on_the_order_of_queries(self, trained, among):
        ranker, data = trained
        shuffled = data.select(np.random.default_rng(2).permutation(data.n_queries))
        found, other = (podium.permutation_importance(ranker, d, repeats=2, among=among) for d in (data, shuffled))
        assert found.mean.tobytes() == other.mean.tobytes()
        assert found.interval.tobytes() == other.interval.tobytes()
        _, mixed = scattered(data.select([0, 1, 2]))
        podium.permutation_importance(ranker, mixed, repeats=1, among=among)

    def test_draws_are_uniform_and_differ_by_seed_and_repeat(self):
        data = podium.RankingData(np.arange(3000, dtype=np.float32)[:, None], np.zeros(3000), np.arange(3000) // 3)
        seen = []

        class Spy:
            def predict(self, features):
                seen.append(features[:, 0].astype(int) % 3)
                return np.zeros(len(features))

        for seed in (0, 1):
            podium.permutation_importance(Spy(), data, repeats=2, seed=seed, metric="p@1")
        codes = [draw.reshape(-1, 3) @ [9, 3, 1] for draw in (seen[1], seen[2], seen[4])]
        for code in codes:
            counts = np.unique(code, return_counts=True)[1]
            assert len(counts) == 6
            assert (np.abs(counts - 1000 / 6) < 60).all()
        assert all(0.1 < np.mean(a == b) < 0.24 for a, b in itertools.combinations(codes, 2))

    def test_unused_features_have_no_permutation_importance_and_needed_ones_have(self):
        rng = np.random.default_rng(0)
        labels = rng.integers(0, 3, 600).astype(float)
        X = np.column_stack([labels + 0.1 * rng.normal(size=600), rng.normal(size=600), np.ones(600)])
        data = podium.RankingData(X, labels, np.arange(600) // 10, feature_names=["good", "noise", "same"])
        ranker = podium.RankNet(epochs=20).fit(data)
        found = podium.permutation_importance(ranker, data)
        assert found.metric == "ndcg@10"
        assert found.mean[0] > 0.1
        assert found.interval[0, 0] > 0
        assert abs(found.mean[1]) < 0.02
        assert found.mean[2] == 0
        assert str(found).splitlines()[1].startswith("good")
        assert found.order[0] == 0
        assert found.to_dict()["features"]["good"]["mean"] == found.mean[0]

    def test_a_feature_of_the_query_matters_across_queries_only(self):
        class Gate:
            """Ranks by feature 0 if feature 1, which is constant in a query, is positive, and in reverse otherwise."""

            def predict(self, features):
                return features[:, 0] * np.sign(features[:, 1])

        rng = np.random.default_rng(0)
        labels = rng.permutation(np.tile([0.0, 1, 2, 3], 100)).reshape(100, 4)
        sign = np.where(np.arange(100) % 2, 1.0, -1.0)[:, None]
        X = np.column_stack([(labels * sign).ravel(), np.broadcast_to(sign, (100, 4)).ravel()])
        data = podium.RankingData(X, labels.ravel(), np.repeat(np.arange(100), 4))
        inside = podium.permutation_importance(Gate(), data)
        across = podium.permutation_importance(Gate(), data, among="all")
        assert inside.baseline == 1
        assert inside.mean[1] == 0
        assert across.mean[1] > 0.05
        assert inside.mean[0] > 0.05

    def test_less_is_better_metrics_and_queries_left_out(self, trained):
        ranker, data = trained
        found = podium.permutation_importance(ranker, data, metric="pairwise_error", repeats=1)
        assert found.mean.max() > 0
        labels = np.array(data.labels)
        labels[: data.query_offsets[1]] = 0
        skipped = podium.permutation_importance(
            ranker, data.replace(labels=labels), metric="ndcg(empty='skip')@5", repeats=1
        )
        assert np.isnan(skipped.per_query[:, 0]).all()
        assert np.isfinite(skipped.mean).all()

    @pytest.mark.parametrize(
        ("asked", "message"),
        [
            ({"repeats": 0}, "repeats=0 must be a whole number of at least 1"),
            ({"among": "queries"}, "among='queries' must be 'query' or 'all'"),
            ({"confidence": 95}, "confidence=95"),
            ({"seed": -1}, "seed=-1"),
            ({"metric": "ncdg"}, "Did you mean 'ndcg'"),
        ],
    )
    def test_bad_arguments_are_refused(self, trained, asked, message):
        with pytest.raises(podium.ParameterError, match=message):
            podium.permutation_importance(*trained, **asked)

    def test_arrays_are_refused(self, trained):
        ranker, data = trained
        with pytest.raises(podium.DataError, match="must be a RankingData, not ndarray"):
            podium.permutation_importance(ranker, data.features)


def test_reasons_name_categories():
    rng = np.random.default_rng(0)
    brands = np.array(["adidas", "nike", "puma"])[np.arange(60) % 3]
    frame = pd.DataFrame(
        {
            "label": (brands == "puma") * 2,
            "qid": np.repeat(np.arange(6), 10),
            "price": rng.normal(size=60),
            "brand": pd.Categorical(brands),
        }
    )
    data = podium.from_frame(frame)
    ranker = podium.LambdaMART(n_estimators=5, categorical=["brand"]).fit(data)
    found = ranker.why(data, query=0, above=3, below=1)
    reason = next(reason for reason in found.reasons if reason.feature == "brand")
    assert (reason.above_category, reason.below_category) == ("puma", "adidas")
    assert (reason.above, reason.below) == (2, 0)
    assert ("puma", "adidas") in [row[1:3] for row in found.rows()]
    assert next(r for r in found.to_dict()["reasons"] if r["feature"] == "brand")["above_category"] == "puma"
    assert "above_category" not in Reason("price", 1.0, 2.0, 0.5).to_dict()


def test_a_category_cannot_be_monotone():
    data = podium.RankingData(
        np.arange(8).reshape(4, 2) % 3, [0, 1, 0, 1], [1, 1, 2, 2], feature_names=["price", "brand"]
    )
    data = data.replace(categorical_features={"brand": ("a", "b", "c")})
    with pytest.raises(podium.ParameterError, match="monotone='brand' is a categorical feature, which has no order"):
        podium.LambdaMART(monotone={"brand": -1}).fit(data)
