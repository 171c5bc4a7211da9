"""Charts: the data behind them against values computed here, and the files that they are written to."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

import podium
from podium import plots
from podium.plots.theme import CONFIG, DARK_OF

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def parts():
    data = podium.synthetic.network(queries=30, documents=12, features=6, seed=1)
    return podium.split(data, (0.6, 0.2, 0.2), seed=1)


@pytest.fixture(scope="module")
def trees(parts):
    return podium.LambdaMART(n_estimators=12, num_leaves=6, min_documents=2, num_threads=1, metric="ndcg@5").fit(
        parts[0], valid=parts[1]
    )


@pytest.fixture(scope="module")
def net(parts):
    return podium.RankNet(epochs=5, num_threads=1, metric="ndcg@5", also=["mrr"]).fit(parts[0], valid=parts[1])


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
        assert part["epoch"].tolist() == [row.epoch for row in trees.log_]
        assert part["value"].tolist() == [getattr(row, name) for row in trees.log_]
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
        assert (row.low, row.high) == pytest.approx((row.mean - reach, row.mean + reach))


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


@pytest.fixture(scope="module")
def chart(parts, trees, net):
    return plots.metric_at_k({"trees": trees, "net </script>": net}, parts[2], k=5, num_threads=1)


def test_an_svg_follows_the_preference_for_dark(chart):
    light, dark, auto = (plots.to_svg(chart, theme=theme) for theme in ("light", "dark", "auto"))
    for text in (light, dark, auto):
        root = ElementTree.fromstring(text)
        words = {element.text for element in root.iter(f"{SVG}text")}
        assert {"ndcg@k for cutoffs 1 to 5", "cutoff k (rank)", "mean ndcg@k", "trees"} <= words
    assert CONFIG["background"] in light
    assert CONFIG["background"] not in dark
    assert re.sub("<style>.*</style>", "", auto, flags=re.DOTALL) == light
    assert plots.to_svg(chart, theme="auto") == auto
    used = set(re.findall(r'(?:fill|stroke)="(#[0-9a-f]{6})"', light))
    assert used <= DARK_OF.keys()
    for color in used:
        assert f'[fill="{color}"] {{ fill: {DARK_OF[color]} }}' in auto


def test_files_by_their_ending(tmp_path, chart):
    for name in ("a.svg", "a.png", "a.html", "A.PNG"):
        for _ in range(2):  # the second replaces the first
            plots.save(chart, tmp_path / name)
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert len(plots.to_png(chart, scale=1)) < len(plots.to_png(chart, scale=3))
    assert plots.to_png(chart, theme="dark") != plots.to_png(chart)
    with pytest.raises(podium.ParameterError, match=r"must end in .svg, .png or .html"):
        plots.save(chart, tmp_path / "a.pdf")
    with pytest.raises(podium.ParameterError, match="theme"):
        plots.save(chart, tmp_path / "b.svg", theme="blue")
    (tmp_path / "mine.html").write_text("<!DOCTYPE html><p>mine")
    with pytest.raises(podium.OutputError, match="it would be lost"):
        plots.save(chart, tmp_path / "mine.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["A.PNG", "a.html", "a.png", "a.svg", "mine.html"]


class Elements(HTMLParser):
    """The elements of a page, and the addresses that they refer to."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.addresses = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [value for name, value in attrs if name in ("src", "href", "srcset", "data", "action")]


def test_a_page_asks_nothing_of_the_network(chart):
    page = plots.to_html(chart)
    assert "default-src 'none'" in page
    found = Elements(page)
    assert found.addresses == ["data:,"]
    assert found.tags.count("script") == 2  # the libraries and the chart
    assert found.tags[-2:] == ["main", "script"]
    assert "@import" not in page
    assert "url(http" not in page
    assert '"net <\\/script>"' in page


