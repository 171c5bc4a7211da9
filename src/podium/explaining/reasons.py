"""Why one document of a query ranks above another: what each feature adds to the gap between their scores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from podium.data import RankingData
from podium.data.feature_names import default_names
from podium.data.grouping import id_texts
from podium.data.presentation import query_title
from podium.errors import DataError, ParameterError, is_integer
from podium.evaluation.result import as_json, json_id
from podium.explaining.forest import attributions
from podium.models.model import Features, Floats
from podium.models.trees import TreeModel
from podium.result_tables import ResultTable, TabularResult
from podium.threads import resolve_threads

if TYPE_CHECKING:
    from podium.explaining.mixin import ExplainMixin
    from podium.scoring import Scorer

SHOWN = 10  # reasons that are printed one by one
LONG_ID = 24  # a longer document id would make a column too wide


@dataclass(frozen=True)
class Reason:
    """The contribution of one feature to the gap between two documents.

    Attributes:
        feature: the name of the feature.
        above, below: its values in the two documents; NaN if missing.
        contribution: what it adds to the gap; positive if it favors the document `above`.
        above_category, below_category: the names of these values if the feature is categorical, or None.
    """

    feature: str
    above: float
    below: float
    contribution: float
    above_category: str | None = None
    below_category: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as values that JSON can hold; categories only if there are any."""
        return {
            name: as_json(value) for name, value in vars(self).items() if "category" not in name or value is not None
        }

    def texts(self) -> tuple[str, str]:
        """Return both values as they are printed: the name of a category, or the number."""
        return self.above_category or f"{self.above:.6g}", self.below_category or f"{self.below:.6g}"


@dataclass(frozen=True)
class Why(TabularResult):
    """Why one document of a query ranks above another.

    Attributes:
        query: the id of the query.
        above, below: the documents: their ids, or their numbers in the query if the data has no ids.
        above_score, below_score: their scores.
        reasons: one Reason per feature that contributes to the gap, largest first. The contributions sum to the gap.
    """

    query: Any
    above: str
    below: str
    above_score: float
    below_score: float
    reasons: tuple[Reason, ...]

    @property
    def gap(self) -> float:
        """The score of `above` minus the score of `below`."""
        return self.above_score - self.below_score

    def to_dict(self) -> dict[str, Any]:
        """Return everything as values that JSON can hold; NaN becomes None."""
        return {
            "query": json_id(self.query),
            "above": {"document": self.above, "score": self.above_score},
            "below": {"document": self.below, "score": self.below_score},
            "gap": self.gap,
            "reasons": [reason.to_dict() for reason in self.reasons],
        }

    def title(self) -> str:
        """Return the finding in one sentence."""
        stands = "stands above" if self.gap > 0 else "stands BELOW" if self.gap < 0 else "has the score of"
        return (
            f"{query_title(str(self.query))}: document {self.above} ({self.above_score:.4f}) {stands} "
            f"document {self.below} ({self.below_score:.4f}), gap {self.gap:+.4f}"
        )

    def titles(self) -> tuple[str, str]:
        """Return the headings of the two documents' columns; long ids are replaced by "above" and "below"."""
        long = max(len(self.above), len(self.below)) > LONG_ID
        return ("above", "below") if long else (f"document {self.above}", f"document {self.below}")

    def rows(self, top: int | None = SHOWN) -> list[tuple[str, str, str, str]]:
        """Return feature, its two values and its contribution as text, largest first; one row sums up the others."""
        shown_ones, rest = self.reasons[:top], self.reasons[top:] if top is not None else ()
        out = [(r.feature, *r.texts(), f"{r.contribution:+.4f}") for r in shown_ones]
        if rest:
            total = math.fsum(reason.contribution for reason in rest)
            out.append((f"{len(rest)} more", "", "", f"{total:+.4f}"))
        return [*out, ("sum", "", "", f"{math.fsum(r.contribution for r in self.reasons):+.4f}")]

    def _frame_columns(self) -> dict[str, list[Any]]:
        names = ("feature", "above", "below", "contribution")
        return {name: [getattr(reason, name) for reason in self.reasons] for name in names}

    def _result_table(self) -> ResultTable:
        return ResultTable(self.title(), ("feature", *self.titles(), "contribution"), self.rows())

    def __str__(self) -> str:
        table = [("feature", *self.titles(), "contribution"), *self.rows()]
        widths = [max(len(row[k]) for row in table) for k in range(4)]
        lines = [f"{row[0]:<{widths[0]}}" + "".join(f"  {row[k]:>{widths[k]}}" for k in (1, 2, 3)) for row in table]
        return "\n".join([self.title(), *lines])

    __repr__ = __str__


