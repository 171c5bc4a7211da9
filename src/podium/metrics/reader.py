"""Models of a reader going down the list: ERR, rank-biased precision, winner takes all."""

from podium.metrics.metric import Definition
from podium.metrics.parameters import CONVENTION, EMPTY, REL, TIES, Parameter, number

MAX = Parameter(
    "max",
    4,
    "the largest label there can be; larger ones are refused",
    number(0, 50, "be a number above 0 and at most 50: the largest label"),
    (5.5,),
)
PERSISTENCE = Parameter(
    "persistence",
    0.8,
    "the chance that the reader looks at one more document",
    number(0, 1, "lie between 0 and 1, both excluded", high_included=False),
    (0.5,),
)

METRICS = (
    Definition(
        "err",
        "Expected reciprocal rank of the document at which the reader stops, satisfied.",
        "ERR@k = Σ_{r ≤ k} (1/r) R_r Π_{q < r} (1 − R_q), R = (2^l − 1) / 2^max",
        "Chapelle et al. 2009",
        (MAX, EMPTY, TIES, CONVENTION),
        takes_cutoff=True,
    ),
    Definition(
        "rbp",
        "Rank-biased precision: gain rate of a reader who continues with a fixed chance.",
        "RBP = (1 − p) Σ_{r relevant} p^(r − 1), p the persistence",
        "Moffat and Zobel 2008",
        (REL, PERSISTENCE, EMPTY, TIES, CONVENTION),
        takes_cutoff=True,
    ),
    Definition(
        "wta",
        "Winner takes all: 1 where the top document has the highest label of its query, else 0.",
        "WTA = [l_1 = max l]",
        "Burges et al. 2006",
        (EMPTY, TIES, CONVENTION),
    ),
)
