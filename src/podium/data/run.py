"""A ranking by document ids, as TREC run files hold it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data.conversion import as_numbers
from podium.data.grouping import as_ids, id_texts
from podium.data.ordering import ungroup
from podium.data.ranking_data import RankingData
from podium.data.strings import Strings
from podium.errors import DataError, ParameterError


@dataclass(frozen=True, eq=False)
class Run:
    """Scores of retrieved documents: row k says that `document_ids[k]` scored `scores[k]` for `query_ids[k]`.

    Lists, arrays and Series are taken and held as arrays: query ids as int64 or text where they all are that, document
    ids as text, scores as float64. `Run.of_scores(scores, data)` is the run of scores for data with document ids.
    """

    query_ids: npt.NDArray[Any]
    document_ids: Strings
    scores: npt.NDArray[np.float64]
    tag: str = "podium"

    def __post_init__(self) -> None:
        scores = as_numbers("scores", self.scores)
        if scores.ndim != 1:
            raise DataError(f"scores have shape {scores.shape}; give one number a document")
        documents = Strings.of(self.document_ids, "document_ids")
        if len(documents) != len(scores):
            raise DataError(f"{len(documents)} document_ids for {len(scores)} scores; give one of each a row")
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
        """A run from lists, arrays or Series, one entry a row."""
        return cls(query_ids, document_ids, scores, tag)  # type: ignore[arg-type]  # made arrays when it is made

    @classmethod
    def of_scores(cls, scores: npt.ArrayLike, data: RankingData, *, tag: str = "podium") -> Run:
        """Return the run of scores for data with document ids; scores and the rows of the run are in the caller's row order."""
        if data.document_ids is None:
            raise DataError("a run names documents, and the data has no document_ids; give them to RankingData")
        given = as_numbers("scores", scores)
        data.from_caller_order(given)  # says so if there is not one score per row
        return cls(data.to_caller_order(data.qid), ungroup(data.document_ids, data.row_order), given, tag)

    def scores_for(self, data: RankingData, *, missing: float | None = None) -> npt.NDArray[np.float64]:
        """Return one score per row of the data, in the caller's row order: `of_scores` the other way round.

        Documents that only the run has are left out.

        Args:
            data: data with document ids.
            missing: the score of rows that the run does not have, such as -inf; None refuses such rows.
        """
        if data.document_ids is None:
            raise DataError("a run names documents, and the data has no document_ids; give them to RankingData")
        known = dict(zip(zip(id_texts(self.query_ids), self.document_ids, strict=True), self.scores, strict=True))
        if len(known) < len(self):
            raise DataError("the run names a document of a query twice; keep one of them")
        keys = list(zip(id_texts(data.qid), data.document_ids, strict=True))
        lacking = [key for key in keys if key not in known]
        if lacking and missing is None:
            query, document = lacking[0]
            raise DataError(
                f"the run has no score for document {document!r} of query {query!r} ({len(lacking)} rows of the data are "
                "missing); say what they score with missing=, such as -inf"
            )
        return data.to_caller_order(np.array([known.get(key, missing) for key in keys], np.float64))

    def __len__(self) -> int:
        return len(self.scores)