def why(ranker: ExplainMixin, data: RankingData, *, above: int | str, below: int | str, query: Any = None) -> Why:
    """Explain why one document of a query ranks above another.

    For trees, the contribution of a feature is the difference of its attributions. For a linear model, it is the change of
    the score if the value of this feature alone is taken from the other document.

    Args:
        ranker: a fitted ranker of trees, or of a linear model.
        data: the query, alone or among others.
        above: one document: its number in the query, counted from 1, or its id as text.
        below: the other document, named in the same way.
        query: the id of the query; not needed if there is only one.
    """
    if not isinstance(data, RankingData):
        raise DataError(f"data must be a RankingData, not {type(data).__name__}; make one: RankingData(X, y, qid)")
    check_is_fitted(ranker, "scorer_")
    scorer, model = ranker.scorer_, ranker.scorer_.model
    if not model.has_splits and not model.is_linear_in_features:
        raise ParameterError(
            "ranker",
            type(ranker).__name__,
            "cannot explain the order of two documents: this needs trees or a linear model, and in its model the features act "
            "together",
            remedy="permutation_importance works for every ranker",
        )
    if model.n_outputs > 1:
        rule = f"has {model.n_outputs} outputs, and its score is not their sum"
        raise ParameterError("ranker", type(ranker).__name__, rule, "use ranker.attributions")
    number = query_number(data, query)
    first = int(data.query_offsets[number])
    rows = [document_row(data, number, name, given) for name, given in (("above", above), ("below", below))]
    if rows[0] == rows[1]:
        raise ParameterError("below", below, "is the same document as above", "name two documents of the query")
    features = scorer.features(data.select([number]))[[row - first for row in rows]]
    scores = scorer.scores(features, num_threads=ranker.num_threads)
    gaps = _contributions(scorer, features, scores, ranker.num_threads)
    names = data.feature_names or scorer.feature_names or default_names(model.n_features)
    order = [int(k) for k in np.argsort(-np.abs(gaps), kind="stable") if gaps[k] != 0]
    return Why(
        query=data.query_ids[number].item() if hasattr(data.query_ids[number], "item") else data.query_ids[number],
        above=_called(data, rows[0], first),
        below=_called(data, rows[1], first),
        above_score=float(scores[0]),
        below_score=float(scores[1]),
        reasons=tuple(
            Reason(
                names[k],
                float(features[0, k]),
                float(features[1, k]),
                float(gaps[k]),
                *(_category(scorer, k, float(value)) for value in features[:, k]),
            )
            for k in order
        ),
    )


def _category(scorer: Scorer, column: int, code: float) -> str | None:
    """Return the name of a category that the model was trained with, or None."""
    known = (scorer.categories or {}).get(column)
    return known[int(code)] if known is not None and code.is_integer() and 0 <= code < len(known) else None


def _contributions(scorer: Scorer, features: Features, scores: Floats, num_threads: int | None) -> Floats:
    """Return what each feature adds to the gap between the first and the second document."""
    if scorer.model.has_splits:
        forest = cast(TreeModel, scorer.model)
        parts = attributions(forest, features, num_threads=resolve_threads(num_threads))[:, :-1]
        gaps: Floats = parts[0] - parts[1]
        return gaps
    swapped = np.repeat(features[1:], features.shape[1], axis=0)
    np.fill_diagonal(swapped, features[0])
    changed: Floats = scorer.scores(swapped, num_threads=num_threads) - scores[1]
    return changed


def query_number(data: RankingData, query: Any) -> int:
    """Return the number of the query with an id; 7 and "7" are the same id, as in files."""
    if query is None:
        if data.n_queries > 1:
            raise ParameterError("query", rule=f"is needed: the data has {data.n_queries}", remedy="name one by its id")
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


def document_row(data: RankingData, query: int, name: str, given: int | str) -> int:
    """Return the row of a document of a query. Text is an id if the query has it, or else a number; numbers count from 1.

    Args:
        data: the data.
        query: the number of the query in the data.
        name: the parameter to name in errors.
        given: the document.
    """
    first, last = (int(row) for row in data.query_offsets[query : query + 2])
    if isinstance(given, str):
        if data.document_ids is not None:
            called = [row for row in range(first, last) if data.document_ids[row] == given]
            if len(called) > 1:
                rule = f"is the id of {len(called)} documents of the query"
                raise ParameterError(name, given, rule, "give the document's number in the query")
            if called:
                return called[0]
        if given.isdecimal():
            given = int(given)
    if not is_integer(given):
        rule = "cannot be an id: the data has none" if data.document_ids is None else "is not an id of the query"
        raise ParameterError(name, given, rule, f"give a number from 1 to {last - first}")
    if not 1 <= int(given) <= last - first:
        ids = "" if data.document_ids is None else ", or its id"
        raise ParameterError(name, given, f"must be a document of the query, a number from 1 to {last - first}{ids}")
    return first + int(given) - 1


def _called(data: RankingData, row: int, first: int) -> str:
    return str(row - first + 1) if data.document_ids is None else data.document_ids[row]
