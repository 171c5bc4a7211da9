"""evaluate: arrays in any row order, runs joined to judgments, intervals, lookups, refusals."""

from __future__ import annotations

import copy
import json
import pickle
from math import log2, sqrt

import numpy as np
import pytest

import podium
from podium.data import RankingData, Run, Strings
from podium.errors import DataError, ParameterError
from podium.evaluation import Evaluation, evaluate
from podium.metrics import metric


def make_data(seed: int = 0, queries: int = 30, documents: int = 8) -> tuple[np.ndarray, RankingData]:
    rng = np.random.default_rng(seed)
    n = queries * documents
    labels = rng.integers(0, 3, n)
    labels[:documents] = 0
    qid = np.repeat(np.arange(queries), documents)
    return rng.normal(size=n), RankingData(np.zeros((n, 1)), labels, qid)


def qrels(rows: list[tuple[str, str, float]]) -> RankingData:
    queries, documents, labels = zip(*rows, strict=True)
    return RankingData(np.zeros((len(rows), 0)), labels, queries, document_ids=documents)


def run(rows: list[tuple[object, str, float]]) -> Run:
    queries, documents, scores = zip(*rows, strict=True)
    return Run(np.array(queries), Strings.of(documents), np.array(scores, float))


def test_mean_and_interval() -> None:
    scores, data = make_data()
    result = evaluate(scores, data, ["ndcg@5", "map"])
    values = metric("ndcg@5").per_query(scores, data.labels, data.query_offsets)
    assert result.per_query["ndcg@5"] == pytest.approx(values)
    assert result.mean["ndcg@5"] == pytest.approx(values.mean())
    reach = 2.0452296421327034 * values.std(ddof=1) / sqrt(30)  # Student's t with 29 degrees of freedom
    assert result.interval["ndcg@5"] == pytest.approx((values.mean() - reach, values.mean() + reach))
    assert result.n_queries == 30
    assert result.query_ids.tolist() == list(range(30))
    assert result.n_empty["map"] == 1


def test_bootstrap_interval_is_seeded_and_near_students() -> None:
    scores, data = make_data(queries=200)
    first, again = (evaluate(scores, data, "map", seed=3).bootstrap_interval["map"] for _ in range(2))
    assert first == again
    assert first != evaluate(scores, data, "map", seed=4).bootstrap_interval["map"]
    assert first == pytest.approx(evaluate(scores, data, "map").interval["map"], abs=0.01)
    narrow = evaluate(scores, data, "map", confidence=0.5, seed=3).bootstrap_interval["map"]
    assert first[0] < narrow[0] < narrow[1] < first[1]


def test_every_spelling_finds_its_value() -> None:
    scores, data = make_data()
    result = evaluate(scores, data, ["ndcg(empty='skip')@5", "precision@3"])
    for spelling in ("ndcg(empty='skip')@5", 'ndcg( empty = "skip" )@5', metric("ndcg(empty='skip')@5")):
        assert result.mean[spelling] == result.mean["ndcg(empty='skip')@5"]  # type: ignore[index]
    assert result.mean["p@3"] == result.mean["precision@3"]
    assert list(result.mean) == ["ndcg(empty='skip')@5", "p@3"]
    assert "p@3" in result.mean
    with pytest.raises(KeyError, match="'map' was not evaluated; these were"):
        result.mean["map"]
    with pytest.raises(KeyError, match="unknown metric"):
        result.mean["mpa"]


def test_empty_queries_are_counted_and_left_out_when_asked() -> None:
    scores, data = make_data()
    result = evaluate(scores, data, ["map", "map(empty='one')", "map(empty='skip')"])
    total = result.mean["map"] * 30
    assert result.mean["map(empty='one')"] == pytest.approx((total + 1) / 30)
    assert result.mean["map(empty='skip')"] == pytest.approx(total / 29)
    assert np.isnan(result.per_query["map(empty='skip')"]).tolist() == [True] + [False] * 29
    assert [result.n_empty[name] for name in result.mean] == [1, 1, 1]


