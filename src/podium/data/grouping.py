"""Bring the rows of a query together, whatever the type and order of the ids."""

from __future__ import annotations

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
    ids = np.asarray(qid.to_numpy() if hasattr(qid, "to_numpy") else qid)
    if ids.ndim == 2 and 1 in ids.shape and ids.size == rows:
        ids = ids.reshape(-1)
    if ids.shape != (rows,):
        raise DataError(f"qid has shape {ids.shape} for {rows} rows; give one query id a row")
    if ids.dtype.kind in "OT":
        values = ids.tolist()
        missing = next((row for row, value in enumerate(values) if value is None or value != value), None)
        if missing is not None:
            raise DataError(f"qid of row {missing} is {values[missing]!r}; every row needs a query id")
        if all(isinstance(value, str) for value in values):
            return np.asarray(values, np.str_) if values else ids
        if all(isinstance(value, int) and abs(value) < 2**63 for value in values):
            return np.asarray(values, np.int64)
        return ids
    if ids.dtype.kind in "fc":
        missing_rows = np.flatnonzero(np.isnan(ids))
        if missing_rows.size:
            raise DataError(f"qid of row {missing_rows[0]} is nan; every row needs a query id")
        if ids.dtype.kind == "f" and (ids == np.rint(ids)).all() and (np.abs(ids) < 2**53).all():
            return ids.astype(np.int64)
    if ids.dtype.kind in "iub" and (ids.dtype.kind != "u" or ids.size == 0 or ids.max() < 2**63):
        return ids.astype(np.int64)
    return ids


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
