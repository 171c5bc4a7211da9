"""The documents of one request, whatever format they came in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from podium.serve.problems import RequestError
from podium.serve.settings import ServiceLimits

Features = npt.NDArray[np.float32]
Sizes = npt.NDArray[np.int64]
Ids = list[str | int]


@dataclass(frozen=True)
class Batch:
    """Documents of one or several queries.

    Attributes:
        features: One row per document; the rows of a query stand together.
        sizes: How many documents each query has.
        ids: One per document, or None.
        k: How many documents of each query a ranking returns; None returns all.
        several: Whether the request speaks of several queries, so that the answer does too.
    """

    features: Features
    sizes: Sizes
    ids: Ids | None = None
    k: int | None = None
    several: bool = False


def unprocessable(message: str, code: str = "invalid_body") -> RequestError:
    """Return the error for a body that can be read and makes no sense."""
    return RequestError(422, code, message)


def malformed(message: str) -> RequestError:
    """Return the error for a body that cannot be read."""
    return RequestError(400, "malformed_body", message)


def one_query(rows: int) -> Sizes:
    """Return the sizes of a single query."""
    return np.array([rows], np.int64)


def check_counts(rows: int, queries: int, limits: ServiceLimits) -> None:
    """Raise a RequestError if there are more documents or queries than allowed."""
    if rows > limits.max_documents:
        raise too_many("documents", limits.max_documents)
    if queries > limits.max_queries:
        raise too_many("queries", limits.max_queries)


def too_many(what: str, limit: int) -> RequestError:
    """Return the error for a request beyond a limit."""
    return RequestError(413, f"too_many_{what}", f"a request may hold at most {limit:,} {what}; send several requests")


def parse_sizes(text: str, rows: int) -> Sizes:
    """Return the sizes of queries that a binary request gives in its address, as in sizes=3,5."""
    words = text.split(",")
    if not all(word.isascii() and word.isdigit() and len(word) <= 10 for word in words):
        raise unprocessable("sizes must be whole numbers separated by commas, as in sizes=3,5", "invalid_parameter")
    sizes = np.array([int(word) for word in words], np.int64)
    if int(sizes.sum()) != rows:
        raise unprocessable(
            f"sizes add up to {int(sizes.sum()):,} documents, and the body holds {rows:,}", "invalid_parameter"
        )
    return sizes
