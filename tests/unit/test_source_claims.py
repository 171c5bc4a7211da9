"""Claims of the source documents that are arithmetic: each is worked out here with Podium's own forces and metrics."""

from __future__ import annotations

import numpy as np
import pytest

import podium


def one_query(labels: np.ndarray | list[float]) -> podium.RankingData:
    return podium.RankingData(np.zeros((len(labels), 1)), labels, np.zeros(len(labels), int))


def value(metric: str, scores: np.ndarray, labels: np.ndarray) -> float:
    return float(podium.metric(metric).per_query(scores, labels, [0, len(labels)])[0])


def test_fewer_wrong_pairs_may_cost_the_winner() -> None:
    """[Ranking as Function Approximation, §6; LambdaRank, §4] Relevant at 1 and 1,000; then at 2 and 3."""
    labels = np.zeros(1000)
    labels[:2] = 1
    places = np.arange(1000, 0, -1.0)  # the score of each place, first place first

    def ranked(first: int, second: int) -> np.ndarray:
        others = np.delete(places, [first - 1, second - 1])
        return np.concatenate([[places[first - 1], places[second - 1]], others])

    pairs = 2 * 998
    before, after = ranked(1, 1000), ranked(2, 3)
    wrong = [round(value("pairwise_error", scores, labels) * pairs) for scores in (before, after)]
    assert wrong == [998, 2]
    assert wrong[0] - wrong[1] == 996
    assert [value("wta", scores, labels) for scores in (before, after)] == [1.0, 0.0]


def test_slack_bounds_the_number_of_wrong_pairs() -> None:
    """[Ranking as Function Approximation, §3] Σ max(0, 1 − o) ≥ the number of pairs with o ≤ 0."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        labels, scores = rng.integers(0, 4, 15).astype(float), rng.normal(size=15)
        wrong = sum(labels[i] > labels[j] and scores[i] <= scores[j] for i in range(15) for j in range(15))
        assert podium.force("hinge").cost(scores, one_query(labels))[0] >= wrong


def test_the_cost_becomes_linear_and_is_symmetric_for_ties() -> None:
    """[Ranking as Function Approximation, §5.1] C(o) → −o at P̄ = 1; at P̄ = ½ it is even, with its minimum at 0."""

    def cost(gap: float, target: float) -> float:
        data = one_query([0.0, 0.0]).replace(pairs=podium.Pairs.of([0], [1], [target]))
        return float(podium.force("ranknet").cost([gap, 0.0], data)[0])

    assert cost(-41, 1.0) - cost(-40, 1.0) == pytest.approx(1.0, abs=1e-12)
    assert cost(40, 1.0) == pytest.approx(0.0, abs=1e-12)
    for gap in (0.5, 3.0, 40.0):
        assert cost(gap, 0.5) == pytest.approx(cost(-gap, 0.5), rel=1e-12)
        assert cost(gap, 0.5) > cost(0.0, 0.5)


def test_a_probability_is_modeled_where_the_cost_is_least() -> None:
    """[Ranking as Function Approximation, §5.1] The force of a pair is 0 iff 1/(1 + e^{−o}) is its target probability."""
    for target in (0.1, 0.5, 0.93):
        data = one_query([0.0, 0.0]).replace(pairs=podium.Pairs.of([0], [1], [target]))
        gaps = np.log(target / (1 - target)) + np.array([-0.1, 0.0, 0.1])
        pushes = [podium.force("ranknet")([gap, 0.0], data)[0][0] for gap in gaps]
        assert pushes[0] > 1e-3
        assert pushes[1] == pytest.approx(0.0, abs=1e-15)
        assert pushes[2] < -1e-3


def test_the_largest_gap_is_found_where_all_pairs_can_be_right() -> None:
    """[Ranking as Function Approximation, §3] The smallest w with w·(x − x′) ≥ 1 for every pair has the largest gap 1/‖w‖.

    The differences are (2, 0), (2, 2) and (0, 2). Only w = (½, ½) makes the first and the last exactly 1 with none below.
    """
    data = podium.RankingData([[0, 0], [2, 0], [2, 2]], [0, 1, 2], [0, 0, 0])
    ranker = podium.RankSVM(C=1e4, tolerance=1e-9).fit(data)
    gaps = np.diff(ranker.predict(data))
    np.testing.assert_allclose(gaps, [1.0, 1.0], rtol=1e-4)
    up, right = ranker.predict(np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)) - ranker.predict(np.zeros((1, 2)))
    np.testing.assert_allclose([up, right], [0.5, 0.5], rtol=1e-4)


def test_the_document_near_the_top_is_pushed_harder() -> None:
    """[Ranking as Function Approximation, eq 23; LambdaRank, eq 2] Relevant at 2 and 1,000 of 1,000 documents.

    RankNet pushes the last document harder, for all its 998 pairs are wrong. With forces between neighbors only, scaled by NDCG, the
    one at 2 gains (1 − 1/log₂ 3) and the last one 1/log₂ 1001 − 1/log₂ 1000 or so, per relevant document.
    """
    labels = np.zeros(1000)
    labels[[1, 999]] = 1
    scores = -1e-3 * np.arange(1000)
    second, last = podium.force("ranknet")(scores, one_query(labels))[0][[1, 999]]
    assert last > 1.5 * second > 0
    second, last = podium.force("neighbors(lambdarank(ndcg))")(scores, one_query(labels))[0][[1, 999]]
    assert second > 1000 * last > 0


def test_training_lowers_cost_and_wrong_pairs_nearly_always() -> None:
    """[RankNet, §5.1] By the paper's schedule both fall approximately monotonically on the training set."""
    data = podium.synthetic.network(queries=20, documents=50, seed=1)
    ranker = podium.RankNet(
        optimizer="sgd", batch="pair", learning_rate=0.001, rate_rule="halve", epochs=60, metric="pairwise_error"
    ).fit(data)
    cost, wrong = (np.array([getattr(row, name) for row in ranker.log_]) for name in ("cost", "train"))
    assert len(cost) == len(wrong) == 60
    assert np.mean(np.diff(cost) < 0) > 0.95
    steps = np.diff(wrong)
    assert steps[steps > 0].sum() < 0.1 * -steps[steps < 0].sum()
    assert wrong[-1] < 0.1 * wrong[0]


