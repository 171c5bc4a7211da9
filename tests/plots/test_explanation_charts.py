"""Charts of attributions, dependence, calibration and trees: the data behind them against values computed here."""

from __future__ import annotations

import math
import re
import tracemalloc

import numpy as np
import pytest

import podium
from podium import plots
from podium.data.hashing import counter_uniform
from podium.plots import calibration
from podium.plots.theme import COLORS

RANKLIB = """## LambdaMART

<ensemble>
<tree id="1" weight="1.0">
<split>
<feature>1</feature>
<threshold>0.5</threshold>
<split pos="left"><output>0.25</output></split>
<split pos="right"><output>-0.5</output></split>
</split>
</tree>
</ensemble>
"""


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


def test_pairs_of_a_query_are_those_with_different_labels():
    labels, scores = np.array([2, 0, 1, 1, 0.0]), np.array([0.5, 2.0, 4.0, 8.0, 16.0])
    data = podium.RankingData(np.zeros((5, 1)), labels, np.zeros(5, int))
    gaps = [scores[i] - scores[j] for i in range(5) for j in range(5) if labels[i] > labels[j]]
    chances = [1 / (1 + math.exp(-abs(gap))) for gap in gaps]
    frame = plots.pair_calibration(scores, data, bins=1).data
    assert frame["pairs"].tolist() == [8]
    assert frame["predicted"].tolist() == pytest.approx([np.mean(chances)])
    assert frame["observed"].tolist() == [np.mean([gap > 0 for gap in gaps])]


@pytest.mark.parametrize("max_pairs", [1_000_000, 5_000])
def test_the_memory_for_pairs_is_bounded_by_their_number(max_pairs):
    # one relevant document among 20,000: 19,999 pairs, while all pairs of documents would take 400 MB
    scores = np.linspace(0, 1, 20_000)
    data = podium.RankingData(np.zeros((20_000, 1), np.float32), np.arange(20_000) == 10_000, np.zeros(20_000, int))
    tracemalloc.start()
    try:
        chart = plots.pair_calibration(scores, data, max_pairs=max_pairs)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert chart.data["pairs"].sum() == min(max_pairs, 19_999)
    assert peak < 50_000_000


def test_no_pair_is_drawn_in_vain(monkeypatch):
    drawn = []

    def counted(seed, stream, count):
        drawn.append(count)
        return counter_uniform(seed, stream, count)

    monkeypatch.setattr(calibration, "counter_uniform", counted)
    labels = np.tile(np.arange(1000) == 7, 20)
    data = podium.RankingData(np.zeros((20_000, 1), np.float32), labels, np.repeat(np.arange(20), 1000))
    chart = plots.pair_calibration(np.linspace(0, 1, 20_000), data, max_pairs=9_990)
    assert sum(drawn) == chart.data["pairs"].sum() == 20 * 499
    right = (chart.data["observed"] * chart.data["pairs"]).sum() / 9_980
    assert right == pytest.approx(7 / 999, abs=0.005)  # seven documents have lower scores than the relevant one


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


@pytest.mark.parametrize("force", ["ranknet(sigma=3)", "regularized(ranknet(sigma=3), alpha=0.1)"])
def test_the_sigma_of_a_force_is_used(parts, force):
    ranker = podium.Ranker(force=force, model="linear", num_threads=1).fit(parts[0])
    chart = plots.pair_calibration(ranker, parts[2])
    assert chart.data.equals(plots.pair_calibration(ranker.predict(parts[2]), parts[2], sigma=3.0).data)
    assert "; sigma 3; " in chart.title.subtitle[0]


def test_the_sigma_of_a_model_imports_no_code_that_it_names():
    class Loaded:
        force_ = "module_that_is_not_there:function"

    assert calibration.sigma_of(Loaded()) == 1.0


def follow(frame, row):
    """The leaf of a document in the drawn tree, by its conditions."""
    children = {(r.parent, r.branch): r for r in frame.itertuples() if r.branch}
    node = next(r for r in frame.itertuples() if not r.branch)
    while node.kind == "split":
        feature, threshold = node.words.split(" ≤ ")
        node = children[node.node, "yes" if row[int(feature[1:])] <= float(threshold.replace("−", "-")) else "no"]
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


def test_a_model_whose_file_has_no_counts_shows_none(tmp_path):
    (tmp_path / "model.txt").write_text(RANKLIB)
    ranker = podium.from_ranklib(tmp_path / "model.txt")
    chart = plots.tree(ranker)
    assert chart.data["documents"].isna().all()
    assert chart.title.subtitle[1].endswith("Leaves: what they add to the score.")
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", plots.to_svg(chart))
    assert {"+0.2500", "-0.5000"} <= {text.replace("−", "-") for text in texts}
    assert not {"1", "2", "0", "null"} & set(texts)
    with pytest.raises(
        podium.ParameterError, match="kind='gain' needs the gains of splits, which the file of this model"
    ):
        plots.importance(ranker)
    assert plots.importance(ranker, kind="split").data["importance"].tolist() == [1]


