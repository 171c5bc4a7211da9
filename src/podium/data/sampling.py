"""Keep only some of the unlabeled documents, as in [RankNet, §6]: they count as label 0, and a share of them is used."""

from __future__ import annotations

import numpy as np

from podium.data.conversion import as_number
from podium.data.hashing import query_hashes, splitmix64, unit_interval
from podium.data.ranking_data import RankingData
from podium.errors import ParameterError


def sample_unlabeled(data: RankingData, share: float, *, label: float = 0.0, seed: int = 0) -> RankingData:
    """Return the data with only some of its unlabeled documents.

    The choice is a hash of the seed, the query id and the position in the query. So it does not depend on the order of the
    queries, and a larger share keeps all documents that a smaller one keeps. A query never loses all its documents: it keeps at
    least one, the one that the smallest share would keep.

    Args:
        data: The data.
        share: The probability of keeping a document whose label is `label`. All other documents are kept.
        label: The label of unlabeled documents.
        seed: The same seed gives the same choice.
    """
    number = as_number(share)
    if number is None or not 0 <= number <= 1:
        raise ParameterError(
            "share", share, "must be a number from 0 to 1", "it is the share of unlabeled documents to keep"
        )
    position = np.arange(data.n_documents) - np.repeat(data.query_offsets[:-1], data.query_sizes)
    hashes = np.repeat(query_hashes(data.query_ids, seed), data.query_sizes)
    draw = unit_interval(splitmix64(hashes + position.astype(np.uint64)))
    keep = (data.labels != label) | (draw < number)
    kept_of_query = np.add.reduceat(keep, data.query_offsets[:-1], dtype=np.int64)
    for query in np.flatnonzero(kept_of_query == 0):
        start, stop = data.query_offsets[query], data.query_offsets[query + 1]
        keep[start + np.argmin(draw[start:stop])] = True
    return data.select_grouped_documents(keep)
