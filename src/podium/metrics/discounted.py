"""Gain, discounted by rank: NDCG and DCG."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from podium.data.conversion import as_number
from podium.metrics.metric import MetricDefinition
from podium.metrics.parameters import CONVENTION, EMPTY, TIES, ParameterValue
from podium.parameters import Parameter
from podium.rules import Custom

LARGEST_GAIN = 1e300  # sums of larger gains could overflow


def _convert_gain(given: object) -> ParameterValue:
    if isinstance(given, str) and given in ("exponential", "linear"):
        return given
    listed = isinstance(given, Sequence) and not isinstance(given, str | bytes | bytearray | memoryview)
    if listed or (isinstance(given, np.ndarray) and given.ndim):
        gains = tuple(as_number(value) for value in given)  # type: ignore[attr-defined]
        kept = tuple(gain for gain in gains if gain is not None and 0 <= gain <= LARGEST_GAIN)
        if gains and len(kept) == len(gains):
            return kept
    raise ValueError


GAIN = Parameter(
    "gain",
    "exponential",
    Custom(
        _convert_gain,
        "must be 'exponential', 'linear' or one gain from 0 to 1e300 for each label 0, 1, …, as in (0, 1, 3, 7)",
    ),
    "What a label l is worth: 'exponential' 2^l − 1, 'linear' l, or a table with one gain per label, as in (0, 1, 3, 7).",
    examples=("linear", (0, 1, 3, 4, 2.5)),
)
_PARAMETERS = (GAIN, EMPTY, TIES, CONVENTION)
_SOURCE = "Järvelin and Kekäläinen 2002; Burges et al. 2005 for the exponential gain"

METRICS = (
    MetricDefinition(
        "ndcg",
        "DCG divided by the DCG of the best order.",
        "NDCG@k = DCG@k / (DCG@k of the labels sorted, highest first)",
        _SOURCE,
        _PARAMETERS,
        takes_cutoff=True,
        additive=True,
    ),
    MetricDefinition(
        "mean_ndcg",
        "Mean of NDCG at every cutoff, over all n positions or the first k.",
        "(1/n) Σ_{k = 1..n} NDCG@k",
        "LETOR 3.0, MeanNDCG",
        _PARAMETERS,
        takes_cutoff=True,
        additive=True,
    ),
    MetricDefinition(
        "dcg",
        "Discounted cumulative gain: the value of the list to a reader whose attention falls with the rank.",
        "DCG@k = Σ_{r ≤ k} gain(l_r) / log₂(1 + r)",
        _SOURCE,
        _PARAMETERS,
        takes_cutoff=True,
        bounds=(None, None),
        negative_gains=True,
        additive=True,
    ),
)
