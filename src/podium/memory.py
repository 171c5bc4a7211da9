"""The memory that a training may use, and the folder for what does not fit."""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from podium.errors import ParameterError, is_integer

UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*", re.IGNORECASE)
LEAST_LIMIT = 256 << 20
LIBRARIES = 160 << 20  # bytes that the interpreter and the libraries take
DISK_FOLDER = Path("/var/tmp")  # unlike /tmp, it is on disk by convention, and never in memory


@dataclass(frozen=True)
class MemoryLimit:
    """How much memory a training may use, and where it keeps what does not fit.

    Attributes:
        bytes: The limit.
        folder: The folder for files with bins and features. They have no name and are gone when the process ends.
    """

    bytes: int
    folder: str

    @property
    def for_histograms(self) -> int:
        """The part of the limit that the histograms of a tree's nodes may take."""
        return self.bytes // 8

    def check_documents(self, n_documents: int, each: int) -> None:
        """Raise a ParameterError if documents that take so many bytes each do not fit, with the libraries and the histograms."""
        least = max(LEAST_LIMIT, (LIBRARIES + n_documents * each) * 8 // 7)
        if self.bytes < least:
            raise ParameterError(
                "memory_limit",
                self.bytes,
                f"is too small for {n_documents:,} documents, whose scores and forces are kept in memory",
                f"give at least {{memory_limit={-(-least >> 20)}M}}",
            )


def parse_bytes(given: object) -> int:
    """Return a number of bytes, given as a number or as text such as 512M, 2G or 1.5 GiB.

    K, M, G and T stand for powers of 1024. A ValueError is raised for anything else, and for less than 256M.
    """
    if is_integer(given):
        size = int(str(given))
    else:
        match = SIZE.fullmatch(given) if isinstance(given, str) else None
        if match is None:
            raise ValueError(f"{given!r} is not a size")
        size = int(float(match[1]) * UNITS[match[2].lower()])
    if size < LEAST_LIMIT:
        raise ValueError(f"{size} bytes are fewer than {LEAST_LIMIT}")
    return size


def scratch_folder() -> str:
    """Return the folder for large temporary files: that of TMPDIR if it is set, else /var/tmp."""
    named = os.environ.get("TMPDIR")
    if named:
        return named
    return str(DISK_FOLDER) if DISK_FOLDER.is_dir() and os.access(DISK_FOLDER, os.W_OK) else tempfile.gettempdir()
