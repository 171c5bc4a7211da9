"""RankingData: judged queries, flat and never padded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data.checks import check_row_numbers, check_shapes, check_values
from podium.data.conversion import (
    as_column,
    as_feature_names,
    as_features,
    as_pairs,
    as_part,
    as_query_weights,
    as_weights,
)
from podium.data.grouping import group_rows, held_ids
from podium.data.pairs import Pairs
from podium.data.strings import Strings
from podium.errors import DataError, unknown_name

Array = npt.NDArray[Any]


class RankingData:
    """Documents of queries: features, labels and who belongs to which query. Immutable.

    Rows may come in any order and query ids may be of any type; the documents of a query are brought together, queries
    in the order of their first row and rows of a query in the order given. `to_caller_order` undoes that for scores.
    Arrays that already have the right type and order are held, not copied: do not change them afterwards.

    Args:
        X: features [rows × features]; NaN is a missing value, infinity is refused. A frame gives its column names.
        y: one real label a row, higher is better.
        qid: one query id a row.
        document_ids: one id a row, kept as text.
        document_weights: one weight a row, ≥ 0.
        query_weights: weights by query id (a mapping), or one a query in the order of first appearance.
        pairs: preferences between rows of one query, numbered as the caller's rows.
        feature_names: one name a column.

    Attributes:
        features: float32 [documents × features], C order.
        labels: float64 [documents].
        query_offsets: int64 [queries + 1]; the documents of query q are rows query_offsets[q] to query_offsets[q + 1].
        query_ids: [queries], int64 or text.
        row_order: int64 [documents], the caller's row of each document, or None where that is the order held.
    """

    __slots__ = (
        "document_ids",
        "document_weights",
        "feature_names",
        "features",
        "labels",
        "pairs",
        "query_ids",
        "query_offsets",
        "query_weights",
        "row_order",
    )
    features: npt.NDArray[np.float32]
    labels: npt.NDArray[np.float64]
    query_offsets: npt.NDArray[np.int64]
    query_ids: Array
    document_ids: Strings | None
    document_weights: npt.NDArray[np.float64] | None
    query_weights: npt.NDArray[np.float64] | None
    pairs: Pairs | None
    feature_names: tuple[str, ...] | None
    row_order: npt.NDArray[np.int64] | None

    def __init__(
        self,
        X: Any,
        y: npt.ArrayLike,
        qid: npt.ArrayLike,
        *,
        document_ids: Sequence[object] | Array | Strings | None = None,
        document_weights: npt.ArrayLike | None = None,
        query_weights: Mapping[Any, float] | npt.ArrayLike | None = None,
        pairs: Pairs | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        if feature_names is None and hasattr(X, "columns") and hasattr(X, "to_numpy"):
            feature_names = [str(name) for name in X.columns]
        features = as_features(X)
        labels = as_column("y", y, len(features))
        query_ids, query_offsets, row_order = group_rows(qid, len(features))
        ids = None if document_ids is None else Strings.of(document_ids, "document_ids")
        pairs = as_pairs(pairs)
        if ids is not None and len(ids) != len(features):
            raise DataError(f"document_ids: {len(ids)} ids for {len(features)} rows; give one a row")
        weights = None if document_weights is None else as_weights("document_weights", document_weights, len(features))
        if row_order is not None:
            features, labels = features[row_order], labels[row_order]
            ids = None if ids is None else ids[row_order]
            weights = None if weights is None else weights[row_order]
            pairs = None if pairs is None else _renumber(pairs, row_order)
        _fill(
            self,
            features=features,
            labels=labels,
            query_offsets=query_offsets,
            query_ids=query_ids,
            document_ids=ids,
            document_weights=weights,
            query_weights=as_query_weights(query_weights, query_ids),
            pairs=pairs,
            feature_names=as_feature_names(feature_names),
            row_order=row_order,
        )
        check_shapes(self)
        check_values(self)

    @classmethod
    def of_parts(cls, *, check: bool = True, **parts: Any) -> RankingData:
        """From the attributes themselves, already grouped; for readers. `check=False` trusts the values, not the shapes."""
        data = cls.__new__(cls)
        if isinstance(parts.get("query_ids"), np.ndarray):
            parts["query_ids"] = held_ids(parts["query_ids"])
        _fill(data, **{name: parts.get(name) for name in cls.__slots__})
        check_shapes(data)
        if check:
            check_values(data)
        return data

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, ({name: getattr(self, name) for name in self.__slots__},)

    @property
    def n_documents(self) -> int:
        """How many documents (rows) there are."""
        return len(self.labels)

    @property
    def n_queries(self) -> int:
        """How many queries there are."""
        return len(self.query_ids)

    @property
    def n_features(self) -> int:
        """How many features a document has."""
        return int(self.features.shape[1])

    @property
    def query_sizes(self) -> npt.NDArray[np.int64]:
        """Documents of each query."""
        return np.diff(self.query_offsets)

    @property
    def document_queries(self) -> npt.NDArray[np.int64]:
        """The query number (not the id) of each document."""
        return np.repeat(np.arange(self.n_queries), self.query_sizes)

    @property
    def qid(self) -> Array:
        """The query id of each document."""
        return np.repeat(self.query_ids, self.query_sizes)

    def __len__(self) -> int:
        return self.n_documents

    def __repr__(self) -> str:
        extras = [
            name
            for name in ("document_ids", "document_weights", "query_weights", "pairs", "feature_names")
            if getattr(self, name) is not None
        ]
        tail = f", with {', '.join(extras)}" if extras else ""
        return (
            f"RankingData({self.n_documents} documents × {self.n_features} features in {self.n_queries} queries{tail})"
        )

    def to_caller_order(self, values: npt.ArrayLike) -> Array:
        """Values held one a document, in the order of the caller's rows."""
        held = self._one_a_document(values)
        if self.row_order is None:
            return held
        out = np.empty_like(held)
        out[self.row_order] = held
        return out

    def from_caller_order(self, values: npt.ArrayLike) -> Array:
        """Values given one a caller's row, in the order the documents are held."""
        given = self._one_a_document(values)
        return given if self.row_order is None else given[self.row_order]

    def _one_a_document(self, values: npt.ArrayLike) -> Array:
        given = np.asarray(values)
        if given.shape[:1] != (self.n_documents,):
            raise DataError(f"{len(np.atleast_1d(given))} values for {self.n_documents} documents; give one a document")
        return given

    def replace(self, **parts: Any) -> RankingData:
        """The same data with some attributes exchanged."""
        unknown = sorted(set(parts) - set(self.__slots__))
        if unknown:
            raise unknown_name("part of RankingData", unknown[0], self.__slots__)
        held = {name: getattr(self, name) for name in self.__slots__}
        if "query_ids" in parts:
            held["query_ids"] = as_part("query_ids", parts.pop("query_ids"), self.query_ids)
        held |= {name: as_part(name, value, held["query_ids"]) for name, value in parts.items()}
        return RankingData.of_parts(**held)

    def select(self, queries: npt.ArrayLike) -> RankingData:
        """The given queries (numbers or a mask), in the order given. Neighboring queries are a view, others a copy.

        The rows of the selection are counted anew: its caller's order is the order it holds.
        """
        chosen = _as_query_numbers(queries, self.n_queries)
        sizes = self.query_sizes[chosen]
        offsets = np.zeros(len(chosen) + 1, np.int64)
        np.cumsum(sizes, out=offsets[1:])
        rows: slice | Array
        if (np.diff(chosen) == 1).all():
            rows = slice(int(self.query_offsets[chosen[0]]), int(self.query_offsets[chosen[-1] + 1]))
        else:
            rows = np.arange(offsets[-1]) + np.repeat(self.query_offsets[:-1][chosen] - offsets[:-1], sizes)
        return self._rows(rows, offsets, chosen)

    def _rows(self, rows: slice | Array, offsets: Array, queries: Array) -> RankingData:
        pairs = self.pairs
        if pairs is not None:
            position = np.full(self.n_documents, -1, np.int64)
            position[rows] = np.arange(offsets[-1])
            kept = (position[pairs.winner] >= 0) & (position[pairs.loser] >= 0)
            pairs = Pairs(
                position[pairs.winner[kept]], position[pairs.loser[kept]], pairs.probability[kept], pairs.weight[kept]
            )
        return RankingData.of_parts(
            check=False,
            features=self.features[rows],
            labels=self.labels[rows],
            query_offsets=offsets,
            query_ids=self.query_ids[queries],
            document_ids=None if self.document_ids is None else self.document_ids[rows],
            document_weights=None if self.document_weights is None else self.document_weights[rows],
            query_weights=None if self.query_weights is None else self.query_weights[queries],
            pairs=pairs,
            feature_names=self.feature_names,
        )

    def select_documents(self, keep: npt.NDArray[np.bool_]) -> RankingData:
        """The documents where the mask is true. A query with none of them is dropped, and so is a pair that loses a side."""
        mask = np.asarray(keep)
        if mask.dtype != bool or mask.shape != (self.n_documents,):
            raise DataError(
                f"the mask is {mask.dtype} of shape {mask.shape}; give one True or False for each of "
                f"{self.n_documents} documents"
            )
        if not mask.any():
            raise DataError("no document is selected; a data set needs at least one row")
        sizes = np.add.reduceat(mask, self.query_offsets[:-1], dtype=np.int64)
        left = np.flatnonzero(sizes)
        offsets = np.zeros(len(left) + 1, np.int64)
        np.cumsum(sizes[left], out=offsets[1:])
        return self._rows(np.flatnonzero(mask), offsets, left)


