"""JSON that may be nested deeper than Python's default limit: trees are nested as deep as they are."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from typing import Any

DEEPEST = 5000  # far more than an exported tree nests, and not enough to overflow the stack


@contextlib.contextmanager
def _deep() -> Iterator[None]:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, DEEPEST))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def dumps(value: Any) -> str:
    """Return JSON without blanks."""
    with _deep():
        return json.dumps(value, separators=(",", ":"), allow_nan=False)


def loads(text: str | bytes) -> Any:
    """Return the value of JSON that Podium wrote itself; other files are read with Python's limit."""
    with _deep():
        return json.loads(text)
