"""Models of a reader going down the list: ERR, rank-biased precision, winner takes all."""

from podium.metrics.metric import MetricDefinition
from podium.metrics.parameters import CONVENTION, EMPTY, REL, TIES
from podium.parameters import Parameter
from podium.rules import Real

MAX = Parameter(
    "max",
    4,
    Real(above=0, most=50, integer_kept=True),
    "The largest label that there can be; larger labels are refused.",
    examples=(5.5,),
)
PERSISTENCE = Parameter(
    "persistence",
    0.8,
    Real(above=0, below=1, integer_kept=True),
    "The probability that the reader looks at the next document.",
    examples=(0.5,),
)

METRICS = (
    MetricDefinition(
        "err",
        "Expected reciprocal rank of the document at which the reader stops, satisfied.",
        "ERR@k = Σ_{r ≤ k} (1/r) R_r Π_{q < r} (1 − R_q), R = (2^l − 1) / 2^max",
        "Chapelle et al. 2009",
        (MAX, EMPTY, TIES, CONVENTION),
        takes_cutoff=True,
    ),
    MetricDefinition(
        "rbp",
        "Rank-biased precision: rate of gain of a reader who continues with a fixed probability.",
        "RBP = (1 − p) Σ_{r relevant} p^(r − 1), p the persistence",
        "Moffat and Zobel 2008",
        (REL, PERSISTENCE, EMPTY, TIES, CONVENTION),
        takes_cutoff=True,
        additive=True,
    ),
    MetricDefinition(
        "wta",
        "Winner takes all: 1 if the top document has the highest label of its query, else 0.",
        "WTA = [l_1 = max l]",
        "Burges et al. 2006",
        (EMPTY, TIES, CONVENTION),
    ),
)
