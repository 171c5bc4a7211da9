"""A chart as an HTML page, and as an SVG, in a browser: it is drawn, asks nothing of the network, and follows a preference for dark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from watching import Watcher

import podium
from podium import plots
from podium.plots.theme import COLORS, DARK_COLORS, DARK_OF, SURFACE

HOSTILE = "</script><script>document.title='owned'</script><!--<script>"
DRAWN = "() => document.querySelector('#chart svg.marks') !== null && document.querySelector('#chart summary') !== null"
FILLS = "() => [...document.querySelectorAll('#chart [aria-roledescription=point]')].map(e => getComputedStyle(e).fill)"


@pytest.fixture(scope="module")
def chart():
    data = podium.synthetic.network(queries=8, documents=6, features=2, seed=3)
    return plots.metric_at_k({"good": data.labels, HOSTILE: -data.labels}, data, k=4, num_threads=1)


def rgb(color: str) -> str:
    return f"rgb({', '.join(str(int(color[k : k + 2], 16)) for k in (1, 3, 5))})"


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("theme", ["auto", "dark"])
def test_a_page_is_drawn_in_the_colors_that_the_reader_prefers(watcher: Watcher, chart, tmp_path: Path, dark, theme):
    plots.save(chart, tmp_path / "chart.html", theme=theme)
    with watcher.page(dark=dark) as watched:
        watched.page.goto((tmp_path / "chart.html").as_uri())
        watched.page.wait_for_function(DRAWN)
        is_dark = dark or theme == "dark"
        found = set(watched.page.evaluate(FILLS))
        assert found == {rgb(color) for color in (DARK_COLORS if is_dark else COLORS)[:2]}
        background = watched.page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        assert background == rgb(DARK_OF[SURFACE] if is_dark else SURFACE)
        assert watched.page.title() == chart.title.text
        names = watched.page.locator("#chart .role-legend-label text").all_text_contents()
        assert "good" in names


def test_a_tooltip_shows_the_row_of_the_frame(watcher: Watcher, chart, tmp_path: Path):
    plots.save(chart, tmp_path / "chart.html")
    with watcher.page() as watched:
        watched.page.goto((tmp_path / "chart.html").as_uri())
        watched.page.wait_for_function(DRAWN)
        watched.page.locator("#chart [aria-roledescription=point]").first.hover()
        shown = watched.page.locator("#vg-tooltip-element").inner_text()
        assert f"{chart.data['mean'].iloc[0]:.4f}" in shown


def test_axe_finds_no_serious_fault(watcher: Watcher, chart, tmp_path: Path):
    plots.save(chart, tmp_path / "chart.html")
    for dark in (False, True):
        with watcher.page(dark=dark, bypass_csp=True) as watched:
            watched.page.goto((tmp_path / "chart.html").as_uri())
            watched.page.wait_for_selector("#chart summary[aria-label]")
            assert watched.accessibility_faults() == []


@pytest.mark.parametrize("dark", [False, True])
def test_an_svg_follows_the_preference(watcher: Watcher, chart, tmp_path: Path, dark):
    plots.save(chart, tmp_path / "chart.svg")
    with watcher.page(dark=dark) as watched:
        watched.page.goto((tmp_path / "chart.svg").as_uri())
        fill = watched.page.evaluate("() => getComputedStyle(document.querySelector('rect')).fill")
        assert fill == rgb(DARK_OF[SURFACE] if dark else SURFACE)


def test_a_page_of_several_charts_uses_one_script(watcher: Watcher, chart, tmp_path: Path):
    spec = json.dumps(plots.to_spec(chart)).replace("<", "\\u003c")
    page = (
        f'<!DOCTYPE html><html lang="en"><head><title>t</title><link rel="icon" href="data:,"><script>{plots.javascript()}</script></head>'
        f'<body><div id="chart" class="podium-chart"></div><script>vegaEmbed("#chart", {spec}, {{renderer: "svg"}})</script></body></html>'
    )
    (tmp_path / "own.html").write_text(page)
    with watcher.page() as watched:
        watched.page.goto((tmp_path / "own.html").as_uri())
        watched.page.wait_for_function(DRAWN)
        assert watched.page.title() == "t"
