"""Files of scores: one number per line, in the order of the rows of the data."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from podium.data.conversion import as_numbers
from podium.errors import DataError
from podium.formats.decimals import shortest
from podium.formats.format import Format
from podium.formats.opening import writing
from podium.formats.tokens import number_lines
from podium.threads import resolve_threads


def read_scores(
    path: str | os.PathLike[str],
    *,
    num_threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> npt.NDArray[np.float64]:
    """Read the scores of a file; NaN is refused."""
    resolve_threads(num_threads)
    tokens = number_lines(path, "score")
    if progress is not None:
        progress(len(tokens.raw), len(tokens.raw))
    return tokens.numbers(0, "the score", finite=False)


def write_scores(scores: npt.ArrayLike, path: str | os.PathLike[str]) -> None:
    """Write scores, each as the shortest decimal that reads back as the same float64."""
    values = np.asarray(scores) if np.ndim(scores) > 1 else as_numbers("scores", scores)
    if values.ndim != 1 or not values.size:
        raise DataError(f"scores have shape {values.shape}; give one score per row")
    if np.isnan(values).any():
        raise DataError(f"score {int(np.argmax(np.isnan(values)))} is NaN; every row needs a score")
    with writing(path, "scores") as file:
        file.write("".join(f"{text}\n" for text in shortest(values)).encode())


SCORES = Format(
    "scores",
    "scores",
    "one score per line, in row order",
    read_scores,
    write_scores,
)
