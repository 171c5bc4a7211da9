"""What a report says, apart from how it is shown: remarks on the data, the queries to look at, contributions of features."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import podium
from podium.data.presentation import ranks_of, shown_value
from podium.report import explaining
from podium.report.data_remarks import Remark, sample_queries, summarize_data
from podium.report.explaining import contributions, measure_importance, why_no_contributions
from podium.report.opening import open_models
from podium.report.queries import query_documents, shown_documents
from podium.report.scored import score_model, summarize_training
from podium.report.texts import cut, interval, rounded, signed

ROUNDS = 4


@pytest.fixture(scope="module")
def data() -> podium.RankingData:
    """Return 30 queries of 10 documents; feature 0 helps, feature 1 is noise, feature 2 is constant."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 300).astype(float)
    features = np.stack([labels + rng.normal(0, 1.5, 300), rng.normal(size=300), np.ones(300)], axis=1)
    return podium.RankingData(features, labels, np.repeat(np.arange(30), 10), feature_names=["helps", "noise", "flat"])


@pytest.fixture(scope="module")
def trees(data: podium.RankingData) -> podium.LambdaMART:
    ranker = podium.LambdaMART(n_estimators=ROUNDS, num_leaves=4, min_documents=5, num_threads=1)
    return ranker.fit(data.select(np.arange(20)))


def texts(remarks: tuple[Remark, ...], level: str) -> str:
    return "\n".join(remark.text for remark in remarks if remark.level == level)


def test_ordinary_data_is_warned_of_for_its_constant_feature_alone(data):
    found = summarize_data(data)
    assert [r.text for r in found.remarks if r.level == "warning"] == ["1 feature is constant: flat."]
    assert found.strongest == [0, 1]
    assert found.sampled_documents == 300


def test_a_feature_that_holds_the_label_is_a_leak_in_either_direction(data):
    for sign in (1, -1):
        leaking = np.concatenate([data.features, sign * data.labels[:, None]], axis=1)
        changed = podium.RankingData(leaking, data.labels, np.repeat(np.arange(30), 10))
        assert "Feature f3 alone orders 100.0% of the pairs" in texts(summarize_data(changed).remarks, "warning")


def test_the_strength_of_a_feature_is_the_share_of_pairs_that_it_orders():
    # One query: 4 pairs of different labels, of which the feature orders 3; falling it would order 1.
    data = podium.RankingData(np.array([[4.0], [2.0], [3.0], [1.0]]), [1, 1, 0, 0], [7, 7, 7, 7])
    assert summarize_data(data).strengths.tolist() == [0.75]
    assert "too few to tell a leaking feature" in texts(summarize_data(data).remarks, "note")


def test_rows_sorted_by_label_are_warned_of(data):
    for order, words in ((-1, "best first"), (1, "worst first")):
        rows = np.lexsort((order * data.labels, data.document_queries))
        sorted_rows = podium.RankingData(data.features[rows], data.labels[rows], data.document_queries[rows])
        assert words in texts(summarize_data(sorted_rows).remarks, "warning")


def test_queries_without_a_relevant_document_and_of_one_document_are_warned_of():
    labels = [0, 0, 1, 0, 2]
    data = podium.RankingData(np.arange(10.0).reshape(5, 2), labels, ["a", "a", "b", "b", "c"])
    warned = texts(summarize_data(data).remarks, "warning")
    assert "1 of 3 queries has no document with a label of at least 1" in warned
    assert "1 of 3 queries has only one document" in warned


def test_data_that_a_model_was_trained_on_is_warned_of(data, trees):
    (opened,) = open_models(trees)
    seen, unseen = data.select(np.arange(20)), data.select(np.arange(20, 30))
    assert "was trained on this very data" in texts(score_model(opened, seen).remarks, "warning")
    assert score_model(opened, unseen).remarks == ()


def test_samples_are_small_and_do_not_depend_on_the_order_of_queries(data):
    backwards = data.select(np.arange(30)[::-1])
    some, same = sample_queries(data, 55), sample_queries(backwards, 55)
    assert some.n_queries == 5
    assert set(some.query_ids.tolist()) == set(same.query_ids.tolist())
    one = podium.RankingData(np.zeros((1000, 1)), np.zeros(1000), np.zeros(1000))
    assert 90 <= sample_queries(one, 100).n_documents <= 100
    assert sample_queries(data, 300) is data


