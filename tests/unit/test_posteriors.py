"""Probabilities of pairs against exact fractions, brute force over cycles, least squares and linear programming."""

from __future__ import annotations

import gzip
import itertools
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import podium
from podium import DataError, FormatError, Pairs, ParameterError, RankingData
from podium.posteriors import (
    Votes,
    adjacencies,
    combine,
    complete,
    consistency,
    from_log_odds,
    log_odds,
    read_votes,
)

ROOT = Path(__file__).parents[2]
INSIDE = st.floats(0, 1, exclude_min=True, exclude_max=True)
EPSILON = 2.0**-52


def exact(*steps: float) -> Fraction:
    """Return the probability of a chain by the formula for two steps, in exact fractions."""
    total = Fraction(steps[0])
    for step in map(Fraction, steps[1:]):
        total = total * step / (1 + 2 * total * step - total - step)
    return total


def near(value: float, truth: Fraction, roundings: int) -> bool:
    """Return whether a number equals a fraction up to a few roundings."""
    return abs(Fraction(float(value)) - truth) <= roundings * EPSILON * truth + Fraction(5e-324)


# --- log odds and chains


@given(INSIDE)
def test_log_odds_come_back(probability: float) -> None:
    odds = float(log_odds(probability))
    assert float(from_log_odds(odds)) == pytest.approx(probability, rel=2e-13)
    assert math.copysign(1, odds) == math.copysign(1, probability - 0.5) or odds == 0


def test_log_odds_keep_their_digits() -> None:
    tiny = 2.0**-40
    assert log_odds(0.5 + tiny) == pytest.approx(4 * tiny + 16 * tiny**3 / 3, rel=1e-15)
    assert log_odds(1 - 2.0**-53) == pytest.approx(53 * math.log(2), rel=1e-15)
    assert log_odds(5e-324) == pytest.approx(-1074 * math.log(2), rel=1e-15)
    np.testing.assert_array_equal(log_odds([0, 0.5, 1]), [-np.inf, 0, np.inf])
    np.testing.assert_array_equal(from_log_odds([-np.inf, 0, np.inf]), [0, 0.5, 1])
    assert from_log_odds(-745) == 5e-324


def test_combine_is_the_formula() -> None:
    a, b = np.random.default_rng(0).random((2, 1000))
    np.testing.assert_allclose(combine(a, b), a * b / (1 + 2 * a * b - a - b), rtol=1e-13)
    np.testing.assert_allclose(log_odds(combine(a, b)), log_odds(a) + log_odds(b), atol=1e-12)
    assert combine(a[:, None], b).shape == (1000, 1000)
    assert combine(a[:, None], b[None, :])[3, 5] == combine(a[3], b[5])


@given(st.lists(INSIDE, min_size=2, max_size=6))
def test_combine_is_exact(steps: list[float]) -> None:
    assert near(float(combine(*steps)), exact(*steps), 4 * len(steps))
    assert combine(*steps) == pytest.approx(combine(*steps[::-1]), rel=1e-14)


def test_combine_neither_overflows_nor_underflows() -> None:
    assert combine(*[1e-300] * 3, *[1 - 2.0**-53] * 54) == pytest.approx(
        float(exact(*[1e-300] * 3, *[1 - 2.0**-53] * 54)), rel=1e-13
    )
    assert combine(5e-324, 0.7) == float(exact(5e-324, 0.7))
    assert combine(0.5, 1 - 2.0**-53) == 1 - 2.0**-53


def test_properties_that_the_paper_draws_attention_to() -> None:
    for P in (0.0, 0.5, 1.0):
        assert combine(P, P) == P
    for P in (0.1, 0.3, 0.49):
        assert combine(P, P) < P
        assert combine(1 - P, 1 - P) > 1 - P


def test_certain_steps_are_limits() -> None:
    np.testing.assert_array_equal(combine([1, 0, 1, 0], [0.3, 0.3, 1, 0]), [1, 0, 1, 0])
    assert combine(1, 1e-300) == 1
    with pytest.raises(DataError, match=r"the chain 1, 0.3, 0 holds a certain step up.*undetermined='nan'"):
        combine(1, 0.3, 0)
    np.testing.assert_array_equal(combine([1, 0.2], [0, 0.5], undetermined="nan"), [np.nan, 0.2])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: combine(0.5, 1.5), r"step 1 = 1.5 must lie in \[0, 1\]"),
        (lambda: combine([0.5, math.nan], 0.5), r"step 0\[1\] = nan must lie in \[0, 1\]"),
        (lambda: combine([0.5, 0.5], [0.5, 0.5, 0.5]), r"shapes \(2,\), \(3,\)"),
        (lambda: combine("x", 0.5), "step 0 must be numbers"),
        (lambda: combine(0.5, 0.5, undetermined="no"), "undetermined='no' must be 'error' or 'nan'"),
        (lambda: from_log_odds(math.nan), "log_odds holds NaN"),
        (lambda: complete([[0.5]]), r"adjacent has shape \(1, 1\)"),
        (lambda: complete([0.5, 0.5], [0, 1, 1]), "must hold each number from 0 to 2 once"),
        (lambda: complete([0.5, 0.5], [0, 1]), "3 documents need the numbers 0 to 2"),
        (lambda: adjacencies([[0.5, 0.5]]), "give a square table"),
        (lambda: adjacencies([[0.5, 2], [0.5, 0.5]]), r"posteriors\[0, 1\] = 2.0 must lie in"),
        (lambda: adjacencies([["x"]]), "posteriors must be numbers"),
        (lambda: adjacencies([[0.5]], tolerance=2), "tolerance=2 must be"),
    ],
)
def test_bad_probabilities_are_refused(call: Any, message: str) -> None:
    with pytest.raises((DataError, ParameterError), match=message):
        call()


