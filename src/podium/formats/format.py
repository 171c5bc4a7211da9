"""What a file format is to the rest of the package, and a file whose format is known."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from podium.data import RankingData
from podium.errors import FormatError, UnknownNameError
from podium.kinds import KINDS
from podium.rules import Rule

Progress = Callable[[int, int], None]
"""Called now and then with (bytes done, bytes in all)."""


@dataclass(frozen=True)
class Format:
    """One row of the table of formats. How its files are named and recognized is the row of the same name in `KINDS`.

    Attributes:
        name: Its name.
        holds: What a file of this format holds: judged data, a TREC run, or scores.
        description: What it is, in a few words.
        read: `read(path, *, num_threads, progress, **options)` returns what a file holds.
        write: `write(value, path, **options)` writes a file.
        read_into: `read_into(path, into, *, num_threads, progress, **options)` does what `read` does, but puts the features
            into a FeatureFile; None if the format cannot.
        read_options: The options of `read`, with the rules by which the command line reads them.
        write_options: Names of the options of `write`.
    """

    name: str
    holds: Literal["data", "run", "scores"]
    description: str
    read: Callable[..., Any]
    write: Callable[..., None]
    read_options: Mapping[str, Rule] = field(default_factory=dict)
    write_options: tuple[str, ...] = ()
    read_into: Callable[..., RankingData] | None = None

    @property
    def suffixes(self) -> tuple[str, ...]:
        """How the names of files of this format end."""
        return KINDS[self.name].suffixes

    def looks_like(self, head: bytes) -> bool:
        """Return whether a file that begins with these (decompressed) bytes is of this format."""
        return KINDS[self.name].looks_like(head)

    def check_options(self, given: Iterable[str], *, reading: bool) -> None:
        """Raise a ParameterError for an option that the reader or writer does not have."""
        known: Iterable[str] = self.read_options if reading else self.write_options
        for name in given:
            if name not in known:
                does = "reading" if reading else "writing"
                raise UnknownNameError(f"option for {does} format {self.name!r}", name, known)


@dataclass(frozen=True)
class Source:
    """A file to read, with its format and the options of the format's reader; see `podium.formats.resolve`.

    Attributes:
        path: The path of the file.
        format: Its format.
        options: The options to read it with, by name; the format has all of them.
    """

    path: str | os.PathLike[str]
    format: Format
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.format.check_options(self.options, reading=True)

    def with_options(self, options: Mapping[str, Any]) -> Source:
        """Return the same file with more options."""
        return replace(self, options={**self.options, **options})

    def read(self, *, num_threads: int | None = None, progress: Progress | None = None) -> Any:
        """Return what the file holds: RankingData, a Run, or an array of scores."""
        return self.format.read(self.path, num_threads=num_threads, progress=progress, **self.options)

    def check_data(self) -> None:
        """Raise a FormatError if the file does not hold judged data."""
        if self.format.holds != "data":
            raise FormatError(
                self.path,
                f"is a {self.format.name} file, which holds scores and no judgments; judged data is needed here "
                "(podium.read_scores reads scores)",
            )

    def read_data(self, *, num_threads: int | None = None, progress: Progress | None = None) -> RankingData:
        """Return the judged data of the file."""
        self.check_data()
        data: RankingData = self.read(num_threads=num_threads, progress=progress)
        return data