def test_contributions_of_trees_sum_to_the_score(data, trees):
    model = score_model(open_models(trees)[0], data)
    documents = np.array([3, 0, 9])
    found = contributions(model, 25, documents, 1)
    expected = trees.attributions(data)[250 + documents]
    np.testing.assert_array_equal(found, expected[:, :-1])
    np.testing.assert_allclose(found.sum(axis=1) + expected[:, -1], model.scores[250 + documents])


def test_contributions_of_a_linear_model_are_weights_times_distances_from_the_mean(data):
    data = data.replace(feature_names=None)
    linear = podium.RankSVM(C=1.0, num_threads=1).fit(data)
    model = score_model(open_models(linear)[0], data)
    documents = np.arange(10)
    found = contributions(model, 4, documents, 1)
    rows = data.features[40:50]
    gaps = linear.predict(np.eye(3, dtype=np.float32)) - linear.predict(np.zeros((1, 3), np.float32))
    np.testing.assert_allclose(found, (rows - rows.mean(axis=0)) * gaps, atol=1e-6)


def test_models_without_contributions_say_why(data):
    net = podium.RankNet(hidden=(3,), epochs=1, num_threads=1).fit(data)
    opened = open_models({"net": net, "given": np.zeros(300)})
    models = [score_model(each, data) for each in opened]
    assert [why_no_contributions(model) for model in models] == [
        "In net the features act together; contributions exist for trees and linear models.",
        "given was given as scores, so what its features contribute is unknown.",
    ]
    assert [contributions(model, 0, np.arange(2), 1) for model in models] == [None, None]
    found = measure_importance(models[1], podium.metric("ndcg@10"), confidence=0.95, seed=0, num_threads=1)
    assert found.missing == "given was given as scores, so its features are unknown."


def test_shown_documents_are_the_top_of_each_model_and_relevant_ones():
    scores = np.arange(100.0)
    ranks = np.stack([ranks_of(-scores), ranks_of(scores)])  # the second model reverses the first
    labels = np.zeros(100)
    labels[50] = 1
    shown = shown_documents(ranks, labels)
    assert shown.tolist() == [*range(20), *range(80, 100)]  # 40 documents fill the table
    ranks = ranks[:1]
    assert shown_documents(ranks, labels).tolist() == [*range(20), 50]


def test_documents_have_ranks_scores_and_the_strongest_contributions_first(data, trees):
    models = [score_model(each, data) for each in open_models({"a": trees, "b": -trees.predict(data)})]
    rows = list(query_documents(data, models, 22, num_threads=1))
    assert [row.ranks[0] for row in rows] == list(range(1, 11))
    assert all(row.scores[1] == -row.scores[0] for row in rows)
    for row in rows:
        added = [abs(adds) for _, _, adds in row.reasons[0]]
        assert added == sorted(added, reverse=True)
        assert row.reasons[1] is None
        assert {name for name, _, _ in row.reasons[0]} <= {"helps", "noise"}


def test_the_summary_of_a_training_has_its_resolved_settings(trees):
    found = summarize_training(open_models({"mart": trees})[0])
    assert found.kind == "LambdaMART"
    assert dict(found.facts)["Kept"] == f"round {ROUNDS} of {ROUNDS}"
    assert found.settings["num_leaves"] == "4"
    assert "n_estimators=4" in found.code


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (None, "No training log of m was found; podium train writes one to m.podium.log.jsonl."),
        ("nonsense", "m.podium.log.jsonl cannot be read as a training log, so m has no learning curve."),
        ('{"ranker": "LambdaMART", "parameters": {}}\n', "m.podium.log.jsonl belongs to another training"),
    ],
)
def test_a_log_that_is_missing_damaged_or_foreign_is_not_drawn(tmp_path: Path, trees, lines, words):
    trees.save(tmp_path / "m.podium")
    if lines is not None:
        (tmp_path / "m.podium.log.jsonl").write_text(lines)
    (opened,) = open_models(str(tmp_path / "m.podium"))
    assert opened.log == ()
    assert words in opened.no_log