def test_charts_stand_beside_each_other(chart, trees):
    both = plots.beside(chart, plots.importance(trees))
    words = {element.text for element in ElementTree.fromstring(plots.to_svg(both)).iter(f"{SVG}text")}
    assert {"Importance of features by gain", "ndcg@k for cutoffs 1 to 5"} <= words
    assert chart.config is not None


def test_charts_can_be_shown_by_altair_itself(chart):
    assert chart.to_dict()["datasets"]


def test_importing_podium_or_its_plots_does_not_import_altair():
    words = "import sys, podium; podium.plots; from podium import *; print('altair' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True).stdout == "False\n"


def test_a_missing_extra_is_named():
    words = """
import sys
sys.modules["altair"] = None
import podium
try:
    podium.plots.learning_curve
except podium.MissingExtraError as error:
    print(error)
"""
    told = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True).stdout
    assert told == "altair is not installed; pip install 'podium[plots]'\n"


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'pie'"):
        plots.pie  # noqa: B018
    assert set(plots.__all__) == set(dir(plots))


# Explanations


def test_a_waterfall_leads_from_the_expected_score_to_the_score(trees, parts):
    data = parts[2]
    query = data.query_ids[1]
    frame = plots.waterfall(trees, data, query=query, document=3, top=2).data
    row = int(data.query_offsets[1]) + 2
    parts_of_score = data.from_caller_order(trees.attributions(data))[row]
    assert frame["feature"].iloc[0] == "expected score"
    assert frame["end"].iloc[0] == pytest.approx(parts_of_score[-1])
    assert frame["start"].iloc[2:-1].tolist() == pytest.approx(frame["end"].iloc[1:-2].tolist())
    assert frame["end"].iloc[[-2, -1]].tolist() == pytest.approx([data.from_caller_order(trees.predict(data))[row]] * 2)
    order = sorted(range(6), key=lambda k: -abs(parts_of_score[k]))
    assert frame["feature"].iloc[1:3].tolist() == [f"f{k}" for k in order[:2]]
    assert frame["contribution"].iloc[1:3].tolist() == pytest.approx([parts_of_score[k] for k in order[:2]])
    assert frame["contribution"].iloc[3] == pytest.approx(sum(parts_of_score[k] for k in order[2:]))


def test_why_is_drawn_from_what_was_found(trees, parts):
    found = trees.why(parts[2], query=parts[2].query_ids[0], above=1, below=2)
    frame = plots.why(found, top=50).data
    assert frame["feature"].tolist() == [*(reason.feature for reason in found.reasons), "gap"]
    assert frame["end"].iloc[-1] == found.gap
    assert frame["end"].iloc[-2] == pytest.approx(found.gap)


def test_a_beeswarm_has_the_attributions_of_a_sample(trees, parts):
    data = parts[0]
    frame = plots.beeswarm(trees, data, top=2, max_documents=20).data
    table = data.from_caller_order(trees.attributions(data))
    sizes = np.abs(table[:, :-1]).mean(axis=0)
    assert len(frame) == 40
    assert set(frame["feature"]) <= {f"f{k}" for k in range(6)}
    for row in frame.itertuples():
        place = data.query_offsets[list(map(str, data.query_ids)).index(row.query)] + int(row.document) - 1
        column = int(row.feature[1:])
        assert row.attribution == table[place, column]
        assert row.value == data.features[place, column]
    whole = plots.beeswarm(trees, data, top=3, max_documents=4000)
    assert list(dict.fromkeys(whole.data["feature"])) == [f"f{k}" for k in np.argsort(-sizes)[:3]]
    assert whole.data["offset"].abs().max() <= 1


def test_positions_of_values():
    from podium.plots.attributions import _positions

    np.testing.assert_array_equal(_positions(np.array([5.0, np.nan, 1.0, 9.0, 5.0])), [0.5, np.nan, 0.0, 1.0, 0.5])
    np.testing.assert_array_equal(_positions(np.array([3.0, 3.0])), [0.5, 0.5])
    np.testing.assert_array_equal(_positions(np.array([np.nan])), [np.nan])