def test_unlabeled_documents_displace_labeled_ones() -> None:
    """[RankNet, §6] A document of rating 0 adds nothing to NDCG, and each document below it counts for less."""
    labels = np.array([2.0, 1.0])
    assert value("ndcg@15", np.array([2.0, 1.0]), labels) == 1.0
    found = value("ndcg@15", np.array([2.0, 0.5, 1.0]), np.append(labels, 0.0))
    assert found == pytest.approx((3 + 1 / 2) / (3 + 1 / np.log2(3)))


def test_auc_is_the_share_of_pairs_in_the_right_order() -> None:
    """[Ranking as Function Approximation, §6; LambdaRank, §2] For two levels; the trapezoid rule gives it too."""
    rng = np.random.default_rng(1)
    labels, scores = (rng.random(40) < 0.4).astype(float), rng.normal(size=40)
    order = np.argsort(-scores)
    rise = np.concatenate([[0.0], np.cumsum(labels[order]) / labels.sum()])
    run = np.concatenate([[0.0], np.cumsum(1 - labels[order]) / (1 - labels).sum()])
    area = float((np.diff(run) * (rise[1:] + rise[:-1]) / 2).sum())
    assert value("auc", scores, labels) == pytest.approx(area)
    assert value("pairwise_correct", scores, labels) == pytest.approx(area)


def test_piecewise_constant_forces_have_no_slope_between_jumps() -> None:
    """[Ranking as Function Approximation, §6] The Jacobian of `hinge` and `step` is 0 wherever it exists."""
    rng = np.random.default_rng(2)
    labels, scores = rng.integers(0, 3, 8).astype(float), rng.normal(size=8)
    for name in ("hinge", "step(ndcg, margin=1)"):
        push, _ = podium.force(name)(scores, one_query(labels))
        for moved in np.eye(8) * 1e-7:
            np.testing.assert_array_equal(podium.force(name)(scores + moved, one_query(labels))[0], push)


