"""Trained trees give the scores of a plain walk over their arrays, and invalid forests are refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_trees import walk
from test_trees import PLAIN

import podium
from podium import _core
from podium.artifact import Artifact, load_artifact, save_artifact
from podium.models.trees import TreeModel, categories_of, forest_of


def random_tree(rng: np.random.Generator, leaves: int, n_features: int, pool: np.ndarray, categorical: dict) -> dict:
    """Return a tree of random shape, made by splitting random leaves."""
    tree: dict[str, list] = {name: [] for name in ("feature", "threshold", "left", "right", "missing_left", "set")}
    sets: list[int] = []
    ends: list[tuple[str, int] | None] = [None]
    for node in range(leaves - 1):
        leaf = int(rng.integers(len(ends)))
        if ends[leaf] is not None:
            side, parent = ends[leaf]
            tree[side][parent] = node
        feature = int(rng.integers(n_features))
        tree["feature"].append(feature)
        tree["threshold"].append(rng.choice(pool))
        tree["missing_left"].append(int(rng.integers(2)))
        tree["set"].append(len(sets) // 4 if feature in categorical else -1)
        if feature in categorical:
            sets += rng.integers(0, 2**63, 4).tolist()
        tree["left"].append(None)
        tree["right"].append(None)
        ends[leaf] = ("left", node)
        ends.append(("right", node))
    for leaf, end in enumerate(ends):
        if end is not None:
            tree[end[0]][end[1]] = ~leaf
    made = {name: np.array(value, np.float32 if name == "threshold" else np.int64) for name, value in tree.items()}
    values = {"value": rng.normal(size=leaves), "documents": np.ones(leaves), "gain": np.ones(leaves - 1)}
    return {**made, **values, "sets": np.array(sets, np.uint64)}


def symmetric_tree(rng: np.random.Generator, depth: int, n_features: int, pool: np.ndarray) -> dict:
    """A tree with one test per level, its nodes level by level and its leaves in a random order."""
    nodes, leaves = 2**depth - 1, 2**depth
    level = np.repeat(np.arange(depth), 2 ** np.arange(depth))
    names = ~rng.permutation(leaves)
    children = np.r_[np.arange(1, nodes), names][: 2 * nodes]
    return {
        "feature": rng.integers(n_features, size=depth)[level],
        "threshold": rng.choice(pool, depth)[level],
        "missing_left": rng.integers(2, size=depth)[level],
        "set": np.full(nodes, -1),
        "left": children[0::2],
        "right": children[1::2],
        "gain": np.ones(nodes),
        "value": rng.normal(size=leaves),
        "documents": np.ones(leaves),
        "sets": np.empty(0, np.uint64),
    }


def random_forest(
    seed: int,
    *,
    trees=5,
    leaves=9,
    n_features=4,
    outputs=1,
    thresholds=20,
    categorical=(),
    symmetric=None,
    sums="float64",
    rules=None,
) -> TreeModel:
    """Trees of `leaves` leaves, or of as many as each entry of a list says; symmetric ones of the given depths."""
    rng = np.random.default_rng(seed)
    pool = np.unique(rng.normal(size=thresholds).astype(np.float32))
    known = {feature: np.arange(rng.integers(1, 256), dtype=np.float32) - 3 for feature in categorical}
    sizes = leaves if isinstance(leaves, list) else [leaves] * trees * outputs
    made = [random_tree(rng, size, n_features, pool, known) for size in sizes]
    for depth in symmetric or ():
        made.insert(int(rng.integers(len(made) + 1)), symmetric_tree(rng, depth, n_features, pool))
    arrays = forest_of(made, rng.normal(size=outputs), known) | ({} if rules is None else {"feature_rules": rules})
    return TreeModel(arrays, n_features, outputs, sums=sums)


def some_rows(model: TreeModel, n: int, seed=1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, model.n_features)).astype(np.float32)
    X[: n // 4] = rng.choice(np.r_[model.arrays()["threshold"], np.float32(0)], (n // 4, model.n_features))
    for feature in categories_of(model):
        X[:, feature] = rng.integers(-8, 260, n) + rng.choice([0, 0.25, -0.5], n)
    X[:: n // 5 + 1, 0] = [0.0, -0.0, 1e-35, -1e-35, 1e-40][: len(X[:: n // 5 + 1])]
    X[rng.random(X.shape) < 0.15] = np.nan
    X[0], X[1] = -np.finfo(np.float32).max, np.finfo(np.float32).max
    return X


def plain_scores(model: TreeModel, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (scores, leaves) from one walk per document and tree."""
    trees, categories = [model.tree(t) for t in range(model.n_trees)], categories_of(model)
    rules = model.arrays().get("feature_rules", np.zeros(model.n_features, np.uint8))
    ruled = [feature for feature in range(model.n_features) if rules[feature]]
    X = X.copy()
    for row in X:
        for feature in ruled:
            row[feature] = plain_rule(rules[feature], float(row[feature]), categories.get(feature))
    leaves = np.array([[walk(tree, row, categories) for tree in trees] for row in X]).reshape(len(X), len(trees))
    scores = np.zeros((len(X), model.n_outputs))
    if model.sums == "float32":
        scores = scores + model.arrays()["base"]
        for t, tree in enumerate(trees):
            sums = scores[:, t % model.n_outputs] + tree["value"][leaves[:, t]]
            scores[:, t % model.n_outputs] = sums.astype(np.float32)
        return scores, leaves
    for t, tree in enumerate(trees):
        scores[:, t % model.n_outputs] += tree["value"][leaves[:, t]]
    return scores + model.arrays()["base"], leaves


