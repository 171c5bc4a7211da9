"""Scores of documents, with standard errors, from votes on pairs or from pair probabilities: Bradley–Terry.

The model is P(i ▷ j) = e^{s_i} / (e^{s_i} + e^{s_j}) = 1 / (1 + e^{−(s_i − s_j)}), so the scores are those that RankNet would
learn if every document had a parameter of its own. They maximize the likelihood Σ w (P̄ log P + (1 − P̄) log(1 − P)).
[Bradley and Terry 1952; Ranking as Function Approximation, end of §5.1; RankNet, end of §3]
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from podium.data import Pairs, RankingData
from podium.data.conversion import as_number
from podium.errors import DataError, ParameterError, short_repr
from podium.posteriors.existence import Group, groups_of, undetermined_reason
from podium.posteriors.graph import Graph, graph_of, graph_of_votes
from podium.posteriors.likelihood import Information, maximize_likelihood
from podium.posteriors.odds import Floats, check_undetermined, from_log_odds
from podium.posteriors.votes import Votes

Ints = npt.NDArray[np.int64]


class Gap(NamedTuple):
    """How far one document scores above another.

    Attributes:
        difference: the first score − the second.
        standard_error: the standard error of the difference.
        probability: P(first ▷ second) of the model.
    """

    difference: float
    standard_error: float
    probability: float


@dataclass(frozen=True, eq=False)
class BradleyTerry:
    """Maximum likelihood scores of documents with their standard errors; `print` shows them, best first.

    Attributes:
        documents: the id, or row number, of each document.
        queries: the query of each document, or None if the documents are not divided into queries.
        scores: the scores, of mean 0 in each query; NaN for a document without votes and, with `undetermined='nan'`, for those
            of a query whose votes determine no scores.
        standard_errors: the standard error of each score, given that the mean of the query is 0: the square roots of the
            diagonal of the pseudoinverse of the Fisher information. Use `difference` to compare two documents.
        log_likelihood: Σ w (P̄ log P + (1 − P̄) log(1 − P)) at the scores, in natural logarithms; the votes of a prior count too.
        n_votes: Σ w, the number of votes without those of a prior.
        undetermined: one sentence for each query whose votes determine no scores.
    """

    documents: npt.NDArray[Any] = field(repr=False)
    queries: npt.NDArray[Any] | None = field(repr=False)
    scores: Floats = field(repr=False)
    standard_errors: Floats = field(repr=False)
    log_likelihood: float
    n_votes: float
    undetermined: tuple[str, ...]
    _fits: tuple[tuple[Group, Information], ...] = field(repr=False)

    def difference(self, first: Any, second: Any, *, query: Any = None) -> Gap:
        """Return how far one document scores above another, with the standard error of that difference.

        Args:
            first: the id, or row number, of a document.
            second: the id, or row number, of another document of the same query.
            query: the query of both; needed only if their ids occur in several queries.
        """
        places = [self._place(document, query) for document in (first, second)]
        for group, information in self._fits:
            inside = np.searchsorted(group.documents, places)
            if (np.take(group.documents, inside, mode="clip") == places).all():
                gap = float(self.scores[places[0]] - self.scores[places[1]])
                error = information.standard_error_of_difference(int(inside[0]), int(inside[1]))
                return Gap(gap, error, float(from_log_odds(gap)))
        raise DataError(
            f"documents {short_repr(first)} and {short_repr(second)} cannot be compared: no votes join them, or the votes "
            "of their query determine no scores"
        )

    def _place(self, document: Any, query: Any) -> int:
        found = [k for k, name in enumerate(self.documents.tolist()) if name == document]
        if query is not None and self.queries is not None:
            found = [k for k in found if self.queries[k] == query]
        if len(found) != 1:
            where = "" if query is None else f" in query {short_repr(query)}"
            raise DataError(
                f"document {short_repr(document)} occurs {len(found)} times{where}; it must occur once: "
                f"{'check its id' if len(found) == 0 else 'say which one with query=…'}"
            )
        return found[0]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON, documents best first within their query; NaN becomes None."""
        rows = []
        for k in self._order():
            row = {} if self.queries is None else {"query": self.queries[k]}
            known = bool(np.isfinite(self.scores[k]))
            row |= {
                "document": self.documents[k],
                "score": float(self.scores[k]) if known else None,
                "standard_error": float(self.standard_errors[k]) if known else None,
            }
            rows.append(row)
        return {
            "documents": rows,
            "n_votes": self.n_votes,
            "log_likelihood": self.log_likelihood,
            "undetermined": list(self.undetermined),
        }

    def _order(self) -> list[int]:
        """The documents query by query as they first appear, best score first, NaN last."""
        seen: dict[Any, int] = {}
        queries = [0] * len(self.scores) if self.queries is None else self.queries.tolist()
        codes = [seen.setdefault(query, len(seen)) for query in queries]
        keys = np.array([np.where(np.isnan(self.scores), np.inf, -self.scores), codes])
        return [int(k) for k in np.lexsort(keys)]

    def __str__(self) -> str:
        lines = [f"{self.n_votes:g} votes on {len(self.documents)} documents, log likelihood {self.log_likelihood:.6g}"]
        for k in self._order():
            name = str(self.documents[k]) if self.queries is None else f"{self.queries[k]} {self.documents[k]}"
            known = np.isfinite(self.scores[k])
            lines.append(
                f"{name}: {self.scores[k]:+.4f} ± {self.standard_errors[k]:.4f}" if known else f"{name}: no score"
            )
        return "\n".join([*lines, *self.undetermined])