# --- Theorem 1


@st.composite
def chains(draw: Any) -> tuple[list[float], list[int]]:
    steps = draw(st.lists(st.one_of(INSIDE, st.floats(0.01, 0.99)), max_size=7))
    return steps, draw(st.permutations(range(len(steps) + 1)))


@given(chains())
def test_complete_is_every_product_of_steps(chain: tuple[list[float], list[int]]) -> None:
    steps, order = chain
    table = complete(steps, order)
    assert table.shape == (len(order), len(order))
    np.testing.assert_array_equal(np.diag(table), 0.5)
    for a, b in itertools.combinations(range(len(order)), 2):
        truth = exact(*steps[a:b])
        assert near(table[order[a], order[b]], truth, 4 * len(order))
        assert near(table[order[b], order[a]], 1 - truth, 4 * len(order))


@given(chains())
def test_both_ways(chain: tuple[list[float], list[int]]) -> None:
    steps, order = chain
    table = complete(steps, order)
    np.testing.assert_allclose(adjacencies(table, order), steps, rtol=1e-14)
    np.testing.assert_allclose(complete(adjacencies(table, order), order), table, rtol=1e-13, atol=1e-300)


@given(
    st.lists(st.floats(0.1, 0.9), min_size=1, max_size=6).flatmap(
        lambda s: st.tuples(st.just(s), st.permutations(range(len(s) + 1)))
    )
)
def test_adjacencies_of_any_other_order_give_the_same_table(case: tuple[list[float], list[int]]) -> None:
    steps, order = case
    table = complete(steps)  # odds up to 9^6: a probability of 1 − 10⁻⁶ keeps ten digits of its distance to 1
    np.testing.assert_allclose(complete(adjacencies(table, order), order), table, rtol=1e-8)


def test_a_long_chain_keeps_its_digits() -> None:
    rng = np.random.default_rng(1)
    steps = np.where(rng.random(400) < 0.5, 2.0**-50, 1 - 2.0**-50) * rng.uniform(0.5, 1, 400)
    np.testing.assert_allclose(adjacencies(complete(steps)), steps, rtol=1e-15)
    table = complete(np.full(1200, 0.9))  # more than one block of rows
    assert np.isfinite(table).all()
    np.testing.assert_allclose(table + table.T, 1, rtol=1e-15)
    np.testing.assert_allclose(np.diag(table, -3), 1 / (1 + 9.0**3), rtol=1e-14)


def test_equal_steps() -> None:
    for P in (0.1, 0.5, 0.6, 0.9):
        delta, table = P / (1 - P), complete([P] * 6)
        row = table[0, 1:]
        np.testing.assert_allclose(row, [delta**n / (1 + delta**n) for n in range(1, 7)], rtol=1e-14)
        rises = np.diff(row)
        assert (rises > 0).all() if P > 0.5 else (rises < 0).all() if P < 0.5 else (rises == 0).all()


def test_certain_steps_of_a_chain() -> None:
    np.testing.assert_array_equal(complete([1, 0.6], [2, 0, 1])[2], [1, 1, 0.5])
    np.testing.assert_array_equal(complete([1, 0.6], [2, 0, 1])[:, 2], [0, 0, 0.5])
    with pytest.raises(DataError, match="documents 0 and 2 have an undetermined probability"):
        complete([1, 0])
    with pytest.raises(DataError, match="documents 1197 and 1198 have an undetermined probability"):
        complete([0.5] * 1196 + [1, 0], np.roll(np.arange(1199), 1)[::-1])
    table = complete([1, 0, 0.7], undetermined="nan")
    expected = [[0.5, 1, np.nan, np.nan], [0, 0.5, 0, 0], [np.nan, 1, 0.5, 0.7], [np.nan, 1, 0.3, 0.5]]
    np.testing.assert_allclose(table, expected, rtol=1e-15)
    np.testing.assert_array_equal(adjacencies(table), [1, 0, 0.7])
    with pytest.raises(DataError, match="documents 0 and 2 are neighbors in the order and their posterior is NaN"):
        adjacencies(table, [0, 2, 1, 3])
    table[[0, 0, 2, 3], [2, 3, 0, 0]] = combine(0.2, [0.5, 0.7, 0.5, 0.5])
    table[2, 0], table[3, 0] = 1 - table[0, 2], 1 - table[0, 3]
    with pytest.raises(
        DataError, match=r"P\[0, 2\] = 0.2 cannot be had from neighbors in this order.*winners come first"
    ):
        adjacencies(table)
    np.testing.assert_allclose(adjacencies(table, [0, 2, 3, 1]), [0.2, 0.7, 1])


