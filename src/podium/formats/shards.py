"""Directories of data files: shards of whole queries, with a manifest of their counts and checksums."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from podium import __version__
from podium.cluster import Engine, Ray
from podium.cluster import engine as as_engine
from podium.data import RankingData
from podium.errors import FormatError, ParameterError, UnknownNameError, is_integer
from podium.files import atomic_write, check_folder, make_folder
from podium.formats.arrow import PARQUET
from podium.formats.cache import CACHE, write_cache
from podium.formats.folds import BESIDE, PARTS
from podium.formats.format import Progress, Source
from podium.formats.joining import place_after
from podium.formats.resolving import resolve
from podium.formats.shuffling import Places
from podium.formats.storage import Storage
from podium.kinds import MANIFEST_KIND
from podium.threads import resolve_threads

MANIFEST = "manifest.json"
VERSION = 1
TARGETS = {format.name: format for format in (CACHE, PARQUET)}
AGAIN = "restore the file, or write the shards again"
NO_MANIFEST = "write the shards with `podium data shard`, which makes one"


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
        categories: The categorical features by column, each with its categories, or None.
    """

    format: str
    documents: int
    queries: int
    features: int
    feature_names: tuple[str, ...] | None
    shards: tuple[Shard, ...]
    categories: tuple[tuple[int, tuple[str, ...] | None], ...] | None = None

    def write(self, folder: Path) -> None:
        """Write it into the directory of the shards."""
        header = {"kind": MANIFEST_KIND, "version": VERSION, "library": __version__}
        with atomic_write(folder / MANIFEST, "shards") as file:
            file.write(json.dumps({**header, **asdict(self)}, indent=2).encode() + b"\n")


def read_manifest(folder: str | os.PathLike[str] | Storage) -> Manifest:
    """Read the manifest of a directory of shards."""
    storage = folder if isinstance(folder, Storage) else Storage.of(folder)
    path = storage.shown(MANIFEST)
    try:
        found = json.loads(b"".join(storage.blocks(MANIFEST)))
        if found["kind"] != MANIFEST_KIND or found["version"] != VERSION:
            raise FormatError(
                path,
                f"is {found['kind']!r}, version {found['version']}; this Podium reads {MANIFEST_KIND!r}, version {VERSION}",
            )
        shards = tuple(Shard(**shard) for shard in found["shards"])
        names, categories = found["feature_names"], found.get("categories")
        counts = {name: int(found[name]) for name in ("documents", "queries", "features")}
        if not shards or not all(Path(shard.file).name == shard.file for shard in shards):
            raise ValueError("files of the directory")
        for name in ("documents", "queries"):
            if sum(getattr(shard, name) for shard in shards) != counts[name]:
                raise ValueError(f"the {name} of its shards do not add up")
        coded = categories and tuple((int(column), names and tuple(names)) for column, names in categories)
        return Manifest(
            found["format"], **counts, feature_names=names and tuple(names), shards=shards, categories=coded
        )
    except FileNotFoundError:
        raise FormatError(path, f"there is no manifest; {NO_MANIFEST}") from None
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
    engine: str | Engine = "local",
) -> Manifest:
    """Write data as files of whole queries with about as many documents each, and a manifest of their counts and checksums.

    Args:
        data: The data. If the rows of every query are together, it is only cut, so that the shards together have its queries in
            its order. Otherwise they are put together first, each query where its first row is; the order of rows inside a query
            stays. This takes as much memory as one shard, and as much room for temporary files as the features.
        folder: The directory to write to. It is created; one that holds files is refused.
        shards: Number of files.
        format: cache (Podium's own, whose features can be mapped) or parquet.
        progress: Called with (documents done, documents in all).
        engine: What puts the rows of queries together: "local", or "ray(workers=4)", which shuffles them with Ray Data. The shards
            are the same.
    """
    target, runs_on = Path(folder), as_engine(engine)
    check_target(target, shards, format)
    data = in_grouped_order(data)
    places = Places.of(data)
    if shards > places.n_queries:
        raise ParameterError("shards", shards, f"must be at most {places.n_queries}, the number of queries")
    places.check_query_weights(data)
    make_folder(target)
    plan = ShardPlan(
        target.absolute(), format, data.n_features, places.query_offsets, cuts(places.query_offsets, shards)
    )
    written = []
    for shard in _written(plan, places, data, runs_on):
        written.append(shard)
        if progress is not None:
            progress(sum(each.documents for each in written), data.n_documents)
    counts = data.n_documents, places.n_queries, data.n_features
    made = Manifest(format, *counts, data.feature_names, tuple(written), _categories(data))
    made.write(target)
    return made


@dataclass(frozen=True)
class ShardPlan:
    """Which shards are written where.

    Attributes:
        folder: The directory.
        format: The name of the format.
        n_features: Number of features.
        query_offsets: First document of each query in all shards together, and the end.
        cuts: The first query of each shard, and its last query + 1.
    """

    folder: Path
    format: str
    n_features: int
    query_offsets: npt.NDArray[np.int64]
    cuts: Sequence[tuple[int, int]]

    def write(self, number: int, part: RankingData) -> Shard:
        """Write a shard."""
        path = self.folder / f"part-{number:05d}{TARGETS[self.format].suffixes[0]}"
        if self.format == CACHE.name:
            before = int(self.query_offsets[self.cuts[number][0]])
            write_cache(part, path, begin=place_after(4 * before * self.n_features))
        else:
            TARGETS[self.format].write(part, path)
        return Shard(path.name, part.n_documents, part.n_queries, path.stat().st_size, _checksum(path))


