"""Forces over the whole list of a query."""

from podium.forces.definition import ForceDefinition, always

LISTNET = ForceDefinition(
    name="listnet",
    summary="Cross entropy between the softmax of the labels and the softmax of the scores.",
    formula="λ = softmax(l) − softmax(s)",
    source="Cao et al. 2007, top one",
    over="lists",
    convex=True,
)
LISTMLE = ForceDefinition(
    name="listmle",
    summary="Likelihood of the order of the labels under Plackett–Luce; equal labels in random order, anew each round.",
    formula="C = −Σ_r [s_π(r) − log Σ_{t ≥ r} e^{s_π(t)}]",
    source="Xia et al. 2008",
    over="lists",
    convex=True,
    draws=always,
)
XENDCG = ForceDefinition(
    name="xendcg",
    summary="Cross entropy between randomly lowered gains and the softmax of the scores; bounds NDCG.",
    formula="φ_i = (2^{l_i} − γ_i) / Σ_j (2^{l_j} − γ_j), γ uniform in [0, 1) anew each round; λ = φ − softmax(s)",
    source="Bruch 2021",
    over="lists",
    convex=True,
    labels="not negative",
    draws=always,
)