def plain_rule(rule: int, value: float, known) -> float:
    if math.isnan(value):
        return value
    if rule == 1:
        return math.nan if -float(np.float32(1e-35)) <= value <= float(np.float32(1e-35)) else value
    if rule == 2:
        return float(int(value))
    return float(math.floor(value)) if math.floor(value) in known.tolist() else -1.0


KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "one leaf": {"leaves": 1},
    "two leaves": {"leaves": 2},
    "categories": {"categorical": (0, 2)},
    "256 leaves": {"leaves": 256, "trees": 2},
    "257 leaves": {"leaves": 257, "trees": 2},
    "600 leaves": {"leaves": 600, "trees": 2, "thresholds": 10},
    "many thresholds": {"leaves": 400, "trees": 6, "n_features": 2, "thresholds": 5000},
    "many thresholds and categories": {"leaves": 400, "trees": 6, "n_features": 3, "thresholds": 5000, "categorical": (1,)},
    "254 thresholds": {"leaves": 600, "trees": 3, "n_features": 1, "thresholds": 254},
    "255 thresholds": {"leaves": 600, "trees": 3, "n_features": 1, "thresholds": 255},
    "more outputs": {"outputs": 3},
    "no trees": {"trees": 0},
    "symmetric": {"trees": 0, "symmetric": [0, 1, 2, 6, 6, 8, 9]},
    "symmetric and others": {"trees": 3, "symmetric": [6, 3, 6], "outputs": 2, "thresholds": 300},
    "large and small": {"leaves": [9, 700, 1, 256, 257, 60], "thresholds": 400},
    "thresholds for several parts": {"leaves": [200] * 12, "n_features": 2, "thresholds": 3000},
    "a hundred trees": {"trees": 100, "leaves": 31, "thresholds": 200},
    "many features": {"leaves": [40] * 3, "n_features": 40_000},
    "sums of floats": {"trees": 60, "sums": "float32"},
    "sums of floats in large trees and several outputs": {"leaves": [9, 700, 1, 30], "outputs": 2, "sums": "float32"},
    "zeros that are missing": {"rules": np.array([1, 0, 1, 0])},
    "categories cut to whole numbers": {"categorical": (0, 2), "rules": np.array([2, 0, 2, 0])},
    "categories of which others are -1": {"categorical": (0, 2), "rules": np.array([3, 1, 3, 0]), "sums": "float32"},
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_a_walk_through_every_tree(kind):
    model = random_forest(3, **KINDS[kind])
    X = some_rows(model, 150)
    scores, leaves = plain_scores(model, X)
    np.testing.assert_array_equal(model.leaves(X), leaves)
    np.testing.assert_allclose(model.scores(X).reshape(scores.shape), scores, rtol=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(0, 6), st.integers(1, 3), st.integers(1, 130))
