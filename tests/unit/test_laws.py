"""The laws give the known verdict on every built-in force, and name what is wrong with a user's force."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import podium
from podium.forces import FORCES
from podium.forces.laws.field import Field, Point, Sample, random_points
from podium.forces.laws.slopes import slopes
from podium.forces.laws.work import loops, ways

sys.path.append(str(Path(__file__).parents[1] / "contracts"))
import custom_forces

# What mathematics says is broken. LambdaRank's forces have a cost inside each order, but none across orders; at a change
# of order they jump, some of them up. Forces on documents alone have no partner to push.
BROKEN = {
    "ranknet": [],
    "ranknet(sigma=2)": [],
    "ranknet(ties=True)": [],
    "lambdarank(ndcg)": ["conservative", "convex", "consistent"],
    "lambdarank(map)": ["conservative", "convex"],  # of two levels, one is only lifted and the other only pushed down
    "spring": [],
    "spring(margin=0.5)": [],  # at no gap the force falls from 1 to ½, as it may
    "spring(margin=2)": ["convex"],  # and here it rises from 1 to 2
    "step(ndcg)": ["conservative", "convex", "consistent"],
    "hinge": [],
    "squared_hinge": [],
    "exponential": [],
    "pairwise_regression": ["consistent"],  # a third document pulls at the one of two neighbors that it differs from
    "pairwise_regression(ties=True)": [],  # and here it pulls both equally
    "neighbors(ranknet)": ["conservative", "convex"],
    "listnet": [],
    "listmle": [],
    "xendcg": [],
    "finite_difference(ndcg)": ["conservative", "convex"],
    "structrank": [],
    "structrank(w1=0.5, w2=3)": [],
    "structrank(independent)": [],
    "squared": ["momentum", "action_reaction"],
    "ordinal": ["momentum", "action_reaction"],
    "prank": ["momentum", "action_reaction"],
    "multiclass": ["momentum", "action_reaction", "consistent"],
    "regularized(ranknet, alpha=0.5)": ["momentum", "action_reaction"],  # what pulls to 0 has no partner
}


@functools.cache
def verdict_on(name: str) -> podium.Verdict:
    return podium.laws(name)


def plain(function, **options):
    return podium.custom_force(function, compile=False, **options)


def test_every_force_is_judged():
    assert {podium.force(name).name for name in BROKEN} == set(FORCES)


@pytest.mark.parametrize("name", BROKEN)
def test_verdict_is_what_mathematics_says(name):
    verdict = verdict_on(name)
    assert list(verdict.broken) == BROKEN[name]
    if "convex" not in BROKEN[name]:
        assert verdict.alpha == 0
    assert ("cost" in verdict.findings) == podium.force(name).has_cost


@pytest.mark.parametrize("name", BROKEN)
def test_what_a_force_declares_is_what_the_laws_find(name):
    """Solvers rely on these declarations; the laws measure the force itself."""
    force, verdict = podium.force(name), verdict_on(name)
    assert force.convex == (force.has_cost and verdict["convex"].holds)
    assert force.balanced == verdict["momentum"].holds
    if force.has_cost:
        field = Field(force)
        costs = field.costs(random_points(field, 50, np.random.default_rng(0)))
        assert (costs >= force.definition.least_cost).all()


def test_a_regularizer_of_the_reported_strength_makes_a_force_convex():
    def bumps(scores, labels):  # the sine of a gap is symmetric, and bends both ways
        pull = (labels[:, None] > labels[None, :]) * np.sin(2 * (scores[:, None] - scores[None, :]))
        return pull.sum(axis=1) - pull.sum(axis=0), np.ones(len(scores))

    force = plain(bumps)
    verdict = podium.laws(force)
    assert list(verdict.broken) == ["convex", "consistent"]
    assert 0 < verdict.alpha < np.inf
    for share, holds in ((0.98, False), (1.001, True)):
        regularized = podium.regularized(force, share * verdict.alpha)
        assert podium.laws(regularized)["convex"].holds == holds
    assert f"regularized(…, alpha={float(f'{verdict.alpha:.3g}'):g}"[:-1] in verdict["convex"].words


def test_alpha_is_infinite_where_a_force_jumps_up():
    for name in ("spring(margin=2)", "lambdarank(ndcg)"):
        assert verdict_on(name).alpha == np.inf
        assert verdict_on(name)["convex"].numbers["alpha_between_jumps"] == 0
        assert "no α can correct" in verdict_on(name)["convex"].words


def test_forces_over_pairs_are_sums_over_pairs_and_lists_are_not():
    share = "share_not_sums_over_pairs"
    for name in ("ranknet", "hinge", "exponential", "spring"):
        assert verdict_on(name)["action_reaction"].numbers[share] == 0
    for name in ("listnet", "lambdarank(ndcg)"):
        assert verdict_on(name)["action_reaction"].numbers[share] == 1


# Forces that break a law on purpose


def lifts(scores, labels):
    """RankNet's force on the better document without the one on the worse."""
    up = (labels[:, None] > labels[None, :]) / (1 + np.exp(scores[:, None] - scores[None, :]))
    return up.sum(axis=1), np.ones(len(scores))


