"""Gain, discounted by rank: NDCG and DCG."""

from podium.metrics.metric import Definition
from podium.metrics.parameters import CONVENTION, EMPTY, GAIN, TIES

_PARAMETERS = (GAIN, EMPTY, TIES, CONVENTION)
_SOURCE = "Järvelin and Kekäläinen 2002; Burges et al. 2005 for the exponential gain"

DCG = Definition(
    "dcg",
    "Discounted cumulative gain: what the list is worth to a reader who tires.",
    "DCG@k = Σ_{r ≤ k} gain(l_r) / log₂(1 + r)",
    _SOURCE,
    _PARAMETERS,
    takes_cutoff=True,
    bounds=(None, None),
)
NDCG = Definition(
    "ndcg",
    "DCG divided by the DCG of the best order.",
    "NDCG@k = DCG@k / (DCG@k of the labels sorted, highest first)",
    _SOURCE,
    _PARAMETERS,
    takes_cutoff=True,
)
MEAN_NDCG = Definition(
    "mean_ndcg",
    "Mean of NDCG at every cutoff, over all n positions or the first k.",
    "(1/n) Σ_{k = 1..n} NDCG@k",
    "LETOR 3.0, MeanNDCG",
    _PARAMETERS,
    takes_cutoff=True,
)
