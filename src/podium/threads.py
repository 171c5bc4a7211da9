"""The number of threads that a call may use."""

from __future__ import annotations

import os
from typing import SupportsIndex

from podium.errors import ParameterError

MOST_THREADS = 1024


def resolve_threads(num_threads: int | None) -> int:
    """Return the number that was given, or by default the number of cores this process may use."""
    if num_threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if type(num_threads) is int and 1 <= num_threads <= MOST_THREADS:  # the quick way, since every round comes here
        return num_threads
    whole = isinstance(num_threads, SupportsIndex) and not isinstance(num_threads, bool)
    if not whole or not 1 <= int(num_threads) <= MOST_THREADS:
        raise ParameterError(
            "num_threads",
            num_threads,
            f"must be a whole number from 1 to {MOST_THREADS}",
            "leave it out to use every core",
        )
    return int(num_threads)
