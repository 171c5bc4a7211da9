"""Directories of data files: shards of whole queries, with a manifest of their counts and checksums."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from podium import __version__
from podium.data import RankingData
from podium.errors import FormatError, ParameterError, UnknownNameError, is_integer
from podium.files import atomic_write, check_folder, make_folder
from podium.formats.arrow import PARQUET
from podium.formats.cache import CACHE, write_cache
from podium.formats.folds import BESIDE, PARTS
from podium.formats.format import Progress, Source
from podium.formats.joining import place_after
from podium.formats.resolving import resolve
from podium.kinds import MANIFEST_KIND
from podium.threads import resolve_threads

MANIFEST = "manifest.json"
VERSION = 1
TARGETS = {format.name: format for format in (CACHE, PARQUET)}
AGAIN = "restore the file, or write the shards again"


@dataclass(frozen=True)
class Shard:
    """One file of a directory of shards.

    Attributes:
        file: Its name.
        documents: Number of its documents.
        queries: Number of its queries.
        bytes: Its size.
        sha256: The SHA-256 of its bytes.
    """

    file: str
    documents: int
    queries: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What a directory of shards holds.

    Attributes:
        format: The format of the shards.
        documents: Number of documents of all shards together.
        queries: Number of queries.
        features: Number of features.
        feature_names: Their names, or None.
        shards: The files, in the order of the data.
    """

    format: str
    documents: int
    queries: int
    features: int
    feature_names: tuple[str, ...] | None
    shards: tuple[Shard, ...]

    def write(self, folder: Path) -> None:
        """Write it into the directory of the shards."""
        header = {"kind": MANIFEST_KIND, "version": VERSION, "library": __version__}
        with atomic_write(folder / MANIFEST, "shards") as file:
            file.write(json.dumps({**header, **asdict(self)}, indent=2).encode() + b"\n")


def read_manifest(folder: str | os.PathLike[str]) -> Manifest:
    """Read the manifest of a directory of shards."""
    path = Path(folder) / MANIFEST
    try:
        found = json.loads(path.read_bytes())
        if found["kind"] != MANIFEST_KIND or found["version"] != VERSION:
            raise FormatError(
                path,
                f"is {found['kind']!r}, version {found['version']}; this Podium reads {MANIFEST_KIND!r}, version {VERSION}",
            )
        shards = tuple(Shard(**shard) for shard in found["shards"])
        names = found["feature_names"]
        counts = {name: int(found[name]) for name in ("documents", "queries", "features")}
        if not shards or not all(Path(shard.file).name == shard.file for shard in shards):
            raise ValueError("files of the directory")
        return Manifest(found["format"], **counts, feature_names=names and tuple(names), shards=shards)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(path, f"the manifest is damaged ({error}); {AGAIN}") from None


def write_shards(
    data: RankingData,
    folder: str | os.PathLike[str],
    shards: int,
    *,
    format: str = "cache",
    progress: Progress | None = None,
) -> Manifest:
    """Write data as files of whole queries with about as many documents each, and a manifest of their counts and checksums.

    Args:
        data: The data. It is only cut, so that the shards together have its queries in its order.
        folder: The directory to write to. It is created; one that holds files is refused.
        shards: Number of files.
        format: cache (Podium's own, whose features can be mapped) or parquet.
        progress: Called with (documents done, documents in all).
    """
    target = Path(folder)
    check_target(target, shards, format)
    if shards > data.n_queries:
        raise ParameterError("shards", shards, f"must be at most {data.n_queries}, the number of queries")
    data = _in_grouped_order(data)
    make_folder(target)
    written = []
    for number, (first, last) in enumerate(cuts(data.query_offsets, shards)):
        part = data.select(np.arange(first, last))
        path = target / f"part-{number:05d}{TARGETS[format].suffixes[0]}"
        if format == CACHE.name:
            write_cache(part, path, begin=place_after(4 * int(data.query_offsets[first]) * data.n_features))
        else:
            TARGETS[format].write(part, path)
        size = path.stat().st_size
        written.append(Shard(path.name, part.n_documents, part.n_queries, size, _checksum(path)))
        if progress is not None:
            progress(int(data.query_offsets[last]), data.n_documents)
    made = Manifest(format, data.n_documents, data.n_queries, data.n_features, data.feature_names, tuple(written))
    made.write(target)
    return made


