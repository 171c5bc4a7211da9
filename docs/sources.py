"""Writes the tables of docs/sources.md: the source documents section by section, and their tables and figures.

    python docs/sources.py        # `make docs` does it

The tables are made from `podium.papers.documents` and `podium.papers.sections`.
"""

from __future__ import annotations

import re
from pathlib import Path

from markdown.extensions.toc import slugify

from podium.papers.documents import DISPLAYS, DOCUMENTS, Document
from podium.papers.sections import SECTIONS, Place

PAGE = Path(__file__).parent / "sources.md"
REPRODUCED = Path(__file__).parent / "reproduced"
BETWEEN = re.compile(r"(<!-- (?P<what>sections|displays) (?P<letter>[a-e]): begin -->\n).*?(<!-- (?P=what) (?P=letter): end -->)", re.DOTALL)  # fmt: skip
HEADING = re.compile(r"^#{1,6} +(.+?)\s*$", re.MULTILINE)


def page_of(experiment: str) -> str:
    """Return the page of docs/reproduced that shows an experiment."""
    pages = [path for path in sorted(REPRODUCED.glob("*.md")) if f"<!-- {experiment}: begin -->" in path.read_text()]
    return f"reproduced/{pages[0].name}"


def experiment_anchor(experiment: str) -> str:
    """Return the anchor of the heading that an experiment stands under."""
    above = (REPRODUCED.parent / page_of(experiment)).read_text().partition(f"<!-- {experiment}: begin -->")[0]
    return slugify(re.sub(r"[`*]", "", HEADING.findall(above)[-1]), "-")


def headings(page: str) -> dict[str, str]:
    """Return the headings of a page by their anchors, as Python-Markdown names these."""
    titles = HEADING.findall((Path(__file__).parent / page).read_text())
    return {slugify(re.sub(r"[`*]", "", title), "-"): title for title in titles}


def page_link(text: str) -> str:
    """Return a link to a page or to a heading of it, with that heading as its text."""
    name, _, anchor = text.partition("#")
    found = headings(name)
    return f"[{found[anchor] if anchor else next(iter(found.values()))}]({text})"


def command_link(text: str) -> str:
    """Return a command, linked to its entry on the page of the command line."""
    words = text.split()
    anchors = [slugify(" ".join(words[:n]), "-") for n in (3, 2)]
    anchor = next(each for each in anchors if each in headings("cli.md"))
    return f"[`{text}`](cli.md#{anchor})"


def shown(place: Place) -> str:
    """Return a place as a link; a test is a file of the repository, which the pages do not hold."""
    text = place.text.replace("|", "\\|")
    match place.kind:
        case "page":
            return page_link(place.text)
        case "experiment":
            return f"[`podium papers run {text}`]({page_of(place.text)}#{experiment_anchor(place.text)})"
        case "command":
            return command_link(text)
        case "name":
            return f"[`{text}`](api.md#{slugify(text, '-')})"
        case "test":
            return f"`{text}`"


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
            by = [shown(Place("experiment", name)) for name in display.experiments]
            by += [page_link(display.page)] if display.page else []
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