def test_scores_come_in_the_callers_row_order() -> None:
    scores, data = make_data()
    moved = np.random.default_rng(1).permutation(len(scores))
    shuffled = RankingData(np.zeros((len(moved), 1)), data.labels[moved], data.qid[moved])
    assert shuffled.row_order is not None
    here, there = evaluate(scores, data, "ndcg"), evaluate(scores[moved], shuffled, "ndcg")
    by_query = dict(zip(there.query_ids.tolist(), there.per_query["ndcg"], strict=True))
    assert [by_query[q] for q in here.query_ids.tolist()] == here.per_query["ndcg"].tolist()
    bad = scores[moved].copy()
    bad[5] = np.nan
    with pytest.raises(DataError, match="score of row 5 is nan"):
        evaluate(bad, shuffled, "ndcg")


def test_result_is_json_and_prints() -> None:
    result = evaluate([1, 2], RankingData(np.zeros((2, 1)), [0, 0], [1, 1]), ["map(empty='skip')", "ndcg@3"])
    stored = json.loads(json.dumps(result.to_dict()))
    assert stored["metrics"]["map(empty='skip')"] == {
        "mean": None,
        "mean_complete": None,
        "interval": [None, None],
        "bootstrap_interval": [None, None],
        "n_empty": 1,
        "ties": {"n_affected": 0, "n_queries": 0, "value": None, "expected": None, "best": None, "worst": None},
        "per_query": [None],
    }
    assert stored["metrics"]["ndcg@3"]["per_query"] == [0.0]
    assert "ndcg@3" in str(result)
    assert "1 queries" in str(result)


def test_run_is_joined_by_query_and_document() -> None:
    judgments = qrels([("7", "a", 2), ("7", "b", 0), ("7", "c", 1), ("8", "a", 1), ("9", "a", 1)])
    retrieved = run([(7, "x", 3.0), (7, "c", 2.0), (7, "b", 1.0), (8, "a", 0.5), (5, "a", 1.0)])
    result = evaluate(retrieved, judgments, ["ndcg", "map", "recall@2", "bpref"])
    assert result.query_ids.tolist() == ["7", "8"]
    assert result.per_query["ndcg"].tolist() == pytest.approx([(1 / log2(3)) / (2 + 1 / log2(3)), 1])
    assert result.per_query["map"].tolist() == [(1 / 2) / 2, 1]
    assert result.per_query["recall@2"].tolist() == [1 / 2, 1]
    assert result.per_query["bpref"].tolist() == [1 / 2, 1]
    assert (
        result.mean["ndcg"]
        == evaluate(retrieved, judgments, "ndcg(convention='trec_eval')").mean["ndcg(convention='trec_eval')"]
    )
    exponential = evaluate(retrieved, judgments, "ndcg(gain='exponential')").per_query["ndcg(gain='exponential')"]
    assert exponential[0] == pytest.approx((1 / log2(3)) / (3 + 1 / log2(3)))


def test_what_is_spelled_out_stays_with_a_run() -> None:
    judgments = qrels([("1", "a", 2), ("1", "b", 1)])
    retrieved = run([("1", "b", 2.0), ("1", "a", 1.0)])
    result = evaluate(retrieved, judgments, ["ndcg", "ndcg(gain='exponential')", "ndcg", metric("ndcg@1")])
    assert list(result.mean) == ["ndcg", "ndcg(gain='exponential', convention='trec_eval')", "ndcg@1"]
    assert result.mean["ndcg"] == pytest.approx((1 + 2 / log2(3)) / (2 + 1 / log2(3)))
    exponential = (1 + 3 / log2(3)) / (3 + 1 / log2(3))
    assert result.mean["ndcg(gain='exponential')"] == pytest.approx(exponential)
    assert result.mean["ndcg(gain='exponential', convention='trec_eval')"] == pytest.approx(exponential)
    assert result.mean["ndcg(convention='trec_eval')@1"] == 1 / 2
    assert str(result.metrics[0]) == "ndcg(convention='trec_eval')"


def test_complete_and_max_documents() -> None:
    judgments = qrels([("1", "a", 1), ("1", "b", 1), ("2", "a", 1)])
    retrieved = run([("1", "z", 1.0), ("1", "b", 1.0), ("1", "a", 1.0)])
    whole = evaluate(retrieved, judgments, "map", complete=True)
    assert whole.per_query["map"].tolist() == pytest.approx([(1 / 2 + 2 / 3) / 2, 0])
    top = evaluate(retrieved, judgments, ["map", "mrr"], max_documents=2)
    assert top.per_query["map"].tolist() == pytest.approx([(1 / 2) / 2])


