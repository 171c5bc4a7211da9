"""One subject of a source document, and the places where it lives in Podium."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from podium.papers.documents import Letter

Kind = Literal["page", "name", "command", "experiment", "test"]


@dataclass(frozen=True)
class Place:
    """Where a subject lives.

    Attributes:
        kind: a page of the docs, a name in Python, a command, an experiment of `podium papers`, or a test.
        text: the page with its anchor, the dotted name, the whole command, the experiment's name, or `file::test`.
    """

    kind: Kind
    text: str


@dataclass(frozen=True)
class Topic:
    """A system, option, protocol, claim or definition of a document.

    Attributes:
        section: the section of the document.
        subject: what it says, in a line.
        places: where it lives.
    """

    section: str
    subject: str
    places: tuple[Place, ...]


def topic(section: str, subject: str, *places: Place) -> Topic:
    """Return a subject with its places."""
    return Topic(section, subject, places)


def page(text: str) -> Place:
    """Return a page of the docs: `forces.md` or `forces.md#your-own-force`."""
    return Place("page", text)


def name(text: str) -> Place:
    """Return a name in Python: `podium.RankNet`."""
    return Place("name", text)


def command(text: str) -> Place:
    """Return a command that runs in a folder with train.txt, vali.txt, test.txt and votes.tsv."""
    return Place("command", text)


def experiment(text: str) -> Place:
    """Return an experiment of `podium papers`."""
    return Place("experiment", text)


def checked_by(text: str) -> Place:
    """Return a test, `tests/unit/test_laws.py::test_…`, that checks a claim."""
    return Place("test", text)


Topics = tuple[Topic, ...]
__all__ = ["Letter", "Place", "Topic", "Topics", "checked_by", "command", "experiment", "name", "page", "topic"]
