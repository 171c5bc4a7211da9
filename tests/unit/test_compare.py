"""compare: paired tests against SciPy and by enumeration, Holm's correction, wins and losses."""

from __future__ import annotations

import datetime as dt
import itertools
import json

import numpy as np
import pytest
import scipy.stats
from scipy import stats

from podium.data import RankingData, Run, Strings
from podium.errors import DataError, ParameterError
from podium.evaluation import compare, evaluate
from podium.evaluation.paired_tests import TESTS, holm, paired_t, randomization, wilcoxon

OPTIONS = {"n_randomizations": 10_000, "seed": 0}


def systems(queries: int = 60) -> tuple[dict[str, np.ndarray], RankingData]:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, queries * 10)
    data = RankingData(np.zeros((len(labels), 1)), labels, np.repeat(np.arange(queries), 10))
    noise = rng.normal(size=(3, len(labels)))
    return {"good": labels + noise[0], "middling": 0.3 * labels + noise[1], "random": noise[2]}, data


def test_every_pair() -> None:
    scores, data = systems()
    result = compare(scores, data, "ndcg@5")
    assert [(p.first, p.second) for p in result.pairs] == [
        ("good", "middling"),
        ("good", "random"),
        ("middling", "random"),
    ]
    values = {name: evaluate(s, data, "ndcg@5").per_query["ndcg@5"] for name, s in scores.items()}
    pair = result.pair("good", "random")
    differences = values["good"] - values["random"]
    assert pair.difference == pytest.approx(differences.mean())
    reach = scipy.stats.t.ppf(0.975, len(differences) - 1) * differences.std(ddof=1) / len(differences) ** 0.5
    assert pair.interval == pytest.approx((differences.mean() - reach, differences.mean() + reach))
    assert (pair.wins, pair.losses, pair.ties) == (
        (differences > 0).sum(),
        (differences < 0).sum(),
        (differences == 0).sum(),
    )
    assert pair.p_values["t"] == pytest.approx(stats.ttest_rel(values["good"], values["random"]).pvalue)
    nonzero = differences[differences != 0]
    assert pair.p_values["wilcoxon"] == pytest.approx(stats.wilcoxon(nonzero).pvalue)
    assert pair.p_values["randomization"] == 1 / 10_001
    for test in TESTS:
        assert [p.corrected[test] for p in result.pairs] == holm([p.p_values[test] for p in result.pairs])


def test_most_changed_queries() -> None:
    scores, data = systems()
    pair = compare({"a": scores["good"], "b": scores["random"]}, data, "map", n_changed=4).pairs[0]
    values = [evaluate(scores[name], data, "map").per_query["map"] for name in ("good", "random")]
    differences = values[0] - values[1]
    assert [abs(change.difference) for change in pair.most_changed] == sorted(np.abs(differences), reverse=True)[:4]
    for change in pair.most_changed:
        assert change.difference == change.first - change.second == differences[change.query_id]


def test_equal_systems_differ_by_nothing() -> None:
    scores, data = systems()
    pair = compare({"a": scores["good"], "b": scores["good"]}, data, "map").pairs[0]
    assert set(pair.p_values.values()) == {1.0}
    assert (pair.wins, pair.losses, pair.ties) == (0, 0, 60)
    assert pair.most_changed == ()


def test_wins_go_by_what_is_better() -> None:
    scores, data = systems()
    two = {"good": scores["good"], "random": scores["random"]}
    correct, error = (compare(two, data, name).pairs[0] for name in ("pairwise_correct", "pairwise_error"))
    assert (correct.wins, correct.losses) == (error.wins, error.losses)
    assert correct.difference == pytest.approx(-error.difference)


def test_randomization_lists_all_signs_of_few_queries() -> None:
    differences = np.array([0.3, -0.1, 0.25, 0.0, 0.4, 0.1, -0.2])
    nonzero = differences[differences != 0]
    sums = [abs(np.dot(signs, nonzero)) for signs in itertools.product((1, -1), repeat=6)]
    assert randomization(differences, **OPTIONS) == np.mean(np.array(sums) >= nonzero.sum() - 1e-9)
    sampled = randomization(differences, n_randomizations=63, seed=1)
    assert sampled == pytest.approx(randomization(differences, **OPTIONS), abs=0.2)


def test_sampled_randomization_agrees_with_scipy() -> None:
    differences = np.random.default_rng(5).normal(0.15, 1, 80)
    reference = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=20_000, rng=np.random.default_rng(0)
    )
    assert randomization(differences, **OPTIONS) == pytest.approx(reference.pvalue, abs=0.02)


@pytest.mark.parametrize("test", [wilcoxon, paired_t, randomization])
def test_degenerate_differences(test: object) -> None:
    assert callable(test)
    assert test(np.zeros(10), **OPTIONS) == 1.0
    assert 0 <= test(np.array([0.5]), **OPTIONS) <= 1
    assert 0 <= test(np.full(10, 0.5), **OPTIONS) < 0.01


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.6]) == [1.0, 1.0]
    assert holm([]) == []