def test_scores_are_a_walk_whatever_the_forest(seed, leaves, trees, outputs, rows):
    model = random_forest(seed, leaves=leaves, trees=trees, outputs=outputs, categorical=(1,))
    X = some_rows(model, max(rows, 2))
    scores, found = plain_scores(model, X)
    np.testing.assert_array_equal(model.leaves(X), found)
    np.testing.assert_allclose(model.scores(X).reshape(scores.shape), scores, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_are_the_same_for_any_threads_any_rows_around_and_any_instructions(kind):
    model = random_forest(5, **KINDS[kind])
    X = some_rows(model, 3000)
    scores, leaves = model.scores(X), model.leaves(X)
    for threads in (2, 5):
        assert model.scores(X, num_threads=threads).tobytes() == scores.tobytes()
    for part in (slice(0, 1), slice(100, 177), slice(2900, 3000), slice(0, 0)):
        assert model.scores(X[part]).tobytes() == scores[part].tobytes()
    for forbid in (_core.use_avx512, _core.use_avx2):
        try:
            assert not forbid(False)
            assert model.scores(X).tobytes() == scores.tobytes()
            assert model.leaves(X).tobytes() == leaves.tobytes()
        finally:
            forbid(True)


def in_other_memory(X: np.ndarray) -> dict[str, np.ndarray]:
    """The same numbers as float32 and float64, in many memory orders."""
    wide = np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)
    return {
        "columns": np.asfortranarray(X),
        "every other": wide[::2, ::3],
        "backwards": np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
        "float64": X.astype(np.float64),
        "columns of float64": np.asfortranarray(X.astype(np.float64)),
        "one row again and again": np.broadcast_to(X[1], X.shape),
        "bytes that are not aligned": np.frombuffer(b"-" + X.tobytes(), np.uint8)[1:].view(np.float32).reshape(X.shape),
        "big-endian": X.astype(">f4"),
    }


@pytest.mark.parametrize("kind", ["plain", "symmetric and others", "large and small", "categories"])
@pytest.mark.parametrize("n", [2, 5, 40, 300])
def test_features_may_lie_in_memory_in_any_order(kind, n):
    model = random_forest(7, **KINDS[kind])
    X = some_rows(model, n)
    for what, same in in_other_memory(X).items():
        wanted = model.scores(np.ascontiguousarray(same, np.float32))
        assert model.scores(same).tobytes() == wanted.tobytes(), what
        np.testing.assert_array_equal(model.leaves(same), model.leaves(np.ascontiguousarray(same, np.float32)), what)


def test_a_double_counts_as_the_nearest_float():
    tree = {
        "feature": [0],
        "threshold": [np.float32(0.1)],
        "left": [-1],
        "right": [-2],
        "missing_left": [0],
        "set": [-1],
    }
    leaf = {"gain": [1.0], "value": [1.0, 2.0], "documents": [1, 1], "sets": []}
    arrays = forest_of([{name: np.array(value) for name, value in (tree | leaf).items()}], np.zeros(1), {})
    model = TreeModel(arrays, 1, 1)
    above = np.nextafter(np.float64(np.float32(0.1)), 1)
    rows = np.array([[0.1], [above], [np.nextafter(np.float32(0.1), np.float32(1))]])
    np.testing.assert_array_equal(model.scores(rows), [1, 1, 2])
    np.testing.assert_array_equal(model.scores(np.repeat(rows, 100, axis=0)), np.repeat([1, 1, 2], 100))


def test_training_scores_are_the_models_scores():
    data = podium.synthetic.network(queries=40, documents=30, features=6, hidden=3, seed=0)
    ranker = podium.LambdaMART(**PLAIN | {"n_estimators": 30, "num_leaves": 20, "learning_rate": 0.2}).fit(data)
    scores, _ = plain_scores(ranker.model_, data.features)
    np.testing.assert_allclose(ranker.predict(data), scores[:, 0], rtol=1e-12)
    value = podium.evaluate(scores[:, 0], data, "ndcg@10").mean["ndcg@10"]
    assert ranker.log_[-1].train == pytest.approx(value, abs=1e-12)


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Any:
    data = podium.synthetic.network(queries=20, documents=10, features=5, hidden=3, seed=0)
    X = data.features.copy()
    X[:, 3] = np.round(X[:, 3] * 3)
    data = data.replace(features=X)
    path = tmp_path_factory.mktemp("forest") / "a.podium"
    spec = PLAIN | {"n_estimators": 6, "num_leaves": 6, "learning_rate": 0.3, "categorical": (3,)}
    ranker = podium.LambdaMART(**spec).fit(data)
    assert (ranker.model_.arrays()["set"] >= 0).any()
    ranker.save(path)
    return path, data


def test_a_saved_forest_scores_as_it_did(trained, tmp_path):
    path, data = trained
    ranker = podium.load(path)
    ranker.save(tmp_path / "b.podium")
    assert (tmp_path / "b.podium").read_bytes() == path.read_bytes()
    scores, _ = plain_scores(ranker.model_, data.features)
    np.testing.assert_allclose(ranker.predict(data), scores[:, 0], rtol=1e-12)


def first(arrays: dict, name: str, value: Any, where: int = 0) -> dict:
    changed = arrays[f"model.{name}"].copy()
    changed[where] = value
    return {f"model.{name}": changed}


def cut(arrays: dict, name: str) -> dict:
    return {f"model.{name}": arrays[f"model.{name}"][:-1].copy()}