@pytest.mark.parametrize("draw", [plots.beeswarm, lambda *given: plots.waterfall(*given, document=1)])
def test_attributions_need_trees(net, parts, draw):
    one = parts[2].select([0])
    with pytest.raises(podium.ParameterError, match="must be made of trees"):
        draw(net, one)


class Linear:
    """A ranker whose score is the first feature minus twice the second."""

    num_threads = 1

    def __init__(self):
        from types import SimpleNamespace

        self.scorer_ = SimpleNamespace(
            model=SimpleNamespace(n_features=2, scores=lambda X, num_threads: X[:, 0] - 2.0 * X[:, 1]),
            features=lambda data: data.features,
            feature_names=None,
            categories=None,
            normalize=None,
        )


def test_partial_dependence_of_a_linear_score():
    data = podium.RankingData([[1, 5], [2, 4], [0, 7], [9, 7]], [0, 1, 0, 1], [1, 1, 2, 2])
    frame = plots.partial_dependence(Linear(), data, "f1").data
    means = {"1": ((1 - 10) + (2 - 8)) / 2, "2": ((0 - 14) + (9 - 14)) / 2}
    first = {("1", "1"): 1, ("1", "2"): 2, ("2", "1"): 0, ("2", "2"): 9}
    second = {("1", "1"): 5, ("1", "2"): 4, ("2", "1"): 7, ("2", "2"): 7}
    for row in frame[frame["kind"] != "mean"].itertuples():
        own = first[row.query, row.document]
        assert row.score == pytest.approx(own - 2 * row.value - means[row.query])
        assert row.kind == "document" or row.value == second[row.query, row.document]
    mean = frame[frame["kind"] == "mean"]
    assert mean["value"].tolist() == [4, 5, 7]
    expected = [np.mean([first[key] - means[key[0]] for key in first]) - 2 * value for value in (4, 5, 7)]
    assert mean["score"].tolist() == pytest.approx(expected)
    one = plots.partial_dependence(Linear(), data, 1, query=2).data
    assert set(one["query"].dropna()) == {"2"}


def test_partial_dependence_of_odd_features(trees):
    data = podium.RankingData([[np.nan, 3], [np.nan, 3]], [0, 1], [1, 1])
    constant = plots.partial_dependence(Linear(), data.replace(features=[[1, 3], [2, 3]]), "f1")
    assert constant.data.loc[constant.data["kind"] == "mean", "value"].tolist() == [3]
    assert "NaN" not in plots.to_svg(constant)
    with pytest.raises(podium.DataError, match="'f0' is missing in every document"):
        plots.partial_dependence(Linear(), data, "f0")
    with pytest.raises(podium.ParameterError, match="is not one of the 2 features"):
        plots.partial_dependence(Linear(), data, "price")


def test_calibration_of_known_pairs():
    # gaps of right pairs: log 3 gives ¾; of the wrong one: log 9 gives 0.9
    log = math.log
    data = podium.RankingData(np.zeros((6, 1)), [1, 0, 1, 0, 0, 0], [1, 1, 2, 2, 3, 3])
    frame = plots.pair_calibration([log(3), 0.0, 0.0, log(9), 5.0, 1.0], data, bins=5).data
    assert frame["predicted"].tolist() == pytest.approx([0.75, 0.9])
    assert frame["observed"].tolist() == [1.0, 0.0]
    assert frame["pairs"].tolist() == frame["queries"].tolist() == [1, 1]
    assert frame["low"].isna().all()
    half = plots.pair_calibration([1.0, 1.0, 2.0, 2.0, 0.0, 0.0], data, bins=5).data
    assert half[["predicted", "observed", "pairs"]].values.tolist() == [[0.5, 0.5, 2]]
    scaled = plots.pair_calibration([log(3), 0.0, 0.0, 0.0, 0.0, 0.0], data, sigma=2, bins=5).data
    assert scaled["predicted"].tolist() == pytest.approx([0.5, 0.9])


