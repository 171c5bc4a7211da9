"""The two orders of documents: the caller's rows, and the grouped rows, in which the documents of a query stand together.

`row_order[d]` is the caller's row of the d-th grouped document; it is None if the two orders are the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data.pairs import Pairs
from podium.errors import DataError

Array = npt.NDArray[Any]
RowOrder = npt.NDArray[np.int64] | None


def positions(row_order: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the grouped position of each of the caller's rows."""
    found = np.empty(len(row_order), np.int64)
    found[row_order] = np.arange(len(row_order))
    return found


def group(values: Any, row_order: RowOrder) -> Any:
    """Return an array, Strings or Pairs given in the caller's row order, in grouped order."""
    if row_order is None:
        return values
    if isinstance(values, Pairs):
        for name, rows in (("winner", values.winner), ("loser", values.loser)):
            check_row_numbers(name, rows, len(row_order))
        return values.renumbered(positions(row_order))
    return values[row_order]


def ungroup(values: Any, row_order: RowOrder) -> Any:
    """Return an array, Strings or Pairs held in grouped order, in the caller's row order."""
    if row_order is None:
        return values
    return values.renumbered(row_order) if isinstance(values, Pairs) else values[positions(row_order)]


def ranked_rows(row_order: RowOrder, rows: slice | Array) -> RowOrder:
    """Return the row order of a selection of grouped rows whose documents keep the caller's order among themselves."""
    if row_order is None:
        return None
    chosen = row_order[rows]
    if (np.diff(chosen) > 0).all():
        return None
    return positions(np.argsort(chosen))


def check_row_order(row_order: Array, n: int) -> None:
    """Check that each of n rows stands once in the row order."""
    if row_order.shape != (n,) or row_order.dtype.kind not in "iu":
        raise DataError(
            f"row_order is {row_order.dtype} of shape {row_order.shape}; it must hold each row from 0 to {n - 1} once"
        )
    bad = (row_order < 0) | (row_order >= n)
    if bad.any():
        k = int(np.argmax(bad))
        raise DataError(f"row_order[{k}] = {row_order[k]} is not a row of the data, which has rows 0 to {n - 1}")
    seen = np.zeros(n, bool)
    seen[row_order] = True
    if not seen.all():
        raise DataError(
            f"row_order leaves out row {int(np.argmin(seen))}; it must hold each row from 0 to {n - 1} once"
        )


def check_row_numbers(name: str, rows: Array, count: int) -> None:
    """Check that the rows a pair names exist."""
    bad = (rows < 0) | (rows >= count)
    if bad.any():
        k = int(np.argmax(bad))
        raise DataError(f"pairs: {name}[{k}] = {rows[k]} is not a row of the data, which has rows 0 to {count - 1}")