def bradley_terry(
    votes: Votes | Pairs | RankingData | npt.ArrayLike,
    loser: npt.ArrayLike | None = None,
    probability: npt.ArrayLike | None = None,
    weight: npt.ArrayLike | None = None,
    *,
    prior: float = 0.0,
    undetermined: str = "error",
) -> BradleyTerry:
    """Maximum likelihood scores, with standard errors, from votes on pairs or from pair probabilities.

    Not every pair needs votes. Scores exist exactly if, in each query, every set of documents has both won and lost votes
    against the rest. Otherwise the query has parts that no vote joins, or a set of documents that certainly ranks above the
    rest, and the error names them.

    Args:
        votes: Votes, where a tie counts as half a vote for each document; or Pairs; or RankingData that holds pairs, whose
            documents are scored one per row, in the caller's order; or the ids of the documents that should win.
        loser: with ids as `votes`, those of the documents that should lose.
        probability: with ids as `votes`, P(winner ▷ loser) of each pair, 1 if not given.
        weight: with ids as `votes`, the number of votes of each pair; 1 by default.
        prior: votes to add to each side of every pair, as in `Votes.probabilities`. Above 0, a certain set gets finite scores.
        undetermined: 'error' refuses a query whose votes determine no scores; 'nan' gives NaN for its documents.
    """
    check_undetermined(undetermined)
    added = as_number(prior)
    if added is None or not 0 <= added < math.inf:
        raise ParameterError("prior", prior, "must be a number of at least 0, the votes to add to each side")
    if isinstance(votes, Votes):
        if any(given is not None for given in (loser, probability, weight)):
            raise DataError("Votes hold losers and counts themselves; give nothing else")
        graph = graph_of_votes(votes)
    else:
        graph = graph_of(votes, loser, probability, weight)
    return _fit(graph, float(added), undetermined)


def _fit(graph: Graph, prior: float, undetermined: str) -> BradleyTerry:
    wins = np.where(graph.weight > 0, graph.weight * graph.probability + prior, 0.0)
    losses = np.where(graph.weight > 0, graph.weight * (1 - graph.probability) + prior, 0.0)
    scores, errors = np.full((2, len(graph.documents)), np.nan)
    fits, reasons, likelihoods = [], [], [0.0]
    for group in groups_of(graph):
        reason = undetermined_reason(graph, group, wins, losses)
        if reason is not None and undetermined == "error":
            raise DataError(reason, remedy="or give {undetermined='nan'} to have NaN")
        if reason is not None:
            reasons.append(reason)
            continue
        fit = maximize_likelihood(
            group.winner, group.loser, wins[group.pairs], losses[group.pairs], len(group.documents)
        )
        scores[group.documents], errors[group.documents] = fit.scores, fit.information.standard_errors()
        likelihoods.append(fit.log_likelihood)
        fits.append((group, fit.information))
    return BradleyTerry(
        documents=graph.documents,
        queries=graph.queries,
        scores=scores,
        standard_errors=errors,
        log_likelihood=math.fsum(likelihoods),
        n_votes=math.fsum(graph.weight.tolist()),
        undetermined=tuple(reasons),
        _fits=tuple(fits),
    )