def test_the_interval_of_a_calibration_is_that_of_the_mean_if_queries_have_one_pair_each():
    rng = np.random.default_rng(4)
    data = podium.RankingData(np.zeros((80, 1)), np.tile([1, 0], 40), np.repeat(np.arange(40), 2))
    right = rng.random(40) < 0.7
    scores = np.where(right, 1.0, 0.0)[:, None] * [1, 0] + np.where(right, 0.0, 1.0)[:, None] * [0, 1]
    frame = plots.pair_calibration(scores.reshape(-1), data).data
    from scipy import stats

    reach = stats.t.ppf(0.975, 39) * np.std(right, ddof=1) / math.sqrt(40)
    assert frame["observed"].tolist() == pytest.approx([right.mean()])
    assert frame[["low", "high"]].values[0] == pytest.approx([right.mean() - reach, right.mean() + reach])


def test_pairs_of_a_large_query_are_sampled():
    rng = np.random.default_rng(5)
    scores = rng.normal(size=100_000)
    labels = (scores + rng.normal(size=100_000) > 0).astype(int)
    data = podium.RankingData(np.zeros((100_000, 1), np.float32), labels, np.zeros(100_000, int))
    chart = plots.pair_calibration(scores, data, max_pairs=20_000)
    assert chart.data["pairs"].sum() == 20_000
    assert "20,000 of them drawn at random" in chart.title.subtitle[0]
    part = data.select_documents(np.arange(100_000) < 1000)
    exact = plots.pair_calibration(scores[:1000], part).data
    assert chart.data["observed"].to_numpy() == pytest.approx(exact["observed"].to_numpy(), abs=0.05)


def test_calibration_needs_pairs():
    data = podium.RankingData(np.zeros((2, 1)), [1, 1], [1, 1])
    with pytest.raises(podium.DataError, match="no query has two documents with different labels"):
        plots.pair_calibration([1.0, 2.0], data)
    with pytest.raises(podium.ParameterError, match="sigma=0 must be a number above 0"):
        plots.pair_calibration([1.0, 2.0], data, sigma=0)


def test_the_sigma_of_a_ranker_is_used(parts):
    ranker = podium.RankNet(epochs=1, sigma=3.0, num_threads=1).fit(parts[0])
    own = plots.pair_calibration(ranker, parts[2]).data
    assert own.equals(plots.pair_calibration(ranker.predict(parts[2]), parts[2], sigma=3.0).data)


def follow(frame, row):
    """The leaf of a document in the drawn tree, by its conditions."""
    children = {(r.parent, r.branch): r for r in frame.itertuples() if r.branch}
    node = next(r for r in frame.itertuples() if not r.branch)
    while node.kind == "split":
        feature, threshold = node.words.split(" ≤ ")
        node = children[node.node, "yes" if row[int(feature[1:])] <= float(threshold) else "no"]
    return node


def test_a_drawn_tree_gives_the_scores_of_its_model(parts):
    coarse = parts[0].replace(features=np.round(np.asarray(parts[0].to_caller_order(parts[0].features)), 1))
    ranker = podium.MART(
        n_estimators=1, num_leaves=5, forests=1, query_sampling=1.0, column_sampling=1.0, num_threads=1
    ).fit(coarse)
    frame = plots.tree(ranker).data
    assert frame["kind"].tolist().count("leaf") == 5
    scores = coarse.from_caller_order(ranker.predict(coarse))
    base = ranker.scorer_.model.arrays()["base"][0]
    assert [follow(frame, row).value + base for row in coarse.features] == pytest.approx(scores)
    assert frame.loc[frame["kind"] == "leaf", "documents"].sum() == len(coarse)
    assert frame.loc[frame["kind"] == "leaf", "x"].tolist() == [0, 1, 2, 3, 4]


