"""Every force of the table keeps the same contract."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_forces import POINT_TWINS, by_moving, over_pairs
from naive_networks import over_network

import podium
from podium import _core
from podium.forces import FORCES, Force

METRICS = [
    "ndcg@3",
    "ndcg",
    "dcg@2",
    "map",
    "mrr",
    "wta",
    "err@4",
    "p@3",
    "bpref",
    "pairwise_error",
    "auc",
    "kendall_tau",
]


def from_table(over):
    """One force of every row that is over pairs, preferences, lists or points, and its further examples."""
    rows = [row for row in FORCES.values() if row.over == over and row.takes != "force"]
    return [name for row in rows for name in (row.example, *row.examples)]


PAIRS = [
    *from_table("pairs"),
    "ranknet(sigma=0.5)",
    "ranknet(ties=True)",
    "spring(margin=1)",
    "spring(margin=0.3)",
    "hinge(margin=2)",
    *[f"lambdarank({name})" for name in METRICS],
    "lambdarank(ndcg(gain='linear')@5, sigma=2)",
    "lambdarank(ndcg, truncation=2)",
    "lambdarank(ndcg@3, truncation=5)",
    "lambdarank(map, truncation=3, sigma=0.5)",
    "lambdarank(ndcg, damping=True)",
    "lambdarank(mrr, normalize=True)",
    "lambdarank(ndcg, truncation=4, normalize=True, damping=True, sigma=2)",
    "lambdarank(err, normalize=True, damping=True)",
    "neighbors(lambdarank(ndcg, truncation=2, normalize=True, damping=True))",
    "step(ndcg@5)",
    "step(map, margin=0.5)",
    "neighbors(ranknet)",
    "neighbors(lambdarank(ndcg@10))",
    "neighbors(pairwise_regression(ties=True))",
]
PREFERENCES = [
    *from_table("preferences"),
    "structrank(w1=0.5, w2=2)",
    "structrank(scale='sum')",
    "structrank(w1=2, w2=0.3, method='chebyshev')",
    "structrank(tie=True, w1=0.7)",
    "structrank(independent)",
    "structrank(independent, w1=2, scale='sum')",
    "structrank(components=2)",
    "structrank(function='gaussian')",
    "structrank(function='gaussian', w1=2, w2=0.3, rho=0.9, method='chebyshev')",
    "structrank(function='gaussian', components=2, tie=True, rho=(0.1, 0.7))",
    "structrank(independent, function='gaussian', w1=0.6)",
    "structrank(shared)",
    "structrank(shared, function='gaussian', w2=2, method='chebyshev', scale='sum')",
    "structrank(winner)",
    "structrank(winner, components=2, w1=(0.5, 3), scale='sum')",
]
RANDOM = [
    "structrank(random)",
    "structrank(random, w1=0.5, partners=2, draws=4)",
    "structrank(random, function='gaussian', partners=2)",
]
DIFFERENCES = [f"finite_difference({name}, step=0.37)" for name in METRICS]
DIFFERENCES += [
    "finite_difference(ndcg(gain='linear')@5, step=1.7)",
    "finite_difference(ndcg(ties='average'), step=0.37)",
]
LISTS = [*from_table("lists"), "finite_difference(ndcg@10)", "finite_difference(kendall_tau)"]
POINTS = from_table("points")
OWN = ["custom_forces:ranknet(compile=False)", "custom_forces:ranknet"]  # the second compiled, where Numba is installed
REGULARIZED = [
    "regularized(ranknet, alpha=0.3)",
    "regularized(lambdarank(ndcg@10))",
    "regularized(neighbors(hinge))",
    "regularized(structrank(independent))",
    "regularized(listnet, alpha=0.02)",
    "regularized(squared)",
    "regularized(ordinal)",
    "regularized(multiclass, alpha=0.05)",
]
BUILT_IN = [*PAIRS, *PREFERENCES, *RANDOM, *LISTS, *POINTS, *REGULARIZED]
EVERY = [*BUILT_IN, *OWN, "regularized(custom_forces:ranknet, alpha=0.3)"]


def by_name(names):
    return pytest.mark.parametrize("name", names)


def make(labels, sizes=None, **parts):
    sizes = [len(labels)] if sizes is None else sizes
    return podium.RankingData(np.zeros((len(labels), 1)), labels, np.repeat(np.arange(len(sizes)), sizes), **parts)


def some_scores(force: Force, data, rng, scale=1.0):
    outputs = force.n_outputs(data)
    return rng.normal(size=len(data) if outputs == 1 else (len(data), outputs)) * scale


def compute(force: Force, scores, data, **options):
    held = podium.forces.ForceData(data)
    wanted = {"parameters": own_values(force, data), "curvature": True, "cost": force.has_cost}
    return force.compute(np.asarray(scores, np.float64), held, **wanted | options)


def own_values(force: Force, data) -> np.ndarray:
    """Values of the force's own parameters: thresholds nowhere special, others as they stand in its name."""
    if not force.definition.has_thresholds:
        return force.own_values(data)
    count = force.n_parameters(data)
    return np.linspace(-1, 1, count) if count > 1 else np.zeros(count)