TAMPERED: dict[str, tuple[Any, str]] = {
    "a child that is its own parent": (lambda a: first(a, "left", 0), "child"),
    "a child that stands before its parent": (lambda a: first(a, "right", 0, 2), "child"),
    "a child of another tree": (lambda a: first(a, "left", 4000), "child"),
    "a leaf of another tree": (lambda a: first(a, "left", -4000), "child"),
    "a node with two parents": (lambda a: {"model.left": a["model.right"].copy()}, "two parents"),
    "a feature that is not there": (lambda a: first(a, "feature", 5), "feature"),
    "a feature below 0": (lambda a: first(a, "feature", -1), "feature"),
    "a value that is no number": (lambda a: first(a, "value", np.nan), "not finite"),
    "an infinite value": (lambda a: first(a, "value", np.inf), "not finite"),
    "a threshold that is no number": (lambda a: {"model.threshold": np.where(a["model.set"] < 0, np.float32(np.nan), a["model.threshold"]).astype(np.float32)}, "threshold"),
    "offsets that do not begin at 0": (lambda a: first(a, "node_offsets", 1), "node_offsets"),
    "offsets that do not rise": (lambda a: first(a, "node_offsets", 10**6, 1), "node_offsets"),
    "offsets below 0": (lambda a: first(a, "leaf_offsets", -7, 1), "leaf_offsets"),
    "offsets past the end": (lambda a: first(a, "leaf_offsets", 10**6, -1), "leaf_offsets"),
    "no offsets": (lambda a: {"model.node_offsets": np.empty(0, np.int64)}, "node_offsets"),
    "one tree's leaves given to another": (lambda a: first(a, "leaf_offsets", 3, 1), "one leaf more"),
    "nodes of two lengths": (lambda a: cut(a, "left"), "length"),
    "gains of another length": (lambda a: cut(a, "gain"), "gain"),
    "documents of another length": (lambda a: cut(a, "documents"), "documents"),
    "a set that is not there": (lambda a: {"model.set": np.where(a["model.set"] >= 0, 10**6, -1).astype(np.int32)}, "categories"),
    "a set on a feature without": (lambda a: {"model.set": np.zeros_like(a["model.set"])}, "categories"),
    "half a set": (lambda a: cut(a, "sets"), "length"),
    "categories of no feature": (lambda a: first(a, "category_features", 99), "categorical feature"),
    "categories that fall": (lambda a: {"model.categories": a["model.categories"][::-1].copy()}, "categories"),
    "categories twice": (lambda a: first(a, "categories", a["model.categories"][1]), "categories"),
    "a category that is no number": (lambda a: first(a, "categories", np.nan, 1), "categories"),
    "two bases": (lambda a: {"model.base": np.zeros(2)}, "base"),
    "a base that is no number": (lambda a: {"model.base": np.array([np.nan])}, "base"),
    "an array of two dimensions": (lambda a: {"model.value": a["model.value"].reshape(-1, 1)}, "value|incompatible|part missing or wrong"),
}  # fmt: skip


@pytest.mark.parametrize("what", TAMPERED)
def test_an_invalid_forest_is_refused(what, trained, tmp_path):
    path, _ = trained
    artifact = load_artifact(path)
    change, message = TAMPERED[what]
    header = {name: value for name, value in artifact.header.items() if name not in ("sha256", "format")}
    save_artifact(tmp_path / "b.podium", Artifact(header, artifact.arrays | change(artifact.arrays)))
    with pytest.raises(podium.FormatError, match=message) as caught:
        podium.load(tmp_path / "b.podium")
    assert "b.podium" in str(caught.value)


@pytest.mark.parametrize("name", ["feature", "node_offsets", "value", "categories", "base"])
def test_a_forest_without_one_of_its_arrays_is_refused(name, trained, tmp_path):
    artifact = load_artifact(trained[0])
    header = {key: value for key, value in artifact.header.items() if key not in ("sha256", "format")}
    arrays = {key: value for key, value in artifact.arrays.items() if key != f"model.{name}"}
    save_artifact(tmp_path / "b.podium", Artifact(header, arrays))
    with pytest.raises(podium.FormatError, match=name):
        podium.load(tmp_path / "b.podium")


def test_settings_that_do_not_fit_the_arrays_are_refused(trained, tmp_path):
    artifact = load_artifact(trained[0])
    for change, message in (({"n_features": 1}, "feature"), ({"n_outputs": 2}, "base"), ({"n_outputs": 0}, "base")):
        header = {key: value for key, value in artifact.header.items() if key not in ("sha256", "format")}
        header["model"] = header["model"] | {"settings": header["model"]["settings"] | change}
        save_artifact(tmp_path / "b.podium", Artifact(header, artifact.arrays))
        with pytest.raises(podium.FormatError, match=message):
            podium.load(tmp_path / "b.podium")
