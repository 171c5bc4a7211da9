"""A ranking by document ids, as TREC run files hold it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data.conversion import as_numbers
from podium.data.grouping import as_ids, distinct, id_texts
from podium.data.ordering import ungroup
from podium.data.ranking_data import RankingData
from podium.data.strings import Strings
from podium.errors import DataError, ParameterError


@dataclass(frozen=True, eq=False)
class Run:
    """Scores of retrieved documents: row k says that `document_ids[k]` scored `scores[k]` for `query_ids[k]`.

    `Run.of_scores(scores, data)` makes the run of scores for data with document ids.

    Attributes:
        query_ids: One query id per row, int64 or text.
        document_ids: One document id per row, as text.
        scores: One score per row, float64.
        tag: The name of the run.
    """

    query_ids: npt.NDArray[Any]
    document_ids: Strings
    scores: npt.NDArray[np.float64]
    tag: str = "podium"

    def __post_init__(self) -> None:
        scores = as_numbers("scores", self.scores)
        if scores.ndim != 1:
            raise DataError(f"scores have shape {scores.shape}; give one number per document")
        documents = Strings.of(self.document_ids, "document_ids")
        if len(documents) != len(scores):
            raise DataError(f"{len(documents)} document_ids for {len(scores)} scores; give one of each per row")
        queries = as_ids(self.query_ids, len(scores))
        bad = np.isnan(scores)
        if bad.any():
            k = int(np.argmax(bad))
            raise DataError(
                f"the run's score of document {documents[k]!r} for query {str(queries[k])!r} (row {k}) is nan; "
                "scores must be numbers"
            )
        if not isinstance(self.tag, str):
            raise ParameterError("tag", self.tag, "must be text: the name of the run")
        for name, value in (
            ("query_ids", queries.view()),
            ("document_ids", documents),
            ("scores", scores.view()),
        ):
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)

    @classmethod
    def of(
        cls, query_ids: npt.ArrayLike, document_ids: Iterable[object], scores: npt.ArrayLike, tag: str = "podium"
    ) -> Run:
        """Make a run of lists, arrays or Series with one entry per row.

        Args:
            query_ids: one query id per row.
            document_ids: one document id per row.
            scores: one score per row.
            tag: the name of the run.
        """
        return cls(query_ids, document_ids, scores, tag)  # type: ignore[arg-type]  # they become arrays

    @classmethod
    def of_scores(cls, scores: npt.ArrayLike, data: RankingData, *, tag: str = "podium") -> Run:
        """Return the run of scores for data with document ids; scores and the rows of the run are in the caller's row order.

        Args:
            scores: one score per row of the data.
            data: data with document ids.
            tag: the name of the run.
        """
        if data.document_ids is None:
            raise DataError("a run needs document ids, and the data has none; give document_ids to RankingData")
        given = as_numbers("scores", scores)
        data.from_caller_order(given)  # raises an error unless there is one score per row
        return cls(data.to_caller_order(data.qid), ungroup(data.document_ids, data.row_order), given, tag)

    def by_rank(self) -> Run:
        """Return the run query by query as they first appear, the best document first; equal scores keep their order."""
        codes, _ = distinct(self.query_ids)
        first = np.full(len(codes), len(codes), np.int64)
        np.minimum.at(first, codes, np.arange(len(codes)))
        order = np.lexsort((-self.scores, first[codes]))
        return Run(self.query_ids[order], self.document_ids[order], self.scores[order], self.tag)

    def scores_for(self, data: RankingData, *, missing: float | None = None) -> npt.NDArray[np.float64]:
        """Return one score per row of the data, in the caller's row order, the inverse of `of_scores`.

        Documents that only the run has are left out.

        Args:
            data: Data with document ids.
            missing: The score of rows that the run does not have, such as -inf; None refuses such rows.
        """
        if data.document_ids is None:
            raise DataError("a run needs document ids, and the data has none; give document_ids to RankingData")
        known = dict(zip(zip(id_texts(self.query_ids), self.document_ids, strict=True), self.scores, strict=True))
        if len(known) < len(self):
            raise DataError("the run names a document of a query twice; keep one of them")
        keys = list(zip(id_texts(data.qid), data.document_ids, strict=True))
        lacking = [key for key in keys if key not in known]
        if lacking and missing is None:
            query, document = lacking[0]
            raise DataError(
                f"the run has no score for document {document!r} of query {query!r} ({len(lacking)} rows of the data are "
                "missing); give such rows a score with missing=, such as -inf"
            )
        return data.to_caller_order(np.array([known.get(key, missing) for key in keys], np.float64))

    def __len__(self) -> int:
        return len(self.scores)