def _in_grouped_order(data: RankingData) -> RankingData:
    """Return the data with its rows in the order of its queries."""
    parts = {name: getattr(data, name) for name in RankingData.PARTS if name != "row_order"}
    return RankingData.of_parts(check=False, **parts)


def check_target(folder: Path, shards: int, format: str) -> None:
    """Raise an error if shards cannot be written to a directory."""
    if not is_integer(shards) or shards < 1:
        raise ParameterError("shards", shards, "must be a whole number of at least 1")
    if format not in TARGETS:
        raise UnknownNameError("format of shards", format, TARGETS)
    check_folder(folder)


def cuts(query_offsets: npt.NDArray[np.int64], shards: int) -> list[tuple[int, int]]:
    """Return (first query, last query + 1) of each shard; each has at least one query, and about as many documents."""
    queries, documents = len(query_offsets) - 1, int(query_offsets[-1])
    bounds = [0]
    for number in range(1, shards):
        wanted = int(np.searchsorted(query_offsets, documents * number / shards))
        bounds.append(min(max(wanted, bounds[-1] + 1), queries - (shards - number)))
    return list(zip(bounds, [*bounds[1:], queries], strict=True))


def folder_sources(source: Source, num_threads: int | None = None) -> list[Source]:
    """Return the files of a directory in the order of the data; those of a manifest are checked against it."""
    folder, options = Path(source.path), dict(source.options)
    format = options.pop("format", None)
    if not (folder / MANIFEST).is_file():
        return [resolve(path, format, options) for path in _data_files(folder)]
    manifest = read_manifest(folder)
    paths = [folder / shard.file for shard in manifest.shards]
    strange = [path for path in _listed(folder) if path not in paths]
    if strange:
        raise FormatError(strange[0], f"is not in {folder / MANIFEST}; remove the file, or write the shards again")
    with ThreadPoolExecutor(resolve_threads(num_threads)) as pool:
        for fault in pool.map(_fault, paths, manifest.shards):
            if fault is not None:
                raise fault
    return [resolve(path, manifest.format, options) for path in paths]


def _fault(path: Path, shard: Shard) -> FormatError | None:
    """Return what is wrong with a shard, or None."""
    try:
        size = path.stat().st_size
        if size != shard.bytes:
            return FormatError(path, f"has {size} bytes, and the manifest says {shard.bytes}; {AGAIN}")
        if _checksum(path) != shard.sha256:
            return FormatError(
                path, f"has changed since the shards were written, or is damaged (its checksum); {AGAIN}"
            )
    except FileNotFoundError:
        return FormatError(path, f"the shard is missing; {AGAIN}")
    except OSError as error:
        return FormatError(path, f"cannot be read: {error.strerror}; {AGAIN}")
    return None


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _listed(folder: Path) -> list[Path]:
    """Return the files of a directory by name, without the manifest and what other programs leave there."""
    hidden = (".", "_")  # such as _SUCCESS of Spark
    return sorted(path for path in folder.iterdir() if not path.name.startswith(hidden) and path.name != MANIFEST)


def _data_files(folder: Path) -> Sequence[Path]:
    """Return the files of a directory that has no manifest; all must hold data of one kind, and not be parts of a fold."""
    refused = (
        "is a directory; give the path of a file, or of a directory that holds files of one data set and nothing else"
    )
    files = [path for path in _listed(folder) if not path.name.endswith(BESIDE)]
    names = {path.name.split(".")[0].lower() for path in files}
    if sum(any(re.fullmatch(pattern, name) for name in names) for pattern in PARTS.values()) > 1:
        raise FormatError(folder, f"{refused} (podium.read_folds reads a folder of folds)")
    if not files or any(path.is_dir() for path in files):
        raise FormatError(folder, f"{refused} (podium.read_folds reads a folder of folds)")
    try:
        kinds = {resolve(path).format.name for path in files}
    except FormatError as error:
        raise FormatError(folder, f"{refused}: {error}") from None
    if len(kinds) > 1:
        raise FormatError(folder, f"{refused}; it has {' and '.join(sorted(kinds))} files")
    return files