def test_large_trees_are_cut_off(parts):
    ranker = podium.MART(n_estimators=2, num_leaves=60, forests=1, query_sampling=1.0, num_threads=1).fit(parts[0])
    chart = plots.tree(ranker, 2)
    assert (chart.data["kind"] == "cut").any()
    assert (chart.data["kind"] != "split").sum() <= 32
    assert "cut off below depth" in chart.title.subtitle[0]
    root = plots.tree(ranker, 1, max_depth=0).data
    assert root["kind"].tolist() == ["cut"]
    assert root["documents"].tolist() == [len(parts[0])]
    for number in (0, 3, 1.5):
        with pytest.raises(podium.ParameterError, match="a whole number from 1 to 2"):
            plots.tree(ranker, number)


def test_categories_and_a_tree_without_splits_are_drawn():
    import pandas as pd

    brands = np.array(["puma", "nike", "adidas", "fila"] * 10)
    frame = pd.DataFrame(
        {"label": np.isin(brands, ["puma", "fila"]) * 2, "qid": np.repeat(range(5), 8), "brand": brands}
    )
    data = podium.from_frame(frame.astype({"brand": "category"}))
    settings = {"n_estimators": 1, "num_leaves": 2, "forests": 1, "num_threads": 1}
    ordered = podium.MART(**settings).fit(data)
    (words,) = [row.words for row in plots.tree(ordered).data.itertuples() if row.kind == "split"]
    assert words in ("brand in {adidas}", "brand in {adidas, fila}", "brand in {adidas, fila, nike}")
    ranker = podium.MART(**settings, categorical=["brand"]).fit(data)
    (words,) = [row.words for row in plots.tree(ranker).data.itertuples() if row.kind == "split"]
    assert words in ("brand in {fila, puma}", "brand in {adidas, nike}")
    assert plots.waterfall(ranker, data, query=0, document=1).data["value"].tolist()[1] == "puma"
    assert "puma" in plots.to_svg(plots.partial_dependence(ranker, data, "brand"))
    stump = podium.MART(**settings, min_documents=40)
    with pytest.warns(UserWarning, match="nothing is ranked"):
        stump.fit(data)
    assert plots.tree(stump).data["kind"].tolist() == ["leaf"]


# Forces


def test_the_pull_on_a_pair_is_the_formula():
    frame = plots.force_gap(["ranknet", "hinge(margin=2)"], reach=3).data
    ranknet = frame[frame["force"] == "ranknet"]
    assert ranknet["gap"].iloc[[0, -1]].tolist() == [-3, 3]
    assert ranknet["pull"].to_numpy() == pytest.approx(1 / (1 + np.exp(ranknet["gap"].to_numpy())))
    hinge = frame[frame["force"] == "hinge(margin=2)"]
    away = np.abs(hinge["gap"] - 2) > 1e-9
    assert hinge["pull"][away].to_numpy() == pytest.approx((hinge["gap"][away] < 2).to_numpy(float))


def test_the_field_of_ranknet_is_the_sum_over_pairs():
    frame = plots.force_field("ranknet").data
    scores = frame[["a", "b", "c"]].to_numpy()
    assert scores.sum(axis=1) == pytest.approx(0, abs=1e-12)
    expected = np.zeros_like(scores)
    for better, worse in ((0, 1), (0, 2), (1, 2)):
        pull = 1 / (1 + np.exp(scores[:, better] - scores[:, worse]))
        expected[:, better] += pull
        expected[:, worse] -= pull
    assert frame[["force_a", "force_b", "force_c"]].to_numpy() == pytest.approx(expected)
    # the arrow points to where the forces move the documents: A up, B down right, C down left
    up = frame["y2"] - frame["y"]
    assert (np.sign(up) == np.sign(frame["force_a"] - (frame["force_b"] + frame["force_c"]) / 2)).all()


