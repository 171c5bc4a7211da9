"""Bradley–Terry scores: two documents by arithmetic, the theorem on existence, and RankNet's minimum as a second way."""

from __future__ import annotations

import itertools
import json
import math
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import podium
from podium import DataError, Pairs, ParameterError, RankingData
from podium.posteriors import Votes, bradley_terry, consistency, log_odds


def test_two_documents_are_the_empirical_logit() -> None:
    result = bradley_terry(Votes.of_counts(None, ["a"], ["b"], [3], [1]))
    gap = result.difference("a", "b")
    assert gap.difference == pytest.approx(math.log(3), rel=1e-14)
    assert gap.probability == pytest.approx(0.75, rel=1e-14)
    assert gap.standard_error == pytest.approx(
        math.sqrt(1 / 3 + 1 / 1), rel=1e-13
    )  # of a log odds: √(1/wins + 1/losses)
    np.testing.assert_allclose(result.scores, [math.log(3) / 2, -math.log(3) / 2], rtol=1e-13)
    np.testing.assert_allclose(result.standard_errors, math.sqrt(4 / 3) / 2, rtol=1e-13)
    assert result.log_likelihood == pytest.approx(3 * math.log(0.75) + math.log(0.25), rel=1e-14)
    assert result.n_votes == 4


def test_a_chain_of_pairs_is_solved_pair_by_pair() -> None:
    probability = np.array([0.9, 0.5, 0.3, 1 - 1e-9])
    result = bradley_terry(list("abcd"), list("bcde"), probability, [10, 4, 2, 1e10])
    by_name = dict(zip(result.documents.tolist(), result.scores, strict=True))
    gaps = [by_name[one] - by_name[other] for one, other in itertools.pairwise("abcde")]
    np.testing.assert_allclose(gaps, log_odds(probability), atol=1e-7)
    assert result.difference("a", "b").standard_error == pytest.approx(math.sqrt(1 / 9 + 1 / 1), rel=1e-10)
    step_errors = [result.difference(one, other).standard_error for one, other in (("b", "c"), ("c", "d"))]
    assert result.difference("b", "d").standard_error == pytest.approx(math.hypot(*step_errors), rel=1e-10)


def test_ties_are_half_a_vote_for_each() -> None:
    tied = bradley_terry(Votes.of_counts(None, ["a", "b"], ["b", "c"], [2, 1], [1, 0], [2, 4]))
    halved = bradley_terry(Votes.of_counts(None, ["a", "b"], ["b", "c"], [3, 3], [2, 2]))
    np.testing.assert_allclose(tied.scores, halved.scores, rtol=1e-13)


def test_consistent_probabilities_come_back() -> None:
    rng = np.random.default_rng(3)
    truth = rng.normal(size=9)
    truth -= truth.mean()
    winner, loser = np.triu_indices(9, 1)
    kept = rng.random(len(winner)) < 0.7
    winner, loser = winner[kept], loser[kept]
    probability = 1 / (1 + np.exp(truth[loser] - truth[winner]))
    pairs = Pairs.of(winner, loser, probability, rng.uniform(0.5, 20, len(winner)))
    np.testing.assert_allclose(bradley_terry(pairs).scores, truth, atol=1e-12)
    np.testing.assert_allclose(bradley_terry(pairs).scores, consistency(pairs).scores, atol=1e-12)


def strongly_connected(arcs: set[tuple[int, int]], n: int) -> bool:
    """Whether some document of every proper set of documents beats one outside, by listing the sets."""
    for size in range(1, n):
        for chosen in itertools.combinations(range(n), size):
            if not any(i in chosen and j not in chosen for i, j in arcs):
                return False
    return True


@settings(max_examples=150)
@given(st.integers(2, 5), st.data())
def test_scores_exist_exactly_if_every_set_wins_and_loses(n: int, data: st.DataObject) -> None:
    possible = list(itertools.permutations(range(n), 2))
    chosen = data.draw(st.lists(st.sampled_from(possible), min_size=1, max_size=12))
    arcs = chosen + [(i, j) for i, j in itertools.pairwise(range(n))]  # so that every document has a vote
    winner, loser = np.array(arcs).T
    if strongly_connected(set(arcs), n):
        result = bradley_terry(winner, loser)
        assert np.isfinite(result.scores).all()
        expected = 1 / (1 + np.exp(result.scores[:, None] - result.scores))  # [loser, winner]
        place = {name: k for k, name in enumerate(result.documents.tolist())}
        for document, k in place.items():  # at the maximum each document wins as often as the model expects
            won = sum(i == document for i, _ in arcs)
            model = sum(expected[place[j], place[i]] for i, j in arcs if i == document)
            model += sum(1 - expected[place[j], place[i]] for i, j in arcs if j == document)
            assert won == pytest.approx(model, abs=1e-9), k
    else:
        with pytest.raises(DataError, match="are certain that"):
            bradley_terry(winner, loser)


def test_parts_and_certain_sets_are_named() -> None:
    with pytest.raises(DataError, match=r"fall into 2 parts that no vote joins, \{a, b\} \| \{x, y\}; add votes"):
        bradley_terry(["a", "b", "x"], ["b", "a", "y"])
    with pytest.raises(DataError, match=r"are certain that \{c\} ranks above \{a, b\}.*a prior of 0.5 adds"):
        bradley_terry(["a", "b", "c"], ["b", "a", "a"])
    with pytest.raises(DataError, match=r"certain that \{a, b\} ranks above \{c\}"):
        bradley_terry(["a", "b", "a"], ["b", "a", "c"])
    with pytest.raises(DataError, match=r"\{0, 1, 2, 3, 4, … 20 in all\} ranks above \{99\}"):
        bradley_terry([*range(20), 5], [*np.roll(range(20), -1), 99])
    certain = bradley_terry(list("aab"), list("bcc"), prior=0.5)  # [RankNet, end of §3]: P = 1 throughout has no scores
    assert certain.scores[0] > certain.scores[1] > certain.scores[2]
    np.testing.assert_allclose(certain.scores[1], 0, atol=1e-14)


