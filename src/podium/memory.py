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
LIBRARIES = 192 << 20  # bytes that the interpreter and the libraries take
LEAST_FOR_HISTOGRAMS = 32 << 20
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

    def for_histograms(self, n_documents: int, each: int) -> int:
        """Return what is left for the histograms of a tree's nodes, given the bytes that each document takes.

        A ParameterError is raised if that is too little.
        """
        left = self.bytes - LIBRARIES - n_documents * each
        if left < LEAST_FOR_HISTOGRAMS:
            raise ParameterError(
                "memory_limit",
                self.bytes,
                f"is too small for {n_documents:,} documents, whose labels, scores and forces are kept in memory",
                f"give at least {{memory_limit={-(-(self.bytes + LEAST_FOR_HISTOGRAMS - left) >> 20)}M}}",
            )
        return left


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
