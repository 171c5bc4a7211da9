"""Charts as SVG, PNG and HTML, and what importing the package loads."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

import podium
from podium import plots
from podium.plots.theme import CONFIG, DARK_OF

SVG = "{http://www.w3.org/2000/svg}"


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


def test_no_name_can_end_the_script_of_a_page_or_begin_a_comment(parts):
    name = "<!--<script>a</script>"
    page = plots.to_html(plots.metric_at_k({name: parts[2].labels}, parts[2], k=2, num_threads=1))
    spec = page[page.index('vegaEmbed("#chart", ') :].partition(", {renderer:")[0].removeprefix('vegaEmbed("#chart", ')
    assert "<" not in spec
    assert name in {row["system"] for rows in json.loads(spec)["datasets"].values() for row in rows}


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
    assert '"net \\u003c/script>"' in page


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


def test_long_titles_are_broken_into_lines(parts):
    names = ["a system with a rather long name", "another system with a name of that kind"]
    chart = plots.query_differences(dict.fromkeys(names, parts[2].labels), parts[2], num_threads=1)
    words = [element.text for element in ElementTree.fromstring(plots.to_svg(chart)).iter(f"{SVG}tspan")]
    assert " ".join(words) == " ".join([chart.title.text, *chart.title.subtitle])
    assert max(map(len, words)) <= 72
    assert len(words) >= 4