def test_a_table_without_scores_is_refused() -> None:
    cycle = np.array([[0.5, 0.9, 0.1], [0.1, 0.5, 0.9], [0.9, 0.1, 0.5]])
    with pytest.raises(
        DataError, match=r"P\[0, 2\] = 0.1 where the neighbors along the order make it 0.98.*consistency"
    ):
        adjacencies(cycle)
    lopsided = np.array([[0, 0.9], [0.2, 0]])
    with pytest.raises(DataError, match=r"P\[1, 0\] = 0.2 where"):
        adjacencies(lopsided)
    np.testing.assert_array_equal(adjacencies(lopsided, tolerance=0.11), [0.9])


# --- consistency


def simple_cycles(winner: list[int], loser: list[int], odds: list[float]) -> dict[frozenset[int], float]:
    """|Σ log odds| of every simple cycle, by its set of pairs: all walks from the smallest document."""
    arcs = [(a, b, o, k) for k, (a, b, o) in enumerate(zip(winner, loser, odds, strict=True))]
    arcs += [(b, a, -o, k) for a, b, o, k in arcs]
    found: dict[frozenset[int], float] = {}

    def walk(start: int, here: int, seen: set[int], pairs: tuple[int, ...], total: float) -> None:
        for a, b, o, k in arcs:
            if a != here or k in pairs:
                continue
            if b == start and pairs:
                found[frozenset((*pairs, k))] = abs(total + o)
            elif b > start and b not in seen:
                walk(start, b, seen | {b}, (*pairs, k), total + o)

    for start in set(winner) | set(loser):
        walk(start, start, {start}, (), 0.0)
    return found


def smallest_largest_residual(winner: np.ndarray, loser: np.ndarray, odds: np.ndarray) -> float:
    """min over scores of the largest |log odds − (s_i − s_j)|, by linear programming."""
    m, n = len(odds), int(max(winner.max(), loser.max())) + 1
    gaps = np.zeros((m, n))
    gaps[np.arange(m), winner] += 1
    gaps[np.arange(m), loser] -= 1
    bounds = np.vstack([np.hstack([gaps, -np.ones((m, 1))]), np.hstack([-gaps, -np.ones((m, 1))])])
    solved = linprog(np.append(np.zeros(n), 1), bounds, np.append(odds, -odds), bounds=[(None, None)] * n + [(0, None)])
    return float(solved.fun)


@st.composite
def graphs(draw: Any) -> tuple[list[int], list[int], list[float], list[float]]:
    count, pairs = draw(st.integers(2, 6)), draw(st.integers(1, 9))
    sides = st.lists(st.integers(0, count - 1), min_size=2, max_size=2, unique=True)
    edges = draw(st.lists(sides, min_size=pairs, max_size=pairs))
    P = draw(
        st.lists(
            st.one_of(st.sampled_from([0.1, 0.3, 0.5, 0.7, 0.9]), st.floats(0.001, 0.999)),
            min_size=pairs,
            max_size=pairs,
        )
    )
    weights = draw(st.lists(st.sampled_from([0.5, 1.0, 7.0]), min_size=pairs, max_size=pairs))
    return [a for a, _ in edges], [b for _, b in edges], P, weights


@given(graphs())
@settings(deadline=None)
def test_scores_are_the_least_squares(graph: tuple[list[int], list[int], list[float], list[float]]) -> None:
    winner, loser, P, weights = graph
    result = consistency(Pairs.of(winner, loser, P, weights))
    gaps = np.zeros((len(P), len(result.documents)))
    gaps[np.arange(len(P)), winner] += 1
    gaps[np.arange(len(P)), loser] -= 1
    root = np.sqrt(weights)
    # of all the solutions NumPy gives the shortest, which is the one of mean 0 in each part
    expected = np.linalg.lstsq(gaps * root[:, None], log_odds(P) * root, rcond=None)[0]
    np.testing.assert_allclose(result.scores, expected, atol=1e-9)
    np.testing.assert_allclose(result.residuals, log_odds(P) - gaps @ expected, atol=1e-9)
    square = np.average(result.residuals**2, weights=weights)
    assert result.distance == pytest.approx(math.sqrt(square), abs=1e-12)
    assert result.cyclic_share == pytest.approx(square / max(np.average(log_odds(P) ** 2, weights=weights), 1e-300))


