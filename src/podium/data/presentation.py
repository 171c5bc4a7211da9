"""How pages and charts name queries, documents and values, and count ranks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from podium.data.ranking_data import RankingData

NAMED_QUERY = re.compile(r"query\b", re.IGNORECASE)


def query_title(text: str) -> str:
    """Return what a query is called: "query 7", or its id alone if that begins with the word already."""
    return text if NAMED_QUERY.match(text) else f"query {text}"


def document_names(data: RankingData, first: int = 0, last: int | None = None) -> list[str]:
    """Return the names of grouped documents: their ids, or their numbers in the query, counted from 1."""
    rows = range(first, data.n_documents if last is None else last)
    if data.document_ids is not None:
        return [str(data.document_ids[row]) for row in rows]
    starts = np.repeat(data.query_offsets[:-1], data.query_sizes)[first:last]
    return [str(row - start + 1) for row, start in zip(rows, starts.tolist(), strict=True)]


def shown_value(data: RankingData, row: int, column: int) -> float | str:
    """Return the value of a feature; of a categorical one the category, if the data knows it."""
    value = float(data.features[row, column])
    categories = (data.categorical_features or {}).get(column)
    known = categories is not None and value.is_integer() and 0 <= value < len(categories)
    return categories[int(value)] if categories is not None and known else value


def ranks_of(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return the rank of each document of one query, counted from 1; documents with equal scores stay in order."""
    ranks = np.empty(len(scores), np.int64)
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return ranks
