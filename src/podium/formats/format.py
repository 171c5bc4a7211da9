"""What a file format is to the rest of the package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

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