@given(graphs())
@settings(deadline=None, max_examples=300)
def test_the_worst_cycle_is_the_worst_of_all(graph: tuple[list[int], list[int], list[float], list[float]]) -> None:
    winner, loser, P, weights = graph
    result = consistency(Pairs.of(winner, loser, P, weights))
    odds = log_odds(P)
    every = {pairs: total / len(pairs) for pairs, total in simple_cycles(winner, loser, odds.tolist()).items()}
    worst = max(every.values(), default=0.0)
    if result.worst_cycle is None:
        assert worst < 1e-8
        return
    cycle = result.worst_cycle
    assert cycle.mean == pytest.approx(worst, abs=1e-9)
    assert every[frozenset(cycle.pairs.tolist())] == pytest.approx(cycle.mean, abs=1e-12)
    assert len(set(cycle.documents)) == len(cycle.documents) == len(cycle.pairs)
    for a, b, k, gain in zip(
        cycle.documents, (*cycle.documents[1:], cycle.documents[0]), cycle.pairs, cycle.log_odds, strict=True
    ):
        assert (a, b, gain) in ((winner[k], loser[k], odds[k]), (loser[k], winner[k], -odds[k]))
    assert cycle.mean == pytest.approx(smallest_largest_residual(np.array(winner), np.array(loser), odds), abs=1e-7)


def test_the_worst_cycle_of_larger_graphs() -> None:
    rng = np.random.default_rng(3)
    for documents, pairs, levels in (
        (40, 60, None),
        (40, 300, [0.3, 0.7]),
        (200, 230, None),
        (60, 1770, [0.4, 0.6, 0.9]),
    ):
        winner = rng.integers(0, documents, pairs)
        loser = (winner + rng.integers(1, documents, pairs)) % documents
        P = rng.random(pairs) if levels is None else rng.choice(levels, pairs)
        cycle = consistency(Pairs.of(winner, loser, P)).worst_cycle
        assert cycle is not None
        assert cycle.mean == pytest.approx(
            smallest_largest_residual(winner, loser, log_odds(np.clip(P, 1e-6, 1 - 1e-6)))
        )


def test_table_1_of_the_paper() -> None:
    """Who proves at least two of three theorems faster is stronger: a magic square gives a cycle."""
    minutes = {"Archimedes": (8, 1, 6), "Bryson": (3, 5, 7), "Callippus": (4, 9, 2)}
    stronger = [
        (a, b)
        for a, b in itertools.permutations(minutes, 2)
        if sum(x < y for x, y in zip(minutes[a], minutes[b], strict=True)) >= 2
    ]
    result = consistency(*zip(*stronger, strict=True), clip=0.01)
    assert result.n_clipped == 3
    np.testing.assert_allclose(result.scores, 0, atol=1e-12)
    assert result.cyclic_share == pytest.approx(1)
    assert result.distance == pytest.approx(math.log(99))
    cycle = result.worst_cycle
    assert cycle is not None
    start = cycle.documents.index("Archimedes")
    assert cycle.documents[start:] + cycle.documents[:start] == ("Archimedes", "Bryson", "Callippus")
    assert cycle.total == pytest.approx(3 * math.log(99))
    page = (ROOT / "docs" / "posteriors.md").read_text()
    shown = str(consistency(["Archimedes", "Bryson", "Callippus"], ["Bryson", "Callippus", "Archimedes"], clip=0.01))
    assert "= 13.79 instead of 0" in shown
    assert "\n".join(f"    {line}" for line in shown.splitlines()) in page


def test_what_scores_give_is_consistent() -> None:
    rng = np.random.default_rng(5)
    scores = rng.normal(size=30)
    winner, loser = np.triu_indices(30, 1)
    result = consistency(Pairs.of(winner, loser, from_log_odds(scores[winner] - scores[loser])))
    np.testing.assert_allclose(result.scores, scores - scores.mean(), atol=1e-12)
    assert result.distance < 1e-12
    assert result.worst_cycle is None
    assert "consistent: some scores give every one" in str(result)
    chain = complete(rng.uniform(0.2, 0.8, 9))
    assert consistency(Pairs.of(*np.triu_indices(10, 1), chain[np.triu_indices(10, 1)])).distance < 1e-9
    nothing = consistency(["x"], ["y"], 0.5)
    assert (nothing.distance, nothing.cyclic_share, nothing.worst_cycle) == (0, 0, None)


def test_a_long_chain_and_a_long_ring_are_exact() -> None:
    rng = np.random.default_rng(6)
    n = 20_000
    P = rng.uniform(0.05, 0.95, n)
    chain = consistency(Pairs.of(np.arange(n - 1), np.arange(1, n), P[:-1]))
    assert chain.worst_cycle is None
    np.testing.assert_allclose(chain.scores[:-1] - chain.scores[1:], log_odds(P[:-1]), atol=1e-11)
    ring = consistency(Pairs.of(np.arange(n), (np.arange(n) + 1) % n, P))
    total = math.fsum(log_odds(P).tolist())
    assert ring.worst_cycle is not None
    assert ring.worst_cycle.total == pytest.approx(abs(total), rel=1e-9)
    np.testing.assert_allclose(ring.residuals, total / n, atol=1e-10)
    assert len(str(ring.worst_cycle)) < 300


