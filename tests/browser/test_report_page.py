"""The report in a browser: sorting by mouse and keyboard, opening queries, hostile text, accessibility, and pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from watching import DESKTOP, PHONE, ROOT, Watcher

import podium

HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
EXAMPLE = ROOT / "docs" / "reports" / "ohsumed.html"
VIEWS = [
    pytest.param(size, dark, id=f"{name}-{'dark' if dark else 'light'}")
    for name, size in (("desktop", DESKTOP), ("phone", PHONE))
    for dark in (False, True)
]


@pytest.fixture(scope="module")
def data() -> podium.RankingData:
    """Return 70 queries of 12 documents, more than the table shows at first."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 840).astype(float)
    features = labels[:, None] * [1, 0.5, 0] + rng.normal(0, 1, (840, 3))
    return podium.RankingData(
        features, labels, np.repeat(np.arange(70), 12), document_ids=[f"document-{k}" for k in range(840)]
    )


@pytest.fixture(scope="module")
def ranker(data: podium.RankingData) -> podium.LambdaMART:
    return podium.LambdaMART(n_estimators=5, num_leaves=4, num_threads=1).fit(data.select(np.arange(10)))


@pytest.fixture(scope="module")
def scores(data: podium.RankingData) -> np.ndarray:
    return data.features[:, 1].astype(float)


@pytest.fixture(scope="module")
def page(data: podium.RankingData, ranker, scores, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    podium.report({"trees": ranker, "feature": scores}, data, out=path)
    return path


def column(page, number: int) -> list[str]:
    """The texts of one column of the table of queries."""
    return page.locator(f"#query-table tbody tr > :nth-child({number})").all_inner_texts()


def test_the_table_is_sorted_by_mouse_and_keyboard(watcher: Watcher, page: Path, data, ranker, scores):
    result = podium.evaluate(ranker.predict(data), data, "ndcg@10").per_query["ndcg@10"]
    expected = [f"{value:.4f}" for value in sorted(result, reverse=True)]
    with watcher.page() as watched:
        watched.page.goto(page.as_uri())
        heading = watched.page.locator("#query-table th", has_text="ndcg@10 of trees")
        heading.get_by_role("button").click()
        assert heading.get_attribute("aria-sort") == "descending"
        assert column(watched.page, 2) == expected[:50]
        heading.get_by_role("button").press("Enter")
        assert heading.get_attribute("aria-sort") == "ascending"
        watched.page.get_by_role("button", name="Show more").click()
        assert column(watched.page, 2) == expected[::-1]
        query = watched.page.locator("#query-table th", has_text="Query")
        query.get_by_role("button").press("Space")
        assert column(watched.page, 1)[:12] == [str(k) for k in range(12)]  # as numbers, not as text
        watched.page.get_by_label("Find a query").fill("6")
        assert column(watched.page, 1) == ["6", "16", "26", "36", "46", "56", *map(str, range(60, 70))]


def test_a_query_opens_with_the_documents_of_the_models(watcher: Watcher, page: Path, data, ranker):
    found = ranker.predict(data)[36:48]
    order = np.argsort(-found, kind="stable")
    with watcher.page() as watched:
        watched.page.goto(page.as_uri())
        watched.page.get_by_label("Find a query").fill("3")
        watched.page.get_by_role("button", name="3", exact=True).press("Enter")
        dialog = watched.page.get_by_role("dialog")
        assert dialog.get_by_role("heading").inner_text() == "Query 3"
        rows = [
            [cell.inner_text() for cell in row.locator("th, td").all()[:5]] for row in dialog.locator("tbody tr").all()
        ]
        assert [row[0] for row in rows] == [f"document-{36 + k}" for k in order]
        assert [row[1] for row in rows] == [f"{label:g}" for label in data.labels[36:48][order]]
        assert [row[2] for row in rows] == [str(k + 1) for k in range(12)]
        assert [float(row[4].replace("−", "-")) for row in rows] == [float(f"{score:.5g}") for score in found[order]]
        assert "feature was given as scores" in dialog.inner_text()
        watched.page.keyboard.press("Escape")
        assert not dialog.is_visible()
        focused = watched.page.evaluate("document.activeElement.innerText")
        assert focused == "3"


def test_the_queries_to_look_at_unfold(watcher: Watcher, page: Path):
    with watcher.page() as watched:
        watched.page.goto(page.as_uri())
        first = watched.page.locator("#examples details").first
        first.locator("summary").press("Enter")
        first.locator("table").wait_for()
        assert first.locator("tbody tr").count() == 12


def test_hostile_text_does_nothing(watcher: Watcher, tmp_path: Path):
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 60).astype(float)
    data = podium.RankingData(
        np.stack([labels + rng.normal(0, 1, 60), rng.random(60)], axis=1),
        labels,
        [f"{HOSTILE}{k // 10}" for k in range(60)],
        document_ids=[f"{HOSTILE}{k}" for k in range(60)],
        feature_names=[HOSTILE, f"{HOSTILE}2"],
    )
    ranker = podium.LambdaMART(n_estimators=2, num_leaves=3, min_documents=5, num_threads=1).fit(data)
    podium.report({HOSTILE: ranker, "other": labels}, data, out=tmp_path / "r.html", title="Honest")
    with watcher.page(bypass_csp=True) as watched:  # the escaping alone has to hold
        watched.page.goto((tmp_path / "r.html").as_uri())
        watched.page.locator("#query-table tbody button").first.click()
        assert HOSTILE[:40] in watched.page.get_by_role("dialog").inner_text()
        assert watched.page.locator("img").count() == 0
        assert watched.page.title() == "Honest"


