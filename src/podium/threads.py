"""How many threads a call may use."""

from __future__ import annotations

import os

from podium.errors import ParameterError


def resolve_threads(num_threads: int | None) -> int:
    """The number given, or by default the cores this process may use."""
    if num_threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(num_threads, bool) or int(num_threads) != num_threads or num_threads < 1:
        raise ParameterError(
            f"num_threads={num_threads!r} must be a whole number of at least 1; leave it out to use every core"
        )
    return int(num_threads)
