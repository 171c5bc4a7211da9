"""What a file format is to the rest of the package."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from podium.errors import UnknownNameError

Progress = Callable[[int, int], None]
"""Called now and then with (bytes done, bytes in all)."""


@dataclass(frozen=True)
class Format:
    """One row of the table of formats.

    `read(path, *, num_threads, progress, **options)` gives what the file `holds`; `write(value, path, **options)` writes
    it. `progress(done, total)` is called now and then with bytes. `looks_like(head)` judges the first 64 KiB of a
    (decompressed) file whose name says nothing.
    """

    name: str
    suffixes: tuple[str, ...]
    holds: Literal["data", "run", "scores"]
    description: str
    read: Callable[..., Any]
    write: Callable[..., None]
    looks_like: Callable[[bytes], bool] = field(default=lambda head: False)
    read_options: tuple[str, ...] = ()
    write_options: tuple[str, ...] = ()

    def check_options(self, given: Iterable[str], *, reading: bool) -> None:
        """An option that the format's reader or writer does not have is a ParameterError."""
        known = self.read_options if reading else self.write_options
        for name in given:
            if name not in known:
                does = "reading" if reading else "writing"
                raise UnknownNameError(f"option for {does} format {self.name!r}", name, known)
