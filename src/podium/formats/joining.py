"""Cache files as one data set, whose features are mapped one after the other and never copied."""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data import Pairs, RankingData, Strings
from podium.data.categories import Categories
from podium.data.frame_columns import sorted_categories
from podium.data.grouping import id_texts, plain_ids, text_array
from podium.errors import FormatError, short_repr
from podium.formats.cache import HEADER_BYTES, feature_span
from podium.formats.mapping import map_parts

Array = npt.NDArray[Any]
Paths = Sequence[str | os.PathLike[str]]
SPLIT = "a query must lie in one file: put its rows together, and sort the data by query"


def place_after(size: int) -> int:
    """Return where the features of a cache must begin, so that they can be mapped after `size` bytes of other features."""
    return HEADER_BYTES + size % mmap.PAGESIZE


def can_join(paths: Paths) -> bool:
    """Return whether the features of these caches can be mapped one after the other."""
    total = 0
    for path in paths:
        with Path(path).open("rb") as file:
            begin, size = feature_span(path, file)
        if begin % mmap.PAGESIZE != total % mmap.PAGESIZE:
            return False
        total += size
    return True


def join(
    parts: Sequence[RankingData], files: Paths, names: Paths, *, document_ids: bool = True, scattered: bool = False
) -> RankingData:
    """Return the queries of several caches, one after the other.

    Args:
        parts: The data of the caches.
        files: The caches, whose features can be joined.
        names: What to call each of them in messages.
        document_ids: Whether to keep document ids.
        scattered: Whether a query may be in several places, and its id be there once for each.
    """
    check_parts(parts, names, scattered=scattered)
    if len(parts) == 1:
        return parts[0] if document_ids else parts[0].replace_grouped(document_ids=None)
    return _joined_parts(parts, _features(parts, files, names), document_ids=document_ids)


def join_judgments(parts: Sequence[RankingData], names: Paths) -> RankingData:
    """Return the queries of several files, one after the other, all without features."""
    check_parts(parts, names)
    rows = sum(part.n_documents for part in parts)
    return _joined_parts(parts, np.empty((rows, 0), np.float32), document_ids=True)


def _joined_parts(
    parts: Sequence[RankingData], features: npt.NDArray[np.float32], *, document_ids: bool
) -> RankingData:
    begins = np.cumsum([0, *(part.n_documents for part in parts)])
    offsets = [part.query_offsets[1:] + begin for part, begin in zip(parts, begins[:-1], strict=True)]
    keeps_ids = document_ids and all(part.document_ids is not None for part in parts)
    return RankingData.of_parts(
        check=False,
        features=features,
        labels=np.concatenate([part.labels for part in parts]),
        query_offsets=np.concatenate([np.zeros(1, np.int64), *offsets]),
        query_ids=joined_ids([part.query_ids for part in parts]),
        document_ids=_joined_strings([part.document_ids for part in parts]) if keeps_ids else None,
        document_weights=_joined([part.document_weights for part in parts]),
        query_weights=_joined([part.query_weights for part in parts]),
        pairs=_joined_pairs(parts, begins),
        feature_names=parts[0].feature_names,
        categorical_features=parts[0].categorical_features,
        absent_value=parts[0].absent_value,
    )


def check_parts(parts: Sequence[RankingData], names: Paths, *, scattered: bool = False) -> None:
    """Raise a FormatError if the files do not make one data set: other features or weights, or a query in two of them."""
    first = parts[0]
    for part, name in zip(parts, names, strict=True):
        if part.row_order is not None:
            raise FormatError(name, f"the rows of a query are not together; {SPLIT}")
        if part.n_features != first.n_features:
            found = f"has {part.n_features} features, and {os.fspath(names[0])} has {first.n_features}"
            raise FormatError(name, f"{found}; files of one data set need the same")
        if part.feature_names != first.feature_names:
            raise FormatError(name, f"has other feature names than {os.fspath(names[0])}, or another order of them")
        for weights in ("document_weights", "query_weights"):
            if (getattr(part, weights) is None) != (getattr(first, weights) is None):
                raise FormatError(name, f"has {weights} and {os.fspath(names[0])} has none, or the other way round")
    if not scattered:
        refuse_split_queries([part.query_ids for part in parts], names)


def refuse_split_queries(parts: Sequence[Array], names: Paths) -> None:
    """Raise a FormatError if a query is in two files, given the query ids of each file."""
    ids = joined_ids(parts)
    order = np.argsort(ids, kind="stable")
    same = np.flatnonzero(ids[order][1:] == ids[order][:-1])
    if not len(same):
        return
    ends = np.cumsum([len(part) for part in parts])
    places = order[[same[0], same[0] + 1]]
    there, here = (names[int(np.searchsorted(ends, place, side="right"))] for place in places)
    found = short_repr(plain_ids(ids[places[:1]])[0])
    raise FormatError(here, f"query {found} is also in {os.fspath(there)}; {SPLIT}")


def joined_ids(parts: Sequence[Array]) -> Array:
    """Return the query ids of several files; if some are text and others numbers, all as text."""
    if len({part.dtype.kind for part in parts}) == 1:
        return np.concatenate(list(parts))
    return np.concatenate([text_array(id_texts(part)) for part in parts])


def joined_categories(parts: Sequence[RankingData]) -> Categories | None:
    """Return the categories of all files together: in the order of the first if it has all of them, sorted otherwise."""
    found: dict[int, tuple[str, ...] | None] = {}
    for part in parts:
        for column, names in (part.categorical_features or {}).items():
            held = found.setdefault(column, names)
            if held is not None and names is not None and not set(names) <= set(held):
                found[column] = sorted_categories(set(held) | set(names))
    return found or None


def _features(parts: Sequence[RankingData], files: Paths, names: Paths) -> npt.NDArray[np.float32]:
    with contextlib.ExitStack() as opened:
        pieces = []
        for path, name in zip(files, names, strict=True):
            file = opened.enter_context(Path(path).open("rb"))
            pieces.append((name, file, *feature_span(path, file)))
        return map_parts(pieces).view(np.float32).reshape(-1, parts[0].n_features)


def _joined(parts: Sequence[Array | None]) -> Array | None:
    found = [part for part in parts if part is not None]
    return np.concatenate(found) if found else None


def _joined_strings(parts: Sequence[Strings | None]) -> Strings:
    held = [part.compact() for part in parts if part is not None]
    begins = np.cumsum([0, *(part.offsets[-1] for part in held)])
    offsets = [part.offsets[1:] + begin for part, begin in zip(held, begins[:-1], strict=True)]
    return Strings(np.concatenate([np.zeros(1, np.int64), *offsets]), np.concatenate([part.data for part in held]))


def _joined_pairs(parts: Sequence[RankingData], begins: npt.NDArray[np.int64]) -> Pairs | None:
    held = [(part.pairs, begin) for part, begin in zip(parts, begins[:-1], strict=True) if part.pairs is not None]
    if not held:
        return None
    return Pairs(
        np.concatenate([pairs.winner + begin for pairs, begin in held]),
        np.concatenate([pairs.loser + begin for pairs, begin in held]),
        np.concatenate([pairs.probability for pairs, _ in held]),
        np.concatenate([pairs.weight for pairs, _ in held]),
    )
