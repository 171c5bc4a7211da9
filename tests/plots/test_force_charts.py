"""Charts of forces: the data behind them against the formulas."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

import podium
from podium import plots

SVG = "{http://www.w3.org/2000/svg}"


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
