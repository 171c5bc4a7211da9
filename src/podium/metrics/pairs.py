"""Pairs of documents in the right order: AUC, pairwise correct and error, Kendall's tau."""

from podium.metrics.metric import MetricDefinition
from podium.metrics.parameters import EMPTY_PAIRS, REL

LACKS = "two documents to tell apart"

METRICS = (
    MetricDefinition(
        "auc",
        "Area under the ROC curve: the probability that a relevant document scores above one that is not; ties count ½.",
        "AUC = Σ_{i relevant, j not} ([s_i > s_j] + ½ [s_i = s_j]) / (R (n − R))",
        "Hanley and McNeil 1982",
        (REL, EMPTY_PAIRS),
        lacks=LACKS,
    ),
    MetricDefinition(
        "pairwise_correct",
        "The share of pairs of different labels that the scores order rightly; score ties count ½.",
        "Σ_{l_i > l_j} ([s_i > s_j] + ½ [s_i = s_j]) / |{l_i > l_j}|",
        "Burges et al. 2005",
        (EMPTY_PAIRS,),
        lacks=LACKS,
    ),
    MetricDefinition(
        "pairwise_error",
        "The share of pairs of different labels that the scores order wrongly; score ties count ½.",
        "1 − pairwise_correct",
        "Burges et al. 2005",
        (EMPTY_PAIRS,),
        lacks=LACKS,
        higher_is_better=False,
    ),
    MetricDefinition(
        "kendall_tau",
        "Kendall's τ_b between scores and labels; 0 if all scores are equal.",
        "τ_b = (concordant − discordant) / √((pairs of different scores) · (pairs of different labels))",
        "Kendall 1945",
        (EMPTY_PAIRS,),
        lacks=LACKS,
        bounds=(-1, 1),
    ),
)
