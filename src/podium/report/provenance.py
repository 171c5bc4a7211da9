"""How to make a report again: the files with their checksums, the versions, and the command."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from podium.data import RankingData
from podium.data.canonical import fingerprint

PACKAGES = ("podium", "numpy", "scipy", "scikit-learn", "safetensors", "altair", "vl-convert-python")


@dataclass(frozen=True)
class FileRecord:
    """A file that a report was made from.

    Attributes:
        role: what it is in the report, such as "data" or the name of a model.
        path: its path as it was given.
        n_bytes: its size.
        sha256: its checksum.
    """

    role: str
    path: str
    n_bytes: int
    sha256: str


@dataclass(frozen=True)
class Provenance:
    """What is needed to make the same report again.

    Attributes:
        command: the command, or the Python code, that made it.
        files: the files that were read.
        data_fingerprint: SHA-256 of the content of the data, the same for any order of the queries.
        versions: the versions of Python and of the packages, by name.
        seed: the seed of all random numbers.
    """

    command: str
    files: tuple[FileRecord, ...]
    data_fingerprint: str
    versions: dict[str, str]
    seed: int


def record_provenance(data: RankingData, files: Iterable[tuple[str, Path]], command: str, seed: int) -> Provenance:
    """Return what is needed to make a report again. `files` are pairs of a role and a path."""
    records = tuple(_record(role, path) for role, path in files if path.is_file())
    return Provenance(command, records, fingerprint(data), _versions(), seed)


def _record(role: str, path: Path) -> FileRecord:
    with path.open("rb") as file:
        checksum = hashlib.file_digest(file, "sha256").hexdigest()
    return FileRecord(role, str(path), path.stat().st_size, checksum)


def _versions() -> dict[str, str]:
    found = {"Python": platform.python_version(), "platform": f"{platform.system()} {platform.machine()}"}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