def test_every_force_is_in_the_contract():
    assert {podium.force(name).name for name in BUILT_IN} == set(FORCES)
    wrappers = {name for name, row in FORCES.items() if row.takes == "force"}
    assert set(_core.force_names()) == set(FORCES) - wrappers | {"custom"}


@by_name(EVERY)
def test_name_reads_back(name):
    force = podium.force(name)
    assert podium.force(str(force)) == force
    assert hash(podium.force(f" {name} ")) == hash(force)


@by_name(PAIRS)
@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from([-2.0, -0.5, 0.0, 0.25, 0.25, 1.0, 1.5, 7.0])),
        min_size=1,
        max_size=9,
    )
)
def test_pairs_equal_the_naive_twin(name, documents):
    force = podium.force(name)
    labels, scores = np.array(documents, np.float64).T
    data = make(labels)
    found = compute(force, scores, data)
    expected = over_pairs(force, scores, labels)
    np.testing.assert_allclose(found.force, expected[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.curvature, expected[1], rtol=1e-9, atol=1e-12)


@by_name(POINTS)
@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from([-2.0, -0.5, 0.0, 0.25, 0.25, 1.0, 1.5, 7.0])),
        min_size=1,
        max_size=9,
    )
)
def test_points_equal_the_naive_twin(name, documents):
    force = podium.force(name)
    labels, first = np.array([*documents, (3, 0.0)], np.float64).T
    data = make(labels)
    outputs = force.n_outputs(data)
    scores = first if outputs == 1 else first[:, None] * np.linspace(-1, 1, outputs)
    found, own = compute(force, scores, data), own_values(force, data)
    twins = [POINT_TWINS[force.name](force, row, int(label), own) for row, label in zip(scores, labels, strict=True)]
    np.testing.assert_allclose(found.force, [twin[0] for twin in twins], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.curvature, [twin[1] for twin in twins], rtol=1e-9, atol=1e-12)


@by_name(DIFFERENCES)
@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from([-2.0, -0.5, 0.0, 0.25, 0.25, 1.0, 1.5, 7.0])),
        min_size=1,
        max_size=9,
    )
)
def test_finite_differences_equal_the_naive_twin(name, documents):
    force = podium.force(name)
    labels, scores = np.array(documents, np.float64).T
    found = compute(force, scores, make(labels))
    np.testing.assert_allclose(found.force, by_moving(force, scores, labels), rtol=1e-9, atol=1e-12)
    assert (found.curvature == 0).all()


