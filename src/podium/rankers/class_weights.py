"""Document weights by label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.data.conversion import as_number
from podium.errors import DataError

RULE = "must be 'balanced', or map labels to weights of at least 0, as in {0: 1, 1: 5}"


def as_class_weights(given: Any) -> Any:
    """Return "balanced", or pairs of label and weight. Raise ValueError or TypeError for anything else."""
    if isinstance(given, str):
        if given != "balanced":
            raise ValueError
        return given
    pairs = list(given.items() if isinstance(given, Mapping) else given)
    known = {as_number(label): as_number(weight) for label, weight in pairs}
    if any(label is None or weight is None or weight < 0 for label, weight in known.items()):
        raise ValueError
    return tuple(known.items())


def weighted(data: RankingData, class_weight: Any) -> RankingData:
    """Return the data with document weights by label; `class_weight` is what `as_class_weights` returns, or None."""
    if class_weight is None:
        return data
    weights = _balanced(data) if class_weight == "balanced" else _by_label(data, dict(class_weight))
    before = 1.0 if data.document_weights is None else data.document_weights
    return data.replace_grouped(document_weights=weights * before)


def _by_label(data: RankingData, known: dict[Any, Any]) -> npt.NDArray[np.float64]:
    labels, place = np.unique(data.labels, return_inverse=True)
    missing = [label for label in labels.tolist() if label not in known]
    if missing:
        raise DataError(f"class_weight has no weight for label {missing[0]:g}; give one for each label")
    return np.array([known[as_number(label)] for label in labels.tolist()], np.float64)[place]


def _balanced(data: RankingData) -> npt.NDArray[np.float64]:
    """Return the size of each document's query over (labels in the query · documents in it with the same label)."""
    labels, place = np.unique(data.labels, return_inverse=True)
    pairs, which, count = np.unique(
        data.document_queries * len(labels) + place, return_inverse=True, return_counts=True
    )
    kinds = np.bincount(pairs // len(labels), minlength=data.n_queries)  # number of labels in each query
    return np.asarray((data.query_sizes / kinds)[data.document_queries] / count[which])
