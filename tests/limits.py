"""A bound on the memory of this process, to show that work stays below it."""

from __future__ import annotations

import contextlib
import re
import resource
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def limited_memory(mib: int) -> Iterator[None]:
    """What is inside may map so many MiB more than are mapped now."""
    mapped = int(re.search(r"VmSize:\s+(\d+) kB", Path("/proc/self/status").read_text())[1]) << 10  # type: ignore[index]
    if mapped > 1 << 40:  # the address sanitizer maps terabytes for itself: nothing to bound
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (mapped + (mib << 20), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
