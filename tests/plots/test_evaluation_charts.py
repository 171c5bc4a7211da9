"""Charts of trainings and evaluations: the data behind them against values computed here."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import podium
from podium import plots


def ndcg(scores, labels, k):
    """NDCG by its definition, for scores without ties."""
    order = np.argsort(-np.asarray(scores), kind="stable")
    gains = 2.0 ** np.asarray(labels) - 1
    discounts = 1 / np.log2(np.arange(2, len(gains) + 2))
    ideal = (np.sort(gains)[::-1] * discounts)[:k].sum()
    return (gains[order] * discounts)[:k].sum() / ideal if ideal else 0.0


def by_query(data, values):
    return np.split(np.asarray(values), data.query_offsets[1:-1])


def test_a_learning_curve_is_the_log(trees):
    frame = plots.learning_curve(trees).data
    assert list(frame.columns) == ["run", "data", "epoch", "seconds", "value", "best"]
    for name in ("train", "valid"):
        part = frame[frame["data"] == name]
        known = [row for row in trees.log_ if getattr(row, name) is not None]
        assert part["epoch"].tolist() == [row.epoch for row in known]
        assert part["value"].tolist() == [getattr(row, name) for row in known]
    assert frame[frame["best"]][["data", "epoch"]].values.tolist() == [["valid", trees.best_epoch_]]


def test_learning_curves_of_several_runs_and_other_metrics(trees, net):
    frame = plots.learning_curve({"boosted": trees, "net": net}, by="seconds").data
    assert list(dict.fromkeys(frame["run"])) == ["boosted", "net"]
    also = plots.learning_curve(net, metric="mrr").data
    assert also["value"].tolist() == [row.also["mrr"] for row in net.log_]
    assert set(plots.learning_curve([net, net]).data["run"]) == {"RankNet 1", "RankNet 2"}
    with pytest.raises(podium.ParameterError, match="was not logged; logged: ndcg@5, mrr"):
        plots.learning_curve(net, metric="map")
    with pytest.raises(podium.ParameterError, match="'epoch' or 'seconds'"):
        plots.learning_curve(net, by="hours")


def test_a_long_training_is_thinned_and_keeps_its_best_epoch():
    from podium.plots.learning import TrainingCurve, _curve_rows

    rows = [podium.Epoch(k, 0.5, 0.5 + (k == 4321), None, 0.1, 0, k in (1, 4321), float(k)) for k in range(1, 10_001)]
    drawn = _curve_rows(TrainingCurve("long", "ndcg", "epoch", rows), None)
    assert len(drawn) < 1200
    assert [row["epoch"] for row in drawn if row["best"]] == [4321]
    assert {1, 10_000} <= {row["epoch"] for row in drawn}


def test_a_loaded_model_has_its_curve_in_the_log_next_to_it(tmp_path, net):
    net.save(tmp_path / "net.podium")
    loaded = podium.load(tmp_path / "net.podium")
    with pytest.raises(podium.DataError, match="has no training log"):
        plots.learning_curve(loaded)
    with pytest.raises(podium.FormatError, match=r"its log net.podium.log.jsonl is not next to it"):
        plots.learning_curve(tmp_path / "net.podium")
    settings = {"data": "a", "ranker": "RankNet", "parameters": {"metric": "ndcg@5"}, "unit": "epoch"}
    lines = [settings, *(row.to_dict() for row in net.log_)]
    (tmp_path / "net.podium.log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for path in ("net.podium", "net.podium.log.jsonl"):
        frame = plots.learning_curve(tmp_path / path).data
        assert frame[["data", "value"]].equals(plots.learning_curve(net).data[["data", "value"]])
        assert set(frame["run"]) == {"net"}
    (tmp_path / "net.podium.log.jsonl").write_text(json.dumps(settings) + '\n{"epoch": 1}\n')
    with pytest.raises(podium.FormatError, match="a part missing or wrong"):
        plots.learning_curve(tmp_path / "net.podium")


def test_importance_is_sorted_and_cut(trees, parts, net):
    for kind in ("gain", "split"):
        frame = plots.importance(trees, kind=kind, top=4).data
        values = trees.importance(kind)
        order = sorted(range(6), key=lambda k: -values[k])[:4]
        assert frame["feature"].tolist() == [f"f{k}" for k in order]
        assert frame["importance"].tolist() == [values[k] for k in order]
        assert frame["low"].isna().all()
    found = podium.permutation_importance(net, parts[2], repeats=2, num_threads=1)
    frame = plots.importance(net, parts[2], kind="permutation", repeats=2, num_threads=1).data
    assert dict(zip(frame["feature"], frame["importance"], strict=True)) == dict(
        zip(found.features, found.mean, strict=True)
    )
    assert (frame["low"] <= frame["importance"]).all()
    assert (frame["importance"] <= frame["high"]).all()
    assert plots.importance(found).data.equals(frame)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "gains"}, "kind of importance"),
        ({"kind": "permutation"}, "needs judged data; give data="),
        ({"top": 0}, "top=0 must be a whole number of at least 1"),
    ],
)
def test_refused_importances(trees, options, message):
    with pytest.raises(podium.ParameterError, match=message):
        plots.importance(trees, **options)


def test_importance_by_gain_needs_trees(net):
    with pytest.raises(podium.ParameterError, match="needs a model of trees"):
        plots.importance(net)


def test_metric_at_k_is_the_mean_with_students_interval(parts):
    data = parts[2]
    rng = np.random.default_rng(0)
    systems = {"a": rng.normal(size=len(data)), "b": rng.normal(size=len(data))}
    frame = plots.metric_at_k(systems, data, k=3, num_threads=1).data
    assert frame["k"].tolist() == [1, 2, 3] * 2
    for row in frame.itertuples():
        pairs = zip(by_query(data, systems[row.system]), by_query(data, data.labels), strict=True)
        values = [ndcg(scores, labels, row.k) for scores, labels in pairs]
        assert row.mean == pytest.approx(np.mean(values))
        from scipy import stats

        reach = stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / math.sqrt(len(values))
        assert (row.low, row.high) == pytest.approx((max(0, row.mean - reach), min(1, row.mean + reach)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "ndcg@5"}, "has a cutoff"),
        ({"metric": "pairwise_error"}, "takes no cutoff"),
        ({"k": 1.5}, "must be a whole number"),
    ],
)
def test_refused_metrics_at_k(parts, options, message):
    with pytest.raises(podium.ParameterError, match=message):
        plots.metric_at_k(parts[2].labels, parts[2], **options)


def test_a_metric_at_k_says_over_how_many_queries_its_mean_is():
    data = podium.RankingData(np.zeros((6, 1)), [0, 0, 1, 0, 1, 0], [1, 1, 2, 2, 3, 3])
    scores = {"a": np.arange(6.0)}
    told = [
        plots.metric_at_k(scores, data, metric=metric, k=2).title.subtitle[0]
        for metric in ("ndcg", "ndcg(empty='skip')")
    ]
    assert [text.partition(" with ")[0] for text in told] == ["Mean over 3 queries", "Mean over 2 queries"]
    alone = plots.metric_at_k({"a": [1.0, 0.0]}, data.select([1]), k=2).title.subtitle[0]
    assert alone.startswith("Mean over 1 query with ")


def test_query_differences_are_first_minus_second(parts):
    data = parts[2]
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(2, len(data)))
    chart = plots.query_differences({"new": scores[0], "old": scores[1]}, data, metric="ndcg@3", num_threads=1)
    frame = chart.data
    labels = by_query(data, data.labels)
    values = [[ndcg(s, l, 3) for s, l in zip(by_query(data, row), labels, strict=True)] for row in scores]
    expected = {str(q): a - b for q, a, b in zip(data.query_ids, *values, strict=True)}
    assert frame["difference"].is_monotonic_decreasing
    assert dict(zip(frame["query"], frame["difference"], strict=True)) == pytest.approx(expected)
    assert frame["outcome"].tolist() == ["gain" if d > 0 else "loss" if d < 0 else "tie" for d in frame["difference"]]
    gains = sum(value > 1e-12 for value in expected.values())
    assert f"new is better on {gains}," in chart.title.subtitle[0]


def test_gains_of_an_error_are_where_it_is_lower():
    data = podium.RankingData(np.zeros((4, 1)), [1, 0, 1, 0], [1, 1, 2, 2])
    systems = {"a": [1.0, 0.0, 0.0, 1.0], "b": [0.0, 1.0, 0.0, 1.0]}
    frame = plots.query_differences(systems, data, metric="pairwise_error").data
    assert frame[["query", "difference", "outcome"]].values.tolist() == [["1", -1.0, "gain"], ["2", 0.0, "tie"]]


def test_two_systems_are_needed(parts):
    with pytest.raises(podium.ParameterError, match="exactly 2 systems by name, not 1"):
        plots.query_differences({"a": parts[2].labels}, parts[2])


def test_scores_by_label_count_every_document(parts):
    data = parts[2]
    scores = np.random.default_rng(2).normal(size=len(data))
    frame = plots.score_distribution(scores, data, bins=7).data
    assert frame["share"].groupby(frame["label"]).sum().to_numpy() == pytest.approx(1.0)
    labels = np.asarray(data.labels)
    for row in frame.itertuples():
        mine = scores[labels == float(row.label)]
        last = row.high == frame["high"].max()
        inside = (mine >= row.low) & ((mine <= row.high) if last else (mine < row.high))
        assert row.documents == len(mine)
        assert row.share == pytest.approx(inside.mean())


def test_scores_within_a_query_lose_its_mean():
    data = podium.RankingData(np.zeros((4, 1)), [1, 0, 1, 0], ["b", "a", "a", "b"])
    frame = plots.score_distribution([10.0, 1.0, 3.0, 12.0], data, bins=2, within_query=True).data
    drawn = frame[frame["share"] > 0]
    # query a: −1 with label 0, 1 with label 1; query b: −1 with label 1, 1 with label 0
    assert sorted(zip(drawn["label"], drawn["low"], drawn["share"], strict=True)) == [
        ("0", -1.0, 0.5),
        ("0", 0.0, 0.5),
        ("1", -1.0, 0.5),
        ("1", 0.0, 0.5),
    ]


def test_many_labels_are_put_together():
    labels = np.arange(100.0)
    data = podium.RankingData(np.zeros((100, 1)), labels, np.zeros(100, int))
    frame = plots.score_distribution(labels, data, bins=5).data
    groups = frame.drop_duplicates("label")
    assert groups["label"].tolist() == ["80 to 99", "60 to 79", "40 to 59", "20 to 39", "0 to 19"]
    assert groups["documents"].tolist() == [20] * 5


@pytest.mark.parametrize("zeros", [900, 790])
def test_a_frequent_lowest_label_is_a_group_of_its_own(zeros):
    labels = np.zeros(1000)
    labels[zeros:] = np.linspace(1, 10, 1000 - zeros)
    data = podium.RankingData(np.zeros((1000, 1)), labels, np.zeros(1000, int))
    groups = plots.score_distribution(labels, data, bins=5).data.drop_duplicates("label")
    assert len(groups) == 5
    assert groups["label"].iloc[-1] == "0"
    assert groups["documents"].iloc[-1] == zeros
    assert groups["documents"].sum() == 1000
    assert np.ptp(groups["documents"].iloc[:-1]) <= 1


@pytest.mark.parametrize("pair", [(0.3, 0.1 + 0.2), (1e16, 1e16 + 2), (-5e-324, 5e-324), (7.0, 7.0)])
def test_scores_that_differ_by_rounding_are_drawn(pair):
    data = podium.RankingData(np.zeros((8, 1)), [0, 1] * 4, [1] * 8)
    chart = plots.score_distribution(np.tile(pair, 4), data, bins=200)
    assert chart.data["share"].groupby(chart.data["label"]).sum().tolist() == [1.0, 1.0]
    assert (chart.data["low"] < chart.data["high"]).all()
    assert "NaN" not in plots.to_svg(chart)


def test_a_large_data_set_makes_a_small_chart():
    rng = np.random.default_rng(3)
    data = podium.RankingData(np.zeros((100_000, 1), np.float32), rng.integers(0, 3, 100_000), np.arange(100_000) // 10)
    scores = rng.normal(size=(2, 100_000))
    chart = plots.query_differences({"a": scores[0], "b": scores[1]}, data, num_threads=1)
    assert len(chart.data) == 1000
    assert chart.title.subtitle[1] == "1,000 of 10,000 queries are drawn, in even steps"
    assert chart.data["position"].iloc[[0, -1]].tolist() == [1, 10_000]
    assert len(plots.to_svg(chart)) < 1_000_000
    assert len(plots.score_distribution(scores[0], data).data) == 3 * 40


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([1.0, math.nan], "the score of row 1 is nan"),
        ([1.0], "have shape"),
        (podium.Run([1], ["a"], [1.0]), "no score for every row"),
    ],
)
def test_bad_scores_are_refused(scores, message):
    data = podium.RankingData(np.zeros((2, 1)), [1, 0], [1, 1])
    with pytest.raises(podium.DataError, match=message):
        plots.score_distribution(scores, data)


def test_one_query_of_one_document_is_drawn(tmp_path):
    data = podium.RankingData(np.zeros((1, 1)), [1], [1])
    charts = [
        plots.score_distribution([0.5], data),
        plots.metric_at_k({"a": [0.5]}, data, k=2),
        plots.query_differences({"a": [0.5], "b": [0.1]}, data),
    ]
    for chart in charts:
        assert "NaN" not in plots.to_svg(chart)
    assert charts[1].data["low"].isna().all()