def test_finite_differences_of_custom_metrics_equal_the_naive_twin():
    rng = np.random.default_rng(2)
    labels, scores = rng.integers(0, 3, 15).astype(float), rng.normal(size=15)
    for metric in (podium.custom_metric(first_label), podium.custom_metric(last_label, higher_is_better=False)):
        with pytest.warns(UserWarning, match="calling your function twice for every document"):
            force = Force.of(FORCES["finite_difference"], metric, step=1.3)
        found = compute(force, scores, make(labels)).force
        assert np.abs(found).max() > 0
        np.testing.assert_allclose(found, by_moving(force, scores, labels), rtol=1e-9, atol=1e-12)


def first_label(scores, labels):
    return float(labels[0])


def last_label(scores, labels):
    return float(labels[-1])


@by_name(REGULARIZED)
def test_a_regularizer_pulls_every_score_to_zero(name):
    rng = np.random.default_rng(3)
    force, data = podium.force(name), make(rng.integers(0, 4, 12).astype(float), [5, 7])
    scores, alpha = some_scores(force, data, rng), force.parameter("alpha")
    found, plain = compute(force, scores, data), compute(force.inner, scores, data)
    np.testing.assert_allclose(found.force, plain.force - alpha * scores, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found.curvature, plain.curvature + alpha, rtol=1e-12, atol=1e-14)
    if force.has_cost:
        extra = np.add.reduceat((scores**2).reshape(12, -1).sum(axis=1), [0, 5]) * alpha / 2
        np.testing.assert_allclose(found.cost, plain.cost + extra, rtol=1e-12)
    for able in ("has_cost", "has_curvature", "convex", "draws", "compares", "unmoved"):
        assert getattr(force, able) == getattr(force.inner, able), able
    assert (force.n_outputs(data), force.n_parameters(data)) == (
        force.inner.n_outputs(data),
        force.inner.n_parameters(data),
    )
    assert podium.regularized(force.inner, alpha) == force


@by_name(["pairwise_regression", "pairwise_regression(ties=True)"])
def test_pairwise_regression_adds_up_its_pairs(name):
    rng = np.random.default_rng(4)
    labels, scores, weights = rng.normal(size=9).round(0) / 2, rng.normal(size=9), rng.uniform(0.5, 2, 9)
    found = compute(podium.force(name), scores, make(labels, document_weights=weights))
    force, bend, cost = np.zeros(9), np.zeros(9), 0.0
    for i in range(9):
        for j in range(i):
            if labels[i] != labels[j] or "ties" in name:
                w, miss = weights[i] * weights[j], labels[i] - labels[j] - (scores[i] - scores[j])
                force[i] += w * miss
                force[j] -= w * miss
                bend[[i, j]] += w
                cost += w * miss**2 / 2
    np.testing.assert_allclose(found.force, force, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(found.curvature, bend, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(found.cost, cost, rtol=1e-12)


@by_name(PREFERENCES)
@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from([-40.0, -2.0, -0.5, 0.0, 0.25, 0.25, 1.0, 1.5, 7.0, 90.0])),
        min_size=1,
        max_size=7,
    )
)
def test_preferences_equal_the_naive_twin(name, documents):
    force = podium.force(name)
    labels, scores = np.array(documents, np.float64).T
    if force.choice("function") == "gaussian":
        scores = scores / 10  # far out the twin loses its digits; tests of the normal distribution look there
    found = compute(force, scores, make(labels))
    expected = over_network(force, scores, labels, own_values(force, make(labels)))
    for one, other in zip((found.force, found.curvature, found.cost[0]), expected[:3], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-9 * np.abs(other).max() + 1e-12)
    np.testing.assert_allclose(
        found.parameter_force[0], expected[3], rtol=1e-7, atol=1e-9 * (1 + np.abs(expected[3]).max())
    )


