"""Podium's compiled core. Private: use the names of the podium package."""

from typing import Annotated

import numpy
from numpy.typing import NDArray

def first_infinite(
    values: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    num_threads: int,
) -> int:
    """Flat index of the first infinite value, or -1."""
