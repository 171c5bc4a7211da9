"""Forces over pairs of documents: the one with the higher label should stand above. o = s_winner − s_loser."""

import math

from podium.forces.definition import (
    DAMPING,
    DRAWS,
    EQUAL_GAPS,
    MARGIN,
    NOISE,
    NORMALIZE,
    SIGMA,
    STEP_MARGIN,
    TIES,
    TRUNCATION,
    ForceDefinition,
)
from podium.forces.force import Force


def _unmoved(force: Force) -> str | None:
    if force.parameter("margin", 0) > 0:
        return None
    return "step with margin 0 has no force on equal scores; give it a margin: step(…, margin=1)"


FORCES = (
    ForceDefinition(
        name="ranknet",
        summary="Logistic pairs: the cross entropy between the target probability and the one the score gap gives.",
        formula="C = −P̄σo + log(1 + e^{σo}); force σ(P̄ − 1 + ρ), ρ = 1/(1 + e^{σo})",
        source="RankNet, ICML 2005",
        parameters=(SIGMA, TIES),
        convex=True,
    ),
    ForceDefinition(
        name="lambdarank",
        summary="RankNet's force times what the metric would gain if the two documents changed places.",
        formula="force σρ·|ΔZ|, curvature σ²ρ(1 − ρ)·|ΔZ|",
        source="LambdaRank, NIPS 2006",
        parameters=(SIGMA, TRUNCATION, NORMALIZE, DAMPING, NOISE, DRAWS),
        takes="metric",
        examples=("lambdarank(map)",),
        has_cost=False,
    ),
    ForceDefinition(
        name="spring",
        summary="A constant pull while the pair stands the wrong way, a spring inside the margin, then nothing.",
        formula="force 1 for o < 0, δ − o for 0 ≤ o ≤ δ, 0 for o > δ",
        source="Ranking as Function Approximation, eq 26–31",
        parameters=(MARGIN,),
        examples=("spring(margin=2)",),
        least_cost=-math.inf,  # −½δ² per pair, whatever their number
        convex=lambda force: (
            force.parameter("margin") <= 1
        ),  # otherwise the force jumps up from 1 to the margin at o = 0
        has_curvature=False,
    ),
    ForceDefinition(
        name="step",
        summary="What the metric would gain by the swap, at full strength until the gap reaches the margin.",
        formula="force |ΔZ| while o < δ, else 0",
        source="LambdaRank, NIPS 2006, §6.2",
        parameters=(STEP_MARGIN,),
        takes="metric",
        has_cost=False,
        has_curvature=False,
        unmoved=_unmoved,
    ),
    ForceDefinition(
        name="hinge",
        summary="Linear loss inside the margin; O(n log n) per query.",
        formula="C = max(0, δ − o); force 1 for o < δ",
        source="RankSVM",
        parameters=(MARGIN,),
        convex=True,
        has_curvature=False,
    ),
    ForceDefinition(
        name="squared_hinge",
        summary="Squared loss inside the margin; O(n log n) per query.",
        formula="C = max(0, δ − o)²; force 2(δ − o) for o < δ",
        source="RankSVM with squared slack",
        parameters=(MARGIN,),
        convex=True,
    ),
    ForceDefinition(
        name="exponential",
        summary="Exponential pairs; O(n log n) per query. Below o = −60 the cost continues as its tangent.",
        formula="C = e^{−o}; force e^{−o}",
        source="RankBoost",
        stump_weights=True,
        convex=True,
    ),
    ForceDefinition(
        name="pairwise_regression",
        summary="Squared error of score gaps: the scores of two documents should differ as their labels do; O(n) per query. "
        "A preference given as a pair should have a gap of 1.",
        formula="C = ½(o − (l_i − l_j))²; force (l_i − l_j) − o, curvature 1",
        source="pairwise approach by regression, Li 2014, Table 2.8",
        parameters=(EQUAL_GAPS,),
        examples=("pairwise_regression(ties=True)",),
        convex=True,
    ),
    ForceDefinition(
        name="neighbors",
        summary="Another force over pairs, kept only for documents that stand next to each other.",
        formula="Σ over pairs adjacent in the sorted list",
        source="LambdaRank, NIPS 2006, §6.2",
        takes="force",
        accepts=lambda force: force.definition.over == "pairs" and force.definition.takes != "force",
        accepts_text="a force over pairs such as ranknet",
        inherits=("has_curvature", "draws", "unmoved"),
        has_cost=False,
        core_options=lambda force: {"neighbors": True},
    ),
)
