"""Networks that take more of the documents than labels: pairs of preferences given by a function, and documents' noise."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import podium
from podium.forces import ForceData, Preferences
from podium.forces.force_data import ForceOutcome
from podium.training.steps import Task, make_descent

sys.path.insert(0, str(Path(__file__).parents[1] / "contracts"))
from naive_networks import over_network

FEATURES = np.random.default_rng(0).random((14, 3)).astype(np.float32) + np.float32(0.2)
LABELS = np.random.default_rng(1).integers(0, 3, 14).astype(float)
DATA = podium.RankingData(FEATURES, LABELS, np.repeat([5, 3], [6, 8]), feature_names=["a", "b", "c"])
SCORES = np.random.default_rng(2).normal(size=14)


def neighbors(preferences: Preferences) -> list[tuple[int, int]]:
    """Each preference with the next one, in both directions."""
    return [pair for e in range(len(preferences) - 1) for pair in ((e, e + 1), (e + 1, e))]


def all_pairs(preferences: Preferences) -> np.ndarray:
    return np.array([(e, f) for e in range(len(preferences)) for f in range(len(preferences)) if e != f]).reshape(-1, 2)


def sharing(preferences: Preferences) -> list[tuple[int, int]]:
    documents = [{*pair} for pair in zip(preferences.winner.tolist(), preferences.loser.tolist(), strict=True)]
    return [(e, f) for e, f in itertools.permutations(range(len(documents)), 2) if documents[e] & documents[f]]


def spread(features: np.ndarray) -> np.ndarray:
    return 0.5 + features[:, 0].astype(float) * features[:, 2]


def compute(name: Any, data: podium.RankingData = DATA, **options: Any) -> ForceOutcome:
    wanted: dict[str, Any] = {"curvature": True, "cost": True}
    return podium.force(name).compute(SCORES[: len(data)], ForceData(data), **wanted | options)


def assert_same(found: ForceOutcome, expected: ForceOutcome) -> None:
    for name in ("force", "curvature", "cost"):
        one, other = getattr(found, name), getattr(expected, name)
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12 * np.abs(other).max())


# ---- pairs of preferences


@pytest.mark.parametrize("function", ["sigmoid", "gaussian"])
@pytest.mark.parametrize("scale", ["mean", "sum"])
def test_pairs_of_preferences_that_are_given_are_those_that_meet(function, scale):
    rest = f"function='{function}', w2=2, scale='{scale}'"
    assert_same(compute(f"structrank({__name__}:all_pairs, {rest})"), compute(f"structrank(full, {rest})"))
    assert_same(compute(f"structrank({__name__}:sharing, {rest})"), compute(f"structrank(shared, {rest})"))


@pytest.mark.parametrize("function", ["sigmoid", "gaussian"])
def test_given_pairs_of_preferences_equal_the_twin(function):
    data = DATA.select(np.array([1]))
    force = podium.force(f"structrank({__name__}:neighbors, function='{function}', scale='sum')")
    order = sorted(range(len(data)), key=lambda i: -data.labels[i])
    edges = [(i, j) for i in order for j in order if data.labels[i] > data.labels[j]]
    values = np.array([0.6, 1.9, 0.3][: len(force.own_values(None))])
    found = compute(force, data, parameters=values)
    joins = neighbors(Preferences(3, data.labels, np.array([i for i, _ in edges]), np.array([j for _, j in edges])))
    expected = over_network(force, SCORES[: len(data)], data.labels, values, edges=edges, joins=joins)
    for one, other in zip(
        (found.force, found.curvature, found.cost[0], found.parameter_force[0]), expected, strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-9 * np.abs(other).max())


def test_a_function_sees_the_preferences_of_each_query_once():
    seen = []

    def look(preferences: Preferences) -> list[Any]:
        seen.append(preferences)
        return []

    force, held = podium.forces.Force.of(podium.forces.FORCES["structrank"], topology=look), ForceData(DATA)
    for _ in range(3):
        assert not force.compute(SCORES, held).force.any()
    assert [each.query_id for each in seen] == DATA.query_ids.tolist()
    for each, (begin, end) in zip(seen, itertools.pairwise(DATA.query_offsets.tolist()), strict=True):
        labels = DATA.labels[begin:end]
        assert each.labels.tolist() == labels.tolist()
        assert (labels[each.winner] > labels[each.loser]).all()
        assert len(each) == (labels[:, None] > labels).sum()


@pytest.mark.parametrize(
    ("model", "schedule"),
    [("nadaraya-watson", "feasible(epochs=2, starts=1)"), ("nadaraya-watson", "adam(epochs=2)"), ("linear", "adam(epochs=2)")],
)  # fmt: skip
def test_training_asks_a_function_once_per_query(model, schedule):
    seen = []

    def look(preferences: Preferences) -> Any:
        seen.append(preferences.query_id)
        return neighbors(preferences)

    force = podium.forces.Force.of(podium.forces.FORCES["structrank"], topology=look)
    podium.Ranker(force=force, model=model, schedule=schedule, metric="ndcg").fit(DATA)
    assert sorted(seen) == sorted(DATA.query_ids.tolist())


def test_a_part_of_the_data_has_the_inputs_of_its_queries():
    force = podium.force(f"structrank({__name__}:neighbors, noise_scale='b', noise_features=('c',))")
    values = np.append(force.own_values(None)[:-1], 0.6)
    whole = ForceData(DATA)
    for queries in ([1, 0], [1]):
        part = DATA.select(np.array(queries))
        found = force.compute(SCORES[: len(part)], whole.part(part, np.array(queries)), parameters=values, cost=True)
        expected = force.compute(SCORES[: len(part)], ForceData(part), parameters=values, cost=True)
        np.testing.assert_array_equal(found.force, expected.force)
        np.testing.assert_array_equal(found.parameter_force, expected.parameter_force)


def test_names_of_functions_print_and_read_back():
    force = podium.force(f"structrank({__name__}:neighbors, noise_scale='{__name__}:spread', w1=2)")
    assert str(force) == f"structrank({__name__}:neighbors, w1=2, noise_scale='{__name__}:spread')"
    assert podium.force(str(force)) == force
    assert force.is_importable
    unnamed = podium.forces.Force.of(podium.forces.FORCES["structrank"], topology=lambda preferences: [])
    assert not unnamed.is_importable
    assert str(unnamed).startswith("structrank(unnamed:")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([(0, 10**6)], "preferences, and not"),
        ([(0, -1)], "preferences, and not"),
        ([(2, 2)], "preference 2 meets itself"),
        ([1, 2, 3], "one pair per row"),
        ([(0.5, 1.0)], "one pair per row"),
        ([(0, 1), (1,)], r"the pairs of preferences of query 5 are \[\(0, 1\), \(1,\)\]"),
        (None, "query 5 are None"),
    ],
)
def test_wrong_pairs_are_answered(answer, message):
    with pytest.raises(podium.DataError, match=message):
        compute(podium.forces.Force.of(podium.forces.FORCES["structrank"], topology=lambda preferences: answer))


def test_an_error_of_the_function_says_where_it_was():
    def broken(preferences: Preferences) -> Any:
        raise ZeroDivisionError("oh")

    with pytest.raises(ZeroDivisionError, match="oh") as caught:
        compute(podium.forces.Force.of(podium.forces.FORCES["structrank"], topology=broken))
    assert any("In the topology of unnamed:" in note for note in caught.value.__notes__)


# ---- noise


TOPOLOGIES = [
    "full",
    "independent",
    "shared",
    "winner",
    "full, function='gaussian'",
    "independent, function='gaussian'",
]


def standardized(data: podium.RankingData, columns: list[int]) -> np.ndarray:
    features = data.features[:, columns].astype(float)
    return (features - features.mean(axis=0)) / features.std(axis=0)


@pytest.mark.parametrize("scale", ["mean", "sum"])
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_noise_equals_the_twin(topology, scale):
    """Given scales and learned ones at once."""
    data = DATA.select(np.array([0]))
    force = podium.force(f"structrank({topology}, scale='{scale}', noise_scale='b', noise_features=(0, 'c'))")
    values = np.append(0.3 + 0.5 * np.random.default_rng(3).random(len(force.own_values(None)) - 2), [0.4, -0.7])
    found = compute(force, data, parameters=values)
    scales = data.features[:, 1].astype(float)
    edges = [(i, j) for i in range(len(data)) for j in range(len(data)) if data.labels[i] > data.labels[j]]
    expected = over_network(
        force, SCORES[: len(data)], data.labels, values, edges=edges, scales=scales, inputs=standardized(data, [0, 2])
    )
    for one, other in zip(
        (found.force, found.curvature, found.cost[0], found.parameter_force[0]), expected, strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-9 * np.abs(other).max())


@pytest.mark.parametrize("topology", [*TOPOLOGIES, "random, partners=2", "full, method='chebyshev'", "full, function='gaussian', method='chebyshev'"])  # fmt: skip
def test_forces_with_noise_are_the_slopes_of_the_cost(topology):
    force = podium.force(f"structrank({topology}, noise_scale='{__name__}:spread', noise_features=(1,))")
    values = np.append(force.own_values(None)[:-1], 0.6)
    held, step = ForceData(DATA), 1e-6

    def at(scores: np.ndarray, own: np.ndarray) -> ForceOutcome:
        return force.compute(scores, held, curvature=True, cost=True, parameters=own)

    found = at(SCORES, values)
    for k, move in enumerate(np.eye(14) * step):
        above, below = at(SCORES + move, values), at(SCORES - move, values)
        np.testing.assert_allclose((below.cost - above.cost).sum() / (2 * step), found.force[k], rtol=1e-5, atol=1e-8)
        np.testing.assert_allclose(
            (below.force - above.force)[k] / (2 * step), found.curvature[k], rtol=1e-4, atol=1e-7
        )
    for k, move in enumerate(np.eye(len(values)) * step):
        above, below = at(SCORES, values + move), at(SCORES, values - move)
        slopes = (below.cost - above.cost) / (2 * step)
        np.testing.assert_allclose(found.parameter_force[:, k], slopes, rtol=1e-5, atol=1e-8)


def test_equal_scales_divide_every_gap():
    data = DATA.replace(features=np.full((14, 1), 2.5, np.float32), feature_names=None)
    for topology in TOPOLOGIES:
        found, expected = (podium.force(f"structrank({topology}, {rest})") for rest in ("noise_scale=0", "learn=True"))
        for one, other in zip(
            found.compute(SCORES, ForceData(data), cost=True).cost,
            expected.compute(SCORES / 2.5, ForceData(data), cost=True).cost,
            strict=True,
        ):
            assert one == pytest.approx(other, rel=1e-12)


def test_noise_without_weights_changes_nothing():
    for topology in TOPOLOGIES:
        found = compute(f"structrank({topology}, noise_features=('a',))")
        assert_same(found, compute(f"structrank({topology})"))


def test_weights_of_the_noise_far_out_give_finite_forces():
    force = podium.force("structrank(noise_features=(0, 1))")
    for far in (1e3, -1e300):
        found = compute(force, parameters=[1.0, 1.0, far, 0.0])
        assert np.isfinite(found.force).all()
        assert np.isfinite(found.parameter_force).all()


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("noise_scale='d'", "noise_scale='d' is not one of the 3 features"),
        ("noise_scale=7", "noise_scale=7 is not one of the 3 features"),
        ("noise_features=('a', 0)", "names the feature 'a' twice"),
    ],
)
def test_features_that_are_not_there_are_refused(rest, message):
    with pytest.raises(podium.ParameterError, match=message):
        compute(f"structrank({rest})")


def test_scales_must_be_above_zero():
    data = DATA.replace(features=np.where(np.arange(14)[:, None] == 5, 0, FEATURES).astype(np.float32))
    with pytest.raises(podium.DataError, match=r"the scale of row 5 is 0; scales must lie between"):
        compute("structrank(noise_scale='a')", data)
    scattered = podium.RankingData(
        [[1.0], [-3.0], [1.0], [1.0]], [0, 0, 1, 1], [1, 0, 1, 0]
    )  # row 1 is in another group
    with pytest.raises(podium.DataError, match=r"the scale of row 1 is -3"):
        compute("structrank(noise_scale=0)", scattered)
    with pytest.raises(podium.ParameterError, match="noise_scale=-1 must be a feature's name or number"):
        podium.force("structrank(noise_scale=-1)")


@pytest.mark.parametrize("answer", [["wide"] * 6, 1.0, [1.0, 2.0], [[1.0], [2.0, 3.0]]], ids=str)
def test_scales_of_a_wrong_kind_or_number_are_answered(answer):
    force = podium.forces.Force.of(podium.forces.FORCES["structrank"], noise_scale=lambda features: answer)
    with pytest.raises(podium.DataError, match=r"the scales of query 5 are .*; give 6 numbers, one per document"):
        compute(force)


# ---- in training


@pytest.mark.parametrize("spec", ["linear", "net(3)", "kernel(rbf, landmarks=6)", "quadratic", "nadaraya-watson"])
@pytest.mark.parametrize(
    "name",
    [
        "structrank(full, function='gaussian', components=2, noise_features=(0, 2))",
        "structrank(winner, noise_scale='b', noise_features=('c',))",
        f"structrank({__name__}:neighbors, tie=True, noise_scale='{__name__}:spread')",
    ],
)
def test_gradients_are_the_slopes_of_the_cost_with_every_function_class(name, spec):
    """In the parameters of the model and in those of the network, noise and correlation included."""
    force = podium.force(name)
    started = podium.models.model(spec).start(DATA, n_outputs=1, seed=0)
    descent = make_descent(Task(force, started, DATA, 11, 1))
    vector = 0.2 + np.random.default_rng(5).random(descent.size) / 2
    assert descent.size > force.n_parameters(DATA) > 0

    def at(point: np.ndarray) -> tuple[float, np.ndarray]:
        descent.set_parameters(point)
        return descent.gradient(np.arange(2), per_pair=False, seed=11, round=0, seen=None, cost=True)

    push, step = at(vector)[1], 1e-5
    slopes = [(at(vector + move)[0] - at(vector - move)[0]) / (2 * step) for move in np.eye(len(vector)) * step]
    np.testing.assert_allclose(push, -np.array(slopes), rtol=0, atol=1e-6 * np.abs(slopes).max())


def noisy() -> podium.RankingData:
    """Labels of documents whose third feature is high are mostly chance."""
    rng = np.random.default_rng(4)
    X = rng.random((600, 3)).astype(np.float32)
    wanted = X[:, 0] + np.where(X[:, 2] > 0.5, 1.5, 0.05) * rng.normal(size=600)
    return podium.RankingData(X, np.digitize(wanted, [0.3, 0.7]), np.repeat(np.arange(40), 15))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("model", "schedule"),
    [
        ("linear", "adam(epochs=30, rate=0.02)"),
        ("linear", "lbfgs(l2=0.01)"),
        ("trees(num_leaves=3)", "boosting(rounds=40)"),
    ],
)
def test_noise_is_learned_where_labels_are_chance(model, schedule, tmp_path):
    data = noisy()
    force = "structrank(independent, noise_features=(1, 2))"
    ranker = podium.Ranker(force=force, model=model, schedule=schedule, metric="ndcg").fit(data)
    first, second = ranker.learned_["noise"]
    assert second > 2 * abs(first)
    assert second > 0.1
    ranker.save(tmp_path / "model")
    assert podium.load(tmp_path / "model").learned_ == ranker.learned_


def test_structrank_learns_noise_and_takes_functions(tmp_path):
    data = noisy()
    ranker = podium.StructRank(epochs=4, starts=1, norm=10.0, topology="independent", noise_features=(2,)).fit(data)
    assert ranker.learned_["noise"] > 0
    ranker.save(tmp_path / "model")
    again = podium.load(tmp_path / "model")
    assert again.learned_ == ranker.learned_
    assert again.noise_features == (2,)
    own = podium.StructRank(epochs=1, starts=1, norm=10.0, topology=neighbors).fit(data)
    assert own.resolved_["topology"] == f"{__name__}:neighbors"
    own.save(tmp_path / "own")
    assert podium.load(tmp_path / "own").topology == f"{__name__}:neighbors"


def test_a_saved_model_imports_no_function(tmp_path, monkeypatch):
    podium.StructRank(epochs=1, starts=1, norm=10.0, topology=neighbors).fit(noisy()).save(tmp_path / "own")
    monkeypatch.setattr("podium.forces.network_inputs.find_function", lambda *given: pytest.fail("it was looked for"))
    podium.load(tmp_path / "own")
