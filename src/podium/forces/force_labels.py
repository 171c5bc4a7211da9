"""Which labels, weights and pairs a force is defined on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.errors import DataError
from podium.forces.force_data import ForceData
from podium.metrics import Documents, per_query

if TYPE_CHECKING:
    from podium.forces.force import Force


def check_labels(force: Force, data: RankingData | ForceData) -> None:
    """Raise a DataError unless the force is defined on the labels, weights and pairs of the data."""
    _check_parts(force, data)
    _check_values(force, data.labels)
    metric = force.acting.metric
    if metric is None:
        return
    labels = data.labels
    if data.pairs is not None and len(labels) and (labels == labels[0]).all():
        raise DataError(
            f"{force}: its strength is what {metric} would gain by a swap, and with equal labels everywhere that is "
            "nothing; give labels beside the pairs, or use ranknet"
        )
    rows = np.arange(len(labels))  # the metric itself checks which labels it is defined on
    per_query([metric], Documents(np.zeros(len(rows)), labels, [0, len(rows)], tie_order=rows))


def _check_parts(force: Force, data: RankingData | ForceData) -> None:
    over = force.definition.over
    for part in ("document_weights", "pairs") if force.acting.custom is not None else ():
        if getattr(data, part) is not None:
            raise DataError(
                f"{force}: a force of your own acts on scores and labels alone, and this data has {part.replace('_', ' ')}",
                remedy=f"leave them out: {{without={part}}}",
            )
    if data.pairs is not None and over in ("lists", "points"):
        raise DataError(
            f"{force}: a force over {over} has no use for pairs, and this data has some",
            remedy="leave them out: {without=pairs}",
        )
    if data.document_weights is not None and over == "lists":
        raise DataError(
            f"{force}: a force over lists has no use for document weights, and this data has some",
            remedy="leave them out: {without=document_weights}, or weigh whole queries: query_weights",
        )


def _check_values(force: Force, labels: npt.NDArray[np.float64]) -> None:
    rule = force.definition.labels
    if rule == "not negative" and (labels.min() < 0 or labels.max() > 1000):
        raise DataError(
            f"{force}: labels must lie between 0 and 1000, since 2^label is used; found {labels.min():g} to {labels.max():g}"
        )
    if rule == "levels" and (labels.min() < 0 or labels.max() >= 1000 or (labels != np.rint(labels)).any()):
        raise DataError(
            f"{force}: labels must be whole levels 0, 1, 2, … below 1000; found {labels.min():g} to {labels.max():g}"
        )
