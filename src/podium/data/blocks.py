"""Go through large data some queries at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from podium.data.ranking_data import RankingData

BLOCK_CELLS = 1 << 22  # cells worked on at a time: 32 MiB of float64


def query_blocks(data: RankingData) -> Iterator[tuple[int, int]]:
    """Yield (first query, last query + 1) of blocks of whole queries with about BLOCK_CELLS cells, at least one query each."""
    rows = max(1, BLOCK_CELLS // max(1, data.n_features))
    first = 0
    while first < data.n_queries:
        last = int(np.searchsorted(data.query_offsets, data.query_offsets[first] + rows, side="right")) - 1
        last = min(max(last, first + 1), data.n_queries)
        yield first, last
        first = last
