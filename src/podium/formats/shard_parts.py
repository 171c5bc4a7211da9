"""Which shards data was read from, so that the workers of a cluster can read their parts themselves."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.data import RankingData
from podium.data.categories import Categories, with_categories
from podium.errors import FormatError
from podium.formats.format import Source
from podium.formats.resolving import SHARDS
from podium.formats.shards import MANIFEST, Manifest, read_manifest
from podium.formats.storage import Storage


@dataclass(frozen=True)
class ShardedData:
    """The directory that data was read from.

    Attributes:
        folder: The directory, as every process of this machine finds it.
        manifest: Its manifest when the data was read.
        categories: The categories of the data, by column.
    """

    folder: str
    manifest: Manifest
    categories: Categories | None


@dataclass(frozen=True)
class ShardPart:
    """Some of the queries of a directory of shards, small enough to be sent to a worker.

    Attributes:
        source: The directory.
        shards: The numbers of the shards that hold them.
        first: The first query, counted from the first of these shards.
        last: The one after the last query.
    """

    source: ShardedData
    shards: tuple[int, ...]
    first: int
    last: int

    def read(self, num_threads: int | None = None) -> RankingData:
        """Return the queries, after the shards were compared with the manifest; what is missing or has changed is a FormatError."""
        from podium.formats.shard_reading import read_shards

        source, storage = self.source, Storage.of(self.source.folder)
        if not storage.has(MANIFEST):
            raise FormatError(
                storage.shown(MANIFEST),
                f"is not there on {os.uname().nodename}, where a worker runs; put the shards where every machine finds them under "
                "this path, and start the work again",
            )
        data = read_shards(source.folder, self.shards, manifest=source.manifest, num_threads=num_threads)
        return with_categories(data, source.categories).select(np.arange(self.first, self.last))


def note_shards(data: RankingData, sources: Sequence[Source]) -> None:
    """Keep with the data which directory of shards it was read from, if it is one with a manifest and was read as it is."""
    if len(sources) != 1 or sources[0].format is not SHARDS or sources[0].options:
        return
    storage = Storage.of(sources[0].path)
    if not storage.has(MANIFEST):
        return
    manifest = read_manifest(storage)
    if data.feature_names == manifest.feature_names and data.n_features == manifest.features:
        folder = storage.place if storage.is_remote else storage.root
        categories = None if data.categorical_features is None else dict(data.categorical_features)
        object.__setattr__(data, "_shards", ShardedData(folder, manifest, categories))


def shard_part(data: RankingData, first: int, last: int) -> ShardPart | None:
    """Return queries of data from `first` up to `last` as a worker can read them; None if the data is not that of shards."""
    source: Any = getattr(data, "_shards", None)
    if source is None:
        return None
    ends = np.cumsum([shard.queries for shard in source.manifest.shards])
    begin, end = (int(np.searchsorted(ends, query, side="right")) for query in (first, last - 1))
    before = int(ends[begin - 1]) if begin > 0 else 0
    shards = tuple(range(begin, end + 1))
    return ShardPart(source, shards, first - before, last - before)