def test_parts_contradictions_and_weights_of_zero() -> None:
    winner, loser = ["a", "b", "x", "lone"], ["b", "a", "y", "a"]
    result = consistency(winner, loser, [0.9, 0.7, 0.8, 0.6], [1, 1, 1, 0])
    assert result.documents.tolist() == ["a", "b", "x", "lone", "y"]
    assert result.parts.tolist() == [0, 0, 1, 2, 1]
    assert np.isnan(result.residuals).tolist() == [False, False, False, True]
    middle = (log_odds(0.9) - log_odds(0.7)) / 2
    np.testing.assert_allclose(
        result.scores, np.array([middle, -middle, log_odds(0.8), 0, -log_odds(0.8)]) / [2, 2, 2, 1, 2]
    )
    assert result.worst_cycle is not None
    assert result.worst_cycle.documents == ("a", "b")
    assert result.worst_cycle.total == pytest.approx(log_odds(0.9) + log_odds(0.7))
    assert len(result.cycles) == 1
    assert str(result).startswith("3 pairs of 5 documents in 3 connected parts\n")


def two_queries() -> RankingData:
    return RankingData(
        np.zeros((6, 1)),
        y=np.zeros(6),
        qid=["u", "v", "u", "v", "u", "v"],
        document_ids=["a", "a", "b", "b", "c", "c"],
        pairs=Pairs.of([0, 2, 4, 1, 3, 5], [2, 4, 0, 3, 5, 1], [0.6, 0.6, 0.6, 0.9, 0.9, 0.8]),
    )


def test_data_names_its_documents_and_scores_its_rows() -> None:
    data = two_queries()
    result = consistency(data)
    assert data.row_order is not None
    assert result.documents.tolist() == ["a", "a", "b", "b", "c", "c"]
    assert [(cycle.query, cycle.documents) for cycle in result.cycles] == [
        ("v", ("a", "b", "c")),
        ("u", ("a", "b", "c")),
    ]
    v = consistency([0, 1, 2], [1, 2, 0], [0.9, 0.9, 0.8])
    np.testing.assert_allclose(result.scores[1::2], v.scores)
    assert "of query v" in str(result)
    bare = consistency(data.replace(document_ids=None))
    assert bare.cycles[0].documents == (1, 3, 5)


def test_the_scores_of_a_query_do_not_depend_on_other_queries() -> None:
    rng = np.random.default_rng(8)
    blocks = [(rng.integers(0, 5, 12), rng.integers(1, 5, 12), rng.random(12)) for _ in range(20)]
    alone = [consistency(Pairs.of(w, (w + d) % 5, P)).scores for w, d, P in blocks if len({*w, *((w + d) % 5)}) == 5]
    kept = [block for block in blocks if len({*block[0], *((block[0] + block[1]) % 5)}) == 5]
    for order in (range(len(kept)), reversed(range(len(kept)))):
        numbers = list(order)
        together = consistency(
            Pairs.of(
                np.concatenate([5 * k + kept[q][0] for k, q in enumerate(numbers)]),
                np.concatenate([5 * k + (kept[q][0] + kept[q][1]) % 5 for k, q in enumerate(numbers)]),
                np.concatenate([kept[q][2] for q in numbers]),
            )
        )
        np.testing.assert_array_equal(together.scores, np.concatenate([alone[q] for q in numbers]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: consistency([0], [1], 1.0, clip=0),
            "pair 0 has probability 1, whose log odds are infinite.*take it as 0.99",
        ),
        (lambda: consistency([0], [1], clip=0.5), r"clip=0.5 must lie in \[0, 0.5\)"),
        (lambda: consistency([0], [0], 0.6), "pair 0 sets document 0 above itself"),
        (lambda: consistency([0], [1], 0.6, 0), "no pair with a weight above 0"),
        (lambda: consistency([0, 1], [1, 2], 0.6, [1, 1e-30]), "run from 1e-30 to 1; the fit needs them within"),
        (lambda: consistency([0.5], [1]), "winner is float64"),
        (lambda: consistency(["a"], [None]), r"loser\[0\] is None"),
        (lambda: consistency([0]), "must be Pairs, RankingData with pairs, or ids"),
        (lambda: consistency(Pairs.of(0, 1), [1]), "Pairs holds losers"),
        (lambda: consistency(Pairs.of(0, 1), weight=2), "Pairs holds losers"),
        (lambda: consistency(Pairs.of(-1, 1)), "a row number is negative"),
        (lambda: consistency([0], [1, 2]), "1 winners but 2 losers"),
        (lambda: consistency([0], [1], 1.2), r"must lie in \[0, 1\]"),
        (lambda: consistency(two_queries().replace(pairs=None)), "the data holds no pairs"),
    ],
)
def test_what_consistency_refuses(call: Any, message: str) -> None:
    with pytest.raises((DataError, ParameterError), match=message):
        call()


# --- votes