def test_each_query_is_fitted_alone() -> None:
    votes = Votes.of_counts(
        ["u", "u", "v", "w"], ["a", "b", "a", "a"], ["b", "c", "b", "b"], [3, 2, 1, 5], [1, 1, 4, 0]
    )
    with pytest.raises(DataError, match=r"the votes of query w are certain that \{a\} ranks above \{b\}"):
        bradley_terry(votes)
    result = bradley_terry(votes, undetermined="nan")
    assert result.queries is not None
    assert list(zip(result.queries, result.documents, strict=True)) == [
        ("u", "a"), ("u", "b"), ("v", "a"), ("w", "a"), ("u", "c"), ("v", "b"), ("w", "b"),
    ]  # fmt: skip
    alone = bradley_terry(Votes.of_counts(None, ["a", "b"], ["b", "c"], [3, 2], [1, 1]))
    assert result.scores[[0, 1, 4]].tolist() == alone.scores.tolist()
    assert result.difference("a", "b", query="v").difference == pytest.approx(-math.log(4))
    assert np.isnan(result.scores[[3, 6]]).all()
    assert len(result.undetermined) == 1
    with pytest.raises(DataError, match="document 'a' occurs 3 times; it must occur once: say which one with query="):
        result.difference("a", "b")
    with pytest.raises(DataError, match="document 'z' occurs 0 times in query 'u'"):
        result.difference("z", "b", query="u")
    with pytest.raises(DataError, match="cannot be compared"):
        result.difference("a", "b", query="w")
    shown = result.to_dict()
    assert json.loads(json.dumps(shown))["documents"][0] == {
        "query": "u", "document": "a", "score": result.scores[0], "standard_error": result.standard_errors[0],
    }  # fmt: skip
    assert shown["documents"][-1]["score"] is None
    assert str(result).count("no score") == 2


def test_rows_of_data_are_scored_in_the_callers_order() -> None:
    data = RankingData(
        np.zeros((5, 1)), y=np.zeros(5), qid=["u", "v", "u", "v", "u"], document_ids=list("abcde"),
        pairs=Pairs.of([0, 1], [2, 3], [0.8, 0.1], [10, 2]),
    )  # fmt: skip
    result = bradley_terry(data)
    half = math.log(4) / 2
    np.testing.assert_allclose(result.scores, [half, -math.log(3), -half, math.log(3), np.nan])
    assert result.queries is not None
    assert result.queries.tolist() == ["u", "v", "u", "v", "u"]


def test_scores_are_where_the_force_of_ranknet_vanishes() -> None:
    rng = np.random.default_rng(5)
    winner, loser = np.array([(i, j) for i, j in itertools.permutations(range(6), 2) if rng.random() < 0.6]).T
    pairs = Pairs.of(winner, loser, rng.uniform(0.1, 0.9, len(winner)), rng.uniform(1, 5, len(winner)))
    data = RankingData(np.zeros((6, 1)), y=np.zeros(6), qid=[0] * 6, pairs=pairs)
    push, _ = podium.force("ranknet")(bradley_terry(data).scores, data)
    np.testing.assert_allclose(push, 0, atol=1e-12)


def test_thousands_of_documents() -> None:
    n = 3000
    rng = np.random.default_rng(0)
    ring = np.arange(n)
    other = rng.integers(0, n - 1, 4 * n)
    winner = np.concatenate([ring, np.repeat(ring, 4)])
    loser = np.concatenate([np.roll(ring, -1), other + (other >= np.repeat(ring, 4))])
    result = bradley_terry(winner, loser, rng.uniform(0.1, 0.9, len(winner)))
    assert abs(result.scores.mean()) < 1e-12
    few = [0, 1, 300, 2999]
    place = {name: k for k, name in enumerate(result.documents.tolist())}
    gap = result.difference(few[1], few[3])
    assert gap.difference == result.scores[place[few[1]]] - result.scores[place[few[3]]]
    assert (result.standard_errors > 0).all()


def test_the_page_shows_what_is_printed() -> None:
    page = (Path(__file__).parents[2] / "docs" / "posteriors.md").read_text()
    votes = Votes.of_counts("cats", ["d1", "d2", "d3"], ["d2", "d3", "d1"], a_wins=[9, 6, 3], b_wins=[3, 4, 5])
    assert textwrap.indent(str(bradley_terry(votes)), "    ") in page


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bradley_terry(["a"], ["b"], prior=-1), "prior=-1 must be a number of at least 0"),
        (lambda: bradley_terry(["a"], ["b"], undetermined="no"), "undetermined='no' must be 'error' or 'nan'"),
        (lambda: bradley_terry(["a"]), "must be Pairs, RankingData with pairs"),
        (lambda: bradley_terry(Votes.of(None, ["a"], ["b"], ["a"]), ["b"]), "Votes hold losers"),
        (lambda: bradley_terry(["a"], ["b"], [0.5], [0]), "no pair with a weight above 0"),
    ],
)
def test_bad_input_is_named(call, message: str) -> None:
    with pytest.raises((DataError, ParameterError), match=message):
        call()
