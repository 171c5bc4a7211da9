"""Forces on each document alone."""

import numpy as np

from podium import _core
from podium.data import RankingData
from podium.exchange import Exchange
from podium.forces.definition import Floats, ForceDefinition
from podium.forces.force import Force

LEAST_STEP = 1e-2  # between the thresholds that training starts from


def _mean_label(data: RankingData, exchange: Exchange) -> float:
    weights = np.ones(data.n_documents) if data.document_weights is None else data.document_weights
    if data.query_weights is not None:
        weights = weights * np.repeat(data.query_weights, data.query_sizes)
    total, weighted = exchange.fsum(weights.tolist(), (weights * data.labels).tolist())
    return weighted / total if total > 0 else 0.0


def _thresholds(force: Force, data: RankingData | None, levels: int, exchange: Exchange) -> Floats:
    """Thresholds at which every score 0 has the labels' own frequencies."""
    assert data is not None
    labels = np.sort(data.labels)
    numbers = np.searchsorted(labels, np.arange(levels - 1), side="right")  # documents of level k or less
    *below, documents = exchange.total(*numbers, len(labels))
    share = (np.array(below) + 0.5) / (documents + 1)
    thresholds = _core.logarithms(share / (1 - share))  # the last bit of np.log depends on the processor
    return np.cumsum(np.append(thresholds[:1], np.maximum(np.diff(thresholds), LEAST_STEP)))


FORCES = (
    ForceDefinition(
        name="squared",
        summary="Squared error: the score should be the label.",
        formula="C = ½(s − l)²; λ = l − s",
        source="MART, with trees",
        over="points",
        convex=True,
        starting_score=_mean_label,
    ),
    ForceDefinition(
        name="ordinal",
        summary="Cumulative logistic link: rising thresholds b cut the line of scores into levels; they are learned too.",
        formula="P(l ≤ k) = 1/(1 + e^{s − b_k}); λ = P(l ≤ k) + P(l ≤ k − 1) − 1 at l = k",
        source="McCullagh 1980",
        over="points",
        convex=True,
        labels="levels",
        has_thresholds=True,
        own_values=_thresholds,
    ),
    ForceDefinition(
        name="prank",
        summary="The perceptron's force: one unit per threshold on the wrong side of the score; thresholds are learned too.",
        formula="C = Σ_k max(0, −z_k (s − b_k)), z_k = 1 if l > k, else −1; λ = Σ_k z_k [z_k (s − b_k) ≤ 0]",
        source="PRank, NIPS 2001",
        online=True,
        over="points",
        convex=True,
        has_curvature=False,
        labels="levels",
        has_thresholds=True,
        own_values=_thresholds,
    ),
    ForceDefinition(
        name="multiclass",
        summary="Softmax over the levels, one output each; documents are ranked by their expected gain.",
        formula="λ_k = [l = k] − p_k; score Σ_k p_k (2^k − 1)",
        source="McRank, NIPS 2007",
        over="points",
        convex=True,
        labels="levels",
        outputs="levels",
    ),
)
