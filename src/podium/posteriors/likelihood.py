"""Newton's method for the Bradley–Terry likelihood of one connected group of documents, and its Fisher information.

The negative log likelihood Σ a log(1 + e^{−o}) + b log(1 + e^{o}), o = s_i − s_j, with a votes for i and b for j, is convex. Its
gradient and Hessian are sums over pairs, and the Hessian is the Laplacian of the graph with the weights (a + b) P (1 − P).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array
from scipy.sparse.linalg import SuperLU, splu

from podium.errors import DataError
from podium.posteriors.odds import Floats, from_log_odds

Ints = npt.NDArray[np.int64]
MAX_STEPS = 2000
ACCURACY = 1e-14  # of the last step, relative to the largest score
QUADRATIC = 1e-10  # of the cost: if a step promises less than this, Newton's method doubles its digits with each step
SOLVED_COLUMNS = 256  # columns of the pseudoinverse solved for at a time, so that memory stays linear


class Information:
    """The Fisher information of the scores: a graph Laplacian, factored with the last document held fixed.

    Args:
        winner: one document of each pair.
        loser: the other.
        weight: (votes) · P · (1 − P) of each pair.
        count: the number of documents, which the pairs connect.
    """

    def __init__(self, winner: Ints, loser: Ints, weight: Floats, count: int) -> None:
        self.count = count
        rows = np.concatenate([winner, loser, winner, loser])
        columns = np.concatenate([loser, winner, winner, loser])
        values = np.concatenate([-weight, -weight, weight, weight])
        free = (rows < count - 1) & (columns < count - 1)
        matrix = csc_array((values[free], (rows[free], columns[free])), shape=(count - 1, count - 1))
        self.factors: SuperLU = splu(
            matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )

    def solve(self, pull: Floats) -> Floats:
        """Return the x of mean 0 with (information) x = pull, column by column; each column of `pull` sums to 0."""
        solved = np.zeros_like(pull)
        solved[:-1] = self.factors.solve(pull[:-1])
        centered: Floats = solved - solved.mean(axis=0)
        return centered

    def standard_errors(self) -> Floats:
        """Return the square roots of the diagonal of the pseudoinverse: the standard errors of scores of mean 0."""
        variances = np.empty(self.count)
        for start in range(0, self.count, SOLVED_COLUMNS):
            own = np.arange(start, min(start + SOLVED_COLUMNS, self.count))
            pull = np.full((self.count, len(own)), -1 / self.count)
            pull[own, own - start] += 1
            variances[own] = self.solve(pull)[own, own - start]
        return np.sqrt(variances)

    def standard_error_of_difference(self, first: int, second: int) -> float:
        """Return the standard error of the score of one document − that of another."""
        pull = np.zeros(self.count)
        pull[first] += 1
        pull[second] -= 1
        return float(np.sqrt(pull @ self.solve(pull)))


@dataclass(frozen=True, eq=False)
class Fit:
    """Scores of mean 0, the log likelihood at them, and their information."""

    scores: Floats
    log_likelihood: float
    information: Information


def maximize_likelihood(winner: Ints, loser: Ints, wins: Floats, losses: Floats, count: int) -> Fit:
    """Return the maximum likelihood scores of documents 0 … count − 1, which exist and are unique.

    Args:
        winner: one document of each pair.
        loser: the other.
        wins: the votes for `winner` of each pair.
        losses: the votes for `loser` of each pair.
        count: the number of documents.
    """
    total = wins + losses

    def cost(scores: Floats) -> float:
        gaps = scores[winner] - scores[loser]
        return float((wins * np.logaddexp(0, -gaps) + losses * np.logaddexp(0, gaps)).sum())

    scores, last = np.zeros(count), np.inf
    for _ in range(MAX_STEPS):
        expected = from_log_odds(scores[winner] - scores[loser])
        left = wins * (1 - expected) - losses * expected
        information = Information(winner, loser, total * expected * (1 - expected), count)
        pull = np.subtract(np.bincount(winner, left, count), np.bincount(loser, left, count), dtype=np.float64)
        step, now = information.solve(pull), cost(scores)
        length = float(np.abs(step).max() / max(1.0, np.abs(scores).max()))
        if (
            step @ pull <= QUADRATIC * now
        ):  # so near that the cost itself no longer tells a better step from a worse one
            if length <= ACCURACY or length >= last / 2:
                return Fit(scores, -now, information)
            last = length
        else:
            while cost(scores + step) > now:
                step = step / 2
        scores = scores + step
    raise DataError(
        f"the Bradley–Terry scores were not found in {MAX_STEPS} steps: votes as one-sided as {_most_one_sided(wins, losses)} "
        "have scores that are very far apart",
        remedy="give {prior=0.5}",
    )


def _most_one_sided(wins: Floats, losses: Floats) -> str:
    """Return the votes of the pair with the most uneven votes, as `a : b`."""
    k = int(np.argmax(np.maximum(wins, losses) / np.maximum(np.minimum(wins, losses), 1e-300)))
    return f"{wins[k]:g} : {losses[k]:g}"
