"""Side files of query sizes (`x.query`, `x.group`): one whole number a line, the rows of each query in turn."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.errors import DataError
from podium.formats.opening import writing
from podium.formats.tokens import one_number_a_line

SIDE_SUFFIXES = (".query", ".group")


def side_files(path: str | os.PathLike[str]) -> list[Path]:
    """Return the files of query sizes that stand beside a data file: `path.query` and `path.group`, those that exist."""
    beside = (Path(f"{os.fspath(path)}{suffix}") for suffix in SIDE_SUFFIXES)
    return [file for file in beside if file.exists()]


def read_sizes(path: str | os.PathLike[str]) -> npt.NDArray[np.int64]:
    """How many rows each query has."""
    tokens = one_number_a_line(path, "query size")
    values = tokens.numbers(0, "the query size", finite=True)
    bad = (values < 1) | (values != np.rint(values)) | (values >= 2**53)
    if bad.any():
        row = int(np.argmax(bad))
        tokens.fail(row, 0, f"the query size is {tokens.word(row, 0)!r}; it must be a whole number of at least 1")
    return values.astype(np.int64)


def write_sizes(data: RankingData, path: str | os.PathLike[str]) -> None:
    """Write how many rows each query has; the rows of a query must stand together in the caller's order."""
    if data.row_order is not None:
        raise DataError("the rows of a query do not stand together, so sizes cannot tell them; write query ids instead")
    with writing(path, "scores") as file:
        file.write("".join(f"{size}\n" for size in data.query_sizes.tolist()).encode())


def sizes_to_qid(sizes: npt.ArrayLike, rows: int) -> npt.NDArray[np.int64]:
    """A query id for each row, counted from 0, given how many rows each query has."""
    counts = np.asarray(sizes, np.int64)
    if (counts < 1).any():
        raise DataError(f"query size {counts[np.argmax(counts < 1)]} must be at least 1")
    if counts.sum() != rows:
        raise DataError(
            f"the query sizes sum to {counts.sum()} and there are {rows} rows; give the sizes that belong to this data"
        )
    return np.repeat(np.arange(len(counts)), counts)
