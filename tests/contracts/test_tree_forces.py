"""Trees can be fitted to every force: scores move in its direction, and the cost falls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_forces import EVERY as NAMES

import podium
from generated import any_schedule
from podium.forces import ForceData
from podium.models import model
from podium.models.trees import TreeModel

SPEC = (
    "trees(num_leaves=5, l2=0, min_documents=3, row_sampling=1, query_sampling=1, column_sampling=1, random_strength=0)"
)

# Trees start with equal scores, where a step without a margin has no force.
EVERY = [*(name for name in NAMES if podium.force(name).unmoved is None), "step(ndcg@5, margin=0.5)"]


def judged(sizes=(12,) * 12, seed=0, **parts: Any) -> podium.RankingData:
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    wanted = X[:, 0] - 0.8 * X[:, 1] + 0.2 * rng.normal(size=n)
    X[rng.random(X.shape) < 0.05] = np.nan
    labels = np.digitize(wanted, [-0.8, 0.4, 1.3]).astype(float)
    return podium.RankingData(X, labels, np.repeat(np.arange(len(sizes)), sizes), **parts)


def trained(name: Any, data: podium.RankingData, *, spec: Any = SPEC, epochs=25, **others: Any) -> Any:
    settings = {"learning_rate": 0.2, "num_threads": 1, "metric": "ndcg@10"}
    return podium.Ranker(force=name, model=spec, **any_schedule(spec, epochs=epochs, **settings | others)).fit(data)


def cost(force: podium.forces.Force, scores: np.ndarray, data: podium.RankingData, thresholds: np.ndarray) -> float:
    found = force.compute(scores, ForceData(data), parameters=thresholds, cost=True, seed=0, round=1)
    assert found.cost is not None
    return float(found.cost.sum())


def learned_values(ranker: Any) -> np.ndarray:
    """What the force learned: thresholds, or numbers with a name, all of one function after all of another."""
    if ranker.learned_ is None:
        return ranker.thresholds_
    noise = np.atleast_1d(ranker.learned_.get("noise", []))
    steep = [np.atleast_1d(value) for name, value in ranker.learned_.items() if name != "noise"]
    return np.append(np.array(steep).T.reshape(-1), noise)


def ndcg(scores: np.ndarray, data: podium.RankingData) -> float:
    return podium.evaluate(scores, data, "ndcg@10").mean["ndcg@10"]


@pytest.mark.parametrize("name", EVERY)
def test_every_force_moves_scores_the_right_way(name):
    data, force = judged(), podium.force(name)
    ranker = trained(name, data)
    outputs, scores = ranker.model_.scores(data.features), ranker.predict(data)
    start = ndcg(np.zeros(len(data)), data)
    assert ndcg(scores, data) > start + 0.5 * (1 - start)
    assert ranker.log_[-1].train == pytest.approx(ndcg(scores, data))
    assert np.corrcoef(scores, data.labels)[0, 1] > 0.5
    if force.has_cost:
        zero = cost(force, np.zeros_like(outputs), data, force.own_values(data))
        assert cost(force, outputs, data, learned_values(ranker)) < 0.9 * zero
    assert isinstance(ranker.model_, TreeModel)
    assert ranker.model_.n_trees == 25 * force.n_outputs(data)


@pytest.mark.parametrize("name", EVERY)
def test_bytes_are_the_same_for_any_threads_and_order_of_queries(name, tmp_path):
    data = judged((9, 1, 20, 14, 2, 30), seed=1)
    turned = data.select(np.random.default_rng(0).permutation(data.n_queries))
    files = []
    for given, threads in ((data, 1), (data, 2), (data, 5), (turned, 1), (turned, 3)):
        trained(name, given, epochs=4, num_threads=threads).save(tmp_path / "a.podium")
        files.append((tmp_path / "a.podium").read_bytes())
    assert len(set(files)) == 1


@pytest.mark.filterwarnings("ignore:nothing is ranked")
@pytest.mark.parametrize("name", EVERY)
def test_one_document_per_query_and_equal_labels(name):
    for data in (judged((1,) * 30), judged((10, 10), seed=2).replace(labels=np.ones(20))):
        ranker = trained(name, data, epochs=3)
        scores = ranker.predict(data)
        assert np.isfinite(scores).all()
        if podium.force(name).definition.over in ("pairs", "preferences") and "ties" not in name:
            assert (scores == scores[0]).all()


def has_plain_scores(force: podium.forces.Force) -> bool:
    """Whether it is a built-in force with one score per document and no thresholds."""
    return force.acting.custom is None and force.definition.outputs == "one" and not force.definition.has_thresholds


@pytest.mark.parametrize("name", [name for name in EVERY if has_plain_scores(podium.force(name))])
def test_the_first_tree_points_where_the_force_does(name):
    """Each leaf's value has the sign of the force on its documents."""
    data, force = judged(seed=3), podium.force(name)
    ranker = trained(name, data, epochs=1)
    base = ranker.model_.arrays()["base"][0]
    pushes = force.compute(np.full(len(data), base), ForceData(data), seed=0, round=1).force
    tree, leaf = ranker.model_.tree(0), ranker.model_.leaves(data.features)[:, 0]
    sums = np.bincount(leaf, pushes, len(tree["value"]))
    assert (np.sign(tree["value"]) == np.sign(np.where(np.abs(sums) < 1e-9, 0, sums))).all()
    assert len(tree["value"]) == 5


