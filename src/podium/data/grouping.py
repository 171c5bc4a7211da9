"""Bring the rows of a query together, whatever the type and order of the ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.errors import DataError

Array = npt.NDArray[Any]


def group_rows(qid: npt.ArrayLike, rows: int) -> tuple[Array, npt.NDArray[np.int64], npt.NDArray[np.int64] | None]:
    """(query ids in order of first appearance, query offsets, row order or None where the rows are grouped already)."""
    ids = _as_ids(qid, rows)
    if rows == 0:
        return ids, np.zeros(1, np.int64), None
    starts = np.flatnonzero(np.append(True, ids[1:] != ids[:-1]))
    offsets = np.append(starts, rows).astype(np.int64)
    heads = ids[starts]
    codes, n_queries = _first_appearance_codes(heads)
    if n_queries == len(heads):
        return heads, offsets, None
    row_codes = np.repeat(codes, np.diff(offsets))
    order = np.argsort(row_codes, kind="stable").astype(np.int64)
    sizes = np.bincount(row_codes, minlength=n_queries)
    offsets = np.append(0, np.cumsum(sizes)).astype(np.int64)
    return ids[order[offsets[:-1]]], offsets, order


def _as_ids(qid: npt.ArrayLike, rows: int) -> Array:
    if qid is None:
        raise DataError("qid is missing; give one query id a row")
    ids = _as_array(qid)
    if ids.ndim == 2 and 1 in ids.shape and ids.size == rows:
        ids = ids.reshape(-1)
    if ids.shape != (rows,):
        raise DataError(f"qid has shape {ids.shape} for {rows} rows; give one query id a row")
    if ids.dtype.kind in "OT":
        return _plain_objects(ids)
    if ids.dtype.kind == "S":
        return np.char.decode(ids, "utf-8")
    if ids.dtype.kind in "fcmM":
        _refuse_missing(ids, np.isnat(ids) if ids.dtype.kind in "mM" else np.isnan(ids))
        if ids.dtype.kind == "f" and (ids == np.rint(ids)).all() and (np.abs(ids) < 2**53).all():
            return ids.astype(np.int64)
    if ids.dtype.kind in "iub" and (ids.dtype.kind != "u" or ids.size == 0 or ids.max() < 2**63):
        return ids.astype(np.int64)
    return ids


def _as_array(qid: Any) -> Array:
    """As NumPy has it, except that a list of text and numbers is not made text: 1 and "1" are two queries."""
    if hasattr(qid, "to_numpy"):
        return np.asarray(qid.to_numpy())
    try:
        ids = np.asarray(qid)
    except ValueError:  # ids of several lengths, such as tuples
        ids = np.empty(0)
    whole = not isinstance(qid, np.ndarray) and isinstance(qid, Sequence)
    if whole and (
        (ids.dtype.kind == "U" and not all(isinstance(value, str) for value in qid))
        or (len(qid) and all(isinstance(value, tuple) for value in qid))
    ):
        ids = np.empty(len(qid), object)
        ids[:] = qid
    return ids


def _plain_objects(ids: Array) -> Array:
    """Objects as int64 or text where they all are that, else as they are."""
    values = ids.tolist()
    _refuse_missing(ids, np.fromiter((_is_missing(value) for value in values), bool, len(values)))
    if values and all(isinstance(value, str) for value in values):
        return np.asarray(values, np.str_)
    if all(isinstance(value, int | np.integer) and -(2**63) <= value < 2**63 for value in values):
        return np.asarray(values, np.int64)
    try:
        set(values)
    except TypeError as error:
        raise DataError(
            f"qid: {error}; query ids must be values that can be compared, such as numbers or text"
        ) from None
    return ids


def _is_missing(value: object) -> bool:
    """None, NaN, or pandas' NA, which refuses to say whether it equals itself."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return True


def _refuse_missing(ids: Array, missing: npt.NDArray[np.bool_]) -> None:
    if missing.any():
        row = int(np.argmax(missing))
        raise DataError(f"qid of row {row} is {ids[row]!s}; every row needs a query id")


def _first_appearance_codes(heads: Array) -> tuple[npt.NDArray[np.int64], int]:
    """A number for each value, equal values equal, numbered as they first appear."""
    if heads.dtype.kind == "O":
        seen: dict[Any, int] = {}
        codes = np.fromiter((seen.setdefault(value, len(seen)) for value in heads.tolist()), np.int64, len(heads))
        return codes, len(seen)
    _, first, inverse = np.unique(heads, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse], len(first)
