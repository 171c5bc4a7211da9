"""A bound on the memory that Python and NumPy allocate, to show that work stays below it."""

from __future__ import annotations

import contextlib
import tracemalloc
from collections.abc import Iterator


@contextlib.contextmanager
def limited_memory(mib: int) -> Iterator[None]:
    """Context whose code may never have more than this many MiB allocated.

    tracemalloc counts the allocations of Python and NumPy, so that the figure does not depend on the machine.
    """
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= mib << 20, f"{peak / (1 << 20):.0f} MiB were allocated"