def _fill(data: RankingData, **parts: Any) -> None:
    for name, value in parts.items():
        if isinstance(value, np.ndarray):
            value = value.view()
            value.flags.writeable = False
        object.__setattr__(data, name, value)


def _immutable(self: object, name: str, value: object) -> None:
    raise AttributeError(f"RankingData is immutable; use data.replace({name}=…) for a changed copy")


RankingData.__setattr__ = _immutable  # type: ignore[method-assign]
RankingData.__delattr__ = lambda self, name: _immutable(self, name, None)  # type: ignore[method-assign]


def _rebuild(parts: dict[str, Any]) -> RankingData:
    return RankingData.of_parts(check=False, **parts)


def _as_query_numbers(queries: npt.ArrayLike, n_queries: int) -> npt.NDArray[np.int64]:
    given = np.atleast_1d(np.asarray(queries))
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iub"):
        raise DataError(f"queries are {given.dtype} of shape {given.shape}; give query numbers or a mask")
    if given.dtype == bool and len(given) != n_queries:
        raise DataError(f"the mask has {len(given)} values for {n_queries} queries; give one value a query")
    chosen = np.flatnonzero(given) if given.dtype == bool else given.astype(np.int64)
    if not chosen.size:
        raise DataError("no query is selected; a data set needs at least one row")
    if chosen.min() < 0 or chosen.max() >= n_queries:
        raise DataError(f"queries {chosen.min()}..{chosen.max()} are asked for of {n_queries}; numbers start at 0")
    if len(np.unique(chosen)) != len(chosen):
        raise DataError("a query is selected twice; select each at most once")
    return chosen


def _renumber(pairs: Pairs, row_order: Array) -> Pairs:
    position = np.empty_like(row_order)
    position[row_order] = np.arange(len(row_order))
    for name, rows in (("winner", pairs.winner), ("loser", pairs.loser)):
        check_row_numbers(name, rows, len(row_order))
    return Pairs(position[pairs.winner], position[pairs.loser], pairs.probability, pairs.weight)