def test_a_small_step_along_the_gradient_lowers_the_cost() -> None:
    """[Slides, RankNet] ΔC = −η Σ (∂C/∂w)² < 0 to first order."""
    data = podium.synthetic.network(queries=5, documents=8, features=4)
    X, w = data.features.astype(float), np.array([0.3, -0.2, 0.1, 0.4])
    force, rate = podium.force("ranknet"), 1e-6
    push = force(X @ w, data)[0]
    gradient = -(X.T @ push)
    before, after = (force.cost(X @ weights, data).sum() for weights in (w, w - rate * gradient))
    assert after < before
    assert after - before == pytest.approx(-rate * float(gradient @ gradient), rel=1e-3)


def test_the_number_of_pairs_is_the_papers_formula() -> None:
    """[RankNet, §5.1] Σ_{j=2}^{L} n_j Σ_{i<j} n_i pairs; each has the cost log 2 at equal scores."""
    counts = [3, 1, 4, 2]
    labels = np.repeat(np.arange(4.0), counts)
    formula = sum(counts[j] * sum(counts[:j]) for j in range(1, 4))
    assert formula == 3 * 1 + 4 * 4 + 2 * 8
    cost = podium.force("ranknet").cost(np.zeros(10), one_query(labels))[0]
    assert cost == pytest.approx(formula * np.log(2))


def test_gains_of_the_table_are_those_of_labels_raised_by_one() -> None:
    """[LambdaRank, §6.3] 0, 3, 7, 15, 31 are 2^(l+1) − 1 for labels 1 to 4, and 0 for label 0; a table gives them."""
    rng = np.random.default_rng(3)
    labels, scores = rng.integers(0, 5, 20).astype(float), rng.normal(size=20)
    raised = np.where(labels > 0, labels + 1, 0)
    given = value("ndcg(gain=(0, 3, 7, 15, 31))@10", scores, labels)
    assert given == pytest.approx(value("ndcg@10", scores, raised))


@pytest.mark.parametrize("topology", ["full", "independent"])
def test_a_network_of_preferences_is_a_distribution_function(topology: str) -> None:
    """[StructRank, §2 and §4] F = e^{−C} lies in [0, 1], rises with every preference, and goes to 1 and to 0."""
    force = podium.force(f"structrank({topology}, scale='sum')")
    data = one_query([0.0] * 6).replace(pairs=podium.Pairs.of([0, 2, 4], [1, 3, 5]))

    def joint(gaps: np.ndarray) -> float:
        scores = np.zeros(6)
        scores[::2] = gaps
        return float(np.exp(-force.cost(scores, data)[0]))

    rng = np.random.default_rng(4)
    for _ in range(20):
        gaps = rng.normal(size=3)
        assert 0 < joint(gaps) < 1
        for k in range(3):
            assert joint(gaps + 0.1 * np.eye(3)[k]) > joint(gaps)
            assert joint(np.where(np.arange(3) == k, -600.0, gaps)) == pytest.approx(0.0, abs=1e-12)
    assert joint(np.full(3, 60.0)) == pytest.approx(1.0)


@pytest.mark.parametrize("topology", ["full", "independent"])
def test_a_variable_is_left_out_by_its_maximum(topology: str) -> None:
    """[StructRank, §2] F(z₁, z₂, ∞) is the distribution of the others: its functions of z₃ keep their other variable alone."""
    force = podium.force(f"structrank({topology}, scale='sum')")
    gaps = np.array([0.7, -0.4])

    def joint(values: np.ndarray) -> float:
        n = len(values)
        data = one_query([0.0] * 2 * n).replace(pairs=podium.Pairs.of(range(0, 2 * n, 2), range(1, 2 * n, 2)))
        scores = np.zeros(2 * n)
        scores[::2] = values
        return float(np.exp(-force.cost(scores, data)[0]))

    alone = 1 / (1 + np.exp(-gaps))
    left = joint(np.append(gaps, 700.0))
    kept = joint(gaps) * (
        np.prod(alone) ** 2 if topology == "full" else 1
    )  # φ(z, ∞) and φ(∞, z) of each, and φ(∞, ∞) = 1
    assert left == pytest.approx(kept)
