"""Reading data that is larger than memory: features are put into temporary files and mapped.

Text and tables are converted to the cache a few rows at a time. What is already a cache is mapped where it lies.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from podium.data import RankingData
from podium.data.matching import ModelFeatures
from podium.errors import DataError, FormatError
from podium.formats.cache import CACHE, LetorShape, convert_letor, read_cache, write_cache, write_streamed
from podium.formats.columns import LISTS
from podium.formats.format import Progress, Source
from podium.formats.joining import can_join, join, joined_categories, place_after
from podium.formats.letor import LETOR, Widths
from podium.formats.letor_rows import LetorOptions
from podium.formats.resolving import SHARDS
from podium.formats.shard_parts import note_shards
from podium.formats.shards import folder_sources, in_grouped_order
from podium.memory import scratch_folder


@dataclass(frozen=True)
class Converted:
    """A file of the data set as a cache.

    Attributes:
        source: The file that was read.
        cache: The cache: a temporary file, or the file itself.
        shape: Which features it has, if it is LETOR text.
    """

    source: Source
    cache: Path
    shape: LetorShape | None = None


def read_folder(
    path: str | os.PathLike[str],
    *,
    num_threads: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> RankingData:
    """Return the data of a directory of files; its features are mapped."""
    return read_on_disk([Source(path, SHARDS, options)], num_threads=num_threads, progress=progress)[0]


def read_on_disk(
    sources: Sequence[Source],
    *,
    num_threads: int | None = None,
    progress: Progress | None = None,
    on_widths: Widths | None = None,
    document_ids: bool = True,
) -> list[RankingData]:
    """Read files or directories of one data set, so that all have the same features, which are mapped.

    As with `read_sources`, LETOR files count their features from the same index and narrower ones get the features that they
    lack, and in tables the features of the first file are found by name in the others.

    Args:
        sources: The files and directories, such as training and validation data.
        num_threads: Number of threads; by default every core this process may use.
        progress: Called now and then with (bytes done, bytes in all).
        on_widths: Called with the number of features that the lines of each LETOR file show.
        document_ids: Whether to keep document ids, which take memory.
    """
    groups = [[source] for source in sources]
    return _read_groups(groups, num_threads, progress, on_widths, document_ids)


def read_on_disk_together(
    sources: Sequence[Source],
    *,
    num_threads: int | None = None,
    progress: Progress | None = None,
    scattered: bool = False,
) -> RankingData:
    """Read files and directories as one data set, one after the other; see `read_on_disk`.

    With `scattered`, the rows of a query may be in several places: `query_ids` then has its id once for each place. Only
    `write_shards` takes such data.
    """
    return _read_groups([sources], num_threads, progress, None, True, scattered)[0]


def _read_groups(
    groups: Sequence[Sequence[Source]],
    num_threads: int | None,
    progress: Progress | None,
    on_widths: Widths | None,
    document_ids: bool,
    scattered: bool = False,
) -> list[RankingData]:
    with tempfile.TemporaryDirectory(dir=scratch_folder(), prefix="podium-") as folder:
        convert = Conversion(Path(folder), {"num_threads": num_threads, "progress": progress}, document_ids, scattered)
        files = [[file for source in group for file in convert.files(source)] for group in groups]
        made = convert.all(files)
        shapes = [file.shape for group in made for file in group if file.shape is not None]
        base = min((shape.base for shape in shapes), default=0)
        if on_widths is not None and len(shapes) == len(groups):
            on_widths([shape.found + shape.base - base for shape in shapes])
        if len({(shape.base, shape.width) for shape in shapes}) > 1:
            width = max(shape.base + shape.width for shape in shapes) - base
            made = convert.all(files, {"index_base": base, "n_features": width})
        found = [convert.joined(group) for group in made]
    for data, group in zip(found, groups, strict=True):
        note_shards(data, group)
    return found


class Conversion:
    """The conversion of files to caches in a folder, whose features can be mapped one after the other."""

    def __init__(self, folder: Path, how: Mapping[str, Any], document_ids: bool, scattered: bool) -> None:
        self.folder, self.how, self.document_ids, self.scattered = folder, how, document_ids, scattered
        self.count = self.copied = 0
        self.first: RankingData | None = None  # whose columns are looked for in the tables that follow

    def files(self, source: Source) -> list[Source]:
        """Return the files of a directory, which are copied to the folder if they are not on this machine; or the file itself."""
        if source.format is not SHARDS:
            return [source]
        self.copied += 1
        copies = self.folder / f"copied-{self.copied}"
        copies.mkdir()
        return folder_sources(source, self.how["num_threads"], copies)

    def all(
        self, groups: Sequence[Sequence[Source]], options: Mapping[str, Any] | None = None
    ) -> list[list[Converted]]:
        """Return the caches of the files of each group; `options` are those of LETOR text."""
        return [self._group(group, options or {}) for group in groups]

    def _group(self, sources: Sequence[Source], options: Mapping[str, Any]) -> list[Converted]:
        if all(source.format is CACHE for source in sources):
            return [Converted(source, Path(source.path)) for source in sources]
        made, size = [], 0
        for source in sources:
            file = self._convert(source, options, place_after(size))
            size += 4 * (held := read_cache(file.cache)).n_documents * held.n_features
            made.append(file)
        return made

    def _convert(self, source: Source, options: Mapping[str, Any], begin: int) -> Converted:
        source.check_data()
        cache = self._new_file()
        try:
            if source.format is LETOR and (self.scattered or source.options.get("scattered", "error") == "error"):
                grouped = {"scattered": "group"} if self.scattered else {}
                chosen = LetorOptions(**{"document_ids": self.document_ids, **source.options, **options, **grouped})
                return Converted(source, cache, convert_letor(source.path, cache, chosen, begin=begin, **self.how))
            read_into = source.format.read_into
            if read_into is None:
                write_cache(source.read_data(**self.how), cache, begin=begin)
            else:
                source = self._like_first(source)
                write_streamed(
                    cache,
                    partial(read_into, source.path, **self.how, **source.options),
                    begin,
                    scattered=self.scattered,
                )
        except FormatError:
            raise
        except DataError as error:
            raise FormatError.of(source.path, error) from None
        self.first = self.first or read_cache(cache)
        return Converted(source, cache)

    def _like_first(self, source: Source) -> Source:
        """Return a table with options to read the columns of the first one."""
        names = None if self.first is None else self.first.feature_names
        if self.first is None or names is None or not source.options.keys().isdisjoint(LISTS):
            return source
        coded = [names[column] for column, held in (self.first.categorical_features or {}).items() if held is not None]
        return source.with_options({"features": ModelFeatures(names), "categorical_features": coded})

    def joined(self, group: Sequence[Converted]) -> RankingData:
        """Return the data of the files of a group, one after the other."""
        names = [file.source.path for file in group]
        parts = [self._part(file.cache) for file in group]
        files = [file.cache for file in group]
        categories = joined_categories(parts)
        differ = any((part.categorical_features or None) != categories for part in parts)
        if len(parts) > 1 and (differ or not can_join(files)):
            files, size = [], 0
            for part in parts:
                files.append(self._new_file())
                write_cache(part, files[-1], begin=place_after(size), categories=categories)
                size += 4 * part.n_documents * part.n_features
            parts = [self._part(file) for file in files]
        return join(parts, files, names, document_ids=self.document_ids, scattered=self.scattered)

    def _part(self, cache: Path) -> RankingData:
        found = read_cache(cache)
        return in_grouped_order(found) if self.scattered else found

    def _new_file(self) -> Path:
        self.count += 1
        return self.folder / f"{self.count}.podium-data"