def test_the_orders_are_shaded_by_the_metric():
    chart = plots.force_field("lambdarank(ndcg)")
    assert chart.title.subtitle[1] == "Bluer: higher ndcg"
    words = [element.text for element in ElementTree.fromstring(plots.to_svg(chart)).iter(f"{SVG}text")]
    assert {"ABC", "ACB", "BAC", "BCA", "CAB", "CBA"} <= set(words)
    assert "1.00" in words
    lower = plots.force_field("ranknet", metric="pairwise_error")
    assert lower.title.subtitle[1] == "Bluer: lower pairwise_error"


@pytest.mark.parametrize("name", ["ranknet", "spring(margin=2)", "squared", "ordinal", "lambdarank(pairwise_error)"])
def test_forces_are_drawn_next_to_others(name):
    from podium.plots.force_charts import force_charts

    svg = plots.to_svg(force_charts(name, ["hinge", "exponential"]))
    texts = [element.text for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]
    assert {name, "hinge", "exponential", "ABC", "CBA", f"The field of {name}"} <= set(texts)
    assert "prefers-color-scheme: dark" in svg
    assert "NaN" not in svg


def test_the_plane_of_three_scores():
    from podium.plots.force_charts import CORNERS, scores_at

    place = np.array([0.4, -1.1])
    np.testing.assert_allclose(scores_at(place) @ CORNERS, place, atol=1e-12)


def test_a_force_that_does_nothing_and_one_with_markup_in_its_name_are_drawn():
    still = podium.custom_force(lambda scores, labels: (0 * scores, np.ones(len(scores))), compile=False)
    assert "<lambda>" in str(still)
    for chart in (plots.force_gap(still), plots.force_field(still)):
        ElementTree.fromstring(plots.to_svg(chart))
    assert not len(plots.force_field(still).data)


def test_refused_forces():
    with pytest.raises(podium.ParameterError, match="several scores per document"):
        plots.force_field("multiclass")
    with pytest.raises(podium.ParameterError, match="reach=-1 must be a number above 0"):
        plots.force_gap("ranknet", reach=-1)
    with pytest.raises(podium.ParameterError, match="is empty"):
        plots.force_gap([])


def test_every_chart_is_drawn_in_every_format(trees, net, parts, tmp_path):
    data = parts[2]
    charts = {
        "learning_curve": plots.learning_curve(trees),
        "importance": plots.importance(trees),
        "metric_at_k": plots.metric_at_k(trees, data, k=3),
        "query_differences": plots.query_differences({"a": trees, "b": net}, data),
        "score_distribution": plots.score_distribution(trees, data),
        "pair_calibration": plots.pair_calibration(net, data),
        "waterfall": plots.waterfall(trees, data.select([0]), document=1),
        "why": plots.why(trees.why(data.select([0]), above=1, below=2)),
        "beeswarm": plots.beeswarm(trees, data, max_documents=20),
        "partial_dependence": plots.partial_dependence(trees, data, 0),
        "tree": plots.tree(trees),
        "force_gap": plots.force_gap("ranknet"),
        "force_field": plots.force_field("ranknet"),
    }
    others = {"beside", "dark_style", "javascript", "save", "to_html", "to_png", "to_spec", "to_svg"}
    assert charts.keys() | others == set(plots.__all__)
    for name, chart in charts.items():
        assert len(chart.data), name
        assert chart.title.text, name
        root = ElementTree.fromstring(plots.to_svg(chart))
        words = [element.text for element in root.iter(f"{SVG}text")]
        assert chart.title.text in words, name
        assert not any("NaN" in str(value) for element in root.iter() for value in element.attrib.values()), name
        assert plots.to_png(chart, scale=0.5).startswith(b"\x89PNG")
        assert chart.title.text.split(":")[0] in plots.to_html(chart)
        assert len(chart.data) <= 5000  # what Altair itself shows
