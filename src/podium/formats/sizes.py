"""Files of query sizes (`x.query`, `x.group`): one integer per line, the number of rows of each query in turn."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.errors import DataError
from podium.formats.opening import writing
from podium.formats.tokens import number_lines

SIDE_SUFFIXES = (".query", ".group")


def side_files(path: str | os.PathLike[str]) -> list[Path]:
    """Return the existing files of query sizes beside a data file: `path.query` and `path.group`."""
    beside = (Path(f"{os.fspath(path)}{suffix}") for suffix in SIDE_SUFFIXES)
    return [file for file in beside if file.exists()]


def read_sizes(path: str | os.PathLike[str]) -> npt.NDArray[np.int64]:
    """Read how many rows each query has."""
    tokens = number_lines(path, "query size")
    values = tokens.numbers(0, "the query size", finite=True)
    bad = (values < 1) | (values != np.rint(values)) | (values >= 2**53)
    if bad.any():
        row = int(np.argmax(bad))
        tokens.fail(row, 0, f"the query size is {tokens.word(row, 0)!r}; it must be a whole number of at least 1")
    return values.astype(np.int64)


def write_sizes(data: RankingData, path: str | os.PathLike[str]) -> None:
    """Write how many rows each query has; the rows of each query must be together in the caller's order."""
    if data.row_order is not None:
        raise DataError(
            "the rows of a query are not together, so that sizes cannot describe them; write query ids instead"
        )
    with writing(path, "scores") as file:
        file.write("".join(f"{size}\n" for size in data.query_sizes.tolist()).encode())


def sizes_to_qid(sizes: npt.ArrayLike, rows: int) -> npt.NDArray[np.int64]:
    """Return a query id for each row, counted from 0, given how many rows each query has."""
    counts = np.asarray(sizes, np.int64)
    if (counts < 1).any():
        raise DataError(
            f"query size {counts[np.argmax(counts < 1)]} must be at least 1; leave out queries without rows"
        )
    if counts.sum() != rows:
        raise DataError(
            f"the query sizes sum to {counts.sum()} and there are {rows} rows; give the sizes that belong to this data"
        )
    return np.repeat(np.arange(len(counts)), counts)
