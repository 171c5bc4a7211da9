"""Queries, documents and reasons: the numbers are those of Podium's own functions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from asking import HOSTILE, Asker

import podium
from podium.data.presentation import query_title
from podium.studio.moves import contributions
from podium.studio.workspace import DATA_ORDER, MOST_RANKINGS, Workspace


def listed(asker: Asker, **parameters: object) -> list[dict]:
    return asker.get("queries", first="trees", second="linear", **parameters).json["queries"]


def test_the_state_names_everything_that_is_offered(asker):
    state = asker.get("state").json
    assert state["rankings"] == ["trees", "linear", "net", DATA_ORDER]
    assert (state["queries"], state["documents"], state["features"]) == (20, 160, 4)
    assert {each["name"] for each in state["rankers"]} == set(podium.rankers.RANKERS)
    fitting = {name for name, each in podium.forces.FORCES.items() if each.outputs == "one"}
    assert {each["name"] for each in state["forces"]} == fitting
    assert set(podium.metrics.METRICS) <= {name.partition("@")[0] for name in state["metrics"]}


@pytest.mark.parametrize("metric", ["ndcg@10", "map", "pairwise_error"])
def test_values_are_those_of_evaluate(asker, metric):
    found = asker.get("queries", first="trees", second="linear", metric=metric).json
    data = asker.workspace.data
    for key, name in (("first", "trees"), ("second", "linear")):
        ranker = asker.workspace.ranking(name).ranker
        wanted = podium.evaluate(ranker.predict(data), data, metric)
        assert [row[key] for row in found["queries"]] == wanted.per_query[metric].tolist()
        assert found[f"{key}_mean"] == pytest.approx(wanted.mean[metric], rel=1e-12)
    sign = -1 if metric == "pairwise_error" else 1
    assert all(row["gain"] == sign * (row["second"] - row["first"]) for row in found["queries"])


def test_disagreement_is_the_share_of_pairs_in_another_order(asker):
    first, second = (asker.workspace.ranking(name).scores for name in ("trees", "linear"))
    for row in listed(asker):
        rows = asker.workspace.rows(row["number"])
        differ = []
        for i, j in itertools.combinations(range(rows.start, rows.stop), 2):
            if second[i] != second[j]:
                above, below = (i, j) if second[i] > second[j] else (j, i)
                differ.append(0.5 if first[i] == first[j] else float(first[above] < first[below]))
        assert row["disagreement"] == pytest.approx(np.mean(differ), abs=1e-12)


@pytest.mark.parametrize(
    ("order", "key"),
    [
        ("gain", lambda row: -row["gain"]),
        ("loss", lambda row: row["gain"]),
        ("disagreement", lambda row: -row["disagreement"]),
        ("worst", lambda row: row["first"]),
        ("best", lambda row: -row["first"]),
        ("data", lambda row: row["number"]),
    ],
)
def test_orders(asker, order, key):
    rows = listed(asker, order=order)
    assert rows == sorted(rows, key=key)
    assert {row["id"] for row in rows} == {f"q{k}" for k in range(20)}


def test_search_and_pages(asker):
    assert [row["id"] for row in listed(asker, search="Q1")] == ["q1", *(f"q1{k}" for k in range(10))]
    assert [row["id"] for row in listed(asker, search="nothing like it")] == []
    assert [row["number"] for row in listed(asker, offset=18)] == [18, 19]
    assert listed(asker, offset=10**6) == []


def test_one_ranking_alone(asker):
    row = asker.get("queries", first=DATA_ORDER, order="gain").json["queries"][0]
    assert (row["number"], row["second"], row["gain"], row["disagreement"]) == (0, None, None, None)
    shown = asker.get("queries/0", first=DATA_ORDER).json
    assert [each["document"] for each in shown["documents"]] == list(range(8))
    assert {each["second_rank"] for each in shown["documents"]} == {None}


def test_documents_are_shown_with_labels_features_scores_and_ranks(asker):
    data = asker.workspace.data
    shown = asker.get("queries/0", first="trees", second="linear").json
    scores = {name: asker.workspace.ranking(name).ranker.predict(data)[:8] for name in ("trees", "linear")}
    assert [each["document"] for each in shown["documents"]] == np.argsort(-scores["trees"], kind="stable").tolist()
    for each in shown["documents"]:
        k = each["document"]
        assert each["label"] == data.labels[k]
        assert each["first_score"] == scores["trees"][k]
        assert each["second_score"] == scores["linear"][k]
        assert each["second_rank"] == 1 + int((scores["linear"] > scores["linear"][k]).sum())
        values = [None if np.isnan(value) else value for value in data.features[k].tolist()]
        assert each["features"] == values
    assert shown["feature_names"] == ["bm25", "clicks", HOSTILE, "age"]
    assert {each["document"]: each["name"] for each in shown["documents"]}[0] == HOSTILE


@pytest.mark.parametrize(("first", "second"), [("trees", "linear"), ("linear", "trees"), ("trees", "")])
def test_reasons_sum_to_the_difference_of_standings(asker, first, second):
    for number, document in ((0, 0), (3, 5), (19, 7)):
        move = asker.get(f"queries/{number}/move", first=first, second=second, document=document).json
        rows = asker.workspace.rows(number)
        wanted = []
        for name in filter(None, (first, second)):
            scores = asker.workspace.ranking(name).scores[rows]
            wanted.append((scores[document] - scores.mean()) / scores.std())
        assert [move["first_standing"], move["second_standing"]][: len(wanted)] == pytest.approx(wanted, rel=1e-9)
        total = sum(reason["difference"] for reason in move["reasons"]) + move["rest"]
        difference = wanted[1] - wanted[0] if second else wanted[0]
        assert total == pytest.approx(difference, rel=1e-6, abs=1e-9)
        assert move["note"] == ""


def test_the_reasons_of_trees_are_their_attributions(asker):
    move = asker.get("queries/2/move", first="trees", document=1).json
    ranker, data = asker.workspace.ranking("trees").ranker, asker.workspace.data
    parts = ranker.attributions(data)[16:24, :-1]
    spread = ranker.predict(data)[16:24].std()
    wanted = (parts[1] - parts.mean(axis=0)) / spread
    found = {reason["feature"]: reason["first"] for reason in move["reasons"]}
    assert found == pytest.approx(dict(zip(data.feature_names, wanted, strict=True)), rel=1e-9, abs=1e-12)


def test_a_net_has_no_reasons_and_says_so(asker):
    move = asker.get("queries/2/move", first="trees", second="net", document=1).json
    assert move["reasons"] == []
    assert "No reasons can be given for net" in move["note"]


@pytest.mark.parametrize(
    ("path", "parameters", "status"),
    [
        ("queries", {}, 422),
        ("queries", {"first": "none such"}, 404),
        ("queries", {"first": "trees", "metric": "no_metric"}, 422),
        ("queries", {"first": "trees", "order": "sideways"}, 422),
        ("queries", {"first": "trees", "offset": -1}, 422),
        ("queries", {"first": "trees", "unknown": "x"}, 422),
        ("queries", {"first": "x" * 301}, 422),
        ("queries/20", {"first": "trees"}, 404),
        ("queries/99999999999999999999", {"first": "trees"}, 404),
        ("queries/-1", {"first": "trees"}, 404),
        ("queries/0/move", {"first": "trees", "document": 8}, 404),
        ("nothing", {}, 404),
    ],
)
def test_bad_requests_are_answered_with_a_sentence(asker, path, parameters, status):
    assert asker.get(path, **parameters).refusal[0] == status


def test_categories_are_shown_by_name(tmp_path):
    features = np.array([[1.0, 0], [2, 1], [3, np.nan], [4, 1]])
    data = podium.RankingData(
        features,
        [0, 1, 1, 0],
        [7, 7, 7, 7],
        feature_names=["price", "brand"],
        categorical_features={"brand": ["acme", "globex"]},
    )
    workspace = Workspace(data, "shop")
    everything = {"query_sampling": 1.0, "column_sampling": 1.0, "min_documents": 1, "forests": 1}
    trees = podium.LambdaMART(n_estimators=5, num_leaves=4, num_threads=1, noise=0.0, **everything)
    workspace.add("trees", trees.fit(data))
    asker = Asker(workspace, tmp_path)
    try:
        shown = asker.get("queries/0", first="trees").json
        moves = [asker.get("queries/0/move", first="trees", document=k).json for k in range(4)]
    finally:
        asker.close()
    features = {each["document"]: each["features"] for each in shown["documents"]}
    assert [features[k] for k in range(4)] == [[1, "acme"], [2, "globex"], [3, None], [4, "globex"]]
    values = [{each["feature"]: each["value"] for each in move["reasons"]} for move in moves]
    assert [each.get("brand") for each in values] == ["acme", "globex", None, "globex"]
    assert [move["others"] for move in moves] == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("7", "query 7"),
        ("query 220", "query 220"),
        ("Query-9", "Query-9"),
        ("queryable", "query queryable"),
        ("", "query "),
    ],
)
def test_a_query_is_called_query_once(text, title):
    assert query_title(text) == title


def test_names_of_rankings_stay_unique_and_few():
    data = podium.synthetic.polynomial(queries=6, documents=5, features=3, seed=0)
    workspace = Workspace(data, "data")
    ranker = podium.RankSVM().fit(data)
    assert [workspace.add("a", ranker).name for _ in range(3)] == ["a", "a-2", "a-3"]
    for _ in range(MOST_RANKINGS + 3):
        workspace.add("b-1", ranker, trained_on=np.arange(3))
    names = [ranking.name for ranking in workspace.rankings]
    assert len(names) == MOST_RANKINGS
    assert names[:3] == ["a", "a-2", "a-3"]
    assert names[-1] == DATA_ORDER


def test_a_long_query_shows_the_best_of_both_rankings(tmp_path):
    """The second ranking is the first one reversed, so that the best 100 of each are shown of 1,000."""
    features = np.arange(1000.0)[:, None]
    data = podium.RankingData(features, np.arange(1000) % 2, np.zeros(1000))
    workspace = Workspace(data, "one long query")
    for name, labels in zip(("up", "down"), (np.arange(1000) >= 500, np.arange(1000) < 500), strict=True):
        workspace.add(name, podium.RankSVM(num_threads=1).fit(data.replace(labels=labels.astype(float))))
    asker = Asker(workspace, tmp_path)
    try:
        both = asker.get("queries/0", first="up", second="down").json["documents"]
        alone = asker.get("queries/0", first="up").json["documents"]
    finally:
        asker.close()
    assert [each["first_rank"] for each in both] == [*range(1, 101), *range(901, 1001)]
    assert [each["second_rank"] for each in both] == [*range(1000, 900, -1), *range(100, 0, -1)]
    assert [each["first_rank"] for each in alone] == list(range(1, 201))


@pytest.mark.parametrize(("first", "second"), [("trees", None), ("linear", None), ("trees", "linear")])
def test_reasons_in_a_long_query_are_computed_for_a_sample(asker, monkeypatch, first, second):
    """With a sample of half of the eight documents the reasons and the rest still add up to the difference."""
    monkeypatch.setattr("podium.studio.moves.LEAST_EXPLAINED", 4)
    monkeypatch.setattr("podium.studio.moves.MOST_EXPLAINED", 4)
    explained = []
    monkeypatch.setattr(
        "podium.studio.moves.contributions",
        lambda ranker, query: explained.append(query.n_documents) or contributions(ranker, query),
    )
    whole = {"first": first} if second is None else {"first": first, "second": second}
    for document in range(8):
        move = asker.get("queries/2/move", **whole, document=document).json
        total = move["first_standing"] if second is None else move["second_standing"] - move["first_standing"]
        assert sum(each["difference"] for each in move["reasons"]) + move["rest"] == pytest.approx(total, abs=1e-9)
    assert max(explained) <= 5  # the sample, and the document itself
    assert "mean of" in move["note"]
    query = asker.workspace.data.select([2])
    kept = [0, 2, 4, 7]  # evenly spaced; the last document is among them
    ranking = asker.workspace.ranking(second or first)
    parts = contributions(ranking.ranker, query)[kept]
    wanted = (parts[-1] - parts.mean(axis=0)) / ranking.scores[asker.workspace.rows(2)].std()
    found = {each["feature"]: each["second" if second else "first"] for each in move["reasons"]}
    assert [found[name] for name in query.feature_names] == pytest.approx(wanted.tolist(), abs=1e-9)
