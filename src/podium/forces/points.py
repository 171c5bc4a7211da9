"""Forces on each document alone."""

from podium.forces.definition import Definition

SQUARED = Definition(
    name="squared",
    summary="Squared error: the score should be the label.",
    formula="C = ½(s − l)²; λ = l − s",
    source="MART, with trees",
    over="points",
)
ORDINAL = Definition(
    name="ordinal",
    summary="Cumulative logistic link: rising thresholds b cut the line of scores into levels; they are learned too.",
    formula="P(l ≤ k) = 1/(1 + e^{s − b_k}); λ = P(l ≤ k) + P(l ≤ k − 1) − 1 at l = k",
    source="McCullagh 1980",
    over="points",
    labels="levels",
)
MULTICLASS = Definition(
    name="multiclass",
    summary="Softmax over the levels, one output each; documents are ranked by their expected gain.",
    formula="λ_k = [l = k] − p_k; score Σ_k p_k (2^k − 1)",
    source="McRank, NIPS 2007",
    over="points",
    labels="levels",
)
