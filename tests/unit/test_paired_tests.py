"""Paired tests treat rounding as no difference, and do not depend on the order of queries or systems."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import podium
from podium.data import RankingData
from podium.evaluation import compare
from podium.evaluation.paired_tests import TESTS, paired_differences, randomization, wilcoxon

OPTIONS = {"n_randomizations": 10_000, "seed": 0}


def test_ten_wins_and_ten_losses_of_a_third_are_no_difference() -> None:
    assert 1 - 2 / 3 != 2 / 3 - 1 / 3  # although they are equal in exact arithmetic
    first, second = np.repeat([1.0, 1 / 3], 10), np.full(20, 2 / 3)
    differences = paired_differences(first, second)
    assert len(set(np.abs(differences))) == 1
    for test in TESTS.values():
        assert test(differences, **OPTIONS) == 1.0


def test_compare_sees_thirds_as_equal_changes() -> None:
    # precision of 3 documents: ten queries at 1 against 2/3, ten at 1/3 against 2/3
    wins, losses = [[1, 1, 1, 0]] * 10, [[1, 0, 0, 1]] * 10
    labels = np.array([*wins, *losses]).ravel()
    first = np.tile([4, 3, 2, 1], 20)
    second = np.array([*[[4, 3, 1, 2]] * 10, *[[4, 1, 2, 3]] * 10]).ravel()
    data = RankingData(np.zeros((80, 1)), labels, np.repeat(np.arange(20), 4))
    pair = compare({"a": first, "b": second}, data, "p@3").pairs[0]
    assert set(pair.p_values.values()) == {1.0}
    assert (pair.wins, pair.losses, pair.ties, pair.difference) == (10, 10, 0, 0.0)
    assert pair.interval[0] == -pair.interval[1]


def test_values_that_differ_by_rounding_are_ties() -> None:
    first, second = np.array([0.1 + 0.2, 0.5, 0.0, 0.7]), np.array([0.3, 0.5, 0.0, 0.2])
    differences = paired_differences(first, second)
    assert differences.tolist() == [0.0, 0.0, 0.0, 0.7 - 0.2]
    assert not np.signbit(differences).any()


def test_rounding_is_relative_to_each_querys_values() -> None:
    first, second = np.array([1e30 + 1e15, 3e-20, 1.0]), np.array([1e30, 1e-20, 0.5])
    assert (paired_differences(first, second) != 0).tolist() == [False, True, True]


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=30))
def test_differences_of_twelfths_group_as_exact_fractions_do(pairs: list[tuple[int, int]]) -> None:
    first, second = (np.array(column) / 12 for column in zip(*pairs, strict=True))
    sizes = np.abs(paired_differences(first, second))
    exact = [abs(a - b) for a, b in pairs]
    assert len(set(sizes)) == len(set(exact))
    assert sizes == pytest.approx(np.array(exact) / 12)


@pytest.mark.parametrize("test", TESTS)
def test_p_values_do_not_depend_on_the_order_of_queries_or_systems(test: str) -> None:
    rng = np.random.default_rng(0)
    differences = rng.normal(0.1, 1, 45)
    p = TESTS[test](differences, **OPTIONS)
    assert 0.1 < p < 0.9
    for _ in range(5):
        assert TESTS[test](rng.permutation(differences), **OPTIONS) == p
    assert TESTS[test](-differences, **OPTIONS) == p


def test_a_comparison_does_not_depend_on_the_order_of_queries() -> None:
    data = podium.synthetic.network(queries=30, documents=6, features=3, seed=0)
    noise = np.random.default_rng(0).normal(size=(2, data.n_documents))
    order = np.random.default_rng(1).permutation(30)
    rows = np.concatenate([np.arange(6 * q, 6 * q + 6) for q in order])
    moved = RankingData(data.features[rows], data.labels[rows], data.qid[rows])
    here = compare({"a": noise[0], "b": noise[1]}, data, "ndcg").to_dict()
    there = compare({"a": noise[0][rows], "b": noise[1][rows]}, moved, "ndcg").to_dict()
    assert here == there


def exact_p(tenths: list[int]) -> float:
    """Return the p-value of the randomization test in whole numbers, without rounding."""
    sums = [
        abs(sum(s * t for s, t in zip(signs, tenths, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(tenths))
    ]
    return float(np.mean(np.array(sums) >= abs(sum(tenths))))


@pytest.mark.parametrize(
    "tenths",
    [[1, 2, 3, -1, -2, 4], [7, 1, -3, 1, 2, 6, -4], [1, 1, 1, 1, 1, 1, -3], [3, 6, 9, -7, 2, 1, 1, -8]],
    ids=str,
)
def test_sums_of_signs_that_are_equal_in_exact_arithmetic_are_equal(tenths: list[int]) -> None:
    differences = np.array(tenths) / 10
    assert randomization(differences, **OPTIONS) == exact_p(tenths)


def test_drawn_sums_that_are_equal_in_exact_arithmetic_are_equal() -> None:
    # tenths and whole numbers are drawn with the same signs, and sums of whole numbers are exact
    tenths = np.random.default_rng(3).integers(-9, 10, 40).astype(float)
    tenths[0] += 1 - tenths.sum()  # the sum is 1, which many signs reach exactly
    assert randomization(tenths / 10, **OPTIONS) == randomization(tenths, **OPTIONS)


@pytest.mark.parametrize("small", [1e-3, 1e-6, 1e-9])
def test_sums_that_differ_by_more_than_rounding_are_not_equal(small: float) -> None:
    # the sums are ±(1 + small) and ±(1 − small): two of four reach the one observed
    assert randomization(np.array([1.0, small]), **OPTIONS) == 0.5


def test_wilcoxon_ranks_ties_by_their_mean_rank() -> None:
    # sizes 1/3 (three times) and 2/3: ranks 2, 2, 2 and 4; W⁻ = 2, and 4 of the 16 signs give 2 or less, or 8 or more
    differences = paired_differences(np.array([1, 1, 1 / 3, 1]), np.array([2 / 3, 2 / 3, 2 / 3, 1 / 3]))
    assert len(set(np.abs(differences))) == 2
    assert wilcoxon(differences, **OPTIONS) == wilcoxon(np.array([1.0, 1.0, -1.0, 2.0]), **OPTIONS)
