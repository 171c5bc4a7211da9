"""HTML as text: elements and tables in which everything that is not markup already is escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class Markup(str):
    """Text that is HTML already and must not be escaped again."""

    __slots__ = ()


Child = object
"""What an element may hold: markup, or anything whose text is escaped; None is left out."""


def escape(value: object) -> Markup:
    """Return the text of a value as HTML. Characters that HTML cannot hold are replaced; markup is returned as it is."""
    if isinstance(value, Markup):
        return value
    return Markup(html.escape(CONTROL.sub("\ufffd", str(value)), quote=True))


def join(parts: Sequence[Child], between: str = "") -> Markup:
    """Return the parts one after the other, escaped where necessary."""
    return Markup(between.join(escape(part) for part in parts if part is not None))


def element(name: str, *children: Child, **attributes: object) -> Markup:
    """Return an element. Underscores in the names of attributes stand for hyphens, and `class_` for class.

    An attribute that is None or False is left out, and one that is True has no value.
    """
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return Markup(f"<{name}{written}>{join(children)}</{name}>")


def isolated(text: object) -> Markup:
    """Return a name or an id. Its direction of writing cannot change the text around it."""
    return element("bdi", text)


def paragraph(*children: Child, **attributes: object) -> Markup:
    """Return a paragraph."""
    return element("p", *children, **attributes)


def table(
    caption: Child, columns: Sequence[Child], rows: Sequence[Sequence[Child]], *, text_columns: int = 1
) -> Markup:
    """Return a table with a caption. The first cell of each row is its header.

    Args:
        caption: what the table shows.
        columns: the headings.
        rows: the cells.
        text_columns: how many columns from the left hold text; the others hold numbers and are aligned to the right.
    """

    def kind(place: int) -> str | None:
        return "number" if place >= text_columns else None

    head = element("tr", *(element("th", name, scope="col", class_=kind(k)) for k, name in enumerate(columns)))
    body = [
        element(
            "tr",
            *(
                element("td", cell, class_=kind(k)) if k else element("th", cell, scope="row")
                for k, cell in enumerate(row)
            ),
        )
        for row in rows
    ]
    whole = element("table", element("caption", caption), element("thead", head), element("tbody", *body))
    return scrolling(whole, caption)


def scrolling(content: Markup, label: Child) -> Markup:
    """Return content that scrolls sideways if it is too wide for the screen, by keyboard too."""
    plain = html.unescape(re.sub(r"<[^>]*>", "", escape(label)))
    return element("div", content, class_="scroll", tabindex="0", role="region", aria_label=plain)


def side_by_side(*parts: Child) -> Markup:
    """Return parts next to each other where there is room, and below each other on a narrow screen."""
    return element("div", *parts, class_="columns") if parts else Markup("")


def listing(items: Sequence[Child], **attributes: object) -> Markup:
    """Return a list with one point per item."""
    return element("ul", *(element("li", item) for item in items), **attributes)