def chases(scores, labels):
    """Equal and opposite forces of pairs that mix scores and labels: not the gradient of any cost."""
    pull = labels[:, None] * scores[None, :] - labels[None, :] * scores[:, None]
    return pull.sum(axis=1), np.ones(len(scores))


def spreads(scores, labels):
    """Away from the mean: −∂C/∂s of C = −⅛ Σ(s − s̄)², which bends down by ¼ everywhere."""
    return 0.25 * (scores - scores.mean()), np.ones(len(scores))


def spreads_cost(scores, labels):
    return -0.125 * ((scores - scores.mean()) ** 2).sum()


def falls(scores, labels):
    """RankNet with the opposite sign."""
    push, curvature = custom_forces.ranknet.custom.function(scores, labels)
    return -push, curvature


def circles(scores, labels):
    """Each document follows the next one in line: in threes they sum to zero, but push nobody back."""
    return np.roll(scores, 1) - np.roll(scores, -1), np.ones(len(scores))


@pytest.mark.parametrize(
    ("function", "broken"),
    [
        (lifts, {"momentum", "action_reaction", "conservative", "convex"}),
        (chases, {"conservative", "convex", "consistent"}),
        (spreads, {"convex"}),
        (falls, {"convex", "consistent"}),
        (circles, {"conservative", "consistent"}),
    ],
)
def test_what_is_broken_is_named_with_a_true_counterexample(function, broken):
    verdict = podium.laws(plain(function), draws=40)
    assert set(verdict.broken) == broken
    for law in broken:
        example = verdict[law].counterexample
        np.testing.assert_allclose(function(example.scores, example.labels)[0], example.force, atol=1e-9)
        assert "BROKEN" in repr(verdict)
        assert example.words in " ".join(repr(verdict).split())


def test_counterexamples_break_their_law():
    sums = podium.laws(plain(lifts))["momentum"].counterexample
    assert len(sums.labels) == 2
    assert abs(sums.force.sum()) > 1e-3
    skewed = podium.laws(plain(chases))["conservative"].counterexample
    i, j = 0, 1  # two documents have only one pair
    assert skewed.words == (
        f"∂λ_1/∂s_2 = {skewed.labels[i]:.3g} but ∂λ_2/∂s_1 = {skewed.labels[j]:.3g}"  # ∂λ_i/∂s_j = l_i
    )
    worse = podium.laws("lambdarank(ndcg)")["consistent"].counterexample
    moved = worse.scores + 1e-5 * worse.force / np.abs(worse.force).max()
    before, after = podium.metric("ndcg").per_query(
        [*worse.scores, *moved], [*worse.labels, *worse.labels], np.array([0, 1, 2]) * len(worse.labels)
    )
    assert after < before


def test_alpha_is_the_curvature_that_has_to_be_added():
    verdict = podium.laws(plain(spreads, cost=spreads_cost))
    assert verdict.alpha == pytest.approx(0.25, abs=1e-6)
    assert "α = 0.25" in verdict["convex"].words
    assert verdict["cost"].holds

    def mended(scores, labels):
        push, curvature = spreads(scores, labels)
        return push - verdict.alpha * scores, curvature

    assert podium.laws(plain(mended))["convex"].holds


