"""Why a document stands where it stands: what each feature adds to its score, and to the gap between two documents."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from podium.data import RankingData
from podium.data.feature_names import default_names
from podium.data.grouping import id_texts
from podium.errors import DataError, ParameterError, is_integer, short_repr
from podium.evaluation.result import as_json, json_id
from podium.explaining.forest import attributions
from podium.models.net import Net
from podium.models.trees import TreeModel
from podium.threads import resolve_threads

if TYPE_CHECKING:
    from podium.explaining.mixin import ExplainMixin

SHOWN = 10  # reasons that are printed one by one
LONG_ID = 24  # characters of a document id that make too wide a column


@dataclass(frozen=True)
class Reason:
    """One feature's part in the gap between two documents.

    Attributes:
        feature: its name.
        above, below: its values; NaN where missing.
        contribution: what it adds to the gap; positive lifts the document `above`.
    """

    feature: str
    above: float
    below: float
    contribution: float


@dataclass(frozen=True)
class Why:
    """Why one document stands above another in a query.

    Attributes:
        query: the id of the query.
        above, below: the documents, as they are called: id, or number in the query.
        above_score, below_score: their scores.
        reasons: a Reason a feature that says something of the gap, the largest first. Contributions sum to the gap.
    """

    query: Any
    above: str
    below: str
    above_score: float
    below_score: float
    reasons: tuple[Reason, ...]

    @property
    def gap(self) -> float:
        """Score of `above` minus score of `below`."""
        return self.above_score - self.below_score

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON can hold it: NaN is None."""
        return {
            "query": json_id(self.query),
            "above": {"document": self.above, "score": self.above_score},
            "below": {"document": self.below, "score": self.below_score},
            "gap": self.gap,
            "reasons": [{name: as_json(value) for name, value in vars(reason).items()} for reason in self.reasons],
        }

    def title(self) -> str:
        """The finding in one sentence."""
        stands = "stands above" if self.gap > 0 else "stands BELOW" if self.gap < 0 else "has the score of"
        return (
            f"query {self.query}: document {self.above} ({self.above_score:.4f}) {stands} "
            f"document {self.below} ({self.below_score:.4f}), gap {self.gap:+.4f}"
        )

    def titles(self) -> tuple[str, str]:
        """The two documents as columns are headed; long ids make way for the place."""
        long = max(len(self.above), len(self.below)) > LONG_ID
        return ("above", "below") if long else (f"document {self.above}", f"document {self.below}")

    def rows(self, top: int | None = SHOWN) -> list[tuple[str, str, str, str]]:
        """Feature, its two values and its contribution as text, the largest first; what is left over is one row."""
        shown_ones, rest = self.reasons[:top], self.reasons[top:] if top is not None else ()
        out = [(r.feature, f"{r.above:.6g}", f"{r.below:.6g}", f"{r.contribution:+.4f}") for r in shown_ones]
        if rest:
            total = math.fsum(reason.contribution for reason in rest)
            out.append((f"{len(rest)} more", "", "", f"{total:+.4f}"))
        return [*out, ("sum", "", "", f"{math.fsum(r.contribution for r in self.reasons):+.4f}")]

    def __str__(self) -> str:
        table = [("feature", *self.titles(), "contribution"), *self.rows()]
        widths = [max(len(row[k]) for row in table) for k in range(4)]
        lines = [f"{row[0]:<{widths[0]}}" + "".join(f"  {row[k]:>{widths[k]}}" for k in (1, 2, 3)) for row in table]
        return "\n".join([self.title(), *lines])

    __repr__ = __str__


