"""Votes of several people on pairs, added up, and the training pairs made from them.

A pair on which i won a votes, j won b and t were ties gets P(i ▷ j) = (a + t/2 + c) / (a + b + t + 2c): the mean of a
Beta(c, c) prior after the votes, a tie being half a vote each way. At c = ½ the log odds are log((a + ½) / (b + ½)), the
empirical logit, whose bias is least; 3 : 0 becomes ⅞ and not 1. [target posteriors: RankNet, §3]
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data import Pairs, RankingData, Strings
from podium.data.conversion import as_number, as_weights
from podium.data.grouping import as_ids, distinct, id_texts, is_missing
from podium.errors import DataError, ParameterError, short_repr
from podium.posteriors.lookup import RowLookup

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
OUTCOMES = ("a", "b", "tie")


@dataclass(frozen=True, eq=False)
class Votes:
    """Votes added up by pair, pairs in the order of their first vote. Ids are kept as text.

    Attributes:
        query_ids: the query of each pair, or None if the documents' ids determine it.
        first: one document of each pair.
        second: the other.
        first_wins: votes for the first; not whole where a person's repeated votes share one.
        second_wins: votes for the second.
        ties: votes for neither.
    """

    query_ids: Strings | None
    first: Strings
    second: Strings
    first_wins: Floats
    second_wins: Floats
    ties: Floats

    @classmethod
    def of(
        cls,
        qid: Any,
        a: Sequence[object] | npt.NDArray[Any],
        b: Sequence[object] | npt.NDArray[Any],
        outcome: Sequence[str],
        *,
        who: Sequence[object] | None = None,
    ) -> Votes:
        """Return the sums of single votes.

        Args:
            qid: the query of each vote, one value for all, or None if document ids (or row numbers) are enough.
            a: one document of each vote, by id or by row number.
            b: the other.
            outcome: 'a', 'b' or 'tie'.
            who: who voted, None or '' where unknown. A person has one vote on a pair: repeated votes share it.
        """
        first, second = Strings.of(a, "a"), Strings.of(b, "b")
        words = list(outcome)
        for name, count in (("b", len(second)), ("outcome", len(words))):
            _same_length(name, count, len(first))
        for k, word in enumerate(words):
            if word not in OUTCOMES:
                raise DataError(f"outcome[{k}] is {short_repr(word)}; it must be 'a', 'b' or 'tie'")
        given = np.array([OUTCOMES.index(word) for word in words], np.int64)
        counts = np.eye(3)[given].reshape(-1, 3)
        voters = None if who is None else _voters(who, len(first))
        return _add_up(_query_texts(qid, len(first)), first, second, counts, voters)

    @classmethod
    def of_counts(
        cls,
        qid: Any,
        a: Sequence[object] | npt.NDArray[Any],
        b: Sequence[object] | npt.NDArray[Any],
        a_wins: npt.ArrayLike,
        b_wins: npt.ArrayLike,
        ties: npt.ArrayLike = 0,
    ) -> Votes:
        """Return votes that are already counted: for a, for b and for neither in each row; `qid`, `a` and `b` as in `of`."""
        first, second = Strings.of(a, "a"), Strings.of(b, "b")
        _same_length("b", len(second), len(first))
        columns = [
            as_weights(name, np.broadcast_to(given, len(first)) if np.ndim(given) == 0 else given, len(first))
            for name, given in (("a_wins", a_wins), ("b_wins", b_wins), ("ties", ties))
        ]
        counts = np.stack(columns, axis=1)
        empty = ~(counts.sum(axis=1) > 0)
        if empty.any():
            k = int(np.argmax(empty))
            raise DataError(f"row {k}, on {first[k]!r} and {second[k]!r}, counts no vote at all; leave it out")
        return _add_up(_query_texts(qid, len(first)), first, second, counts, None)

    def __len__(self) -> int:
        return len(self.first)

    @property
    def totals(self) -> Floats:
        """Return the number of votes of each pair."""
        return self.first_wins + self.second_wins + self.ties

    def probabilities(self, *, prior: float = 0.5) -> Floats:
        """P(first ▷ second) = (wins + ties/2 + prior) / (votes + 2·prior): the mean after a Beta(prior, prior).

        0 takes the bare shares of the votes, and so may give 0 and 1.
        """
        return _beta_mean(self.first_wins, self.ties, self.totals, prior)

    def pairs(
        self, data: RankingData, *, by: str = "ids", prior: float = 0.5, weight: str = "votes", missing: str = "error"
    ) -> Pairs:
        """Return training pairs for `data.replace(pairs=…)`: the document with more votes wins, with its probability.

        Pairs number the caller's rows. They are sorted by query and row, whatever the order of the votes. Documents of two
        queries are never compared: such a vote is refused.

        Args:
            data: the documents.
            by: 'ids' finds documents by `data.document_ids`, 'rows' takes them as numbers of the caller's rows.
            prior: what is added to the votes of each side; see `probabilities`.
            weight: 'votes' lets a pair count as often as it has votes, 'one' lets each pair count once.
            missing: a vote on a query or document that the data does not have: 'error' or 'skip'.
        """
        for name, value, known in (
            ("by", by, ("ids", "rows")),
            ("weight", weight, ("votes", "one")),
            ("missing", missing, ("error", "skip")),
        ):
            if value not in known:
                raise ParameterError(name, value, f"must be {known[0]!r} or {known[1]!r}")
        rows = RowLookup(data, by)
        first, second = rows.find(self.query_ids, self.first, self.second, skip=missing == "skip")
        found = np.flatnonzero((first >= 0) & (second >= 0))
        first, second = first[found], second[found]
        for_first, for_second = self.first_wins[found], self.second_wins[found]
        swap = (for_second > for_first) | ((for_second == for_first) & (second < first))
        totals, most = self.totals[found], np.maximum(for_first, for_second)
        order = np.lexsort((np.maximum(first, second), np.minimum(first, second)))
        pairs = Pairs.of(
            np.where(swap, second, first)[order],
            np.where(swap, first, second)[order],
            _beta_mean(most, self.ties[found], totals, prior)[order],
            totals[order] if weight == "votes" else 1.0,
        )
        return data.to_caller_order(pairs)


def _beta_mean(wins: Floats, ties: Floats, totals: Floats, prior: float) -> Floats:
    c = as_number(prior)
    if c is None or c < 0:
        raise ParameterError("prior", prior, "must be a number of at least 0, the votes to add to each side")
    return (wins + ties / 2 + c) / (totals + 2 * c)


def _same_length(name: str, count: int, rows: int) -> None:
    if count != rows:
        raise DataError(f"{name} has {count} entries and a has {rows}; give one of each per vote")


def _query_texts(qid: Any, rows: int) -> Strings | None:
    if qid is None:
        return None
    given = [qid] * rows if np.ndim(qid) == 0 else qid
    return Strings.of(id_texts(as_ids(given, rows)), "qid")


def _voters(who: Sequence[object], rows: int) -> Ints:
    """Return a number for each voter; unknown voters get different negative numbers."""
    _same_length("who", len(who), rows)
    names = np.empty(rows, object)
    names[:] = ["" if is_missing(name) else str(name) for name in who]
    codes, _ = distinct(names)
    return np.where(names == "", -1 - np.arange(rows), codes)


def _add_up(query_ids: Strings | None, first: Strings, second: Strings, counts: Floats, voters: Ints | None) -> Votes:
    """Return the votes of each pair, in whichever order they name it; sums do not depend on the order of the votes."""
    if not len(first):
        raise DataError("there are no votes; give at least one")
    names = np.concatenate([np.asarray(first), np.asarray(second)])
    codes, _ = distinct(names)
    a, b = codes[: len(first)], codes[len(first) :]
    if (a == b).any():
        k = int(np.argmax(a == b))
        raise DataError(f"vote {k} compares document {first[k]!r} with itself; leave it out")
    queries = np.zeros(len(a), np.int64) if query_ids is None else distinct(np.asarray(query_ids))[0]
    pair = _codes(_codes(queries, np.minimum(a, b)), np.maximum(a, b))
    heads = np.unique(pair, return_index=True)[1]
    turned = a != a[heads][pair]
    counts = np.where(turned[:, None], counts[:, [1, 0, 2]], counts)
    if voters is not None:
        person = _codes(pair, voters - min(0, voters.min()))
        shared = np.stack([np.bincount(person, column) for column in counts.T], axis=1)
        pair = pair[np.unique(person, return_index=True)[1]]
        counts = shared / shared.sum(axis=1, keepdims=True)
    order = np.argsort(pair, kind="stable")
    bounds = np.searchsorted(pair[order], np.arange(len(heads) + 1))
    # Shares of a vote are not whole: fsum rounds once, whatever the order and whichever way round the pair is named.
    columns = [counts[order, k].tolist() for k in range(3)]
    sums = np.array([[math.fsum(column[i:j]) for column in columns] for i, j in itertools.pairwise(bounds.tolist())])
    kept = None if query_ids is None else query_ids[heads]
    return Votes(kept, first[heads], second[heads], *(np.ascontiguousarray(column) for column in sums.T))


def _codes(one: Ints, other: Ints) -> Ints:
    """Return one number for each pair of numbers, the same for equal pairs, counted as they first appear."""
    width = int(other.max()) + 1
    return distinct(one * width + other)[0]