def test_the_wrong_way_round_worsens_the_metric_wherever_it_moves():
    numbers = podium.laws(plain(falls))["consistent"].numbers
    assert numbers["share_better"] == 0
    assert numbers["share_worse"] > 0.3


def test_a_cost_that_is_not_the_forces_own_is_named():
    wrong = plain(custom_forces.ranknet.custom.function, cost=lambda s, l: 1.01 * custom_forces.ranknet_cost(s, l))
    right = plain(custom_forces.ranknet.custom.function, cost=custom_forces.ranknet_cost)
    assert podium.laws(wrong, draws=20).broken == ("cost",)
    assert podium.laws(right, draws=20).broken == ()


def test_small_forces_far_from_trouble_are_not_taken_for_trouble():
    def logistic(scores, labels):  # ½ − ½ tanh loses its digits where the pair stands right
        gap = scores[:, None] - scores[None, :]
        pull = (labels[:, None] > labels[None, :]) * (0.5 - 0.5 * np.tanh(3 * gap))
        return 1e-3 * (pull.sum(axis=1) - pull.sum(axis=0)), np.ones(len(scores))

    assert podium.laws(plain(logistic)).broken == ()


# The parts that the verdicts are made of


def point(scores, labels):
    return Point(np.array(scores, np.float64), np.array(labels, np.float64), 0)


@pytest.mark.parametrize("name", ["ranknet", "hinge", "spring(margin=2)", "squared_hinge", "exponential", "listnet"])
def test_work_is_what_the_cost_falls_by(name):
    rng, field = np.random.default_rng(0), Field(podium.force(name))
    labels = np.array([0.0, 2, 1, 2, 4])
    ends = [(point(a, labels), point(b, labels)) for a, b in rng.normal(size=(12, 2, 5)) * 2]
    starts, stops = (field.costs([pair[k] for pair in ends]) for k in (0, 1))
    walked = ways(field, ends)
    for way, start, stop in zip(walked, starts, stops, strict=True):
        assert way.work == pytest.approx(start - stop, abs=1e-7 * way.traveled)
        assert way.traveled >= abs(way.work) * (1 - 1e-9)


def test_jumps_are_found_where_they_are():
    field = Field(podium.force("hinge"))
    (way,) = ways(field, [(point([0, 0], [1, 0]), point([3, 1], [1, 0]))])  # the gap grows from 0 to 2
    (jump,) = way.jumps
    np.testing.assert_allclose(jump.before.scores, [1.5, 0.5], atol=1e-5)
    assert jump.change == pytest.approx(-(3 - 1) / np.hypot(3, 1))
    assert way.work == pytest.approx(1, abs=1e-8)


def test_jumps_that_are_not_normal_to_the_change_of_order_do_work():
    field = Field(podium.force("neighbors(ranknet)"))
    (loop,) = loops(field, [[point(s, [2, 1, 0]) for s in ([0, 1, 3], [3, 0, 1], [1, 3, 0])]])
    steps = np.linspace(0, 1, 20001)
    middles, total = (steps[1:] + steps[:-1]) / 2, 0.0
    for way in loop.ways:
        a, b = way.start.scores, way.end.scores
        forces = field.forces([point(a + t * (b - a), [2, 1, 0]) for t in middles])
        total += float(np.mean(np.array(forces) @ (b - a)))
    assert loop.work == pytest.approx(total, abs=1e-3)
    assert abs(loop.work) > 0.1


def test_slopes_of_ranknet():
    scores, labels = np.array([0.3, -1.0, 0.8]), np.array([0.0, 2, 1])
    (at,), left_out = slopes(Sample(Field(podium.force("ranknet")), [point(scores, labels)]), np.random.default_rng(0))
    expected = np.zeros((3, 3))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        rho = 1 / (1 + np.exp(scores[i] - scores[j]))
        expected[[i, j], [j, i]] = rho * (1 - rho)
    expected -= np.diag(expected.sum(axis=1))
    np.testing.assert_allclose(at.jacobian, expected, atol=1e-9)
    assert left_out == 0
    assert not at.aside


