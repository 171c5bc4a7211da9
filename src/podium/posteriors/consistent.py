"""How far pair probabilities are from any set of scores: weighted least squares in log odds, and the worst cycle.

Scores s exist with P_ij = 1 / (1 + e^{−(s_i − s_j)}) exactly when the log odds round every cycle sum to 0.
[RankNet, eq 4; Ranking as Function Approximation, eq 10; the split into scores and cycles is HodgeRank's, Jiang et al. 2011]
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from podium.data import Pairs, RankingData
from podium.data.conversion import as_number
from podium.errors import DataError, ParameterError
from podium.posteriors.cycles import worst_cycles
from podium.posteriors.graph import Graph, graph_of
from podium.posteriors.least_squares import fit_scores
from podium.posteriors.odds import Floats, log_odds

Ints = npt.NDArray[np.int64]
NO_CYCLE = 1e-9  # mean log odds per pair; below it a cycle's sum is taken for rounding


@dataclass(frozen=True, eq=False)
class Cycle:
    """documents[0] ▷ documents[1] ▷ … ▷ documents[0], the way round in which the log odds sum to more than 0.

    Attributes:
        documents: their ids, or their row numbers if there are no ids.
        pairs: the pair of each step, counted in the order given.
        log_odds: the log odds of each step, in the direction of the cycle.
        query: the query of the documents, if known.
    """

    documents: tuple[Any, ...]
    pairs: Ints
    log_odds: Floats
    query: Any = None

    @property
    def total(self) -> float:
        """Σ log odds round the cycle; scores would make it 0."""
        return math.fsum(self.log_odds.tolist())

    @property
    def mean(self) -> float:
        """Σ log odds per pair: whatever the scores, one of the cycle's pairs is off by at least this."""
        return self.total / len(self.log_odds)

    def __str__(self) -> str:
        names = [str(name) for name in (*self.documents, self.documents[0])]
        steps = [f"{value:+.3g}" for value in self.log_odds.tolist()]
        if len(steps) > 12:
            names, steps = [*names[:6], "…", *names[-6:]], [*steps[:6], "…", *steps[-5:]]
        where = "" if self.query is None else f" of query {self.query}"
        return f"{' ▷ '.join(names)}{where}: log odds {' '.join(steps)} = {self.total:.4g} instead of 0"


@dataclass(frozen=True, eq=False)
class Consistency:
    """The scores nearest to given pair probabilities, and how far apart the two are; `print` shows it in words.

    Attributes:
        documents: the id, or row number, of each document.
        scores: the s that make Σ w (log odds − (s_i − s_j))² least; of mean 0 in each connected part.
        parts: the connected part of each document, numbered from 0; scores of two parts cannot be compared.
        log_odds: log(P / (1 − P)) of each pair, after the clip.
        residuals: log odds − (s_i − s_j) of each pair; NaN if its weight is 0.
        distance: root of the weighted mean of residual²; 0 exactly if some scores give every probability.
        cyclic_share: Σ w residual² / Σ w (log odds)²: 0 if scores explain everything, 1 if they explain nothing (pure cycles).
        cycles: the worst cycle of each connected part that has one, worst first: see `worst_cycle`.
        n_clipped: number of pairs whose probability was nearer to 0 or 1 than `clip` and was moved.
    """

    documents: npt.NDArray[Any] = field(repr=False)
    scores: Floats = field(repr=False)
    parts: Ints = field(repr=False)
    log_odds: Floats = field(repr=False)
    residuals: Floats = field(repr=False)
    distance: float
    cyclic_share: float
    cycles: tuple[Cycle, ...] = field(repr=False)
    clip: float
    n_clipped: int

    @property
    def worst_cycle(self) -> Cycle | None:
        """The cycle with the largest mean of log odds per pair; None if every cycle sums to 0, so that scores explain everything."""
        return self.cycles[0] if self.cycles else None

    def __str__(self) -> str:
        used = int(np.count_nonzero(~np.isnan(self.residuals)))
        n_parts = int(self.parts.max()) + 1
        lines = [
            f"{used} pairs of {len(self.documents)} documents in {n_parts} connected part{'s' if n_parts > 1 else ''}",
            f"distance {self.distance:.4g}: the nearest scores miss the log odds of a pair by that much (root mean square)",
            f"cyclic share {100 * self.cyclic_share:.3g} %: of the squared log odds, what no scores explain",
        ]
        if self.n_clipped:
            lines.append(f"{self.n_clipped} probabilities were moved to {self.clip:g} or 1 - {self.clip:g}")
        if self.worst_cycle is None:
            lines.append("consistent: some scores give every one of these probabilities")
        else:
            lines.append(f"worst cycle {self.worst_cycle}")
            lines.append(f"whatever the scores, one of its pairs is off by at least {self.worst_cycle.mean:.4g}")
        return "\n".join(lines)


