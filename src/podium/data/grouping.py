"""Group the rows of each query, whatever the type and order of the query ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data.arrays import library_of, refuse_masked
from podium.errors import DataError, short_repr

Array = npt.NDArray[Any]

MAX_ID_LENGTH = 4096  # characters of a query id
WIDE_TEXT = 64  # a text with more characters than this may be too long for an array in which all have its width


def group_rows(qid: npt.ArrayLike, rows: int) -> tuple[Array, npt.NDArray[np.int64], npt.NDArray[np.int64] | None]:
    """Return the query ids in order of first appearance, the query offsets, and the row order (None if rows are grouped already)."""
    ids = as_ids(qid, rows)
    if rows == 0:
        return ids, np.zeros(1, np.int64), None
    starts = np.flatnonzero(np.append(True, ids[1:] != ids[:-1]))
    offsets = np.append(starts, rows).astype(np.int64)
    heads = ids[starts]
    codes, n_queries = first_appearance_codes(heads)
    if n_queries == len(heads):
        return held_ids(heads), offsets, None
    row_codes = np.repeat(codes, np.diff(offsets))
    order = np.argsort(row_codes, kind="stable").astype(np.int64)
    sizes = np.bincount(row_codes, minlength=n_queries)
    offsets = np.append(0, np.cumsum(sizes)).astype(np.int64)
    return held_ids(ids[order[offsets[:-1]]]), offsets, order


def query_runs(qid: npt.ArrayLike, rows: int) -> tuple[Array, npt.NDArray[np.int64]]:
    """Return the query id of every run of rows with the same id, and the number of its run for every row."""
    ids = as_ids(qid, rows)
    begins = np.append(True, ids[1:] != ids[:-1])[:rows]
    return held_ids(ids[begins]), np.cumsum(begins) - 1


def held_ids(ids: Array) -> Array:
    """Return query ids as RankingData holds them: text as an array of text, which `as_ids` may not have made for every row."""
    if ids.dtype.kind == "O" and all(isinstance(value, str) for value in ids):
        check_query_ids(ids)
        return ids.astype(np.str_)
    return ids


def distinct(ids: Array) -> tuple[npt.NDArray[np.int64], Array]:
    """Return the number of each id among the distinct ones, and the distinct ids in the order in which they first appear."""
    codes, count = first_appearance_codes(ids)
    first = np.zeros(count, np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return codes, ids[first]


def as_ids(qid: npt.ArrayLike, rows: int) -> Array:
    """Return one query id per row: as int64 or text if all are that, and as objects otherwise or if that saves much memory."""
    if qid is None:
        raise DataError("qid is missing; give one query id per row")
    ids = _as_array(qid)
    if ids.ndim == 2 and 1 in ids.shape and ids.size == rows:
        ids = ids.reshape(-1)
    if ids.shape != (rows,):
        raise DataError(f"qid has shape {ids.shape} for {rows} rows; give one query id per row")
    if ids.dtype.kind in "OST":
        return _plain_objects(ids)
    if ids.dtype.kind == "U":
        check_query_ids(ids)
    if ids.dtype.kind in "fcmM":
        _refuse_missing(ids, np.isnat(ids) if ids.dtype.kind in "mM" else np.isnan(ids))
        if ids.dtype.kind == "f" and (ids == np.rint(ids)).all() and (np.abs(ids) < 2**53).all():
            return ids.astype(np.int64)
    if ids.dtype.kind in "iub" and (ids.dtype.kind != "u" or ids.size == 0 or ids.max() < 2**63):
        return ids.astype(np.int64)
    return ids


def check_query_ids(ids: Array | Sequence[object]) -> None:
    """Check that text ids have no NUL, which NumPy drops at the end of a text, and at most MAX_ID_LENGTH characters."""
    if isinstance(ids, np.ndarray) and ids.dtype.kind == "U" and ids.size:
        letters = np.ascontiguousarray(ids).view(np.uint32).reshape(ids.size, -1)
        if letters.shape[1] <= MAX_ID_LENGTH and not ((letters[:, :-1] == 0) & (letters[:, 1:] != 0)).any():
            return
    if isinstance(ids, np.ndarray) and ids.dtype.kind not in "OTU":
        return
    texts = [text for text in ids if isinstance(text, str)]
    if max(map(len, texts), default=0) <= MAX_ID_LENGTH and not any("\0" in text for text in texts):
        return
    for row, text in enumerate(ids):
        if not isinstance(text, str):
            continue
        if "\0" in text:
            raise DataError(f"query id {short_repr(text)} (row {row}) holds a NUL character; write ids without it")
        if len(text) > MAX_ID_LENGTH:
            raise DataError(
                f"query id {short_repr(text)} (row {row}) has {len(text)} characters; at most {MAX_ID_LENGTH} are taken: "
                "shorten the id"
            )


def text_array(texts: Sequence[str]) -> Array:
    """Return texts as a NumPy array: of fixed width, or of objects if one text is so long that this would waste memory."""
    longest, total = max(map(len, texts), default=0), sum(map(len, texts))
    if longest <= WIDE_TEXT or longest * len(texts) <= 4 * total:
        return np.array(texts, np.str_)
    ids = np.empty(len(texts), object)
    ids[:] = texts
    return ids


def id_texts(ids: Array) -> list[str]:
    """Return the text of each query id, as it prints."""
    if ids.dtype.kind in "fmM":
        return [str(value) for value in ids]  # not tolist, which makes 0.1 as float32 longer and a date a number
    return [str(value) for value in ids.tolist()]


def plain_ids(ids: Array) -> list[Any]:
    """Return query ids as Python objects; dates stay NumPy's, because not all of its units have a Python type."""
    return list(ids) if ids.dtype.kind in "mM" else list(ids.tolist())


