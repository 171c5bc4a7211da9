"""Features that a reader puts into a file rather than into memory."""

from __future__ import annotations

import mmap
import os
from typing import IO

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float32]


class FeatureFile:
    """A float32 matrix in an open file: its rows are written one after the other, and then mapped.

    Args:
        file: The file, open for reading and writing.
        begin: The byte at which the matrix begins.
    """

    def __init__(self, file: IO[bytes], begin: int) -> None:
        self.file, self.begin = file, begin
        self.rows, self.width = 0, 0

    def append(self, block: Matrix) -> None:
        """Write the next rows."""
        self.file.seek(self.begin + 4 * self.rows * block.shape[1])
        self.file.write(np.ascontiguousarray(block).data)
        self.rows, self.width = self.rows + len(block), block.shape[1]

    def replace(self, matrix: Matrix) -> None:
        """Write these rows in place of all others."""
        self.rows = 0
        self.append(matrix)

    def matrix(self) -> Matrix:
        """Return the rows so far, mapped: what is written to them is written to the file."""
        self.file.flush()
        return self._map(self.rows, self.width)

    def allocate(self, rows: int, width: int) -> Matrix:
        """Return a matrix of zeros to fill. Its place on disk is reserved, so that a full disk is an error and not a crash."""
        self.file.flush()
        if rows * width:
            os.posix_fallocate(self.file.fileno(), self.begin, 4 * rows * width)
        self.rows, self.width = rows, width
        return self._map(rows, width)

    def _map(self, rows: int, width: int) -> Matrix:
        if not rows * width:
            return np.empty((rows, width), np.float32)
        pages = mmap.mmap(self.file.fileno(), self.begin + 4 * rows * width)
        return np.frombuffer(pages, np.float32, rows * width, self.begin).reshape(rows, width)