def test_votes_are_added_up() -> None:
    votes = Votes.of("cats", ["x", "y", "x", "x", "z"], ["y", "x", "y", "y", "x"], ["a", "b", "tie", "b", "a"])
    assert len(votes) == 2
    assert (list(votes.first), list(votes.second)) == (["x", "z"], ["y", "x"])
    np.testing.assert_array_equal([votes.first_wins, votes.second_wins, votes.ties], [[2, 1], [1, 0], [1, 0]])
    np.testing.assert_array_equal(votes.totals, [4, 1])
    np.testing.assert_array_equal(votes.probabilities(), [(2 + 0.5 + 0.5) / (4 + 1), 1.5 / 2])
    np.testing.assert_array_equal(votes.probabilities(prior=0), [2.5 / 4, 1])


def test_the_prior_keeps_three_to_none_from_certainty() -> None:
    votes = Votes.of_counts(1, ["x"], ["y"], [3], [0])
    assert votes.probabilities() == [3.5 / 4]
    assert log_odds(votes.probabilities()) == pytest.approx(math.log((3 + 0.5) / (0 + 0.5)))
    assert votes.probabilities(prior=1) == [4 / 5]
    assert Votes.of_counts(1, ["x"], ["y"], [500], [500]).probabilities() == [0.5]


def test_a_person_has_one_vote_on_a_pair() -> None:
    votes = Votes.of(
        7,
        ["x", "x", "y", "x", "x", "x"],
        ["y", "y", "x", "y", "y", "y"],
        ["a", "a", "a", "b", "tie", "a"],
        who=["ann", "ann", "ann", "bob", "", None],
    )
    np.testing.assert_allclose([votes.first_wins, votes.second_wins, votes.ties], [[2 / 3 + 1], [1 / 3 + 1], [1]])
    assert votes.totals == pytest.approx([4])


def documents() -> RankingData:
    """Rows 0, 2, 4 are a, b, c of query 1; rows 1, 3 are a, d of query 2."""
    return RankingData(np.zeros((5, 1)), np.zeros(5), [1, 2, 1, 2, 1], document_ids=["a", "a", "b", "d", "c"])


def test_pairs_for_data() -> None:
    data = documents()
    votes = Votes.of_counts(["1", "2", "1"], ["c", "a", "a"], ["a", "d", "b"], [1, 0, 2], [4, 0, 2], [0, 3, 0])
    pairs = votes.pairs(data)
    assert (pairs.winner.tolist(), pairs.loser.tolist()) == ([0, 0, 1], [2, 4, 3])
    np.testing.assert_array_equal(pairs.probability, [0.5, 4.5 / 6, 0.5])
    np.testing.assert_array_equal(pairs.weight, [4, 5, 3])
    held = data.replace(pairs=pairs)
    assert held.pairs == Pairs.of([0, 0, 3], [1, 2, 4], pairs.probability, pairs.weight)  # rows 0, 2, 4 stand first
    assert held.to_caller_order(held.pairs) == pairs
    np.testing.assert_array_equal(votes.pairs(data, weight="one").weight, 1)
    by_rows = Votes.of_counts(None, [4, 1, 0], [0, 3, 2], [1, 0, 2], [4, 0, 2], [0, 3, 0])
    assert by_rows.pairs(data, by="rows") == pairs
    assert (
        Votes.of_counts([1, 2, 1], [4, 1, 0], [0, 3, 2], [1, 0, 2], [4, 0, 2], [0, 3, 0]).pairs(data, by="rows")
        == pairs
    )


@given(st.data())
@settings(deadline=None)
def test_pairs_do_not_depend_on_the_order_of_votes(draw: Any) -> None:
    rows = draw.draw(
        st.lists(
            st.tuples(
                st.sampled_from(list(itertools.permutations("abc", 2))),
                st.sampled_from(["a", "b", "tie"]),
                st.sampled_from(["ann", "bob", "cleo", ""]),
            ),
            min_size=1,
            max_size=12,
        )
    )
    shuffled = draw.draw(st.permutations(rows))
    turned = [((b, a), {"a": "b", "b": "a"}.get(o, o), who) for (a, b), o, who in shuffled]

    def pairs(votes: Any) -> Pairs:
        return Votes.of(
            1,
            [ab[0] for ab, _, _ in votes],
            [ab[1] for ab, _, _ in votes],
            [o for _, o, _ in votes],
            who=[w for _, _, w in votes],
        ).pairs(documents())

    assert pairs(rows) == pairs(shuffled) == pairs(turned)


def test_contradictory_votes_say_little() -> None:
    pairs = Votes.of(1, ["a", "a", "b"], ["b", "b", "a"], ["a", "b", "tie"]).pairs(documents())
    assert pairs.probability == [0.5]
    assert pairs.weight == [3]


