"""Defaults of boosted trees: chosen from the size of the data and the effort, without jumps."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import podium
from podium.models.tree_defaults import DOCUMENTS, EFFORTS, L2, MOST_RATE, TABLES, Budget, mean_weight, tree_defaults


def data_of(documents: int, **more) -> podium.RankingData:
    rng = np.random.default_rng(0)
    features = rng.integers(0, 3, (documents, 3)).astype(np.float32)
    return podium.RankingData(features, rng.integers(0, 3, documents), np.arange(documents) // 10, **more)


@pytest.mark.parametrize("effort", EFFORTS)
def test_a_tenth_more_documents_hardly_change_a_default(effort):
    """No number moves by more than a tenth, or by one if it is a whole number; shares are rounded to hundredths."""
    sizes = np.geomspace(100, 3_000_000, 120).astype(int)
    found = [tree_defaults(Budget(int(n), effort=effort), "symmetric") for n in sizes]
    for before, after in itertools.pairwise(found):
        for name in TABLES[effort].keys() - {"depth", "smoothing"}:
            assert abs(after[name] - before[name]) <= max(0.1 * before[name] + 0.01, isinstance(before[name], int)), (
                name
            )
        assert 0.5 <= after["num_leaves"] / before["num_leaves"] <= 2
        assert abs(after["smoothing"] - before["smoothing"]) <= 5


def test_the_tables_hold_at_their_sizes():
    for effort, table in TABLES.items():
        assert all(len(row) == len(DOCUMENTS) for row in table.values())
        for k, documents in enumerate(DOCUMENTS):
            found = tree_defaults(Budget(documents, effort=effort), "symmetric")
            assert found["num_leaves"] == 2 ** table["depth"][k]
            assert found["row_sampling"] == pytest.approx(table["row_sampling"][k])
            assert found["draws"] == table["draws"][k]


def test_efforts_differ_and_are_recorded():
    data = data_of(200)
    resolved = {effort: podium.LambdaMART(effort=effort).resolve(data) for effort in EFFORTS}
    assert [resolved[effort]["effort"] for effort in EFFORTS] == list(EFFORTS)
    assert resolved["balanced"]["draws"] < resolved["best"]["draws"]
    assert resolved["fast"]["forests"] < resolved["balanced"]["forests"] < resolved["best"]["forests"]
    large = {effort: tree_defaults(Budget(100_000, effort=effort), "symmetric") for effort in EFFORTS}
    assert large["fast"]["draws"] < large["balanced"]["draws"] < large["best"]["draws"]
    assert large["fast"]["learning_rate"] > large["balanced"]["learning_rate"]
    assert podium.LambdaMART().resolve(data) == resolved["balanced"]
    with pytest.raises(podium.ParameterError, match="effort='most' must be one of 'fast', 'balanced', 'best'"):
        podium.LambdaMART(effort="most").fit(data)


def test_what_is_given_is_kept():
    given = {"num_leaves": 5, "learning_rate": 0.2, "row_sampling": 0.9, "sampling": "force", "draws": 2, "forests": 3}
    given |= {"l2": 0.5, "smoothing": 1, "growth": "depth", "column_sampling": 0.4, "query_sampling": 0.6}
    found = podium.LambdaMART(**given, effort="best").resolve(data_of(200))
    assert {name: found[name] for name in given} == given


def test_trees_are_symmetric_unless_something_else_is_asked_for():
    data = data_of(60)
    growth = {
        "symmetric": [{}, {"max_depth": 3}, {"categorical": ()}],
        "leaf": [{"num_leaves": 8}, {"monotone": {0: 1}}, {"categorical": [1]}],
    }
    for expected, settings in growth.items():
        for setting in settings:
            assert podium.LambdaMART(**setting).resolve(data)["growth"] == expected
    categories = data_of(60, categorical_features={1: ("a", "b", "c")})
    assert podium.LambdaMART().resolve(categories)["growth"] == "leaf"
    podium.LambdaMART(n_estimators=2).fit(categories)


def test_a_time_limit_chooses_the_effort_and_then_the_rate():
    data = data_of(600)

    def resolved(seconds, **more):
        return podium.LambdaMART(max_seconds=seconds, num_threads=1, **more).resolve(data)

    assert [resolved(seconds)["effort"] for seconds in (1e-3, 1e6)] == ["fast", "best"]
    efforts = [EFFORTS.index(resolved(seconds)["effort"]) for seconds in np.geomspace(1e-3, 1e4, 30)]
    assert efforts == sorted(efforts)
    assert resolved(1e-3)["learning_rate"] == MOST_RATE
    rates = [resolved(seconds, effort="fast")["learning_rate"] for seconds in np.geomspace(1e-3, 1e3, 30)]
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] == resolved(None, effort="fast")["learning_rate"]
    assert resolved(1e-3, learning_rate=0.01)["learning_rate"] == 0.01
    assert podium.LambdaMART().resolve(data)["effort"] == "balanced"
    for seconds in np.geomspace(1e-3, 1e4, 30):  # a training that resumes may change the number of rounds
        assert resolved(seconds, n_estimators=10)["effort"] == resolved(seconds)["effort"]


@pytest.mark.parametrize("ranker", [podium.LambdaMART, podium.MART])
def test_weights_on_another_scale_give_the_same_rankings(ranker):
    """The default of l2 is added to sums of weighted curvatures, so it has to be on the scale of the weights."""
    data = data_of(600)
    scale = 0.125  # a power of two, so that nothing is rounded otherwise
    factors = {"query": scale, "document": scale**2 if ranker is podium.LambdaMART else scale}

    def trained(**weights):
        made = ranker(n_estimators=5, min_curvature=1e-9, num_threads=1).fit(data.replace(**weights))
        return made.resolved_["l2"], made.predict(data)

    l2, scores = trained()
    assert l2 == L2
    for kind, count in (("query", data.n_queries), ("document", data.n_documents)):
        found, same = trained(**{f"{kind}_weights": np.full(count, scale)})
        assert found == L2 * factors[kind]
        np.testing.assert_allclose(same, scores, rtol=1e-6, atol=1e-9)


def test_the_mean_weight_counts_documents_and_not_queries():
    data = podium.RankingData(np.zeros((4, 1)), [0, 1, 0, 1], [1, 2, 2, 2], document_weights=[2, 1, 3, 5])
    assert mean_weight(data, in_pairs=False) == (2 + 3 * 3) / 4
    assert mean_weight(data, in_pairs=True) == (4 + 3 * 9) / 4
    heavy = data.replace(query_weights=[2, 10])
    assert mean_weight(heavy, in_pairs=False) == (2 * 2 + 10 * 9) / 4
    assert mean_weight(data.replace(document_weights=np.zeros(4)), in_pairs=True) == 1


def test_few_draws_are_the_default_if_each_takes_as_long_as_the_first():
    """With an additive metric and a cutoff the draws are averaged before the logistic, which many draws need."""
    documents = 30_000
    data = podium.RankingData(np.zeros((documents, 1)), np.arange(documents) % 3, np.arange(documents) // 100)
    few, many = (TABLES[effort]["draws"][DOCUMENTS.index(documents)] for effort in ("fast", "balanced"))

    def draws(on=data, **settings):
        return podium.LambdaMART(**settings).resolve(on)["draws"]

    for metric in ("ndcg@10", "p@5", "rbp@20"):
        assert draws(metric=metric) == many
    for metric in ("map", "ndcg", "ndcg@50", "err@10", "auc", "ndcg(ties='average')@10"):
        assert draws(metric=metric) == few
        assert draws(metric=metric, draws=7) == 7
    for settings in ({"normalize": True}, {"damping": True}, {"class_weight": "balanced"}, {"target": "map"}):
        assert draws(**settings) == few
    assert draws(data.replace(document_weights=np.ones(documents))) == few
    assert draws(data.replace(query_weights=np.ones(data.n_queries))) == many
