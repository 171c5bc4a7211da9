"""The examples of the pages run in order, in a folder with files of the names that they use."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import podium

ROOT = Path(__file__).parents[2]
PAGES = [
    "classics",
    "data",
    "explaining",
    "formats",
    "forces",
    "laws",
    "models",
    "plots",
    "posteriors",
    "report",
    "structrank",
    "training",
    "trees",
    "tuning",
]


@pytest.mark.parametrize("page", [f"docs/{name}.md" for name in PAGES])
def test_examples_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = podium.synthetic.network(queries=9, documents=12, features=6)
    for folder in ("Fold1", "OHSUMED/QueryLevelNorm/Fold1"):
        Path(folder).mkdir(parents=True)
        for name, part in zip(("train", "vali", "test"), podium.split(data, (0.4, 0.3, 0.3)), strict=True):
            podium.write(part, Path(folder) / f"{name}.txt")
    for name in ("train.txt", "huge.txt", "test.txt"):
        podium.write(data, name)
    rng = np.random.default_rng(0)
    names: dict[str, object] = {"scores": rng.normal(size=len(data)), "old_scores": rng.normal(size=len(data))}
    podium.write(names["scores"], "mine.scores")
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec"), names)


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r"([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text().split("nav:")[1], re.MULTILINE)
    docs = ROOT / "docs"
    written = set(docs.glob("reproduced/*/report.md"))  # by the commands that reproduce papers
    pages = [str(path.relative_to(docs)) for path in docs.rglob("*.md") if path not in written]
    assert sorted(listed) == sorted(pages)


def test_force_is_defined_where_readers_first_meet_it() -> None:
    for page in ("README.md", "docs/index.md", "docs/glossary.md", "docs/forces.md"):
        assert re.search(r"our word for\b[^.]*(−∂cost/∂score|λ)", (ROOT / page).read_text()), page


@pytest.mark.parametrize(
    "page", ["README.md", "docs/benchmarks.md", "docs/classics.md", "docs/export.md", "docs/structrank.md"]
)
def test_figures_are_those_of_the_benchmarks(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import tables

    text = (ROOT / page).read_text()
    assert "<!-- " in text
    assert tables.filled(text) == text


def test_reproduced_figures_are_what_the_commands_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import reproduced

    from podium.papers import EXPERIMENTS

    pages = {path: path.read_text() for path in (ROOT / "docs" / "reproduced").glob("*.md")}
    for path, text in pages.items():
        assert reproduced.filled(text) == text, path
    told = "".join(pages.values())
    for name in EXPERIMENTS:
        assert (
            told.count(f"<!-- {name}: begin -->")
            == told.count(f"`podium papers run {name}`") - told.count(f"*Not run yet: `podium papers run {name}`.*")
            == 1
        ), name


def test_tables_and_the_page_of_settings_are_the_declarations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import setting_tables

    for path in (ROOT / "docs").glob("*.md"):
        assert setting_tables.filled(path.read_text()) == path.read_text(), path
    assert (ROOT / "docs" / "settings.md").read_text() == setting_tables.settings_page()


def test_verdicts_and_pictures_are_what_the_program_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import reference

    text = (ROOT / "docs" / "laws.md").read_text()
    assert text.count("```text\nThe laws of") == 2
    assert reference.laws_page(text) == text
    for name, svg in reference.force_pictures().items():  # fonts of the machine may move words by a fraction of a pixel
        stored = (ROOT / "docs" / "images" / name).read_text()
        assert drawn(svg) == drawn(stored)


def drawn(svg: str) -> list[tuple[str, str]]:
    """The words of a picture, and the shape of each of its marks."""
    shapes = re.findall(r'<path aria-label="([^"]*)"[^>]* d="([^"]*)"', svg)
    assert shapes
    return [
        *re.findall(r"<text([^>]*>)([^<]*)</text>", re.sub(r' (transform|style|opacity|font[\w-]*)="[^"]*"', "", svg)),
        *shapes,
    ]


def test_every_chart_is_in_the_gallery() -> None:
    text = (ROOT / "docs" / "plots.md").read_text()
    pictures = re.findall(
        r"^chart = plots\.(\w+)\(.*?\n```\n\n!\[[^]]+\]\((images/plots/\w+\.svg)\)", text, re.MULTILINE
    )
    tools = {"beside", "dark_style", "javascript", "save", "to_html", "to_png", "to_spec", "to_svg"}
    assert {name for name, _ in pictures} == set(podium.plots.__all__) - tools
    for kind in ("split", "permutation"):  # the default is gain
        assert re.search(rf'^chart = plots\.importance\(.*kind="{kind}"', text, re.MULTILINE)
    stored = {f"images/plots/{path.name}" for path in (ROOT / "docs" / "images" / "plots").iterdir()}
    assert {path for _, path in pictures} == stored
    for path in stored:
        svg = (ROOT / "docs" / path).read_text()
        assert "prefers-color-scheme: dark" in svg
        assert len(svg) < 200_000
    from podium.cli.app import plots as commands

    for command in commands.registered_commands:
        assert f"`podium plot {command.name} " in text