def test_ties_of_a_run_by_document_id_or_file_order() -> None:
    judgments = qrels([("1", "a", 1), ("1", "b", 0)])
    retrieved = run([("1", "a", 1.0), ("1", "b", 1.0)])
    names = ["mrr", "mrr(ties='input')", "mrr(ties='average')", "mrr(convention='textbook')"]
    assert [evaluate(retrieved, judgments, name).mean[name] for name in names] == [1 / 2, 1, 3 / 4, 1]


def test_array_scores_use_document_ids_for_ties() -> None:
    judgments = qrels([("1", "a", 1), ("1", "b", 0)])
    assert evaluate([1, 1], judgments, "mrr(ties='trec_eval')").mean["mrr(ties='trec_eval')"] == 1 / 2
    plain = RankingData(np.zeros((2, 0)), [1, 0], [1, 1])
    with pytest.raises(DataError, match="breaks ties by document id and there are none"):
        evaluate([1, 1], plain, "mrr(ties='trec_eval')")


def test_refusals_of_runs() -> None:
    judgments = qrels([("1", "a", 1), ("1", "b", 0)])
    with pytest.raises(DataError, match="share no query: the run has '5', the judgments '1'"):
        evaluate(run([("5", "a", 1.0)]), judgments, "map")
    with pytest.raises(DataError, match="the run names document 'a' twice for query '1'"):
        evaluate(run([("1", "a", 1.0), ("1", "a", 2.0)]), judgments, "map")
    with pytest.raises(DataError, match="the judgments names document 'a' twice"):
        evaluate(run([("1", "a", 1.0)]), qrels([("1", "a", 1), ("1", "a", 0)]), "map")
    with pytest.raises(DataError, match=r"score of document 'a' for query '1' \(row 0\) is nan"):
        evaluate(run([("1", "a", float("nan"))]), judgments, "map")
    with pytest.raises(DataError, match="no document ids to join a run by"):
        evaluate(run([("1", "a", 1.0)]), RankingData(np.zeros((1, 0)), [1], [1]), "map")
    with pytest.raises(ParameterError, match="max_documents=0 must be a whole number of at least 1"):
        evaluate(run([("1", "a", 1.0)]), judgments, "map", max_documents=0)


def test_refusals_of_arrays() -> None:
    scores, data = make_data()
    with pytest.raises(DataError, match=r"scores have shape \(239,\) for 240 rows"):
        evaluate(scores[1:], data, "map")
    with pytest.raises(DataError, match="scores must be numbers"):
        evaluate(["a"] * 240, data, "map")
    with pytest.raises(ParameterError, match="metrics is empty"):
        evaluate(scores, data, [])
    with pytest.raises(ParameterError, match="confidence=95 must lie between 0 and 1"):
        evaluate(scores, data, "map", confidence=95)
    with pytest.raises(ParameterError, match="bootstrap=0 must be a whole number"):
        evaluate(scores, data, "map", bootstrap=0)
    with pytest.raises(ParameterError, match="is for runs; an array of scores ranks every document"):
        evaluate(scores, data, "map", complete=True)


def test_scores_may_be_one_column() -> None:
    scores, data = make_data()
    assert evaluate(scores[:, None], data, "map").mean["map"] == evaluate(scores, data, "map").mean["map"]
    assert isinstance(evaluate(scores, data, metric("map")), Evaluation)


def test_an_evaluation_is_pickled_and_copied() -> None:
    scores, data = make_data()
    result = evaluate(scores, data, ["ndcg@5", "map"])
    for again in (pickle.loads(pickle.dumps(result)), copy.copy(result), copy.deepcopy(result)):
        assert again.to_dict() == result.to_dict()
        assert str(again) == str(result)
    assert pickle.loads(pickle.dumps(result.mean)) == result.mean
    assert (data.query_ids[result.query_numbers] == result.query_ids).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": "x"}, "confidence='x' must lie between 0 and 1"),
        ({"seed": -1}, "seed=-1 must be a whole number"),
        ({"seed": 1.5}, "seed=1.5 must be a whole number"),
        ({"bootstrap": 10.5}, "bootstrap=10.5 must be a whole number"),
        ({"bootstrap": "x"}, "bootstrap='x' must be a whole number"),
    ],
    ids=str,
)
def test_options_are_checked_before_any_work(options: dict[str, object], message: str) -> None:
    scores, data = make_data()
    with pytest.raises(ParameterError, match=message):
        evaluate(scores, data, "map", **options)  # type: ignore[arg-type]