def consistency(
    pairs: Pairs | RankingData | npt.ArrayLike,
    loser: npt.ArrayLike | None = None,
    probability: npt.ArrayLike | None = None,
    weight: npt.ArrayLike | None = None,
    *,
    clip: float = 1e-6,
) -> Consistency:
    """How far pair probabilities are from any set of scores: least squares in log odds, and the worst cycle by name.

    The pairs may be incomplete, contradictory, cyclic, or fall into several parts that no pair joins. The worst cycle is
    the one whose log odds have the largest mean per pair, found exactly; pairs of weight 0 take no part.

    Args:
        pairs: Pairs; or RankingData that holds pairs, whose documents are then named by id and scored one per row, in the
            caller's order; or the ids (text or whole numbers) of the documents that should win.
        loser: with ids as `pairs`, those of the documents that should lose.
        probability: with ids as `pairs`, P of each pair; 1 by default.
        weight: with ids as `pairs`, how often each pair counts; 1 by default.
        clip: log odds of 0 and 1 are infinite, so probabilities are kept inside [clip, 1 − clip]; 0 refuses 0 and 1.
    """
    graph = graph_of(pairs, loser, probability, weight)
    least = _as_clip(clip)
    kept = np.clip(graph.probability, least, 1 - least)
    odds = log_odds(kept)
    if not np.isfinite(odds).all():
        k = int(np.argmax(~np.isfinite(odds)))
        raise DataError(
            f"pair {k} has probability {graph.probability[k]:g}, whose log odds are infinite: no scores give it; pass "
            f"clip=0.01 to take it as {abs(graph.probability[k] - 0.01):g}, or smooth the votes that it came from"
        )
    parts = _connected_parts(graph)
    scores = fit_scores(graph, odds, parts)
    residuals = np.where(graph.weight > 0, odds - (scores[graph.winner] - scores[graph.loser]), np.nan)
    squares, all_squares, total = (
        math.fsum(values[graph.weight > 0].tolist())
        for values in (graph.weight * residuals**2, graph.weight * odds**2, graph.weight)
    )
    return Consistency(
        documents=graph.documents,
        scores=scores,
        parts=parts,
        log_odds=odds,
        residuals=residuals,
        distance=math.sqrt(squares / total),
        cyclic_share=min(1.0, squares / all_squares) if all_squares > 0 else 0.0,
        cycles=_cycles(graph, odds, residuals, parts),
        clip=least,
        n_clipped=int(np.count_nonzero(kept != graph.probability)),
    )


def _as_clip(clip: float) -> float:
    value = as_number(clip)
    if value is None or not 0 <= value < 0.5:
        raise ParameterError("clip", clip, "must lie in [0, 0.5)", "0 refuses probabilities of 0 and 1")
    return float(value)


def _connected_parts(graph: Graph) -> Ints:
    """Return the number of each document's part; parts are numbered as they first appear."""
    used = np.flatnonzero(graph.weight > 0)
    count = len(graph.documents)
    joined = coo_array((np.ones(len(used)), (graph.winner[used], graph.loser[used])), shape=(count, count))
    return np.asarray(connected_components(joined, directed=False)[1], np.int64)


def _cycles(graph: Graph, odds: Floats, residuals: Floats, parts: Ints) -> tuple[Cycle, ...]:
    """Return the worst cycle of each part, worst first, without those that sum to 0 up to rounding."""
    used = np.flatnonzero(graph.weight > 0)
    seen = np.unique([graph.winner[used], graph.loser[used]])
    winner, loser = (np.searchsorted(seen, side[used]) for side in (graph.winner, graph.loser))
    part = np.unique(parts[seen], return_inverse=True)[1]
    found = []
    for steps, forward in worst_cycles(winner, loser, residuals[used], part):
        pairs = used[steps]
        starts = np.where(forward, graph.winner[pairs], graph.loser[pairs])
        query = None if graph.queries is None else graph.queries[starts[0]]
        gains = np.where(forward, odds[pairs], -odds[pairs])
        cycle = Cycle(tuple(graph.documents[starts].tolist()), pairs, gains, query)
        if cycle.mean > NO_CYCLE * max(1.0, float(np.abs(gains).max())):
            found.append(cycle)
    return tuple(sorted(found, key=lambda cycle: -cycle.mean))