def test_a_cut_tree_counts_what_is_below(parts):
    ranker = podium.MART(n_estimators=1, num_leaves=20, forests=1, query_sampling=1.0, num_threads=1).fit(parts[0])
    whole = plots.tree(ranker, max_depth=100).data
    assert (whole["kind"] != "cut").all()
    for depth in range(1, int(whole["depth"].max())):
        frame = plots.tree(ranker, max_depth=depth).data
        ends = frame[frame["kind"] != "split"]
        assert ends["documents"].sum() == len(parts[0])
        assert ends["x"].tolist() == list(range(len(ends)))
        hidden = [int(words.split()[1]) for words in ends.loc[ends["kind"] == "cut", "words"]]
        assert sum(hidden) + (ends["kind"] == "leaf").sum() == 20
        for split in frame[frame["kind"] == "split"].itertuples():
            assert split.x == frame.loc[frame["parent"] == split.node, "x"].mean()


def test_categories_and_a_tree_without_splits_are_drawn():
    import pandas as pd

    brands = np.array(["puma", "nike", "adidas", "fila"] * 10)
    frame = pd.DataFrame(
        {"label": np.isin(brands, ["puma", "fila"]) * 2, "qid": np.repeat(range(5), 8), "brand": brands}
    )
    data = podium.from_frame(frame.astype({"brand": "category"}))
    settings = {"n_estimators": 1, "num_leaves": 2, "forests": 1, "num_threads": 1}
    ordered = podium.MART(**settings, categorical=()).fit(data)
    (words,) = [row.words for row in plots.tree(ordered).data.itertuples() if row.kind == "split"]
    assert words in ("brand in {adidas}", "brand in {adidas, fila}", "brand in {adidas, fila, nike}")
    ranker = podium.MART(**settings).fit(data)
    (words,) = [row.words for row in plots.tree(ranker).data.itertuples() if row.kind == "split"]
    assert words in ("brand in {fila, puma}", "brand in {adidas, nike}")
    assert plots.waterfall(ranker, data, query=0, document=1).data["value"].tolist()[1] == "puma"
    assert plots.why(ranker.why(data, query=0, above=1, below=2)).data["value"].tolist()[0] == "puma against nike"
    assert "puma" in plots.to_svg(plots.partial_dependence(ranker, data, "brand"))
    odd = frame.replace({"brand": {"puma": "it's \U000e0001 \x85"}}).astype({"brand": "category"})
    odd_data = podium.from_frame(odd)
    svg = plots.to_svg(plots.partial_dependence(podium.MART(**settings).fit(odd_data), odd_data, "brand"))
    assert "it's \U000e0001" in svg
    stump = podium.MART(**settings, min_documents=40)
    with pytest.warns(UserWarning, match="nothing is ranked"):
        stump.fit(data)
    assert plots.tree(stump).data["kind"].tolist() == ["leaf"]


def test_missing_values_are_drawn_in_gray():
    rng = np.random.default_rng(6)
    features = rng.normal(size=(60, 2)).astype(np.float32)
    features[::4, 0] = np.nan
    data = podium.RankingData(features, rng.integers(0, 3, 60), np.repeat(np.arange(6), 10))
    ranker = podium.MART(n_estimators=4, num_threads=1).fit(data)
    chart = plots.beeswarm(ranker, data)
    missing = chart.data["position"].isna()
    assert missing.sum() == 15
    assert chart.data["value"].isna().equals(missing)
    svg = plots.to_svg(chart, theme="light")
    assert len(re.findall(rf'<path [^>]*fill="{COLORS[8]}"', svg)) == 15


@pytest.mark.parametrize(
    ("ranker", "found"),
    [(podium.MART(), "an untrained one"), ("model.podium", "a str"), (podium.RankNet, "an untrained one")],
)
@pytest.mark.parametrize(
    "draw",
    [
        plots.tree,
        plots.importance,
        lambda ranker: plots.beeswarm(ranker, podium.RankingData([[1.0]], [1], [1])),
        lambda ranker: plots.waterfall(ranker, podium.RankingData([[1.0]], [1], [1]), document=1),
        lambda ranker: plots.partial_dependence(ranker, podium.RankingData([[1.0]], [1], [1]), 0),
    ],
)
def test_a_ranker_must_be_trained(draw, ranker, found):
    with pytest.raises(podium.ParameterError, match=f"ranker must be a trained ranker, not {found}; train it"):
        draw(ranker)
