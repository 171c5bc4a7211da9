"""What charts say and how it fits: wide fonts, long names, minus signs, categories, weights."""

from __future__ import annotations

import re

import numpy as np
import pytest

import podium
from podium import plots
from podium.plots.output import WIDE_FONT, themed
from podium.plots.theme import CONFIG, LONGEST_LABEL

LONG = "a_very_long_feature_name_of_the_kind_that_teams_have_"


@pytest.fixture(scope="module")
def shop() -> podium.RankingData:
    """Four features with long names that differ at their ends, the last a category that is missing once."""
    rng = np.random.default_rng(3)
    features = np.column_stack([rng.normal(size=(80, 3)), rng.integers(0, 3, 80)])
    features[5, 3] = np.nan
    labels = (features[:, 0] + (np.nan_to_num(features[:, 3]) == 1) > 0.5).astype(float)
    return podium.RankingData(
        features,
        labels,
        np.repeat(np.arange(10), 8),
        feature_names=[LONG + name for name in ("bm25", "clicks", "price", "brand")],
        categorical_features={LONG + "brand": ["acme", "globex", "initech"]},
    )


@pytest.fixture(scope="module")
def ranker(shop):
    return podium.LambdaMART(n_estimators=5, num_leaves=4, min_documents=2, num_threads=1).fit(shop)


def texts(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_an_svg_is_laid_out_for_wide_letters_and_written_in_the_usual_size(ranker):
    chart = plots.importance(ranker)
    svg = plots.to_svg(chart)
    sizes = {float(size) for size in re.findall(r'font-size="([\d.]+)px"', svg)}
    wanted = {CONFIG["axis"]["labelFontSize"], CONFIG["axis"]["titleFontSize"], CONFIG["title"]["fontSize"]}
    assert sizes == wanted
    assert not {round(size * WIDE_FONT, 2) for size in wanted} & sizes


def test_long_names_are_cut_in_the_middle_and_stay_distinct(ranker, shop):
    for chart in (plots.importance(ranker), plots.beeswarm(ranker, shop)):
        shown = {text for text in texts(plots.to_svg(chart)) if text.startswith("a_very")}
        assert len(shown) == len(set(chart.data["feature"]))
        assert all("…" in text and len(text) <= LONGEST_LABEL for text in shown)


def test_titles_have_minus_signs_and_names_keep_their_hyphens():
    chart = themed(plots.force_gap(["ranknet"]), "Model a-1 at -0.5", "from -1.25 to -2e-3, gap (-.5) of x-2")
    assert chart.title.text == "Model a-1 at −0.5"
    assert chart.title.subtitle == ["from −1.25 to −2e-3, gap (−.5) of x-2"]


def test_leaves_have_minus_signs(ranker):
    words = plots.tree(ranker).data.query("kind == 'leaf'")["words"]
    assert any(word.startswith("−") for word in words)
    assert not any("-" in word for word in words)


def test_categories_are_not_joined_by_lines_and_missing_ones_are_drawn(ranker, shop):
    chart = plots.partial_dependence(ranker, shop, LONG + "brand")
    assert "line" not in {layer["mark"]["type"] for layer in chart.to_dict()["layer"]}
    means = chart.data.query("kind == 'mean'")
    assert means["value"].tolist() == [0, 1, 2, 3]
    assert {"acme", "globex", "initech", "missing"} <= set(texts(plots.to_svg(chart)))
    changed = np.array(shop.features)
    changed[:, 3] = np.nan
    scores, own = ranker.predict(shop.replace(features=changed)), ranker.predict(shop)
    wanted = (scores - np.repeat(own.reshape(10, 8).mean(axis=1), 8)).mean()
    assert means["score"].tolist()[3] == pytest.approx(wanted, rel=1e-6)


def test_categories_have_no_place_between_low_and_high(ranker, shop):
    frame = plots.beeswarm(ranker, shop).data
    brand = frame["feature"] == LONG + "brand"
    assert frame.loc[brand, "position"].isna().all()
    assert not frame.loc[~brand, "position"].isna().any()


def test_the_importance_of_a_linear_model_is_its_weights(parts):
    linear = podium.RankSVM(num_threads=1).fit(parts[0])
    chart = plots.importance(linear, top=3)
    weights = linear.scorer_.model.feature_weights.standardized
    order = np.argsort(-np.abs(weights), kind="stable")[:3]
    assert chart.data["importance"].tolist() == weights[order].tolist()
    assert chart.title.text == "Weights of features"
    with pytest.raises(podium.ParameterError, match="needs a model of trees"):
        plots.importance(linear, kind="gain")


def test_every_label_of_a_waterfall_has_room_and_zero_is_on_the_axis(ranker, shop):
    spec = plots.waterfall(ranker, shop, document=1, query=0).to_dict()
    across = spec["layer"][0]["encoding"]["x"]
    assert (across["scale"]["padding"], across["axis"]["tickCount"]) == (44, 6)


def test_a_log_without_validation_values_is_named(parts):
    kept = podium.LambdaMART(n_estimators=3, num_threads=1).fit(parts[0], valid=parts[1])
    bare = podium.LambdaMART(n_estimators=3, num_threads=1).fit(parts[0])
    chart = plots.learning_curve({"kept": kept, "bare": bare})
    assert chart.title.subtitle[0].endswith("The log of bare has no values on validation data.")