def test_other_refusals() -> None:
    scores, data = make_data()
    with pytest.raises(DataError, match="complex128 is not a real number"):
        evaluate(scores * 1j, data, "map")
    with pytest.raises(ParameterError, match="metric=5 must be a name"):
        evaluate(scores, data, 5)  # type: ignore[arg-type]


def test_query_weights_do_not_change_means() -> None:
    scores, data = make_data()
    weighed = data.replace(query_weights=np.arange(data.n_queries))
    assert evaluate(scores, weighed, "map").mean["map"] == evaluate(scores, data, "map").mean["map"]


def test_document_ids_that_differ_by_a_nul_are_two() -> None:
    judged = RankingData(np.zeros((2, 0)), [1, 0], [1, 1], document_ids=["a", "a\0"])
    assert evaluate(Run([1, 1], ["a\0", "a"], [2, 1]), judged, "mrr").mean["mrr"] == 1 / 2


def test_a_run_of_lists_and_series() -> None:
    run_of_lists = Run(["q", "q"], ["a", "b"], [1, 2])
    assert (run_of_lists.query_ids.dtype.kind, run_of_lists.scores.dtype) == ("U", np.float64)
    pandas = pytest.importorskip("pandas")
    columns = [pandas.Series(["q", "q"], index=[5, 6]), pandas.Series(["a", "b"]), pandas.Series([1, 2], index=[8, 9])]
    for made in (run_of_lists, Run.of(*columns, tag="t"), Run(*columns), Run.of(("q", "q"), iter("ab"), (1.0, 2.0))):
        assert (made.query_ids.tolist(), list(made.document_ids), made.scores.tolist()) == (
            ["q", "q"],
            ["a", "b"],
            [1, 2],
        )
        assert list(pickle.loads(pickle.dumps(made)).document_ids) == ["a", "b"]
    assert evaluate(run_of_lists, qrels([("q", "a", 1), ("q", "c", 1)]), "mrr").mean["mrr"] == 1 / 2
    assert Run.of([1, 2], [10, 11], [1, 2]).query_ids.dtype == np.int64
    assert len(Run.of([], [], [])) == 0


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (([1, 1], ["a"], [1.0, 2.0]), "1 document_ids for 2 scores; give one of each per row"),
        (([1], ["a", "b"], [1.0, 2.0]), r"qid has shape \(1,\) for 2 rows"),
        (([1, 1], ["a", None], [1.0, 2.0]), "document_ids: row 1 has None; every row needs an id"),
        (([1, None], ["a", "b"], [1.0, 2.0]), "qid of row 1 is None"),
        (([1, 1], ["a", "b"], ["x", 1]), "scores must be numbers"),
        (([1, 1], ["a", "b"], [1j, 1]), "scores must be numbers"),
        (([1, 1], ["a", "b"], 3.0), r"scores have shape \(\)"),
        (([1, 1], 5, [1.0, 2.0]), "document_ids=5 must be a list of ids"),
        (([1, 1], ["a", "b"], [1.0, 2.0], 7), "tag=7 must be text"),
    ],
    ids=str,
)
def test_runs_that_are_refused(parts: tuple[object, ...], message: str) -> None:
    with pytest.raises((DataError, ParameterError), match=message):
        Run(*parts)  # type: ignore[arg-type]


def test_a_ranker_and_a_scorer_stand_for_their_scores(tmp_path) -> None:
    data = podium.synthetic.network(queries=6, documents=5, features=3, seed=1)
    ranker = podium.RankNet(epochs=1).fit(data)
    ranker.save(tmp_path / "m.podium")
    wanted = podium.evaluate(ranker.predict(data), data, "map").mean["map"]
    scorer = podium.load_scorer(tmp_path / "m.podium")
    assert podium.evaluate(ranker, data, "map").mean["map"] == wanted
    assert podium.evaluate(scorer, data, "map").mean["map"] == wanted
    compared = podium.compare({"a": ranker, "b": scorer}, data, "map")
    assert compared.mean == {"a": wanted, "b": wanted}
