"""What each worker of a cluster does with a directory of shards: take its part, check it, and read it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.data.categories import with_categories
from podium.errors import FormatError, ParameterError
from podium.formats.joining import refuse_split_queries
from podium.formats.on_disk import read_on_disk_together
from podium.formats.resolving import resolve
from podium.formats.shards import AGAIN, MANIFEST, Manifest, read_manifest, verified_files
from podium.formats.storage import Storage
from podium.memory import scratch_folder


def deal_shards(manifest: Manifest, workers: int) -> list[tuple[int, ...]]:
    """Return the numbers of the shards that each worker reads, so that all have about as many documents.

    The same manifest and number of workers always give the same parts. A worker gets none if there are fewer shards than
    workers, which is refused, because a worker without documents only waits.
    """
    if workers > len(manifest.shards):
        raise ParameterError(
            "workers",
            workers,
            f"is more than the {len(manifest.shards)} shards of the data",
            f"use at most {len(manifest.shards)} workers, or write more shards with `podium data shard`",
        )
    parts: list[list[int]] = [[] for _ in range(workers)]
    held = [0] * workers
    by_size = sorted(range(len(manifest.shards)), key=lambda k: (-manifest.shards[k].documents, k))
    for number in by_size:
        least = held.index(min(held))
        parts[least].append(number)
        held[least] += manifest.shards[number].documents
    return [tuple(sorted(part)) for part in parts]


def read_shards(
    folder: str | os.PathLike[str],
    numbers: Sequence[int] | None = None,
    *,
    manifest: Manifest | None = None,
    num_threads: int | None = None,
    document_ids: bool = False,
    filesystem: Any = None,
) -> RankingData:
    """Return the data of some shards of a directory, one after the other in the order of their numbers.

    This is what a worker calls to read its part. Before anything is read, the size and the checksum of each of these shards are
    compared with the manifest, and the manifest with the one that the driver read. Afterwards, the counts of documents, queries
    and features are compared too. Whatever is missing, damaged or changed is a FormatError that names the file. A query that is
    in two of the shards is refused here; use `refuse_split_shards` for shards that different workers read.

    Features of cache files on this machine are mapped where they lie, and never copied into memory.

    Args:
        folder: The directory: a path, or a URI that pyarrow reaches, such as `s3://bucket/folder`. Shards that are not on this
            machine are copied to the folder of temporary files, mapped from there, and the copies are gone with the process.
        numbers: The numbers of the shards in the manifest, from 0. By default all.
        manifest: The manifest as the driver read it; by default the one in the directory is trusted.
        num_threads: Number of threads; by default every core this process may use.
        document_ids: Whether to keep document ids, which training does not need.
        filesystem: A file system of pyarrow in which `folder` is a path, in place of a URI.
    """
    storage = Storage.of(folder, filesystem)
    found = read_manifest(storage)
    if manifest is not None and found != manifest:
        raise FormatError(
            storage.shown(MANIFEST), f"has changed since the work began; {AGAIN}, and start the work again"
        )
    shards = found.shards if numbers is None else [found.shards[number] for number in numbers]
    with tempfile.TemporaryDirectory(dir=scratch_folder(), prefix="podium-") as copies:
        files = verified_files(storage, shards, num_threads, Path(copies))
        sources = [resolve(path, found.format) for path in files]
        data = read_on_disk_together(sources, num_threads=num_threads)
    _check_counts(storage, found, data, sum(shard.documents for shard in shards), sum(s.queries for s in shards))
    if found.categories is not None:
        data = with_categories(data, dict(found.categories))
    return data if document_ids else data.replace_grouped(document_ids=None)


def _check_counts(storage: Storage, manifest: Manifest, data: RankingData, documents: int, queries: int) -> None:
    pairs = {
        "documents": (data.n_documents, documents),
        "queries": (data.n_queries, queries),
        "features": (data.n_features, manifest.features),
    }
    for name, (held, said) in pairs.items():
        if held != said:
            raise FormatError(storage.shown(MANIFEST), f"says that its shards have {said} {name}, not {held}; {AGAIN}")
    if data.feature_names != manifest.feature_names:
        raise FormatError(storage.shown(MANIFEST), f"has other feature names than its shards; {AGAIN}")


def refuse_split_shards(
    folder: str | os.PathLike[str], ids: Sequence[npt.NDArray[Any]], parts: Sequence[Sequence[int]], manifest: Manifest
) -> None:
    """Raise a FormatError that names the query and two shards if a query is in shards of different workers.

    Args:
        folder: The directory.
        ids: The query ids of the data of each worker, as `read_shards` returned it.
        parts: The numbers of the shards of each worker, as `deal_shards` returned them.
        manifest: The manifest.
    """
    pieces, names = [], []
    for worker, numbers in enumerate(parts):
        ends = np.cumsum([manifest.shards[number].queries for number in numbers])
        pieces += np.split(ids[worker], ends[:-1])
        names += [f"{os.fspath(folder).rstrip('/')}/{manifest.shards[number].file}" for number in numbers]
    refuse_split_queries(pieces, names)