def test_the_log_next_to_a_model_is_found(tmp_path: Path, trees):
    trees.save(tmp_path / "m.podium")
    rows = [{"ranker": "LambdaMART", "parameters": {}}, *(row.to_dict() for row in trees.log_)]
    (tmp_path / "m.podium.log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (opened,) = open_models([tmp_path / "m.podium"])
    assert len(opened.log) == ROUNDS
    assert opened.no_log == ""


def test_models_are_named_by_their_files_or_classes(tmp_path: Path, trees):
    trees.save(tmp_path / "new.podium")
    assert [m.name for m in open_models([tmp_path / "new.podium"])] == ["new"]
    assert [m.name for m in open_models([trees, trees])] == ["LambdaMART 1", "LambdaMART 2"]
    assert [m.name for m in open_models([0.5, 0.25])] == ["list"]
    with pytest.raises(podium.ParameterError, match="at least one model"):
        open_models([])


def test_scores_of_another_length_are_refused(data):
    with pytest.raises(podium.DataError, match=r"few has scores of shape \(3,\), but the data has 300 documents"):
        podium.report({"few": [1.0, 2.0, 3.0]}, data)


def test_numbers_and_long_texts_are_cut():
    assert [rounded(x) for x in (1 / 3, 2.0, float("nan"), None, 1234567.0)] == [0.33333, 2, None, None, 1234600]
    assert cut("a" * 200) == "a" * 79 + "…"


def test_intervals_of_too_few_values_are_unknown():
    assert interval((0.25, 0.5)) == "0.2500 to 0.5000"
    assert interval((-0.25, 0.5), signed) == "−0.2500 to +0.5000"
    assert interval((float("nan"), float("nan"))) == "unknown"


def test_categories_are_shown_by_name():
    features = np.array([[1.0, 0.0], [0.0, np.nan], [2.0, 1.0]])
    data = podium.RankingData(features, [0, 1, 2], [0, 0, 0], categorical_features={1: ["adidas", "puma"]})
    assert [shown_value(data, row, 1) for row in (0, 2)] == ["adidas", "puma"]
    assert np.isnan(shown_value(data, 1, 1))
    assert shown_value(data, 2, 0) == 2.0


def test_large_forests_and_wide_linear_models_are_explained_less(data, trees, monkeypatch):
    model = score_model(open_models(trees)[0], data)
    assert explaining.affordable_contributions(model) == explaining.MOST_EXPLAINED
    n_splits = int(trees.importance("split").sum())
    monkeypatch.setattr(explaining, "MOST_EXPLAINED_SPLITS", 300 * n_splits)
    assert explaining.affordable_contributions(model) == 300
    monkeypatch.setattr(explaining, "MOST_EXPLAINED_SPLITS", 1)
    assert explaining.affordable_contributions(model) == explaining.LEAST_EXPLAINED
    linear = score_model(open_models({"svm": podium.RankSVM(C=1.0, num_threads=1).fit(data)})[0], data)
    monkeypatch.setattr(explaining, "MOST_LINEAR_FEATURES", 2)
    assert why_no_contributions(linear) == "svm has 3 features, too many to compute contributions for a page."


def test_importances_are_those_of_the_ranker(data, trees):
    model = score_model(open_models(trees)[0], data)
    whole = measure_importance(model, podium.metric("ndcg@10"), confidence=0.95, seed=0, num_threads=1)
    expected = podium.permutation_importance(trees, data, metric="ndcg@10", repeats=1, num_threads=1)
    np.testing.assert_array_equal(whole.permutation.mean, expected.mean)
    assert whole.queries == 30
    assert whole.top(1) == [0]
    assert whole.gain.sum() == pytest.approx(1)


def test_the_training_code_can_be_pasted_and_the_verdict_is_a_sentence(tmp_path):
    data = podium.synthetic.polynomial(queries=12, documents=6, features=3, seed=1)
    ids = [f"query {k}" for k in data.qid]
    data = podium.RankingData(data.features, data.labels, ids)
    train, valid = podium.split(data, (0.5, 0.5))
    ranker = podium.LambdaMART(n_estimators=3, num_threads=1).fit(train, valid=valid)
    page = podium.report({"new-1": ranker, "same": ranker}, data).html
    assert f"train = podium.read(&quot;…&quot;)  # SHA-256 of its content: {ranker.fingerprint_}" in page
    assert "new_1 = podium.LambdaMART(" in page
    assert "p = 1.0000 by the paired randomization test: this does not show that the two differ." in page
    assert "Query query" not in re.sub("<[^>]*>", "", page)


def test_categories_are_not_ranked_by_their_codes():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 80)
    features = np.column_stack([rng.normal(size=80), codes])
    data = podium.RankingData(features, codes, np.repeat(np.arange(10), 8), categorical_features={1: ["a", "b"]})
    assert summarize_data(data).strongest == [0]
