"""A bound on the memory that Python and NumPy allocate, to show that work stays below it."""

from __future__ import annotations

import contextlib
import tracemalloc
from collections.abc import Iterator


@contextlib.contextmanager
def limited_memory(mib: int) -> Iterator[None]:
    """What is inside may at no time have allocated more than so many MiB.

    Allocations are counted where they are asked for, so the figure is the same on every machine, whatever the system's
    allocator and other threads take.
    """
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= mib << 20, f"{peak / (1 << 20):.0f} MiB were allocated"
