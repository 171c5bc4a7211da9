"""The effect of tied scores on a metric, compared with every order of the tied documents."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest

from podium.data import RankingData, Run
from podium.evaluation import compare, evaluate
from podium.metrics import METRICS, Documents, TieEffect, metric, tie_effect, tie_lines

RANKING = [name for name, definition in METRICS.items() if "ties" in {p.name for p in definition.parameters}]
NAMES = [*RANKING, "ndcg(gain=(0, 3, 1))@2", "map(convention='trec_eval', ties='input')", "err@2", "bpref(rel=2)"]


def orders(scores: list[float]) -> list[list[int]]:
    """Every order of the documents in which a higher score stands above a lower one."""
    n = len(scores)
    return [
        list(p)
        for p in itertools.permutations(range(n))
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(p))
    ]


@pytest.mark.parametrize("name", NAMES)
def test_expected_best_and_worst_are_those_of_all_orders(name: str) -> None:
    rng = np.random.default_rng(0)
    asked = metric(name)
    for _ in range(12):
        scores, labels = rng.integers(0, 2, 5).astype(float), rng.integers(0, 3, 5).astype(float)
        places = -np.arange(5.0)
        values = [asked.per_query(places, labels[order], [0, 5])[0] for order in orders(scores.tolist())]
        effect = tie_effect(asked, Documents(scores, labels, [0, 5]))
        assert effect.value == asked.per_query(scores, labels, [0, 5])[0]
        assert (effect.expected, effect.best, effect.worst) == pytest.approx(
            (np.mean(values), max(values), min(values))
        )
        assert effect.n_affected == (max(values) - min(values) > 1e-9)


def two_queries() -> tuple[list[float], RankingData]:
    """One query of a tie that matters, one of a tie of equal labels."""
    return [1.0, 1.0, 3.0, 2.0, 2.0], RankingData(np.zeros((5, 1)), [0, 1, 1, 0, 0], ["a", "a", "b", "b", "b"])


def test_evaluate_says_how_many_queries_and_how_much() -> None:
    scores, data = two_queries()
    result = evaluate(scores, data, ["mrr", "mrr(ties='average')", "auc"])
    effect = result.ties["mrr"]
    assert (effect.n_affected, effect.n_queries) == (1, 2)
    assert (effect.value, effect.expected) == (result.mean["mrr"], result.mean["mrr(ties='average')"])
    assert (effect.value, effect.expected, effect.best, effect.worst) == ((1 / 2 + 1) / 2, (3 / 4 + 1) / 2, 1, 3 / 4)
    assert [result.ties[name].n_affected for name in ("mrr(ties='average')", "auc")] == [0, 0]
    stored = json.loads(json.dumps(result.to_dict()))["metrics"]["mrr"]["ties"]
    assert stored == {"n_affected": 1, "n_queries": 2, "value": 0.75, "expected": 0.875, "best": 1.0, "worst": 0.75}
    assert str(result).splitlines()[-1] == (
        "mrr: 1 of 2 queries has tied scores that can change the value: 0.7500 in the order used, 0.8750 on average over all "
        "orders, 0.7500 in the worst and 1.0000 in the best"
    )


def test_ties_that_change_nothing_are_not_reported() -> None:
    scores, data = two_queries()
    scores[1] = 0.5
    result = evaluate(scores, data, "mrr")
    assert result.ties["mrr"].n_affected == 0
    assert str(result).splitlines()[-1] == "2 queries"


def test_ties_of_several_metrics_take_one_line() -> None:
    scores, data = two_queries()
    lines = str(evaluate(scores, data, ["mrr", "map"])).splitlines()
    assert lines[-2] == "2 queries"
    assert lines[-1] == (
        "tied scores can change these values (in the order used, on average over all orders, worst to best): "
        "mrr 0.7500, 0.8750, 0.7500 to 1.0000 (1 of 2 queries); map 0.7500, 0.8750, 0.7500 to 1.0000 (1 of 2 queries)"
    )


def test_an_effect_that_the_digits_do_not_show_is_not_reported() -> None:
    """One query in 20,000 has a tie; 0.5 of its value is 0.00003 of the mean."""
    effect = TieEffect(n_affected=1, n_queries=20_000, value=0.9, expected=0.90001, best=0.90002, worst=0.9)
    assert not effect.matters
    assert tie_lines({"mrr": effect}) == []
    assert replace(effect, best=0.9001).matters


def test_queries_left_out_of_the_mean_are_left_out_here() -> None:
    data = RankingData(np.zeros((4, 1)), [0, 0, 0, 1], [1, 1, 2, 2])
    effect = evaluate([1, 1, 1, 1], data, "mrr(empty='skip')").ties["mrr(empty='skip')"]
    assert (effect.n_affected, effect.n_queries, effect.value, effect.expected) == (1, 1, 1 / 2, 3 / 4)
    none = evaluate([1, 1], RankingData(np.zeros((2, 1)), [0, 0], [1, 1]), "mrr(empty='skip')")
    assert none.ties["mrr(empty='skip')"].to_dict()["value"] is None


def test_documents_that_a_run_did_not_retrieve_are_not_tied() -> None:
    data = RankingData(np.zeros((3, 0)), [1, 0, 1], ["1"] * 3, document_ids=["a", "b", "c"])
    apart = evaluate(Run.of(["1", "1"], ["a", "b"], [0.0, -1.0]), data, "map")
    assert apart.ties["map"].n_affected == 0
    tied = evaluate(Run.of(["1", "1"], ["a", "b"], [0.0, 0.0]), data, "map").ties["map"]
    assert (tied.n_affected, tied.value, tied.expected, tied.best) == (1, 1 / 4, 3 / 8, 1 / 2)


def test_compare_says_it_of_each_system_on_the_queries_compared() -> None:
    scores, data = two_queries()
    result = compare({"tied": scores, "apart": [2, 1, 3, 2, 1]}, data, "mrr")
    assert (result.ties["tied"].n_affected, result.ties["apart"].n_affected) == (1, 0)
    assert result.ties["tied"].value == result.mean["tied"]
    assert result.to_dict()["ties"]["tied"]["expected"] == 0.875
    assert str(result).splitlines()[-1].startswith("tied: 1 of 2 queries has tied scores that can change the value")
    judged = data.replace(document_ids=list("vwxyz"))
    runs = {
        "both": Run.of(["a", "a", "b"], ["v", "w", "x"], [1, 1, 1]),
        "one": Run.of(["b", "b"], ["x", "y"], [1, 1]),
    }
    shared = compare(runs, judged, "mrr")
    assert [shared.ties[name].n_queries for name in runs] == [1, 1]
    assert [shared.ties[name].n_affected for name in runs] == [0, 1]