@pytest.mark.parametrize(
    ("votes", "options", "message"),
    [
        (("1", ["a"], ["d"]), {}, "a vote for query '1' compares 'a' and 'd', but document 'd' is of query '2'; documents are compared only inside their query"),
        ((None, ["b"], ["d"]), {}, "compares 'b' of query '1' with 'd' of query '2'; documents are compared only inside their query"),
        ((1, [0], [1]), {"by": "rows"}, "but row '1' is of query '2'"),
        ((None, [0], [1]), {"by": "rows"}, "compares '0' of query '1' with '1' of query '2'"),
        ((3, ["a"], ["b"]), {}, "is for query '3', which the data does not have; pass missing='skip'"),
        ((1, ["a"], ["nobody"]), {}, "document 'nobody', of a vote on 'a' and 'nobody', is not in the data"),
        ((1, [0], [9]), {"by": "rows"}, "row '9', of a vote on '0' and '9', is not in the data: rows are 0 to 4"),
        ((None, ["a"], ["b"]), {}, "document 'a', of a vote on 'a' and 'b', occurs in several queries: give the votes a qid"),
        ((1, ["a"], ["b"]), {"by": "names"}, "by='names' must be 'ids' or 'rows'"),
        ((1, ["a"], ["b"]), {"weight": 2}, "weight=2 must be 'votes' or 'one'"),
        ((1, ["a"], ["b"]), {"missing": None}, "missing=None must be 'error' or 'skip'"),
        ((1, ["a"], ["b"]), {"prior": -1}, "prior=-1 must be a number of at least 0"),
    ],
)  # fmt: skip
def test_votes_that_do_not_fit_the_data(votes: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises((DataError, ParameterError), match=re.escape(message)):
        Votes.of(*votes, ["a"]).pairs(documents(), **options)


def test_votes_on_what_is_missing_can_be_skipped() -> None:
    votes = Votes.of([1, 9, 1, 1], ["a", "a", "a", "a"], ["b", "b", "d", "q"], ["a"] * 4)
    pairs = votes.pairs(documents(), missing="skip")
    assert (pairs.winner.tolist(), pairs.loser.tolist()) == ([0], [2])
    with pytest.raises(DataError, match="the data has no document_ids"):
        votes.pairs(documents().replace(document_ids=None))
    twice = RankingData(np.zeros((2, 1)), [0, 0], [1, 1], document_ids=["a", "a"])
    with pytest.raises(DataError, match="occurs twice in query '1'"):
        Votes.of(1, ["a"], ["b"], ["a"]).pairs(twice)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Votes.of(1, ["a"], ["b"], ["c"]), r"outcome\[0\] is 'c'; it must be 'a', 'b' or 'tie'"),
        (lambda: Votes.of(1, ["a"], ["a"], ["tie"]), "vote 0 compares document 'a' with itself"),
        (lambda: Votes.of(1, ["a"], ["b", "c"], ["a"]), "b has 2 entries and a has 1"),
        (lambda: Votes.of(1, ["a"], ["b"], []), "outcome has 0 entries"),
        (lambda: Votes.of(1, ["a"], ["b"], ["a"], who=[]), "who has 0 entries"),
        (lambda: Votes.of([1, 2], ["a"], ["b"], ["a"]), "qid has shape"),
        (lambda: Votes.of(1, [], [], []), "there are no votes"),
        (lambda: Votes.of_counts(1, ["a"], ["b"], 0, 0), "row 0, on 'a' and 'b', counts no vote at all"),
        (lambda: Votes.of_counts(1, ["a"], ["b"], -1, 2), "must be finite and not negative"),
        (lambda: Votes.of_counts(1, ["a"], ["b"], [1, 1], 2), "a_wins has shape"),
    ],
)
def test_bad_votes_are_refused(call: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        call()


# --- files of votes


def test_votes_from_files(tmp_path: Path) -> None:
    single = "who\tqid\ta\tb\toutcome\nann\t1\ta\tb\ta\nbob\t1\tb\ta\ttie\n\ncleo\t1\tc\ta\tb\r\n"
    (tmp_path / "votes.tsv").write_text(single, newline="")
    votes = read_votes(tmp_path / "votes.tsv")
    with gzip.open(tmp_path / "votes.csv.gz", "wt") as file:
        file.write('when,qid,a,b,a_wins,b_wins,ties\n"x,y",1,a,b,1,0,1\n,1,a,c,1,0,0\n')
    counted = read_votes(tmp_path / "votes.csv.gz", ignore=["when"])
    assert votes.pairs(documents()) == counted.pairs(documents())
    assert votes.totals.tolist() == [2, 1]
    (tmp_path / "rows.csv").write_text("\ufeffa,b,outcome\n0,2,a\n", encoding="utf-8")
    assert read_votes(tmp_path / "rows.csv").pairs(documents(), by="rows").winner.tolist() == [0]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("qid,a,b,outcome\n1,x,y,a\n1,x,y,c\n", ":3:4: ", "the outcome is 'c'; it must be a, b or tie"),
        ("qid,a,b,outcome\n1,x,,a\n", ":2:3: ", "column 'b' is empty"),
        ("qid,a,b,outcome\n1,x,x,a\n", ":2: ", "document 'x' is compared with itself"),
        ("qid,a,b,outcome\n1,x,y\n", ":2: ", "the row has 3 cells and the header 4"),
        ("qid,a,b,outcome\n", ": ", "the table has a header and no rows"),
        (
            "qid,a,b\n1,x,y\n",
            ":1: ",
            "there is no column 'outcome'; votes need a, b, outcome. Columns found: 'qid', 'a', 'b'",
        ),
        ("qid,a,b,ties\n1,x,y,1\n", ":1: ", "there is no column 'a_wins'"),
        ("qid,a,b,outcome,whom\n1,x,y,a,z\n", ":1:5: ", "column 'whom' is unknown; a table of votes has qid, a, b"),
        ("qid,a,b,outcome,a\n1,x,y,a,z\n", ":1:5: ", "column 'a' occurs twice"),
        ("qid,a,b,a_wins,b_wins,who\n1,x,y,1,1,z\n", ":1: ", "column 'who' belongs to single votes"),
        ("qid,a,b,a_wins,b_wins\n1,x,y,1,two\n", ":2:5: ", "column 'b_wins' is 'two'; it must be a number of votes"),
        ("qid,a,b,a_wins,b_wins\n1,x,y,1,-2\n", ":2:5: ", "column 'b_wins' is '-2'"),
        ("qid,a,b,a_wins,b_wins\n1,x,y,nan,1\n", ":2:4: ", "column 'a_wins' is 'nan'"),
        ("qid,a,b,a_wins,b_wins\n1,x,y,0,0\n", ":2: ", "the row counts no vote at all"),
        ('qid,a,b,outcome\n1,"x,y,a\n', ":2: ", "unexpected end of data; check the quotes"),
        ("", ": ", "the file is empty"),
    ],
)
def test_bad_files_of_votes_say_where(tmp_path: Path, text: str, place: str, message: str) -> None:
    path = tmp_path / "votes.csv"
    path.write_text(text)
    with pytest.raises(FormatError, match=re.escape(f"{path}{place}{message}")):
        read_votes(path)
    with pytest.raises(FormatError, match="there is no such file"):
        read_votes(tmp_path / "no.csv")
    with pytest.raises(ParameterError, match="must be a list of column names"):
        read_votes(path, ignore="when")


