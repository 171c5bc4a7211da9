"""Scores by weighted least squares on a graph: L s = Bᵀ W o, with L the graph's Laplacian.

Each connected part is solved for itself, documents in the order they are numbered, so that the scores of a query do not
depend on the other queries, to the bit.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

from podium.errors import DataError
from podium.posteriors.graph import Graph

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
REFINEMENTS = 2
WIDEST = 1e10  # beyond it the small weights drown in the rounding of the large


def fit_scores(graph: Graph, log_odds: Floats, parts: Ints) -> Floats:
    """Return the scores with the least Σ w (log odds − (s_i − s_j))², of mean 0 in each connected part; 0 for a document alone."""
    scores = np.zeros(len(parts))
    used = np.flatnonzero(graph.weight > 0)
    by_part = used[np.argsort(parts[graph.winner[used]], kind="stable")]
    documents = np.argsort(parts, kind="stable")
    place = np.empty(len(parts), np.int64)  # of each document inside its part
    starts = np.searchsorted(parts[documents], parts[documents])
    place[documents] = np.arange(len(parts)) - starts
    bounds = np.flatnonzero(np.diff(parts[graph.winner[by_part]])) + 1
    members = np.split(documents, np.flatnonzero(np.diff(parts[documents])) + 1)
    for pairs in np.split(by_part, bounds):
        inside = members[parts[graph.winner[pairs[0]]]]
        scores[inside] = _fit_part(
            place[graph.winner[pairs]], place[graph.loser[pairs]], log_odds[pairs], graph.weight[pairs], len(inside)
        )
    return scores


def _fit_part(winner: Ints, loser: Ints, log_odds: Floats, weight: Floats, count: int) -> Floats:
    """Return the scores of one connected part, of mean 0; the last document is held at 0 while the others are solved for."""
    if weight.min() < weight.max() / WIDEST:
        raise DataError(
            f"weights of connected pairs run from {weight.min():g} to {weight.max():g}; the fit needs them within a factor "
            f"of {WIDEST:g}: give pairs that hardly count the weight 0"
        )
    weight = weight / weight.max()  # the scores are the same, and sums of weights stay finite
    degree = np.bincount(winner, weight, count) + np.bincount(loser, weight, count)
    rows = np.concatenate([winner, loser, np.arange(count)])
    columns = np.concatenate([loser, winner, np.arange(count)])
    values = np.concatenate([-weight, -weight, degree])
    free = (rows < count - 1) & (columns < count - 1)
    matrix = csc_array((values[free], (rows[free], columns[free])), shape=(count - 1, count - 1))
    factors = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    scores = np.zeros(count)
    for _ in range(1 + REFINEMENTS):  # what is left over is computed pair by pair, so a long chain comes out exact
        left = weight * (log_odds - (scores[winner] - scores[loser]))
        pull = np.bincount(winner, left, count) - np.bincount(loser, left, count)
        scores[:-1] += factors.solve(pull[:-1])
    scores -= scores.mean()
    return scores
