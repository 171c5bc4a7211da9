"""Relevant or not: average precision, reciprocal rank, precision, recall, bpref."""

from podium.metrics.metric import MetricDefinition
from podium.metrics.parameters import CONVENTION, EMPTY, REL, TIES

_PARAMETERS = (REL, EMPTY, TIES, CONVENTION)

METRICS = (
    MetricDefinition(
        "map",
        "Average precision: mean of the precision at each relevant document; its mean over queries is MAP.",
        "AP@k = (1/R) Σ_{r ≤ k, relevant} P@r",
        "TREC, trec_eval's map and map_cut",
        _PARAMETERS,
        takes_cutoff=True,
        aliases=("average_precision",),
    ),
    MetricDefinition(
        "mrr",
        "Reciprocal rank of the first relevant document, 0 if it stands below rank k; its mean over queries is MRR.",
        "RR@k = 1 / min {r ≤ k : document r is relevant}",
        "Voorhees 1999",
        _PARAMETERS,
        takes_cutoff=True,
        aliases=("reciprocal_rank",),
    ),
    MetricDefinition(
        "p",
        "Precision: the share of the first k documents that is relevant (of all n without a cutoff).",
        "P@k = (relevant documents in the first k) / k",
        "Salton and McGill 1983",
        _PARAMETERS,
        takes_cutoff=True,
        aliases=("precision",),
        additive=True,
    ),
    MetricDefinition(
        "recall",
        "The share of the R relevant documents that stands in the first k.",
        "recall@k = (relevant documents in the first k) / R",
        "Salton and McGill 1983",
        _PARAMETERS,
        takes_cutoff=True,
        additive=True,
    ),
    MetricDefinition(
        "bpref",
        "Binary preference: how rarely judged nonrelevant documents (N of them) stand above relevant ones (R).",
        "bpref = (1/R) Σ_{relevant} (1 − min(judged nonrelevant above, R) / min(N, R))",
        "Buckley and Voorhees 2004, as trec_eval computes it",
        _PARAMETERS,
    ),
)