def test_skipped_queries_are_left_out() -> None:
    data = RankingData(np.zeros((4, 0)), [0, 0, 1, 0], [1, 1, 2, 2])
    result = compare({"a": [1, 2, 2, 1], "b": [1, 2, 1, 2]}, data, "map(empty='skip')")
    assert result.n_queries == 1
    assert result.pairs[0].difference == 1 - 1 / 2


def test_runs_on_the_queries_they_share() -> None:
    data = RankingData(np.zeros((4, 0)), [1, 0, 1, 0], ["1", "1", "2", "2"], document_ids=["a", "b", "a", "b"])
    both = Run(np.array(["1", "1", "2"]), Strings.of(["a", "b", "a"]), np.array([1.0, 2.0, 1.0]))
    one = Run(np.array(["1"]), Strings.of(["a"]), np.array([1.0]))
    result = compare({"both": both, "one": one}, data, "mrr")
    assert result.n_queries == 1
    assert result.pairs[0].difference == 1 / 2 - 1
    other = Run(np.array(["2"]), Strings.of(["a"]), np.array([1.0]))
    with pytest.raises(DataError, match="share no query"):
        compare({"one": one, "other": other}, data, "mrr")


def test_json_and_print() -> None:
    scores, data = systems()
    result = compare(scores, data, "ndcg@5", tests=["t"])
    stored = json.loads(json.dumps(result.to_dict()))
    assert stored["metric"] == "ndcg@5"
    assert len(stored["pairs"]) == 3
    assert "good − middling" in str(result)
    assert "after Holm" in str(result)


def test_refusals() -> None:
    scores, data = systems()
    with pytest.raises(ParameterError, match="systems must be two or more systems by name, not 1"):
        compare({"a": scores["good"]}, data, "map")
    with pytest.raises(ParameterError, match=r"unknown test 'wilcoxn'\. Did you mean 'wilcoxon'"):
        compare(scores, data, "map", tests=["wilcoxn"])
    with pytest.raises(ParameterError, match="n_randomizations=0"):
        compare(scores, data, "map", n_randomizations=0)
    with pytest.raises(KeyError, match="no pair"):
        compare(scores, data, "map").pair("random", "good")


@pytest.mark.parametrize(
    "qid",
    [
        [1, 1, "1", "1"],
        np.array([0.1, 0.1, 0.2, 0.2], np.float32),
        np.array(["2020-01-01", "2020-01-01", "2021-01-01", "2021-01-01"], "M8[ns]"),
        [(1, 2), (1, 2), (3, 4), (3, 4)],
        [dt.date(2020, 1, 1)] * 2 + [dt.date(2020, 1, 2)] * 2,
    ],
    ids=["mixed", "float32", "datetime64", "tuples", "dates"],
)
def test_queries_are_paired_by_place_whatever_their_ids(qid: object) -> None:
    data = RankingData(np.zeros((4, 1)), [1, 0, 1, 0], qid)  # type: ignore[arg-type]
    result = compare({"a": [2, 1, 1, 2], "b": [2, 1, 2, 1]}, data, "p@1")
    assert result.mean == {"a": 0.5, "b": 1.0}
    (change,) = result.pairs[0].most_changed
    assert change.query_id == data.query_ids[1]
    json.dumps(result.to_dict())
    json.dumps(evaluate([2, 1, 1, 2], data, "p@1").to_dict())


def test_queries_whose_ids_print_the_same_are_not_merged() -> None:
    both = RankingData(np.zeros((2, 0)), [1, 1], [1, "1"], document_ids=["a", "a"])
    one = RankingData(np.zeros((1, 0)), [1], [1], document_ids=["a"])
    with pytest.raises(DataError, match=r"the judgments: query ids 1 and '1' print the same text.*ids of one type"):
        evaluate(Run([1], ["a"], [1.0]), both, "map")
    with pytest.raises(DataError, match="the run: query ids '1' and 1 print the same text"):
        evaluate(Run(["1", 1], ["a", "a"], [1.0, 2.0]), one, "map")
    assert evaluate(Run(["1"], ["a"], [1.0]), one, "map").mean["map"] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_changed": -1}, "n_changed=-1 must be a whole number of at least 0"),
        ({"n_changed": 1.5}, "n_changed=1.5 must be a whole number"),
        ({"n_randomizations": "x"}, "n_randomizations='x' must be a whole number of at least 1"),
        ({"seed": -1}, "seed=-1 must be a whole number"),
        ({"seed": 0.5}, "seed=0.5 must be a whole number"),
        ({"confidence": "x"}, "confidence='x' must lie between 0 and 1"),
        ({"tests": [["t"]]}, "unknown test"),
    ],
    ids=str,
)
def test_options_that_are_refused(options: dict[str, object], message: str) -> None:
    scores, data = systems(5)
    with pytest.raises(ParameterError, match=message):
        compare(scores, data, "ndcg", **options)  # type: ignore[arg-type]


def test_systems_that_are_refused() -> None:
    scores, data = systems(5)
    with pytest.raises(ParameterError, match="systems must be two or more systems by name, not a list"):
        compare(list(scores.values()), data, "ndcg")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="systems has two systems of one name: 1, 1, x"):
        compare({1: scores["good"], "1": scores["random"], "x": scores["good"]}, data, "ndcg")  # type: ignore[dict-item]
    assert compare(scores, data, "ndcg", n_changed=0).pairs[0].most_changed == ()