def test_given_pairs_are_what_is_learned():
    data = judged(seed=4)
    lower = data.labels[:, None] < data.labels
    winner, loser = np.nonzero(lower & (data.document_queries[:, None] == data.document_queries))
    upside_down = data.replace(pairs=podium.Pairs.of(winner, loser))
    for name in ("ranknet", "lambdarank(ndcg@10)", "hinge"):
        assert np.corrcoef(trained(name, data).predict(data), data.labels)[0, 1] > 0.6
        assert np.corrcoef(trained(name, upside_down).predict(data), data.labels)[0, 1] < -0.6


def test_a_custom_function_equals_the_built_in_force():
    """The plain function, the compiled one and the core's force give the same forest."""
    data = judged(seed=5)
    built_in, *own = [
        trained(name, data, epochs=5).model_
        for name in ("ranknet", "custom_forces:ranknet(compile=False)", "custom_forces:ranknet")
    ]
    for found in own:
        np.testing.assert_array_equal(found.arrays()["feature"], built_in.arrays()["feature"])
        np.testing.assert_array_equal(found.arrays()["threshold"], built_in.arrays()["threshold"])
        np.testing.assert_allclose(found.arrays()["value"], built_in.arrays()["value"], rtol=1e-6)


def test_a_function_with_a_bad_curvature_is_refused():
    data = judged(seed=6)

    def negative(scores: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return labels - scores, np.full(len(scores), -1.0)

    with pytest.raises(podium.PodiumError, match="curvature"):
        trained(negative, data)


def test_a_force_without_a_starting_score_is_refused():
    with pytest.raises(podium.ParameterError, match=r"no force on equal scores.*margin=1"):
        trained("step(ndcg@5)", judged(seed=8))


def test_forces_that_are_too_large_are_refused():
    def huge(scores, labels):
        return labels * 1e300, np.ones(len(scores))

    with pytest.raises(podium.DataError, match="at most 1e\\+60 in size"):
        trained(huge, judged(seed=8))


def test_trees_have_one_output_per_level():
    data = judged(seed=7)
    ranker = trained("multiclass", data, epochs=6)
    outputs = ranker.model_.scores(data.features)
    assert outputs.shape == (len(data), 4)
    assert (outputs.argmax(axis=1) == data.labels).mean() > 0.6
    thresholds = trained("ordinal", data, epochs=30).thresholds_
    assert (np.diff(thresholds) > 0).all()


@pytest.mark.parametrize(
    "text",
    [
        "trees",
        "trees(num_leaves=4)",
        "trees(num_leaves=4, growth='depth', l1=0.5, categorical=(2, 5), monotone=((0, 1), (3, -1)))",
        "trees(random_thresholds=True, sampling='uniform', row_sampling=0.5)",
    ],
)
def test_names_of_trees_read_back(text):
    spec = model(text)
    assert model(str(spec)) == spec
    assert hash(model(f" {text} ")) == hash(spec)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("trees(5)", "takes only settings by name"),
        ("trees(num_leafs=5)", "num_leaves"),
        ("trees(num_leaves=1)", "from 2"),
        ("trees(growth='best')", "growth"),
        ("trees(sampling='mvs')", "sampling"),
        ("trees(row_sampling=0)", "above 0"),
        ("trees(row_sampling=1.5)", "at most 1"),
        ("trees(l2=-1)", "at least 0"),
        ("trees(max_bins=300)", "255"),
        ("trees(min_curvature=0)", "above 0"),
        ("trees(monotone={1: 2})", r"\+1 or -1"),
        ("trees(monotone={1: 1}, categorical=[1])", "is a categorical feature"),
        ("trees(categorical=[-1])", "numbered from 0"),
    ],
)
def test_names_of_trees_that_are_refused(text, message):
    with pytest.raises(podium.ParameterError, match=message):
        model(text)


def test_features_that_are_not_there_are_refused():
    for spec in ("trees(monotone={4: 1})", "trees(categorical=[0, 9])"):
        with pytest.raises(podium.ParameterError, match="feature"):
            trained("ranknet", judged(), spec=spec)


def test_schedules_of_gradients_are_not_for_trees():
    for schedule in ("lbfgs", "adam(batch=4)", "sgd(rate_rule='halve')", "perceptron"):
        with pytest.raises(podium.ParameterError, match="cannot fit trees, which grows trees; use schedule='boosting'"):
            podium.Ranker(force="ranknet", model="trees", schedule=schedule).fit(judged())
    with pytest.raises(podium.ParameterError, match="cannot fit linear, which follows gradients; use schedule='adam'"):
        podium.Ranker(force="ranknet", model="linear", schedule="boosting").fit(judged())