@by_name(["ranknet", "hinge", "squared_hinge", "exponential", "lambdarank(ndcg@10)", "lambdarank(map)"])
def test_fast_paths_equal_the_naive_twin_on_longer_lists(name):
    rng = np.random.default_rng(0)
    force = podium.force(name)
    labels, scores = rng.integers(0, 5, 60).astype(float), np.round(rng.normal(size=60), 1)
    found, expected = compute(force, scores, make(labels)), over_pairs(force, scores, labels)
    np.testing.assert_allclose(found.force, expected[0], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(found.curvature, expected[1], rtol=1e-9, atol=1e-10)


TREC_BPREF = "bpref(convention='trec_eval', ties='input')"  # negative labels are not judged
LONG_LISTS = {
    "few relevant": [0] * 94 + [1, 1, 2, 3, 1, 4],
    "few not relevant": [0, 0, 0] + [1, 2, 3, 4] * 20,
    "half": [0, 0, 1, 2, 0, 1] * 12,
    "negative": [-1, 0, 1, 0, 2, 0] * 12,
    "many levels": np.arange(80) / 20,
    "never read to the end": [4] * 300 + [0, 1, 2],
}


@pytest.mark.parametrize("labels", LONG_LISTS.values(), ids=LONG_LISTS)
@by_name(["ndcg", "map", "map@9", "mrr", "err", "bpref", TREC_BPREF, "auc", "kendall_tau"])
def test_long_lists_equal_the_naive_twin(name, labels):
    """Long enough that pairs which change nothing are left out, and that the rest is computed from tables."""
    rng = np.random.default_rng(5)
    force = podium.force(f"lambdarank({name}, damping=True)")
    if min(labels) < 0 and name in ("ndcg", "err"):
        return
    labels = np.array(labels, float)
    scores = rng.permutation(len(labels)) / 9.0
    if len(labels) > 200:
        scores = np.sort(scores)[::-1]
    found, expected = compute(force, scores, make(labels)), over_pairs(force, scores, labels)
    np.testing.assert_allclose(found.force, expected[0], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(found.curvature, expected[1], rtol=1e-9, atol=1e-10)


@by_name([name for name in EVERY if podium.force(name).has_cost])
def test_force_and_curvature_are_the_slopes_of_the_cost(name):
    rng = np.random.default_rng(1)
    force = podium.force(name)
    data = make(rng.integers(0, 4, 12).astype(float), [5, 7])
    scores = some_scores(force, data, rng)
    base = compute(force, scores, data)
    flat, step = scores.reshape(-1), 1e-5
    for k in range(flat.size):
        up, down = flat.copy(), flat.copy()
        up[k] += step
        down[k] -= step
        above, below = compute(force, up.reshape(scores.shape), data), compute(force, down.reshape(scores.shape), data)
        slope = (above.cost.sum() - below.cost.sum()) / (2 * step)
        np.testing.assert_allclose(-slope, base.force.reshape(-1)[k], rtol=1e-5, atol=1e-7)
        if force.has_curvature:
            bend = (below.force.reshape(-1)[k] - above.force.reshape(-1)[k]) / (2 * step)
            np.testing.assert_allclose(bend, base.curvature.reshape(-1)[k], rtol=1e-4, atol=1e-5)


@by_name([name for name in EVERY if podium.force(name).learns])
def test_parameters_of_the_force_feel_the_slope_of_the_cost_too(name):
    rng = np.random.default_rng(2)
    force, data = podium.force(name), make(np.array([0.0, 1, 2, 3, 1, 2]))
    scores, values, step = rng.normal(size=6), own_values(force, data), 1e-6
    base = compute(force, scores, data)
    assert base.parameter_force.shape == (1, len(values))
    for k, shift in enumerate(np.eye(len(values)) * step):
        above, below = (compute(force, scores, data, parameters=values + s).cost.sum() for s in (shift, -shift))
        np.testing.assert_allclose(base.parameter_force[0, k], -(above - below) / (2 * step), rtol=1e-5, atol=1e-8)


@by_name([name for name in EVERY if podium.force(name).learns])
def test_free_numbers_represent_every_value_and_the_force_on_it(name):
    data = make(np.array([0.0, 1, 2, 3, 1, 2]))
    own, values = podium.force(name).own_parameters(data), own_values(podium.force(name), data)
    assert len(own) == len(values) == len(own.names) == len(own.kinds)
    np.testing.assert_allclose(own.to_values(own.to_free(values)), values, rtol=1e-12)
    rng = np.random.default_rng(3)
    free, push, step = rng.normal(size=len(own)), rng.normal(size=len(own)), 1e-6
    found = own.free_force(free, push)
    for k, shift in enumerate(np.eye(len(own)) * step):
        slope = (own.to_values(free + shift) - own.to_values(free - shift)) / (2 * step)
        np.testing.assert_allclose(found[k], slope @ push, rtol=1e-6)
    for far in (-40.0, 40.0):  # numbers far out stand for values that the force takes, too
        compute(podium.force(name), np.zeros(6), data, parameters=own.to_values(np.full(len(own), far)))


@by_name([*PAIRS, *PREFERENCES, *RANDOM, *LISTS, *OWN])
def test_forces_of_a_query_add_up_to_zero(name):
    rng = np.random.default_rng(3)
    force, data = podium.force(name), make(rng.integers(0, 4, 40).astype(float), [10, 30])
    found = compute(force, some_scores(force, data, rng, 3.0), data).force
    for part in (found[:10], found[10:]):
        assert abs(part.sum()) <= 1e-12 * max(1.0, np.abs(part).sum())


@by_name(EVERY)
def test_bytes_are_the_same_for_any_number_of_threads(name):
    rng = np.random.default_rng(4)
    force, data = podium.force(name), make(rng.integers(0, 4, 600).astype(float), [6] * 100)
    scores = some_scores(force, data, rng)
    first, *others = [compute(force, scores, data, num_threads=threads, seed=5, round=2) for threads in (1, 2, 5)]
    for other in others:
        assert first.force.tobytes() == other.force.tobytes()
        assert first.curvature.tobytes() == other.curvature.tobytes()


@by_name([name for name in EVERY if not podium.force(name).draws])
def test_the_order_of_documents_does_not_matter(name):
    rng = np.random.default_rng(6)
    force, labels = podium.force(name), rng.integers(0, 4, 15).astype(float)
    data = make(labels)
    scores, order = some_scores(force, data, rng), rng.permutation(15)
    here, there = compute(force, scores, data), compute(force, scores[order], make(labels[order]))
    np.testing.assert_allclose(there.force, here.force[order], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(there.curvature, here.curvature[order], rtol=1e-9, atol=1e-12)


@by_name(EVERY)
def test_extreme_scores_give_finite_forces(name):
    force, data = podium.force(name), make([0.0, 1, 2, 1, 0, 3])
    outputs = force.n_outputs(data)
    scores = np.array([1e30, -1e30, 0, 1e30, 5, -7.0])
    scores = scores if outputs == 1 else np.tile(scores[:, None], outputs) * np.array([1, -1, 1, 0.5])[:outputs]
    found = compute(force, scores, data)
    assert np.isfinite(found.force).all()
    assert np.isfinite(found.curvature).all()
    assert (found.curvature >= 0).all()


@by_name(EVERY)
def test_one_document_and_equal_labels(name):
    force = podium.force(name)
    single = compute(force, some_scores(force, make([1.0]), np.random.default_rng(0)), make([1.0]))
    assert np.isfinite(single.force).all()
    if force.definition.over in ("pairs", "preferences") and "alpha" not in force.parameter_names:
        assert (single.force == 0).all()
        if not force.acting.parameter("ties", False):
            assert (compute(force, [3.0, 1.0, 2.0], make([1.0, 1.0, 1.0])).force == 0).all()


@by_name(EVERY)
def test_weights_of_queries_scale(name):
    rng = np.random.default_rng(8)
    force, labels = podium.force(name), np.array([0.0, 1, 2, 2, 1, 0])
    plain, weighted = make(labels, [3, 3]), make(labels, [3, 3], query_weights=[1.0, 2.5])
    scores = some_scores(force, plain, rng)
    one, two = compute(force, scores, plain), compute(force, scores, weighted)
    np.testing.assert_array_equal(two.force[:3], one.force[:3])
    np.testing.assert_allclose(two.force[3:], 2.5 * one.force[3:])


@by_name(["ranknet", "hinge", "squared_hinge", "exponential", "spring(margin=1)", "lambdarank(ndcg@5)"])
def test_weights_of_documents_multiply_in_a_pair(name):
    force, labels = podium.force(name), np.array([0.0, 1, 2, 2, 1])
    weights, scores = np.array([1.0, 2.0, 0.5, 3.0, 1.0]), np.array([0.3, -0.2, 0.1, 0.9, 0.4])
    found = compute(force, scores, make(labels, document_weights=weights)).force
    expected = np.zeros(5)
    for i in range(5):
        for j in range(5):
            if labels[i] > labels[j]:
                pairs = podium.Pairs.of([i], [j])
                expected += weights[i] * weights[j] * compute(force, scores, make(labels, pairs=pairs)).force
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_pairs_given_take_the_place_of_labels():
    force = podium.force("ranknet")
    data = make([0.0, 0, 0], pairs=podium.Pairs.of([0, 1, 2], [1, 2, 0], [0.9, 0.9, 0.9]))
    rho = 0.5
    np.testing.assert_allclose(
        compute(force, [0.0, 0, 0], data).force, [0.9 - 1 + rho - (0.9 - 1 + rho)] * 3, atol=1e-15
    )
    data = make([0.0, 0], pairs=podium.Pairs.of([0], [1], [0.7], [2.0]))
    np.testing.assert_allclose(compute(force, [0.0, 0.0], data).force, [2 * 0.2, -2 * 0.2])


def test_draws_are_new_each_round_and_follow_the_query_not_its_place():
    rng = np.random.default_rng(9)
    for name in ("listmle", "xendcg", "structrank(random, partners=2)"):
        force = podium.force(name)
        labels, scores = rng.integers(0, 3, 12).astype(float), rng.normal(size=12)
        qid = np.repeat(["a", "b"], 6)
        data = podium.RankingData(np.zeros((12, 1)), labels, qid)
        turned = podium.RankingData(np.zeros((12, 1)), np.roll(labels, 6), np.roll(qid, 6))
        here = compute(force, scores, data, round=1).force
        assert (here != compute(force, scores, data, round=2).force).any()
        np.testing.assert_array_equal(np.roll(compute(force, np.roll(scores, 6), turned, round=1).force, 6), here)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("lambdarnk(ndcg)", "Did you mean 'lambdarank'?"),
        ("lambdarank", "lambdarank needs a metric in its parentheses; found nothing"),
        ("lambdarank(ncdg@10)", "Did you mean 'ndcg'?"),
        ("ranknet(sgma=1)", "Did you mean 'sigma'?"),
        ("ranknet(sigma=0)", "must be a number above 0"),
        ("ranknet(ndcg@10)", "takes no metric or force"),
        ("listnet(sigma=1)", "unknown parameter of listnet 'sigma'. Known: none"),
        ("neighbors(listnet)", "needs a force over pairs"),
        ("neighbors(structrank)", "needs a force over pairs"),
        (
            "structrank(ful)",
            "topology='ful' must be one of 'full', 'independent', 'random', 'shared', 'winner'; did you mean 'full'?",
        ),
        ("structrank(full, topology='random')", "topology is given twice, as 'full' and as 'random'"),
        ("structrank(w1=0)", "w1=0 must be a number above 0"),
        ("structrank(random, partners=0)", "from 1 to 1000"),
        ("structrank(scale='total')", "must be one of 'mean', 'sum'"),
        ("neighbors(neighbors(ranknet))", "needs a force over pairs"),
        ("neighbors(regularized(ranknet))", "needs a force over pairs"),
        ("regularized(regularized(ranknet))", "needs a force that is not regularized yet"),
        ("regularized", "in its parentheses; found nothing; write it as regularized"),
        ("regularized(ranknet, alpha=-1)", "alpha=-1 must be a number of at least 0"),
        ("finite_difference(ndcg, step=0)", "step=0 must be a number above 0"),
        ("ranknet(sigma=1", "cannot be read"),
        ("ranknet(sigma=__import__('os'))", "cannot be read"),
    ],
)
def test_names_that_are_refused(name, message):
    with pytest.raises(podium.ParameterError, match=message.replace("(", r"\(").replace("?", r"\?")):
        podium.force(name)


def test_what_a_force_refuses():
    data = make([0.0, 1, 2])
    with pytest.raises(podium.DataError, match="finite scores"):
        podium.force("ranknet")([np.nan, 0, 0], data)
    with pytest.raises(podium.DataError, match="one per document"):
        podium.force("ranknet")([0, 0], data)
    with pytest.raises(podium.DataError, match="whole levels"):
        podium.force("ordinal")([0, 0, 0], make([0.5, 1, 2]))
    with pytest.raises(podium.DataError, match="between 0 and 1000"):
        podium.force("xendcg")([0, 0, 0], make([-1.0, 1, 2]))
    with pytest.raises(podium.ParameterError, match="has no cost"):
        podium.force("lambdarank(ndcg)").cost([0, 0, 0], data)


def test_a_large_query_is_fast_where_the_algebra_allows():
    rng = np.random.default_rng(10)
    data = make(rng.integers(0, 5, 100_000).astype(float))
    for name in (
        "hinge",
        "squared_hinge",
        "exponential",
        "pairwise_regression",
        "lambdarank(ndcg@10)",
        "finite_difference(ndcg@10)",
    ):
        found = compute(podium.force(name), rng.normal(size=100_000), data)
        assert np.isfinite(found.force).all()


def lightgbm_lambdas(scores, labels, *, truncation, norm):
    """The loop of LightGBM's lambdarank objective (rank_objective.hpp), read line by line; gradients turned round."""
    order = sorted(range(len(scores)), key=lambda i: -scores[i])
    gains = 2**labels - 1
    ideal = sum(gain / np.log2(2 + k) for k, gain in enumerate(sorted(gains, reverse=True)[:truncation]))
    force, bend, total = np.zeros(len(scores)), np.zeros(len(scores)), 0.0
    for i in range(min(len(scores) - 1, truncation)):
        for j in range(i + 1, len(scores)):
            high, low = (i, j) if labels[order[i]] > labels[order[j]] else (j, i)
            a, b = order[high], order[low]
            if labels[a] == labels[b]:
                continue
            gap = scores[a] - scores[b]
            change = (gains[a] - gains[b]) * abs(1 / np.log2(2 + high) - 1 / np.log2(2 + low)) / ideal
            if norm and scores.max() != scores.min():
                change /= 0.01 + abs(gap)
            rho = 1 / (1 + np.exp(gap))
            force[a] += rho * change
            force[b] -= rho * change
            bend[[a, b]] += rho * (1 - rho) * change
            total += 2 * rho * change
    scale = np.log2(1 + total) / total if norm and total > 0 else 1.0
    return force * scale, bend * scale


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("scale", [0.0, 1.0, 8.0])
def test_with_its_options_lambdarank_is_lightgbms(norm, scale):
    rng = np.random.default_rng(11)
    force = podium.force(f"lambdarank(ndcg, truncation=30, normalize={norm}, damping={norm})")
    for size, relevant in ((2, 1), (9, 5), (30, 20), (70, 25)):  # with more relevant ones the ideal would be cut at 30
        labels = rng.permutation(np.r_[rng.integers(1, 5, relevant), np.zeros(size - relevant)])
        scores = scale * rng.normal(size=size)
        found = compute(force, scores, make(labels))
        expected = lightgbm_lambdas(scores, labels, truncation=30, norm=norm)
        np.testing.assert_allclose(found.force, expected[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found.curvature, expected[1], rtol=1e-9, atol=1e-12)
