"""The family of networks of structrank: identities with other forces, against its twin, and interpolation of the gaussian."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr

import podium
from podium.forces import ForceData
from podium.forces.force_data import ForceOutcome

sys.path.insert(0, str(Path(__file__).parents[1] / "contracts"))
from naive_networks import over_network

PARTS = ("force", "curvature", "cost")


def make(labels: Any, **parts: Any) -> podium.RankingData:
    return podium.RankingData(np.zeros((len(labels), 1)), labels, np.zeros(len(labels), int), **parts)


def compute(name: str, scores: Any, data: podium.RankingData, **options: Any) -> ForceOutcome:
    wanted: dict[str, Any] = {"curvature": True, "cost": True}
    return podium.force(name).compute(np.asarray(scores, np.float64), ForceData(data), **wanted | options)


def assert_sum(
    found: ForceOutcome, parts: list[ForceOutcome], times: float = 1.0, rtol: float = 1e-12, atol: float = 0.0
) -> None:
    for name in PARTS:
        expected = times * sum(getattr(part, name) for part in parts)
        np.testing.assert_allclose(getattr(found, name), expected, rtol=rtol, atol=atol + rtol * np.abs(expected).max())


# ---- identities


@pytest.mark.parametrize("spread", [0.1, 3.0, 200.0])
@pytest.mark.parametrize("n", [2, 3, 40, 500])
def test_winner_is_listmle_on_a_total_order(n, spread):
    rng = np.random.default_rng(n)
    data, scores = make(rng.permutation(n).astype(float)), spread * rng.normal(size=n)
    assert_sum(compute("structrank(winner, scale='sum')", scores, data), [compute("listmle", scores, data)], atol=1e-11)
    steep, stretched = compute("structrank(winner, scale='sum', w1=2.5)", scores, data), compute("listmle", 2.5 * scores, data)  # fmt: skip
    np.testing.assert_allclose(steep.cost, stretched.cost, rtol=1e-12, atol=1e-12)


def test_winner_is_ranknet_where_each_winner_beats_one():
    data = make([0.0] * 6, pairs=podium.Pairs.of([0, 2, 4], [1, 3, 5]))
    scores = np.random.default_rng(0).normal(size=6)
    assert_sum(compute("structrank(winner, scale='sum')", scores, data), [compute("ranknet", scores, data)])


@pytest.mark.parametrize("method", ["exact", "chebyshev"])
@pytest.mark.parametrize("spread", [0.5, 4.0, 50.0])
@pytest.mark.parametrize("topology", ["full", "shared"])
def test_without_correlation_a_gaussian_is_a_product_of_probits(topology, spread, method):
    """Every preference then counts as often as it meets another."""
    rng = np.random.default_rng(1)
    labels, scores = (np.arange(40) % 2).astype(float), spread * rng.normal(size=40)
    found = compute(f"structrank({topology}, function='gaussian', w1=0.7, w2=1.6, rho=0, method='{method}', scale='sum')", scores, make(labels))  # fmt: skip
    parts = [compute(f"structrank(independent, function='gaussian', w1={w}, scale='sum')", scores, make(labels)) for w in (0.7, 1.6)]  # fmt: skip
    assert_sum(found, parts, times=20 * 20 - 1 if topology == "full" else 19 + 19, rtol=1e-7)


def test_the_probit():
    scores, labels = np.array([0.3, -0.9, 0.1]), [2.0, 1.0, 0.0]
    found = compute("structrank(independent, function='gaussian', w1=1.7, scale='sum')", scores, make(labels))
    gaps = [scores[0] - scores[1], scores[0] - scores[2], scores[1] - scores[2]]
    np.testing.assert_allclose(found.cost, -log_ndtr(1.7 * np.array(gaps)).sum(), rtol=1e-14)


FAMILY = [
    "full",
    "full, function='gaussian', rho=0.3",
    "independent",
    "independent, function='gaussian'",
    "random, partners=3",
    "shared",
    "shared, function='gaussian'",
    "winner",
]


@pytest.mark.parametrize("scale", ["mean", "sum"])
@pytest.mark.parametrize("topology", FAMILY)
def test_equal_functions_count_as_often_as_there_are(topology, scale):
    scores, data = np.random.default_rng(2).normal(size=16), make(np.arange(16) % 3.0)
    one = compute(f"structrank({topology}, scale='{scale}')", scores, data)
    for count in (2, 5):
        several = f"structrank({topology}, scale='{scale}', components={count})"
        assert_sum(compute(several, scores, data), [one], times=count)
        names = podium.force(several).own_parameters(None).names
        values = podium.force(f"structrank({topology})").own_values(None)
        assert len(names) == count * len(values)
        of_all = compute(several, scores, data, parameters=np.tile(values, count)).parameter_force[0]
        of_one = compute(f"structrank({topology}, scale='{scale}')", scores, data, parameters=values).parameter_force[0]
        np.testing.assert_allclose(of_all.reshape(count, -1), np.tile(of_one, (count, 1)), rtol=1e-12)


def test_different_functions_add_up():
    scores, data = np.random.default_rng(3).normal(size=12), make(np.arange(12) % 3.0)
    both = compute(
        "structrank(function='gaussian', components=2, w1=(0.5, 2), w2=(1, 3), rho=(0.1, 0.8))", scores, data
    )
    parts = [compute(f"structrank(function='gaussian', w1={w1}, w2={w2}, rho={rho})", scores, data) for w1, w2, rho in ((0.5, 1, 0.1), (2, 3, 0.8))]  # fmt: skip
    assert_sum(both, parts)


# ---- against the twin: weights of documents, weights and probabilities of pairs, preferences both ways and more than once


def given_edges(pairs: podium.Pairs) -> tuple[list[tuple[int, int]], list[float]]:
    edges, weights = [], []
    for i, j, p, v in zip(pairs.winner, pairs.loser, pairs.probability, pairs.weight, strict=True):
        for first, second, weight in ((i, j, v * p), (j, i, v * (1 - p))):
            if weight > 0:
                edges.append((int(first), int(second)))
                weights.append(float(weight))
    return edges, weights


@pytest.mark.parametrize("scale", ["mean", "sum"])
@pytest.mark.parametrize("topology", [name for name in FAMILY if "random" not in name])
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.booleans())
def test_weights_and_given_pairs_equal_the_twin(topology, scale, seed, n, by_pairs):
    rng = np.random.default_rng(seed)
    mass, labels = rng.choice([0.0, 0.5, 1.0, 2.5], n, p=[0.1, 0.3, 0.3, 0.3]), rng.integers(0, 3, n).astype(float)
    parts, known = {"document_weights": mass}, {"documents": mass}
    if by_pairs:
        winner = rng.integers(0, n, 7)
        pairs = podium.Pairs.of(
            winner, (winner + rng.integers(1, n, 7)) % n, rng.choice([1, 0.7], 7), rng.random(7) + 0.1
        )
        parts["pairs"] = pairs
        known["edges"], known["weights"] = given_edges(pairs)
    else:
        known["edges"] = [(i, j) for i in range(n) for j in range(n) if labels[i] > labels[j]]
        known["weights"] = [1.0] * len(known["edges"])
    kept = [k for k, (i, j) in enumerate(known["edges"]) if mass[i] * mass[j] > 0]
    known["edges"], known["weights"] = ([known[name][k] for k in kept] for name in ("edges", "weights"))
    force, scores = podium.force(f"structrank({topology}, scale='{scale}')"), 2 * rng.normal(size=n)
    values = 0.2 + 0.6 * rng.random(len(force.own_values(None)))
    found = force.compute(scores, ForceData(make(labels, **parts)), curvature=True, cost=True, parameters=values)
    expected = over_network(force, scores, labels, values, **known)
    for one, other in zip(
        (found.force, found.curvature, found.cost[0], found.parameter_force[0]), expected, strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-9 * np.abs(other).max() + 1e-13)


# ---- interpolation of the gaussian


def assert_near(found: ForceOutcome, exact: ForceOutcome, rtol: float) -> None:
    for name in (*PARTS, "parameter_force"):
        one, other = getattr(found, name), getattr(exact, name)
        np.testing.assert_allclose(one, other, rtol=0, atol=rtol * np.abs(other).max(), err_msg=name)


@pytest.mark.parametrize("w", [(1, 1, 0.5), (0.3, 2.5, 0.0), (2, 0.01, 0.9), (1, 3, 0.99)], ids=str)
@pytest.mark.parametrize("spread", [0.0, 0.1, 3.0, 30.0, 1e3, 1e6, "right", "wrong", "one far", "many far"])
def test_interpolation_of_the_gaussian_equals_the_sum_of_all_terms(spread, w):
    rng = np.random.default_rng(6)
    labels, scores = rng.integers(0, 3, 40).astype(float), rng.normal(size=40)
    if spread == "right":
        scores += 4 * labels
    elif spread == "wrong":
        scores -= 25 * labels
    elif spread == "one far":
        scores[7] = 1e30
    elif spread == "many far":
        scores = np.where(np.arange(40) % 3 == 0, 1e5 * scores, scores)
    else:
        scores = scores * spread
    exact, fast = (compute(f"structrank(function='gaussian', method='{m}')", scores, make(labels), parameters=w) for m in ("exact", "chebyshev"))  # fmt: skip
    assert_near(fast, exact, 1e-7)


def test_interpolation_of_many_gaussian_preferences():
    rng = np.random.default_rng(7)
    scores, data = 2 * rng.normal(size=100), make(np.arange(100) % 2.0)
    exact, fast = (compute(f"structrank(function='gaussian', method='{m}')", scores, data, parameters=(0.7, 1.6, 0.5)) for m in ("exact", "chebyshev"))  # fmt: skip
    assert_near(fast, exact, 1e-8)


def test_ten_thousand_gaussian_preferences_without_correlation():
    """Where the sum of all 10⁸ terms is known from 10⁴ of them."""
    rng = np.random.default_rng(8)
    scores, data = 3 * rng.normal(size=200), make(np.arange(200) % 2.0)
    found = compute("structrank(function='gaussian', w1=0.7, w2=1.6, rho=0, method='chebyshev')", scores, data)
    parts = [compute(f"structrank(independent, function='gaussian', w1={w})", scores, data) for w in (0.7, 1.6)]
    assert_sum(found, parts, rtol=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_interpolation_over_given_preferences_and_weights(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 20))
    winner = rng.integers(0, n, 60)
    pairs = podium.Pairs.of(
        winner, (winner + rng.integers(1, n, 60)) % n, rng.choice([1, 0.7], 60), rng.random(60) + 0.1
    )
    data = make(np.zeros(n), pairs=pairs, document_weights=rng.random(n) + 0.1)
    for topology in ("full", "shared"):
        exact, fast = (compute(f"structrank({topology}, function='gaussian', method='{m}')", np.linspace(-4, 4, n), data, parameters=(0.7, 1.6, 0.5)) for m in ("exact", "chebyshev"))  # fmt: skip
        assert_near(fast, exact, 1e-7)


# ---- long queries, and who is alone


def test_winner_of_a_hundred_thousand_documents():
    rng = np.random.default_rng(9)
    labels, scores = rng.integers(0, 5, 100_000).astype(float), rng.normal(size=100_000)
    found = compute("structrank(winner)", scores, make(labels), parameters=[1.0])
    assert abs(found.force.sum()) < 1e-12
    sums = [np.exp(scores[labels < level]).sum() for level in range(5)]
    terms = np.log1p(np.exp(-scores) * np.array(sums)[labels.astype(int)])
    np.testing.assert_allclose(found.cost, terms.sum() / (labels > 0).sum(), rtol=1e-12)
    for extreme in (1e30, 1e300):
        far = compute("structrank(winner)", extreme * scores, make(labels), parameters=[1.0])
        assert all(np.isfinite(part).all() for part in (far.force, far.curvature, far.cost, far.parameter_force))


def test_shared_preferences_of_four_documents():
    """0 above 1 and 2 above 3 share no document: nothing meets. 0 above 1 and 0 above 3 do."""
    scores = [0.3, -0.2, 0.9, 0.1]
    apart = make([0.0] * 4, pairs=podium.Pairs.of([0, 2], [1, 3]))
    assert not compute("structrank(shared)", scores, apart).force.any()
    assert compute("structrank(full)", scores, apart).force.any()
    together = make([0.0] * 4, pairs=podium.Pairs.of([0, 0], [1, 3]))
    assert_sum(compute("structrank(shared)", scores, together), [compute("structrank(full)", scores, together)])
    both_ways = make([0.0] * 4, pairs=podium.Pairs.of([0, 1, 0], [1, 0, 1]))  # the same two documents, met once
    assert_sum(compute("structrank(shared)", scores, both_ways), [compute("structrank(full)", scores, both_ways)])


def test_a_query_with_too_many_preferences_is_refused_before_they_are_listed():
    labels = np.repeat([0.0, 1.0, 3.0], [20_000, 5_000, 1])
    data = podium.RankingData(np.zeros((len(labels), 1)), labels, np.repeat(["long"], len(labels)))
    count = 20_000 * 5_000 + 25_000
    for name in ("structrank", "structrank(shared)", "structrank(independent, function='gaussian')", "structrank(winner, noise_features=(0,))"):  # fmt: skip
        with pytest.raises(podium.DataError, match=f"query 'long' has {count:,} preferences, and at most 100,000,000"):
            podium.force(name)(np.zeros(len(labels)), data)
    assert np.isfinite(podium.force("structrank(winner)")(np.zeros(len(labels)), data)[0]).all()
    equal = data.replace(labels=np.repeat([0.0, 1.0], [24_999, 2]))  # many documents, few preferences
    podium.force("structrank(winner)")(np.zeros(len(labels)), equal)
    with pytest.raises(podium.DataError, match="100,025,000 preferences"):
        podium.Ranker(force="structrank", model="linear", schedule="adam(epochs=1)").fit(data)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("structrank(winner, function='gaussian')", "function='gaussian' is a function of two preferences"),
        ("structrank(w1=(1, 2))", r"w1=\(1, 2\) has 2 numbers for 1 component; use components=2, or give one number"),
        ("structrank(components=3, rho=(0.1, 0.2))", "has 2 numbers for 3 components"),
        ("structrank(components=0)", "components=0 must be a whole number from 1 to 16"),
        ("structrank(rho=1)", "rho=1 must be a number of at least 0 and below 1, or a list"),
        ("structrank(w1=())", r"w1=\(\) must be"),
        ("structrank(function='logistic')", "function='logistic' must be one of"),
    ],
)
def test_names_that_are_refused(name, message):
    with pytest.raises(podium.ParameterError, match=message):
        podium.force(name)


def test_names_print_and_read_back():
    for name in ("structrank(function='gaussian', components=2, w1=(0.5, 2), rho=0.25)", "structrank(winner, w1=2)"):
        assert str(podium.force(name)) == name
        assert podium.force(str(podium.force(name))) == podium.force(name)
    assert podium.force("structrank(w1=[1, 2], components=2)") == podium.force("structrank(w1=(1, 2), components=2)")
