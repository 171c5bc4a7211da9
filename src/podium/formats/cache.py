"""Podium's own binary format: the arrays of RankingData as they are in memory, loaded by mapping the file.

It is a safetensors file: eight bytes with the length of a JSON header, the header, then the arrays. The features come first, so
that a text file of any size can be converted without holding it in memory.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data import Pairs, RankingData, Strings
from podium.data.categories import Categories, as_categorical_features, recode
from podium.data.checks import check_pairs
from podium.data.grouping import first_appearance_codes, text_array
from podium.data.ordering import check_row_order
from podium.errors import DataError, FormatError, ParameterError
from podium.files import atomic_write
from podium.formats.feature_file import FeatureFile
from podium.formats.format import Format, Progress
from podium.formats.letor import iterate_blocks
from podium.formats.letor_rows import LetorOptions, LetorRows
from podium.formats.mapping import map_file
from podium.formats.opening import open_file
from podium.kinds import CACHE_KIND
from podium.threads import resolve_threads

Array = npt.NDArray[Any]
VERSION = 1
HEADER_BYTES = 4096  # length and header together; the rest is filled with blanks
DTYPES = {"F32": np.float32, "F64": np.float64, "I64": np.int64, "U8": np.uint8}
NAMES = {np.dtype(kind): name for name, kind in DTYPES.items()}


@dataclass(frozen=True)
class LetorShape:
    """Which features a LETOR file has.

    Attributes:
        base: Index of the first feature.
        width: Number of features.
        found: Number of features that its lines show, which may be fewer.
    """

    base: int
    width: int
    found: int


def write_cache(
    data: RankingData,
    path: str | os.PathLike[str],
    *,
    progress: Progress | None = None,
    begin: int = HEADER_BYTES,
    categories: Categories | None = None,
) -> None:
    """Write every part of the data, exactly.

    The features begin at the byte `begin`, a multiple of 4. If `categories` are given, which include those of the data, their
    codes are written.
    """
    wanted = data.categorical_features if categories is None else categories
    with atomic_write(path, "cache") as file:
        file.seek(begin)
        step = max(1, (16 << 20) // (4 * data.n_features + 4))
        for row in range(0, data.n_documents, step):
            block, _ = recode(data.features[row : row + step], data.categorical_features, wanted, data.feature_names)
            file.write(np.ascontiguousarray(block).data)
            if progress is not None:
                progress(min(row + step, data.n_documents), data.n_documents)
        _finish(file, data.features.shape, _tensors(path, data, wanted), begin)


def write_streamed(
    path: str | os.PathLike[str],
    read: Callable[[FeatureFile], RankingData],
    begin: int = HEADER_BYTES,
    *,
    scattered: bool = False,
) -> None:
    """Write the data that a reader returns after it has put the features into the file, so that memory never holds them.

    With `scattered`, the rows of a query need not be together; its id is then written once for each place.
    """
    with atomic_write(path, "cache") as file:
        data = read(FeatureFile(file, begin))
        is_split = data.row_order is not None or first_appearance_codes(data.query_ids)[1] < data.n_queries
        if is_split and not scattered:
            raise DataError(
                "the rows of a query are not together; data that is larger than memory must be sorted by query: sort the file"
            )
        _finish(file, data.features.shape, _tensors(path, data), begin)


def convert_letor(
    source: str | os.PathLike[str],
    path: str | os.PathLike[str],
    options: LetorOptions,
    *,
    num_threads: int | None = None,
    progress: Progress | None = None,
    begin: int = HEADER_BYTES,
) -> LetorShape:
    """Convert LETOR text to the cache block by block, so that only labels and ids are held in memory, never the features.

    It returns which features the file shows. The features begin at the byte `begin`. The first block shows how many features there are. If a later block has more, the rest of the file is read only to learn the
    number, and everything is written in a second pass.
    """
    threads = resolve_threads(num_threads)
    with open_file(source) as text, atomic_write(path, "cache") as file:
        rows = LetorRows(source, options)
        shape: tuple[int, int] | None = None  # as written
        for block, _ in iterate_blocks(source, text, options, threads, progress):
            rows.add(block)
            needed = (rows.base, rows.width(rows.base))
            if shape is None and block.rows:
                shape = needed
            rows.refuse_absurd_width(needed[1])
            if needed == shape:
                _write_block(file, begin, block, rows.n_rows - block.rows, needed, options.absent_value)
        parts = rows.parts()
        if needed != shape:
            written = 0
            for block, _ in iterate_blocks(source, text, options, threads, progress):
                _write_block(file, begin, block, written, needed, options.absent_value)
                written += block.rows
            if written != rows.n_rows:
                raise FormatError(
                    source, "the file changed while it was being read; read it again when nobody writes to it"
                )
        ids, counts = parts.pop("query_ids"), parts.pop("counts")
        offsets, nothing = np.append(0, np.cumsum(counts)), np.empty((rows.n_rows, 0), np.float32)
        parts |= {"query_ids": ids, "query_offsets": offsets, "absent_value": options.absent_value}
        shell = RankingData.of_parts(check=False, features=nothing, **parts)
        _finish(file, (rows.n_rows, needed[1]), _tensors(path, shell), begin)
    return LetorShape(needed[0], needed[1], rows.found_width(needed[0]))


def _write_block(
    file: IO[bytes], begins: int, block: _core.LetorBlock, row: int, shape: tuple[int, int], absent: float
) -> None:
    """Write the features of a block to their place, a few rows at a time, because rows of sparse text may be wide."""
    base, width = shape
    file.seek(begins + 4 * row * width)
    step = max(1, (16 << 20) // (4 * width + 4))
    for begin in range(0, block.rows, step):
        features = np.empty((min(step, block.rows - begin), width), np.float32)
        _core.fill_part(block, begin, features, base, absent)
        file.write(features.data)


def _tensors(path: Any, data: RankingData, categories: Categories | None = None) -> dict[str, Array]:
    """Return every part but the features, by name."""
    categories = data.categorical_features if categories is None else categories
    tensors: dict[str, Array] = {"labels": data.labels, "query_offsets": data.query_offsets}
    ids = data.query_ids.astype(np.float64) if data.query_ids.dtype.kind == "f" else data.query_ids
    if ids.dtype.kind == "U":
        tensors |= _text("query_ids", Strings.of(ids.tolist()))
    elif ids.dtype in NAMES:
        tensors["query_ids"] = ids
    else:
        raise DataError(
            f"{os.fspath(path)}: query ids must be whole numbers, floats or text to be written, not {ids[0]!r}"
        )
    for name in ("document_weights", "query_weights", "row_order"):
        if getattr(data, name) is not None:
            tensors[name] = getattr(data, name)
    if data.pairs is not None:
        for name in ("winner", "loser", "probability", "weight"):
            tensors[f"pairs.{name}"] = getattr(data.pairs, name)
    if data.document_ids is not None:
        tensors |= _text("document_ids", data.document_ids.compact())
    if data.feature_names is not None:
        tensors |= _text("feature_names", Strings.of(data.feature_names))
    if categories is not None:
        tensors |= _categories(categories)
    if data.absent_value is not None:
        tensors["absent_value"] = np.array([data.absent_value])
    return tensors


def _categories(categories: Categories) -> dict[str, Array]:
    """Return the columns of the categorical features, how many categories each has (-1: without names), and all the names."""
    counts = [-1 if names is None else len(names) for names in categories.values()]
    texts = [text for names in categories.values() for text in names or ()]
    return {
        "categories.columns": np.array(list(categories), np.int64),
        "categories.counts": np.array(counts, np.int64),
        **_text("categories", Strings.of(texts)),
    }


def _text(name: str, strings: Strings) -> dict[str, Array]:
    return {f"{name}.offsets": strings.offsets, f"{name}.bytes": strings.data}


def _finish(file: IO[bytes], shape: tuple[int, ...], tensors: dict[str, Array], begin: int) -> None:
    """Write the small arrays after the features, those of eight-byte numbers first, and then the header before them."""
    feature_bytes = 4 * shape[0] * shape[1]
    small = dict(sorted(tensors.items(), key=lambda item: -item[1].dtype.itemsize))
    if (begin + feature_bytes) % 8:
        small = {"padding": np.zeros(4, np.uint8), **small}
    header: dict[str, Any] = {"__metadata__": {"kind": CACHE_KIND, "version": str(VERSION)}}
    header["features"] = {"dtype": "F32", "shape": list(shape), "data_offsets": [0, feature_bytes]}
    end = feature_bytes
    file.seek(begin + end)
    for name, array in small.items():
        header[name] = {
            "dtype": NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [end, end + array.nbytes],
        }
        end += array.nbytes
        file.write(np.ascontiguousarray(array).data)
    file.truncate(begin + end)
    text = json.dumps(header, separators=(",", ":")).encode()
    file.seek(0)
    file.write((begin - 8).to_bytes(8, "little") + text.ljust(begin - 8))


def read_cache(
    path: str | os.PathLike[str], *, num_threads: int | None = None, progress: Progress | None = None
) -> RankingData:
    """Read a cache by mapping the file: opening it takes no time, and rows are loaded when they are used."""
    tensors = _map(path)
    try:
        data = RankingData.of_parts(check=False, **_parts(tensors))
        if data.row_order is not None:
            check_row_order(data.row_order, data.n_documents)
        if data.pairs is not None:
            check_pairs(data.pairs, data.query_offsets)
        if data.categorical_features is not None:
            as_categorical_features(data.categorical_features, data.feature_names, data.features[:0])
    except (KeyError, DataError, ParameterError, UnicodeDecodeError) as error:
        raise FormatError(path, f"the cache is damaged ({error}); make it again from its source") from None
    return data


def _map(path: str | os.PathLike[str]) -> dict[str, Array]:
    """Return every array of the file, as views of one mapping."""
    with open_file(path) as file:
        head = file.read(8)
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(head, "little")
        if len(head) < 8 or not 2 <= length <= size - 8:
            raise FormatError(path, "is not a Podium data cache, or is cut short; make it again from its source")
        try:
            header = json.loads(file.read(length))
            metadata = dict(header.pop("__metadata__"))
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
            raise FormatError(
                path, "is not a Podium data cache, or its header is damaged; make it again from its source"
            ) from None
        _check_kind(path, metadata)
        whole = map_file(path, file, size)
    try:
        return {name: _view(whole[8 + length :], entry) for name, entry in header.items()}
    except (KeyError, TypeError, ValueError):
        raise FormatError(
            path, "the cache is cut short or its header is damaged; make it again from its source"
        ) from None


def feature_span(path: str | os.PathLike[str], file: IO[bytes]) -> tuple[int, int]:
    """Return where the features of an open cache, which has been read before, begin in the file, and their size in bytes."""
    file.seek(0)
    length = int.from_bytes(file.read(8), "little")
    begin, end = json.loads(file.read(length))["features"]["data_offsets"]
    return 8 + length + begin, end - begin


def _check_kind(path: str | os.PathLike[str], metadata: dict[str, Any]) -> None:
    if metadata.get("kind") != CACHE_KIND:
        raise FormatError(
            path,
            f"is a safetensors file of {metadata.get('kind', 'unknown kind')!r}, not of {CACHE_KIND!r}; give another file",
        )
    if metadata.get("version") != str(VERSION):
        raise FormatError(
            path,
            f"the cache has version {metadata.get('version')}; this Podium reads version {VERSION}; make it again from its source",
        )


def _view(data: Array, entry: dict[str, Any]) -> Array:
    begin, end = entry["data_offsets"]
    if not 0 <= begin <= end <= len(data):
        raise ValueError("array beyond the end of the file")
    return data[begin:end].view(DTYPES[entry["dtype"]]).reshape(entry["shape"])


def _parts(tensors: dict[str, Array]) -> dict[str, Any]:
    def strings(name: str) -> Strings | None:
        if f"{name}.offsets" not in tensors:
            return None
        text = Strings(tensors[f"{name}.offsets"], tensors[f"{name}.bytes"])
        if (
            not len(text.offsets)
            or text.offsets[0] != 0
            or text.offsets[-1] != len(text.data)
            or (np.diff(text.offsets) < 0).any()
        ):
            raise DataError(f"{name} does not add up")
        text.data.tobytes().decode()
        return text

    parts: dict[str, Any] = {name: tensors.get(name) for name in ("document_weights", "query_weights", "row_order")}
    parts |= {name: tensors[name] for name in ("features", "labels", "query_offsets")}
    ids, names = strings("query_ids"), strings("feature_names")
    parts["query_ids"] = tensors["query_ids"] if ids is None else text_array(list(ids))
    parts["document_ids"] = strings("document_ids")
    parts["feature_names"] = None if names is None else tuple(names)
    parts["categorical_features"] = _read_categories(tensors, strings("categories"))
    if "absent_value" in tensors:
        if tensors["absent_value"].shape != (1,):
            raise DataError("absent_value is not one number")
        parts["absent_value"] = float(tensors["absent_value"][0])
    if "pairs.winner" in tensors:
        parts["pairs"] = Pairs(*(tensors[f"pairs.{name}"] for name in ("winner", "loser", "probability", "weight")))
    return parts


def _read_categories(tensors: dict[str, Array], texts: Strings | None) -> dict[int, tuple[str, ...] | None] | None:
    if texts is None:
        return None
    columns, counts, names = tensors["categories.columns"], tensors["categories.counts"], list(texts)
    are_flat = all(array.ndim == 1 and array.dtype == np.int64 for array in (columns, counts))
    if not are_flat or len(columns) != len(counts) or np.maximum(counts, 0).sum() != len(names):
        raise DataError("categories do not add up")
    ends = np.cumsum(np.maximum(counts, 0))
    return {
        int(column): None if count < 0 else tuple(names[end - count : end])
        for column, count, end in zip(columns.tolist(), counts.tolist(), ends.tolist(), strict=True)
    }


CACHE = Format(
    name="cache",
    holds="data",
    description="Podium's binary cache: every part of the data, loaded by mapping the file",
    read=read_cache,
    write=write_cache,
)
