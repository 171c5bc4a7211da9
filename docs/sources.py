"""Writes the tables of docs/sources.md: the source documents section by section, and their tables and figures.

    python docs/sources.py        # `make docs` does it

The tables are made from `podium.papers.documents` and `podium.papers.sections`.
"""

from __future__ import annotations

import re
from pathlib import Path

from podium.papers.documents import DISPLAYS, DOCUMENTS, Document
from podium.papers.sections import SECTIONS, Place

PAGE = Path(__file__).parent / "sources.md"
REPRODUCED = Path(__file__).parent / "reproduced"
BETWEEN = re.compile(r"(<!-- (?P<what>sections|displays) (?P<letter>[a-e]): begin -->\n).*?(<!-- (?P=what) (?P=letter): end -->)", re.DOTALL)  # fmt: skip
REPOSITORY = {"test": "`{}`", "name": "`{}`", "command": "`{}`"}


def page_of(experiment: str) -> str:
    """Return the page of docs/reproduced that shows an experiment."""
    pages = [path for path in sorted(REPRODUCED.glob("*.md")) if f"<!-- {experiment}: begin -->" in path.read_text()]
    return f"reproduced/{pages[0].name}"


def shown(place: Place) -> str:
    """Return a place as a link or as code."""
    text = place.text.replace("|", "\\|")
    if place.kind == "page":
        title = place.text.partition("#")[2].replace("-", " ") or place.text.removesuffix(".md")
        return f"[{title}]({place.text})"
    if place.kind == "experiment":
        return f"[`podium papers run {text}`]({page_of(place.text)})"
    return REPOSITORY[place.kind].format(text)


def sections_table(document: Document) -> str:
    """Return every subject of a document with its places."""
    lines = ["| section | subject | where it lives |", "|---|---|---|"]
    for topic in SECTIONS[document.letter]:
        places = " · ".join(shown(place) for place in topic.places)
        lines.append(f"| {topic.section} | {topic.subject.replace('|', '&#124;')} | {places} |")
    return "\n".join(lines)


def displays_table(document: Document) -> str:
    """Return every table and figure of a document, with what makes it again or why nothing does."""
    lines = ["| section | table or figure | shows | state | by, or why not |", "|---|---|---|---|---|"]
    for display in DISPLAYS:
        if display.document == document.letter:
            by = [f"[`podium papers run {name}`]({page_of(name)})" for name in display.experiments]
            by += [f"[{display.page}]({display.page})"] if display.page else []
            by += [f"{display.reason}"] if display.reason else []
            lines.append(
                f"| {display.section} | {display.name} | {display.shows} | {display.state} | {'; '.join(by)} |"
            )
    return "\n".join(lines)


def filled(text: str) -> str:
    """Return the page with its tables in place."""
    documents = {document.letter: document for document in DOCUMENTS}
    tables = {"sections": sections_table, "displays": displays_table}

    def table(found: re.Match[str]) -> str:
        return f"{found[1]}{tables[found['what']](documents[found['letter']])}\n{found[4]}"

    return BETWEEN.sub(table, text)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text()))