def _as_array(qid: Any) -> Array:
    """Convert ids to an array. Unlike NumPy alone, this keeps numbers apart from text in a list: 1 and "1" are two queries."""
    qid = refuse_masked("qid", qid, "every row needs a query id")
    if library_of(qid) == "pyarrow":
        return _arrow_ids(qid)
    if hasattr(qid, "to_numpy"):
        return np.asarray(qid.to_numpy())
    if isinstance(qid, Sequence) and not isinstance(qid, str | bytes) and len(qid):
        kinds = {type(value) for value in qid}
        if any(issubclass(kind, str | bytes | tuple) for kind in kinds) and not kinds & {list, np.ndarray}:
            ids = np.empty(len(qid), object)
            ids[:] = qid
            return ids
    try:
        return np.asarray(qid)
    except ValueError:  # lists of different lengths
        raise DataError("qid is a list of lists of different lengths; give one query id per row") from None


def _arrow_ids(qid: Any) -> Array:
    """Return the ids of a pyarrow array; a null is None, so that integers stay integers."""
    import pyarrow as pa

    if qid.null_count:
        ids = np.empty(len(qid), object)
        ids[:] = qid.to_pylist()
        return ids
    if pa.types.is_dictionary(qid.type):
        qid = qid.cast(qid.type.value_type)
    if not (pa.types.is_string(qid.type) or pa.types.is_large_string(qid.type) or pa.types.is_string_view(qid.type)):
        return np.asarray(qid)
    chunks = qid.cast(pa.large_string()).chunks if isinstance(qid, pa.ChunkedArray) else [qid.cast(pa.large_string())]
    encoded = pa.concat_arrays(chunks or [pa.array([], pa.large_string())]).dictionary_encode()
    return np.asarray(text_array(encoded.dictionary.to_pylist())[encoded.indices.to_numpy()])


def _plain_objects(ids: Array) -> Array:
    """Return objects as int64 or text if all are that, otherwise as they are."""
    values = ids.tolist()
    _refuse_missing(ids, np.fromiter((is_missing(value) for value in values), bool, len(values)))
    try:
        values = [value.decode() if isinstance(value, bytes) else value for value in values]
    except UnicodeDecodeError as error:
        raise DataError(f"a query id is not UTF-8 text: {error}; give text or numbers") from None
    check_query_ids(values)
    if values and all(isinstance(value, str) for value in values):
        return text_array(values)
    if all(isinstance(value, int | np.integer) and -(2**63) <= value < 2**63 for value in values):
        return np.asarray(values, np.int64)
    try:
        set(values)
    except TypeError as error:
        raise DataError(f"qid: {error}; query ids must be hashable, such as numbers or text") from None
    plain = np.empty(len(values), object)
    plain[:] = values
    return plain


def is_missing(value: object) -> bool:
    """Return whether a value is None, masked, NaN, or pandas' NA, for which comparing it with itself is an error."""
    try:
        return value is None or value is np.ma.masked or bool(value != value)
    except (TypeError, ValueError):
        return True


def _refuse_missing(ids: Array, missing: npt.NDArray[np.bool_]) -> None:
    if missing.any():
        row = int(np.argmax(missing))
        raise DataError(f"qid of row {row} is {ids[row]!s}; every row needs a query id")


def first_appearance_codes(heads: Array) -> tuple[npt.NDArray[np.int64], int]:
    """Return a number for each value, the same for equal values, counted in order of first appearance, and how many there are."""
    if heads.dtype.kind == "O":
        seen: dict[Any, int] = {}
        codes = np.fromiter((seen.setdefault(value, len(seen)) for value in heads.tolist()), np.int64, len(heads))
        return codes, len(seen)
    _, first, inverse = np.unique(heads, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse], len(first)