def test_points_on_a_kink_are_moved_and_reported():
    kinks = [([1.0, 0.0], [1, 0]), ([0.0, 0.0], [1, 0])]  # the hinge ends at 1, LambdaRank jumps where scores are equal
    for name, at in (
        ("hinge", kinks[0]),
        ("squared_hinge", kinks[0]),
        ("lambdarank(ndcg)", ([0.5, 0.5, 0.1], [1, 0, 2])),
    ):
        verdict = podium.laws(name, points=[at], draws=10)
        assert verdict.n_lists == 11
        assert "1 of them moved off a kink or jump" in verdict["conservative"].words
        assert "moved off" not in podium.laws(name, draws=10)["conservative"].words


def test_a_force_that_is_nowhere_smooth_is_left_out():
    def noisy(scores, labels):
        return np.sign(np.sin(1e9 * scores)), np.ones(len(scores))

    verdict = podium.laws(plain(noisy), draws=5)
    assert "left out: no smooth point" in verdict["conservative"].words


# Options and results


def test_given_points_are_examined():
    def odd(scores, labels):  # trouble in one place only
        push, curvature = custom_forces.ranknet.custom.function(scores, labels)
        return push + (scores[0] == 7.0), curvature

    assert podium.laws(plain(odd), draws=20)["momentum"].holds
    found = podium.laws(plain(odd), points=[([7.0, 0.0], [0, 1])], draws=20)["momentum"]
    np.testing.assert_array_equal(found.counterexample.scores, [7.0, 0.0])


def test_labels_above_the_usual_and_levels():
    assert podium.laws("ordinal", points=[([0.1, 0.2], [7, 0])], draws=5).broken == ("momentum", "action_reaction")
    assert podium.laws("listnet", points=[([0.1], [1])], draws=5).broken == ()


def test_metric_is_the_forces_own_or_the_one_given():
    assert str(verdict_on("lambdarank(map)").metric) == "map"
    assert str(verdict_on("ranknet").metric) == "ndcg"
    verdict = podium.laws("ranknet", metric="pairwise_error", draws=20)
    assert verdict["consistent"].holds
    assert verdict["consistent"].numbers["share_better"] > 0.3
    assert "does not raise pairwise_error" in verdict["consistent"].statement
    assert str(podium.laws("neighbors(lambdarank(map))", draws=5).metric) == "map"


def test_the_same_seed_gives_the_same_verdict():
    first, again, other = (podium.laws("lambdarank(ndcg)", draws=10, seed=seed).to_dict() for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_a_verdict_is_plain_values_and_words():
    verdict = verdict_on("spring(margin=2)")
    held = json.loads(json.dumps(verdict.to_dict(), allow_nan=False))
    assert held["force"] == "spring(margin=2)"
    assert held["broken"] == ["convex"]
    assert held["laws"]["convex"]["alpha"] is None
    assert len(held["laws"]["convex"]["counterexample"]["scores"]) >= 2
    assert held["laws"]["momentum"]["counterexample"] is None
    text = repr(verdict_on("squared"))
    assert "acts on each document alone" in text
    assert max(map(len, text.splitlines())) <= 108


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"draws": 0}, "draws=0 must be a whole number from 1"),
        ({"seed": -1}, "seed"),
        ({"metric": "nddcg"}, "Did you mean 'ndcg'"),
        ({"points": [([0.1, 0.2], [1])]}, "one of each per document"),
        ({"points": [([0.1, np.nan], [1, 0])]}, "must be finite"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(ValueError, match=message):
        podium.laws("ranknet", **options)


def test_the_given_points_alone_can_be_tested() -> None:
    verdict = podium.laws("lambdarank(ndcg)", points=[([0.1, 0.2, 0.0], [0, 1, 2])], draws=0)
    assert verdict.n_lists == 1
    assert verdict["momentum"].holds
    with pytest.raises(podium.ParameterError, match=r"draws=0 must be a whole number from 1 .* 0 needs points"):
        podium.laws("ranknet", draws=0)
