"""Forces over the whole list of a query."""

from typing import Any

from podium.forces.definition import STEP_SHARE, ForceDefinition, always
from podium.forces.force import Force


def _difference(force: Force) -> dict[str, Any]:
    assert force.metric is not None
    return {"step": float(force.parameter("step")), "lower_is_better": not force.metric.higher_is_better}


FORCES = (
    ForceDefinition(
        name="listnet",
        summary="Cross entropy between the softmax of the labels and the softmax of the scores.",
        formula="λ = softmax(l) − softmax(s)",
        source="Cao et al. 2007, top one",
        over="lists",
        convex=True,
    ),
    ForceDefinition(
        name="listmle",
        summary="Likelihood of the order of the labels under Plackett–Luce; equal labels in a random order that is drawn in each round.",
        formula="C = −Σ_r [s_π(r) − log Σ_{t ≥ r} e^{s_π(t)}]",
        source="Xia et al. 2008",
        over="lists",
        convex=True,
        draws=always,
    ),
    ForceDefinition(
        name="xendcg",
        summary="Cross entropy between randomly lowered gains and the softmax of the scores; bounds NDCG.",
        formula="φ_i = (2^{l_i} − γ_i) / Σ_j (2^{l_j} − γ_j), γ uniform in [0, 1), drawn in each round; λ = φ − softmax(s)",
        source="Bruch 2021",
        over="lists",
        convex=True,
        labels="not negative",
        draws=always,
    ),
    ForceDefinition(
        name="finite_difference",
        summary="The slope of a metric by finite differences: each document is moved up and down, all others fixed.",
        formula="λ_i = (Z(s + εe_i) − Z(s − εe_i)) / 2ε, less its mean over the query; ε = step · standard deviation of s",
        source="LambdaRank, NIPS 2006, §6.2",
        parameters=(STEP_SHARE,),
        takes="metric",
        metric_calls="twice for every document",
        slope_of_metric=True,
        over="lists",
        has_cost=False,
        has_curvature=False,
        core_options=_difference,
    ),
)