def _written(plan: ShardPlan, places: Places, data: RankingData, runs_on: Engine) -> Iterable[Shard]:
    if isinstance(runs_on, Ray) and places.order is not None:
        from podium.formats.ray_shuffling import write_shuffled

        return write_shuffled(runs_on, plan, places, data)
    return (plan.write(number, part) for number, part in enumerate(places.parts(data, plan.cuts)))


def _categories(data: RankingData) -> tuple[tuple[int, tuple[str, ...] | None], ...] | None:
    return None if data.categorical_features is None else tuple(data.categorical_features.items())


def in_grouped_order(data: RankingData) -> RankingData:
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


def folder_sources(source: Source, num_threads: int | None = None, copies: Path | None = None) -> list[Source]:
    """Return the files of a directory in the order of the data; those of a manifest are checked against it.

    Args:
        source: The directory: a path, or a URI that pyarrow reaches.
        num_threads: Number of threads; by default every core this process may use.
        copies: Where to copy the files to if they are not on this machine.
    """
    files = folder_files(source)
    shards = [file.shard for file in files if file.shard is not None]
    if shards:
        paths = verified_files(files[0].storage, shards, num_threads, copies)
        if files[0].storage.is_remote:
            return [file.source(path) for file, path in zip(files, paths, strict=True)]
    return [file.source(Path(source.path) / file.name) for file in files]  # as messages name them


@dataclass(frozen=True)
class FolderFile:
    """A file of a directory, not yet checked; small enough to be sent to a worker.

    Attributes:
        storage: The directory.
        name: Its name there.
        format: The name of its format, or None if it says so itself.
        options: The options to read it with.
        shard: What the manifest says about it, or None if there is no manifest.
    """

    storage: Storage
    name: str
    format: str | None
    options: Mapping[str, Any]
    shard: Shard | None = None

    def source(self, path: Path) -> Source:
        """Return the file at a path of this machine, ready to be read."""
        return resolve(path, self.format, self.options)

    def open(self, copies: Path | None = None) -> Source:
        """Return the file, ready to be read, after it was compared with the manifest."""
        if self.shard is None:
            return self.source(Path(self.storage.root) / self.name)
        return self.source(verified_files(self.storage, [self.shard], 1, copies)[0])


def folder_files(source: Source) -> list[FolderFile]:
    """Return the files of a directory in the order of the data, without looking into those of a manifest."""
    storage, options = Storage.of(source.path), dict(source.options)
    format = options.pop("format", None)
    if not storage.has(MANIFEST) and not storage.is_remote:
        return [FolderFile(storage, path.name, format, options) for path in _data_files(Path(source.path))]
    manifest = read_manifest(storage)
    _refuse_strangers(storage, manifest)
    return [FolderFile(storage, shard.file, manifest.format, options, shard) for shard in manifest.shards]


def _refuse_strangers(storage: Storage, manifest: Manifest) -> None:
    known = {shard.file for shard in manifest.shards} | {MANIFEST}
    strange = [name for name in storage.names() if name not in known]
    if strange:
        raise FormatError(
            storage.shown(strange[0]),
            f"is not in {storage.shown(MANIFEST)}; remove the file, or write the shards again",
        )


def verified_files(
    storage: Storage, shards: Sequence[Shard], num_threads: int | None = None, copies: Path | None = None
) -> list[Path]:
    """Return the paths of shards on this machine, after their sizes and checksums were compared with the manifest.

    A shard that is missing, damaged or changed is a FormatError that names it.
    """
    if storage.is_remote and copies is None:
        raise FormatError(storage.place, "is not on this machine; copy the directory here first")

    def fetch(shard: Shard) -> Path | FormatError:
        copy = None if copies is None or not storage.is_remote else copies / shard.file
        return _fault(storage, shard, copy) or (Path(storage.root) / shard.file if copy is None else copy)

    with ThreadPoolExecutor(resolve_threads(num_threads)) as pool:
        found = list(pool.map(fetch, shards))
    for each in found:
        if isinstance(each, FormatError):
            raise each
    return [each for each in found if isinstance(each, Path)]


def _fault(storage: Storage, shard: Shard, copy: Path | None) -> FormatError | None:
    """Return what is wrong with a shard, or None. It is copied while it is read, if a path for the copy is given."""
    path = storage.shown(shard.file)
    try:
        size = storage.size(shard.file)
        if size != shard.bytes:
            return FormatError(path, f"has {size} bytes, and the manifest says {shard.bytes}; {AGAIN}")
        if storage.checksum(shard.file, copy) != shard.sha256:
            return FormatError(
                path, f"has changed since the shards were written, or is damaged (its checksum); {AGAIN}"
            )
    except FileNotFoundError:
        return FormatError(path, f"the shard is missing; {AGAIN}")
    except OSError as error:
        return FormatError(path, f"cannot be read: {error.strerror or error}; {AGAIN}")
    return None


def _checksum(path: Path) -> str:
    return Storage.of(path.parent).checksum(path.name)


def _listed(folder: Path) -> list[Path]:
    """Return the files of a directory by name, without the manifest and what other programs leave there."""
    return [folder / name for name in Storage.of(folder).names() if name != MANIFEST]


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