def why(ranker: ExplainMixin, data: RankingData, *, above: int | str, below: int | str, query: Any = None) -> Why:
    """Why one document of a query stands above another: of trees the difference of their attributions; of a linear model
    what the score gains where one value after the other is taken from the other document.

    Args:
        ranker: a fitted ranker of trees, or of a linear model.
        data: the query, alone or among others.
        above: one document: its number in the query, from 1, or its id as text.
        below: the other one.
        query: the id of the query; may be left out where there is only one.
    """
    if not isinstance(data, RankingData):
        raise DataError(f"data must be a RankingData, not {type(data).__name__}; make one: RankingData(X, y, qid)")
    check_is_fitted(ranker, "scorer_")
    model = ranker.scorer_.model
    linear = isinstance(model, Net) and model.is_linear
    if not isinstance(model, TreeModel) and not linear:
        raise ParameterError(
            f"why: the model of this {type(ranker).__name__} is neither made of trees nor linear, so that its features act "
            "together; permutation importance says of any ranker which features it needs"
        )
    if model.n_outputs > 1:
        raise ParameterError(
            f"why: this model has {model.n_outputs} outputs and its score is no sum of them; look at ranker.attributions"
        )
    number = query_number(data, query)
    first, last = (int(row) for row in data.query_offsets[number : number + 2])
    rows = [_document(data, first, last, name, given) for name, given in (("above", above), ("below", below))]
    if rows[0] == rows[1]:
        raise ParameterError(f"above and below are both document {short_repr(above)}; name two documents of the query")
    names = data.feature_names or ranker.scorer_.feature_names or default_names(model.n_features)
    features = ranker.scorer_.features(data.select([number]))[[row - first for row in rows]]
    scores = ranker.scorer_.scores(features, num_threads=ranker.num_threads)
    if isinstance(model, TreeModel):
        parts = attributions(model, features, num_threads=resolve_threads(ranker.num_threads))[:, :-1]
        gaps = parts[0] - parts[1]
    else:
        swapped = np.repeat(features[1:], model.n_features, axis=0)
        np.fill_diagonal(swapped, features[0])
        gaps = ranker.scorer_.scores(swapped, num_threads=ranker.num_threads) - scores[1]
    order = [int(k) for k in np.argsort(-np.abs(gaps), kind="stable") if gaps[k] != 0]
    return Why(
        query=data.query_ids[number].item() if hasattr(data.query_ids[number], "item") else data.query_ids[number],
        above=_called(data, rows[0], first),
        below=_called(data, rows[1], first),
        above_score=float(scores[0]),
        below_score=float(scores[1]),
        reasons=tuple(Reason(names[k], float(features[0, k]), float(features[1, k]), float(gaps[k])) for k in order),
    )


def query_number(data: RankingData, query: Any) -> int:
    """The query of an id; 7 and "7" are the same, as they are in files."""
    if query is None:
        if data.n_queries > 1:
            raise ParameterError(f"query is missing, and the data has {data.n_queries}; name one by its id")
        return 0
    texts = id_texts(data.query_ids)
    try:
        return texts.index(str(query))
    except ValueError:
        raise ParameterError(
            "query",
            query,
            "is not in the data",
            f"it has {data.n_queries} queries: {', '.join(texts[:5])}{', …' if len(texts) > 5 else ''}",
        ) from None


def _document(data: RankingData, first: int, last: int, name: str, given: int | str) -> int:
    """The row of a document: text is an id where one is so called, else a number; numbers count from 1."""
    if isinstance(given, str):
        if data.document_ids is not None:
            called = [row for row in range(first, last) if data.document_ids[row] == given]
            if len(called) > 1:
                raise ParameterError(
                    f"{name}={given!r}: {len(called)} documents of the query have this id; give a number"
                )
            if called:
                return called[0]
        if given.isdecimal():
            given = int(given)
    if not is_integer(given):
        reason = "the data has no document ids" if data.document_ids is None else "no document of the query has this id"
        raise ParameterError(f"{name}={short_repr(given)}: {reason}; give a number from 1 to {last - first}")
    if not 1 <= int(given) <= last - first:
        ids = "" if data.document_ids is None else ", or its id"
        raise ParameterError(name, given, f"must be a document of the query, a number from 1 to {last - first}{ids}")
    return first + int(given) - 1


def _called(data: RankingData, row: int, first: int) -> str:
    return str(row - first + 1) if data.document_ids is None else data.document_ids[row]