@pytest.mark.parametrize(("size", "dark"), VIEWS)
def test_pages_are_accessible_and_fit_the_screen(watcher: Watcher, page: Path, size, dark):
    with watcher.page(size, dark=dark, bypass_csp=True) as watched:
        watched.page.goto(page.as_uri())
        assert watched.page.evaluate("document.documentElement.scrollWidth") <= size[0]
        assert watched.accessibility_faults() == []
        for example in watched.page.locator("details").all()[:3]:
            example.locator("summary").click()
        watched.page.locator("#query-table tbody button").first.click()
        assert watched.accessibility_faults() == []


@pytest.mark.parametrize(("size", "dark"), VIEWS)
def test_the_report_of_the_docs_has_a_picture(watcher: Watcher, size, dark, request: pytest.FixtureRequest):
    view = request.node.callspec.id
    with watcher.page(size, dark=dark) as watched:
        watched.page.goto(EXAMPLE.as_uri())
        if view in ("desktop-light", "phone-dark"):
            watched.picture(f"report-{view}")
        watched.page.evaluate("document.getElementById('importance').scrollIntoView({behavior: 'instant'})")
        watched.picture(f"report-charts-{view}")
        watched.page.locator("#query-table tbody button").first.click()
        watched.page.get_by_role("dialog").locator("tbody tr").first.wait_for()
        if view in ("desktop-dark", "phone-light"):
            watched.picture(f"report-query-{view}")


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_no_label_of_a_chart_is_cut_off_in_a_wide_font(watcher: Watcher, page: Path, size):
    with watcher.page(size, bypass_csp=True) as watched:
        watched.page.goto(page.as_uri())
        watched.page.add_style_tag(content=".chart text { font-family: 'DejaVu Sans', Verdana, sans-serif !important }")
        outside = watched.page.evaluate(
            """() => [...document.querySelectorAll('.chart svg')].flatMap((svg) => {
              const box = svg.getBoundingClientRect();
              return [...svg.querySelectorAll('text')].filter((text) => {
                const own = text.getBoundingClientRect();
                return own.width && (own.left < box.left - 1 || own.right > box.right + 1);
              }).map((text) => text.textContent);
            })"""
        )
        assert outside == []
        if size == DESKTOP:
            widths = watched.page.locator(".chart svg").evaluate_all("(all) => all.map((each) => each.clientWidth)")
            assert min(widths) > 0.4 * size[0]
