"""Gain, discounted by rank: NDCG and DCG."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from podium.data.conversion import as_number
from podium.errors import ParameterError
from podium.metrics.metric import Definition
from podium.metrics.parameters import CONVENTION, EMPTY, TIES, Parameter, Value

LARGEST_GAIN = 1e300  # sums of larger gains could overflow


def _check_gain(name: str, given: object) -> Value:
    if isinstance(given, str):
        if given in ("exponential", "linear"):
            return given
    elif isinstance(given, Sequence | np.ndarray) and not isinstance(given, bytes | bytearray | memoryview):
        gains = tuple(as_number(value) for value in given) if not isinstance(given, np.ndarray) or given.ndim else ()
        kept = tuple(gain for gain in gains if gain is not None and 0 <= gain <= LARGEST_GAIN)
        if gains and len(kept) == len(gains):
            return kept
    raise ParameterError(
        name,
        given,
        "must be 'exponential', 'linear' or one gain from 0 to 1e300 for each label 0, 1, …",
        "write a table as in (0, 1, 3, 7)",
    )


GAIN = Parameter(
    "gain",
    "exponential",
    "what a label is worth: 'exponential' 2^l − 1, 'linear' l, or a gain for each whole label as in (0, 1, 3, 7)",
    _check_gain,
    ("linear", (0, 1, 3, 4, 2.5)),
)
_PARAMETERS = (GAIN, EMPTY, TIES, CONVENTION)
_SOURCE = "Järvelin and Kekäläinen 2002; Burges et al. 2005 for the exponential gain"

METRICS = (
    Definition(
        "ndcg",
        "DCG divided by the DCG of the best order.",
        "NDCG@k = DCG@k / (DCG@k of the labels sorted, highest first)",
        _SOURCE,
        _PARAMETERS,
        takes_cutoff=True,
    ),
    Definition(
        "mean_ndcg",
        "Mean of NDCG at every cutoff, over all n positions or the first k.",
        "(1/n) Σ_{k = 1..n} NDCG@k",
        "LETOR 3.0, MeanNDCG",
        _PARAMETERS,
        takes_cutoff=True,
    ),
    Definition(
        "dcg",
        "Discounted cumulative gain: what the list is worth to a reader who tires.",
        "DCG@k = Σ_{r ≤ k} gain(l_r) / log₂(1 + r)",
        _SOURCE,
        _PARAMETERS,
        takes_cutoff=True,
        bounds=(None, None),
        negative_gains=True,
    ),
)