# --- training on pairs, without a model


def settled(pairs: Pairs, count: int, name: str, start: np.ndarray, *, rate: float, steps: int) -> np.ndarray:
    """Return the scores after following the force for many steps."""
    data, scores = RankingData(np.zeros((count, 1)), np.zeros(count), np.zeros(count), pairs=pairs), start.copy()
    push = podium.force(name)
    for _ in range(steps):
        scores = scores + rate * push(scores, data)[0]
    return scores


def test_a_cycle_trains_to_equal_scores() -> None:
    cycle = Pairs.of([0, 1, 2], [1, 2, 0])
    start = np.array([3.0, -1.0, 0.5])
    scores = settled(cycle, 3, "ranknet", start, rate=0.5, steps=400)
    np.testing.assert_allclose(scores, start.mean(), atol=1e-6)
    assert consistency(cycle).scores == pytest.approx(np.zeros(3), abs=1e-12)


@pytest.mark.parametrize("sigma", [1, 2])
def test_consistent_pairs_train_to_their_log_odds(sigma: int) -> None:
    steps = np.array([0.8, 0.35, 0.6])
    table = complete(steps)
    assert table[0, 2] == combine(0.8, 0.35)
    winner, loser = np.triu_indices(4, 1)
    pairs = Pairs.of(winner, loser, table[winner, loser])
    scores = settled(pairs, 4, f"ranknet(sigma={sigma})", np.zeros(4), rate=0.5 / sigma**2, steps=600)
    np.testing.assert_allclose(scores[:-1] - scores[1:], log_odds(steps) / sigma, atol=1e-6)
    np.testing.assert_allclose(scores - scores.mean(), consistency(pairs).scores / sigma, atol=1e-6)


def test_votes_train() -> None:
    votes = Votes.of_counts("q", ["a", "b", "c"], ["b", "c", "a"], [9, 6, 1], [1, 4, 9], [0, 0, 0])
    data = RankingData(np.zeros((3, 1)), np.zeros(3), ["q"] * 3, document_ids=["c", "b", "a"])
    scores = settled(votes.pairs(data), 3, "ranknet", np.zeros(3), rate=0.02, steps=3000)
    assert np.argsort(-scores).tolist() == [2, 1, 0]
    # the maximum of the likelihood: each document's expected wins are those it has (with the prior's share)
    P = votes.probabilities() * votes.totals
    gaps = np.array([scores[2] - scores[1], scores[1] - scores[0], scores[0] - scores[2]])
    modeled = from_log_odds(gaps) * votes.totals
    np.testing.assert_allclose(P[0] - P[2], modeled[0] - modeled[2], atol=1e-9)


def test_examples_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "posteriors.md").read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "posteriors.md", "exec"), names)
