"""StructRank's force: its relation to RankNet and ListMLE, its gradients, and interpolation against the exact sum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import podium
from podium import _core
from podium.forces import Force, ForceData
from podium.forces.force_data import ForceOutcome


def make(labels: Any, **parts: Any) -> podium.RankingData:
    return podium.RankingData(np.zeros((len(labels), 1)), labels, np.zeros(len(labels), int), **parts)


def compute(name: str | Force, scores: Any, data: podium.RankingData, **options: Any) -> ForceOutcome:
    wanted: dict[str, Any] = {"curvature": True, "cost": True}
    return podium.force(name).compute(np.asarray(scores, np.float64), ForceData(data), **wanted | options)


def random_pairs(n: int, count: int, seed: int = 0) -> podium.Pairs:
    """Return preferences that are incomplete and contradictory, some of them twice."""
    rng = np.random.default_rng(seed)
    winner = rng.integers(0, n, count)
    loser = (winner + rng.integers(1, n, count)) % n
    probability = np.where(rng.random(count) < 0.5, 1.0, rng.random(count))
    return podium.Pairs.of(winner, loser, probability, rng.random(count) + 0.1)


def some_data(kind: str, n: int = 14, seed: int = 0) -> podium.RankingData:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, n).astype(float)
    if kind == "weights":
        return make(labels, document_weights=rng.random(n) + 0.1, query_weights=[1.7])
    return make(labels, pairs=random_pairs(n, 3 * n, seed)) if kind == "pairs" else make(labels)


KINDS = pytest.mark.parametrize("kind", ["labels", "weights", "pairs"])


# ---- relations to other forces


@KINDS
@pytest.mark.parametrize("w", [0.3, 1, 2.5])
@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_independent_preferences_are_ranknet(kind, w, scale):
    data = some_data(kind)
    scores = scale * np.random.default_rng(1).normal(size=len(data))
    found = compute(f"structrank(independent, w1={w}, w2=9, scale='sum')", scores, data)
    expected = compute(f"ranknet(sigma={w})", scores, data)
    for name in ("force", "curvature", "cost"):
        one, other = getattr(found, name), getattr(expected, name)
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-11 * np.abs(other).max())


@pytest.mark.parametrize("labels", [[0, 2, 1, 0, 2, 5], [1, 1], [0.5, -1, 0.5, 7.25], [3]])
def test_a_mean_of_independent_preferences_is_divided_by_their_number(labels):
    labels = np.array(labels, float)
    scores, count = np.random.default_rng(3).normal(size=len(labels)), (labels[:, None] > labels).sum()
    mean, total = (compute(f"structrank(independent, scale='{scale}')", scores, make(labels)) for scale in ("mean", "sum"))  # fmt: skip
    with_w = compute("structrank(independent)", scores, make(labels), parameters=(1,))
    for name in ("force", "curvature", "cost"):
        np.testing.assert_allclose(getattr(mean, name), getattr(total, name) / max(count, 1), rtol=1e-15)
        assert getattr(mean, name).tobytes() == getattr(with_w, name).tobytes()


def test_listmle_is_a_product_of_sigmoids_of_many_gaps():
    """P(order) = Π_i 1 / (1 + Σ_{k below i} e^{−(s_i − s_k)})."""
    rng = np.random.default_rng(2)
    labels, scores = rng.permutation(9).astype(float), 2 * rng.normal(size=9)
    product = 1.0
    for i in range(9):
        product *= 1 / (1 + np.exp(-(scores[i] - scores[labels < labels[i]])).sum())
    np.testing.assert_allclose(compute("listmle", scores, make(labels)).cost, -np.log(product), rtol=1e-12)


def test_listmle_of_three_documents_is_a_network_of_their_preferences():
    """The two preferences of the first meet in a sigmoid of two gaps, as they do in structrank; the third is alone."""
    scores, labels = np.array([0.3, -0.4, 1.1]), [2.0, 1.0, 0.0]
    expected = compute("listmle", scores, make(labels))
    both = compute("structrank(full, scale='sum')", scores, make(labels, pairs=podium.Pairs.of([0, 0], [1, 2])))
    alone = compute("structrank(independent, scale='sum')", scores, make(labels, pairs=podium.Pairs.of([1], [2])))
    for name in ("cost", "force", "curvature"):  # each pair of preferences comes in both orders
        found = getattr(both, name) / 2 + getattr(alone, name)
        np.testing.assert_allclose(found, getattr(expected, name), rtol=1e-12, atol=1e-15)


def test_the_formula_on_two_preferences():
    a, b = 0.7, -1.2  # the gaps of 0 over 1 and of 2 over 3
    data = make([1.0, 0, 1, 0], pairs=podium.Pairs.of([0, 2], [1, 3]))
    cost = np.log(1 + np.exp(-0.5 * a) + np.exp(-2 * b)) + np.log(1 + np.exp(-0.5 * b) + np.exp(-2 * a))
    for name, expected in (("scale='sum'", cost), ("scale='mean'", cost / 2)):
        found = compute(f"structrank(w1=0.5, w2=2, {name})", [a, 0, b, 0], data)
        np.testing.assert_allclose(found.cost, expected, rtol=1e-14)
    pull = 0.5 * np.exp(-0.5 * a) / (1 + np.exp(-0.5 * a) + np.exp(-2 * b))
    pull += 2 * np.exp(-2 * a) / (1 + np.exp(-0.5 * b) + np.exp(-2 * a))
    np.testing.assert_allclose(compute("structrank(w1=0.5, w2=2, scale='sum')", [a, 0, b, 0], data).force[0], pull)


def test_one_preference_has_no_other_to_meet():
    for name in ("structrank", "structrank(random)"):
        found = compute(name, [0.0, 1.0], make([1.0, 0.0]), parameters=(1, 1))
        assert not any(np.any(part) for part in (found.force, found.curvature, found.cost, found.parameter_force))


# ---- slopes


SIGMOID = [
    "full, method='exact'",
    "full, method='chebyshev'",
    "independent",
    "random, partners=3, draws=2",
    "shared, method='exact'",
    "shared, method='chebyshev'",
    "winner",
    "winner, components=2",
]
GAUSSIAN = [
    "full, function='gaussian', method='exact'",
    "full, function='gaussian', method='chebyshev'",
    "independent, function='gaussian'",
    "random, function='gaussian', partners=3, draws=2",
    "shared, function='gaussian'",
    "full, function='gaussian', components=2, tie=True",
]
TOPOLOGIES = SIGMOID + GAUSSIAN


def values(topology: str, w1: float, w2: float, rho: float = 0.4) -> np.ndarray:
    """Those that a network of this topology has."""
    by_name = {"w1": w1, "w2": w2, "rho": rho}
    return np.array([by_name[name] for name in podium.force(f"structrank({topology})").own_parameters(None).names])


@KINDS
@pytest.mark.parametrize("scale", ["mean", "sum"])
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_forces_are_the_slopes_of_the_cost_in_scores_and_in_w(topology, scale, kind):
    data, rng = some_data(kind), np.random.default_rng(3)
    force, scores = podium.force(f"structrank({topology}, scale='{scale}')"), rng.normal(size=14)
    w = values(topology, 0.6, 1.9)
    found, step = compute(force, scores, data, parameters=w), 1e-5

    def slope(move: Any, name: str) -> Any:
        above, below = (
            compute(force, scores + s * move[:14], data, parameters=w + s * move[14:]) for s in (step, -step)
        )
        return (getattr(below, name) - getattr(above, name)) / (2 * step)

    unit = np.abs(found.force).max()
    for k, move in enumerate(np.eye(14 + len(w))):
        push = found.force[k] if k < 14 else found.parameter_force[0, k - 14]
        np.testing.assert_allclose(slope(move, "cost")[0], push, rtol=1e-6, atol=1e-6 * unit)
        if k < 14:
            np.testing.assert_allclose(slope(move, "force")[k], found.curvature[k], rtol=1e-5, atol=1e-5 * unit)
    assert found.parameter_force.shape == (1, len(w))


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_scores_and_w_scale_the_cost_the_same_way(topology):
    """C is a function of w₁s and w₂s, so w₁ ∂C/∂w₁ + w₂ ∂C/∂w₂ = Σ s ∂C/∂s."""
    scores, data = 3 * np.random.default_rng(4).normal(size=40), some_data("labels", 40)
    w = values(topology, 0.6, 1.9)
    found = compute(f"structrank({topology})", scores, data, parameters=w)
    steep = [name != "rho" for name in podium.force(f"structrank({topology})").own_parameters(None).names]
    np.testing.assert_allclose(found.parameter_force[0] @ (w * steep), found.force @ scores, rtol=1e-8)


def test_w_given_in_a_call_takes_the_place_of_the_options():
    data, scores = some_data("labels"), np.random.default_rng(5).normal(size=14)
    fixed = compute("structrank(w1=0.6, w2=1.9)", scores, data)
    assert fixed.parameter_force is None
    assert compute("structrank", scores, data, parameters=(0.6, 1.9)).force.tobytes() == fixed.force.tobytes()
    at_zero = compute("structrank", scores, data, parameters=(0, 0))
    assert (at_zero.force == 0).all()
    np.testing.assert_allclose(at_zero.cost, np.log(3))
    for wrong in ((1.0,), (1.0, -0.1), (1.0, np.nan), (1.0, 1.0, 1.0)):
        with pytest.raises(podium.DataError, match="must be w1 ≥ 0, w2 ≥ 0; or none"):
            compute("structrank", scores, data, parameters=wrong)


# ---- interpolation against the sum of all terms


def assert_same(found: ForceOutcome, expected: ForceOutcome, rtol: float = 1e-8) -> None:
    """Cost and curvature to a share of each number; forces, which are differences, to a share of the largest."""
    np.testing.assert_allclose(found.cost, expected.cost, rtol=rtol)
    rounding = 1e-10 * expected.curvature.max()
    np.testing.assert_allclose(found.curvature, expected.curvature, rtol=3 * rtol, atol=rounding)
    for one, other in ((found.force, expected.force), (found.parameter_force, expected.parameter_force)):
        np.testing.assert_allclose(one, other, rtol=0, atol=rtol * np.abs(other).max())


def both(scores: Any, data: podium.RankingData, w: tuple[float, float]) -> tuple[ForceOutcome, ForceOutcome]:
    exact, fast = (compute(f"structrank(method='{m}')", scores, data, parameters=w) for m in ("exact", "chebyshev"))
    return fast, exact


@pytest.mark.parametrize("w", [(1, 1), (0.3, 2.5), (2, 0.01)], ids=str)
@pytest.mark.parametrize("spread", [0.0, 0.1, 3.0, 30.0, 1e3, 1e6, "right", "wrong", "one far", "many far"])
def test_interpolation_equals_the_sum_of_all_terms(spread, w):
    rng = np.random.default_rng(6)
    labels, scores = rng.integers(0, 3, 60).astype(float), rng.normal(size=60)
    if spread == "right":
        scores += 25 * labels  # every preference holds by far: all terms are tiny
    elif spread == "wrong":
        scores -= 25 * labels
    elif spread == "one far":
        scores[7] = 1e30
    elif spread == "many far":
        scores = np.where(np.arange(60) % 3 == 0, 1e5 * scores, scores)
    else:
        scores *= spread
    assert_same(*both(scores, make(labels), w))


@pytest.mark.parametrize(("spread", "w"), [(1.0, (1.0, 1.0)), (6.0, (0.4, 2.0)), (1e4, (1.5, 0.7))])
def test_interpolation_of_ten_thousand_preferences(spread, w):
    rng = np.random.default_rng(7)
    labels = np.repeat([0.0, 1.0], 100)
    found, expected = both(spread * rng.normal(size=200), make(labels), w)
    assert_same(found, expected)
    for name in ("cost", "force", "curvature", "parameter_force"):
        one, other = getattr(found, name), getattr(expected, name)
        assert np.abs(one - other).max() <= 1e-6 * np.abs(other).max()


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(2, 12),
    st.sampled_from([0.1, 2.0, 50.0, 1e9]),
    st.tuples(*[st.sampled_from([1e-3, 0.5, 1.0, 4.0])] * 2),
)
def test_interpolation_over_given_preferences_and_weights(seed, n, spread, w):
    rng = np.random.default_rng(seed)
    data = make(
        np.zeros(n), pairs=random_pairs(n, int(rng.integers(2, 40)), seed), document_weights=rng.random(n) + 0.1
    )
    fast, exact = both(spread * rng.normal(size=n), data, w)
    np.testing.assert_allclose(fast.cost, exact.cost, rtol=1e-8)
    sizes = {"force": sum(w), "curvature": w[0] ** 2 + w[1] ** 2, "parameter_force": spread}  # pulls may cancel
    for name, size in sizes.items():
        one, other = getattr(fast, name), getattr(exact, name)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-8 * np.abs(other).max() + 1e-9 * size)


def test_what_is_chosen_by_size_changes_no_digit_that_counts():
    rng = np.random.default_rng(8)
    for n in (20, 21, 22, 23, 24, 60):
        data, scores = make(np.arange(n) % 2.0), rng.normal(size=n)
        chosen, (fast, exact) = compute("structrank", scores, data), both(scores, data, (1, 1))
        assert chosen.force.tobytes() == (fast if n > 22 else exact).force.tobytes()
        np.testing.assert_allclose(chosen.force, exact.force, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("spread", [1.0, 1e5, 1e30])
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_bytes_do_not_depend_on_the_machine_or_on_what_else_is_asked(topology, spread):
    data, scores = some_data("labels", 50), spread * np.random.default_rng(9).normal(size=50)
    w = values(topology, 0.5, 2)
    first = compute(f"structrank({topology})", scores, data, parameters=w)
    alone = compute(f"structrank({topology})", scores, data, parameters=w, curvature=False, cost=False)
    assert alone.force.tobytes() == first.force.tobytes()
    if _core.use_avx2(True):
        _core.use_avx2(False)
        try:
            plain = compute(f"structrank({topology})", scores, data, parameters=w)
        finally:
            _core.use_avx2(True)
        for name in ("force", "curvature", "parameter_force"):
            assert getattr(plain, name).tobytes() == getattr(first, name).tobytes()


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_large_numbers_do_not_overflow(topology):
    rng, labels = np.random.default_rng(10), np.arange(30) % 3.0
    for scale in (1e30, 1e150, 1.7e308):
        for w in ((1, 1), (1e-200, 1), (1e100, 1e-100)):
            found = compute(
                f"structrank({topology})",
                scale * rng.choice([-1.0, 0, 0.5, 1], 30),
                make(labels),
                parameters=values(topology, *w),
            )
            assert np.isfinite(found.force).all()
            assert (np.isfinite(found.curvature) & (found.curvature >= 0)).all()
            assert np.isfinite(found.parameter_force).all()
            if scale < 1e200:
                assert np.isfinite(found.cost).all()


# ---- preferences, weights, sizes


def test_preferences_of_labels_are_those_given_one_by_one():
    data, scores = some_data("labels"), np.random.default_rng(11).normal(size=14)
    order = np.argsort(-data.labels, kind="stable")  # the order that random partners are numbered in
    winner, loser = np.nonzero(data.labels[order][:, None] > data.labels[order])
    given = data.replace(labels=np.zeros(14), pairs=podium.Pairs.of(order[winner], order[loser]))
    for topology in TOPOLOGIES:
        found, expected = (compute(f"structrank({topology})", scores, asked) for asked in (given, data))
        np.testing.assert_allclose(found.force, expected.force, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(found.cost, expected.cost, rtol=1e-12)


def test_a_probable_preference_is_two_of_that_weight():
    scores, labels = [0.3, -0.2, 0.9], np.zeros(3)
    probable = make(labels, pairs=podium.Pairs.of([0, 1], [1, 2], [0.7, 1.0], [2.0, 1.0]))
    weighed = make(labels, pairs=podium.Pairs.of([0, 1, 1], [1, 0, 2], 1.0, [2 * 0.7, 2 * 0.3, 1.0]))
    for topology in TOPOLOGIES:
        found, expected = (compute(f"structrank({topology})", scores, asked) for asked in (probable, weighed))
        np.testing.assert_allclose(found.force, expected.force, rtol=1e-12)
        np.testing.assert_allclose(found.curvature, expected.curvature, rtol=1e-9)


@pytest.mark.parametrize("topology", ["full", "independent"])
def test_a_mean_does_not_grow_with_the_query_and_a_sum_does(topology):
    rng, sizes = np.random.default_rng(12), (10, 40, 160)
    costs = {}
    for scale in ("mean", "sum"):
        found = [
            compute(f"structrank({topology}, scale='{scale}')", np.zeros(n), make(np.arange(n) % 2.0)) for n in sizes
        ]
        costs[scale] = [outcome.cost[0] for outcome in found]
    preferences = np.array([n * n / 4 for n in sizes])
    terms = preferences * (preferences - 1) if topology == "full" else preferences
    np.testing.assert_allclose(costs["mean"], np.log(3 if topology == "full" else 2), rtol=1e-9)
    np.testing.assert_allclose(costs["sum"], costs["mean"] * terms, rtol=1e-12)
    weighted, plain = make([0.0, 1, 2], document_weights=[3, 3, 3]), make([0.0, 1, 2])
    scores = rng.normal(size=3)
    np.testing.assert_allclose(
        compute(f"structrank({topology})", scores, weighted).force,
        compute(f"structrank({topology})", scores, plain).force,
    )


# ---- random partners


def test_random_partners_equal_the_full_network_on_average():
    data, scores = some_data("weights"), np.random.default_rng(13).normal(size=14)
    for scale, times in (("mean", 1.0), ("sum", None)):
        force = podium.force(f"structrank(random, partners=2, draws=50, w2=2, scale='{scale}')")
        rounds = [compute(force, scores, data, round=k, parameters=(1, 2)) for k in range(200)]
        full = compute(f"structrank(w2=2, scale='{scale}')", scores, data, parameters=(1, 2))
        edges = (data.labels[:, None] > data.labels).sum()
        times = times or 2 / (edges - 1)  # of the partners that each has
        for name in ("force", "cost", "curvature", "parameter_force"):
            held = np.array([getattr(outcome, name) for outcome in rounds])
            error = held.std(axis=0) / np.sqrt(len(held))
            assert (np.abs(held.mean(axis=0) - times * getattr(full, name)) <= 5 * error + 1e-12).all()


def test_as_many_partners_as_there_are_is_the_full_network():
    data, scores = some_data("labels", 6), np.random.default_rng(14).normal(size=6)
    others = int((data.labels[:, None] > data.labels).sum()) - 1
    full = compute("structrank", scores, data)
    for partners in (others, others + 1, 1000):
        assert compute(f"structrank(random, partners={partners})", scores, data).force.tobytes() == full.force.tobytes()
    fewer = compute(f"structrank(random, partners={others - 1})", scores, data)
    assert np.abs(fewer.force - full.force).max() > 1e-6


def test_partners_are_drawn_once_each():
    """Three preferences at gaps so far apart that a cost tells who met whom: each has two partners, so it meets both."""
    data = make(np.zeros(8), pairs=podium.Pairs.of([0, 2, 4, 6], [1, 3, 5, 7]))
    scores = np.array([-1.0, 0, -10, 0, -100, 0, -1000, 0])
    for k in range(30):
        found = compute("structrank(random, partners=2, draws=1, w2=1e-9, scale='sum')", scores, data, round=k)
        np.testing.assert_allclose(found.cost, 2 * (1 + 10 + 100 + 1000), rtol=1e-3)
        met = compute("structrank(random, partners=2, draws=1, w1=1e-9, scale='sum')", scores, data, round=k).cost[0]
        times = [int(met / 10**digit) % 10 for digit in (3, 2, 1)]
        assert max(times) <= 3  # by no other twice


def test_draws_do_not_depend_on_the_position_of_a_query():
    rng = np.random.default_rng(15)
    qid, labels, scores = np.repeat(["a", "b", "c"], 8), rng.integers(0, 3, 24).astype(float), rng.normal(size=24)
    force, order = podium.force("structrank(random, partners=2)"), np.r_[16:24, 0:16]
    here = podium.RankingData(np.zeros((24, 1)), labels, qid)
    there = podium.RankingData(np.zeros((24, 1)), labels[order], qid[order])
    for threads in (1, 2, 5):
        found = force(scores, here, seed=3, round=4, num_threads=threads)
        turned = force(scores[order], there, seed=3, round=4, num_threads=threads)
        for one, other in zip(found, turned, strict=True):
            assert one[order].tobytes() == other.tobytes()
    assert (force(scores, here, seed=4, round=4)[0] != found[0]).any()


# ---- names


def test_the_topology_may_be_the_first_argument():
    for name in ("structrank(random)", "structrank(topology='random')", "structrank('random')"):
        assert podium.force(name) == podium.force("structrank(random)")
        assert str(podium.force(name)) == "structrank(random)"
    assert str(podium.force("structrank(full)")) == "structrank"
    assert str(podium.force("structrank(w1=2)")) == "structrank(w1=2)"
    assert podium.force("structrank(random)").draws
    assert not podium.force("structrank").draws
