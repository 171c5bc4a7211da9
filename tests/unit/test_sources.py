"""The source documents section by section: every subject has a place, and every place is there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
from markdown.extensions.toc import slugify

from podium.papers import EXPERIMENTS
from podium.papers.documents import DISPLAYS, DOCUMENTS
from podium.papers.sections import SECTIONS, Place

ROOT = Path(__file__).parents[2]
LETTERS = [document.letter for document in DOCUMENTS]
PLACES = [place for topics in SECTIONS.values() for topic in topics for place in topic.places]


def places(kind: str) -> list[str]:
    return sorted({place.text for place in PLACES if place.kind == kind})


def anchors(page: Path) -> set[str]:
    """The anchors that Python-Markdown gives the headings of a page."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)  # where a # begins a comment
    titles = re.findall(r"^#{1,6} +(.+?)\s*$", text, re.MULTILINE)
    return {slugify(re.sub(r"[`*]", "", title), "-") for title in titles}


def test_every_document_is_there_and_every_subject_has_a_place() -> None:
    assert list(SECTIONS) == LETTERS == ["a", "b", "c", "d", "e"]
    for topics in SECTIONS.values():
        assert len(topics) > 15
        assert all(topic.places and topic.section and topic.subject for topic in topics)
        assert len({(topic.section, topic.subject) for topic in topics}) == len(topics)


@pytest.mark.parametrize("letter", ["a", "c", "d", "e"])
def test_sections_come_in_the_order_of_the_document(letter: str) -> None:
    numbers = [[int(n) for n in re.findall(r"\d+", topic.section.split(",")[0])] for topic in SECTIONS[letter]]
    assert numbers == sorted(numbers)


def test_every_link_of_the_page_resolves() -> None:
    links = sorted(set(re.findall(r"\]\(([^)]+)\)", (ROOT / "docs/sources.md").read_text())))
    assert len(links) > 100
    for link in links:
        name, _, anchor = link.partition("#")
        page = ROOT / "docs" / name
        assert page.is_file(), link
        assert not anchor or anchor in anchors(page), f"{link}: {sorted(anchors(page))}"


@pytest.mark.parametrize("text", places("name"))
def test_names_can_be_imported(text: str) -> None:
    module, _, name = text.rpartition(".")
    if module in ("podium.posteriors",):
        assert hasattr(importlib.import_module(module), name)
    else:
        value = importlib.import_module("podium")
        for part in text.split(".")[1:]:
            value = getattr(value, part)


@pytest.mark.parametrize("text", places("test"))
def test_tests_exist(text: str) -> None:
    path, _, function = text.partition("::")
    assert re.search(rf"^def {function}\(", (ROOT / path).read_text(), re.MULTILINE)


def test_experiments_exist_and_each_display_says_what_becomes_of_it() -> None:
    assert set(places("experiment")) <= set(EXPERIMENTS)
    covered = {name for display in DISPLAYS for name in display.experiments}
    assert covered == set(EXPERIMENTS) - {"forces-by-classes"}  # which no document has
    assert all(name.startswith(("a-", "c-", "d-", "e-")) for name in covered)
    for display in DISPLAYS:
        assert display.document in LETTERS
        assert display.experiments or display.page or display.reason, display
        for name in display.experiments:
            assert name.startswith(f"{display.document}-") or name == "a-figure1"


def test_commands_are_commands_of_podium() -> None:
    assert all(text.startswith("podium ") for text in places("command"))
    assert all(isinstance(place, Place) for place in PLACES)


def test_the_page_is_what_the_tables_give(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import sources

    text = sources.PAGE.read_text()
    assert sources.filled(text) == text
    for letter in LETTERS:
        for what in ("sections", "displays"):
            assert text.count(f"<!-- {what} {letter}: begin -->\n| section |") == 1
