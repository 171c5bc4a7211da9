"""Forces that change another force, whichever it is."""

from podium.forces.definition import ALPHA, ForceDefinition

FORCES = (
    ForceDefinition(
        name="regularized",
        summary="Any other force, and a pull of every score towards 0; a large enough alpha makes a symmetric force convex.",
        formula="C = C_F + ½α Σ s²; force F − αs, curvature that of F + α",
        source="Ranking as Function Approximation, §6; LambdaRank, NIPS 2006, §4",
        parameters=(ALPHA,),
        takes="force",
        accepts=lambda force: "alpha" not in force.parameter_names,
        accepts_text="a force that is not regularized yet",
        inherits=(
            "over",
            "has_cost",
            "least_cost",
            "convex",
            "has_curvature",
            "labels",
            "outputs",
            "has_thresholds",
            "draws",
            "starting_score",
            "unmoved",
        ),
        balanced=False,
        core_options=lambda force: {"alpha": float(force.parameter("alpha"))},
    ),
)
