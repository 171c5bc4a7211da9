"""RankingData: judged queries, flat and never padded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data.grouping import group_rows
from podium.data.pairs import Pairs
from podium.data.strings import Strings
from podium.errors import DataError
from podium.threads import resolve_threads

Array = npt.NDArray[Any]


class RankingData:
    """Documents of queries: features, labels and who belongs to which query. Immutable.

    Rows may come in any order and query ids may be of any type; the documents of a query are brought together, queries
    in the order of their first row and rows of a query in the order given. `to_caller_order` undoes that for scores.

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
        if feature_names is None and hasattr(X, "columns"):
            feature_names = [str(name) for name in X.columns]
        features = _as_features(X)
        labels = _as_column("y", y, len(features))
        query_ids, query_offsets, row_order = group_rows(qid, len(features))
        ids = None if document_ids is None else Strings.of(document_ids)
        if ids is not None and len(ids) != len(features):
            raise DataError(f"document_ids: {len(ids)} ids for {len(features)} rows; give one a row")
        weights = None if document_weights is None else _as_weights("document_weights", document_weights, len(features))
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
            query_weights=_query_weights(query_weights, query_ids),
            pairs=pairs,
            feature_names=None if feature_names is None else tuple(str(name) for name in feature_names),
            row_order=row_order,
        )
        _check(self)

    @classmethod
    def of_parts(cls, *, check: bool = True, **parts: Any) -> RankingData:
        """From the attributes themselves, already grouped; for readers. `check=False` trusts the values, not the shapes."""
        data = cls.__new__(cls)
        _fill(data, **{name: parts.get(name) for name in cls.__slots__})
        _check_shapes(data)
        if check:
            _check(data)
        return data

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
        held = np.asarray(values)
        if len(held) != self.n_documents:
            raise DataError(f"{len(held)} values for {self.n_documents} documents; give one a document")
        if self.row_order is None:
            return held
        out = np.empty_like(held)
        out[self.row_order] = held
        return out

    def from_caller_order(self, values: npt.ArrayLike) -> Array:
        """Values given one a caller's row, in the order the documents are held."""
        given = np.asarray(values)
        if len(given) != self.n_documents:
            raise DataError(f"{len(given)} values for {self.n_documents} documents; give one a document")
        return given if self.row_order is None else given[self.row_order]

    def replace(self, **parts: Any) -> RankingData:
        """The same data with some attributes exchanged."""
        return RankingData.of_parts(**{**{name: getattr(self, name) for name in self.__slots__}, **parts})

    def select(self, queries: npt.ArrayLike) -> RankingData:
        """The given queries (numbers or a mask), in the order given. Neighbouring queries are a view, others a copy.

        The rows of the selection are counted anew: its caller's order is the order it holds.
        """
        chosen = np.asarray(queries)
        chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.int64)
        if chosen.size and (chosen.min() < 0 or chosen.max() >= self.n_queries):
            raise DataError(
                f"queries {chosen.min()}..{chosen.max()} are asked for of {self.n_queries}; numbers start at 0"
            )
        if len(np.unique(chosen)) != len(chosen):
            raise DataError("a query is selected twice; select each at most once")
        sizes = self.query_sizes[chosen]
        offsets = np.zeros(len(chosen) + 1, np.int64)
        np.cumsum(sizes, out=offsets[1:])
        rows: slice | Array
        if chosen.size and (np.diff(chosen) == 1).all():
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
        """The documents of a mask. A query that loses all its documents stays, empty of none: it is dropped."""
        mask = np.asarray(keep, bool)
        if mask.shape != (self.n_documents,):
            raise DataError(
                f"the mask has shape {mask.shape} for {self.n_documents} documents; give one value a document"
            )
        sizes = (
            np.add.reduceat(np.append(mask, False), self.query_offsets[:-1]).astype(np.int64)
            if self.n_queries
            else np.zeros(0, np.int64)
        )
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


def _immutable(self: RankingData, name: str, value: object) -> None:
    raise AttributeError(f"RankingData is immutable; use data.replace({name}=…) for a changed copy")


RankingData.__setattr__ = _immutable  # type: ignore[assignment,method-assign]


def _as_features(X: Any) -> npt.NDArray[np.float32]:
    if hasattr(X, "toarray"):  # a SciPy sparse matrix: absent means 0
        X = X.toarray()
    elif hasattr(X, "to_numpy"):
        X = X.to_numpy()
    try:
        with np.errstate(over="ignore"):  # a value too large for float32 is reported below as infinite
            features = np.ascontiguousarray(X, np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"X must be numbers [rows × features]: {error}") from None
    if features.ndim != 2:
        raise DataError(f"X has {features.ndim} dimensions; it must have 2, [rows × features]")
    return features


def _as_column(name: str, values: npt.ArrayLike, rows: int) -> npt.NDArray[np.float64]:
    try:
        column = np.ascontiguousarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} must be numbers: {error}") from None
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.shape != (rows,):
        raise DataError(f"{name} has shape {column.shape} for {rows} rows; give one number a row")
    return column


def _as_weights(name: str, values: npt.ArrayLike, count: int) -> npt.NDArray[np.float64]:
    weights = _as_column(name, values, count)
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        k = int(np.argmax(bad))
        raise DataError(f"{name}[{k}] = {weights[k]} must be finite and not negative")
    return weights


def _query_weights(
    given: Mapping[Any, float] | npt.ArrayLike | None, query_ids: Array
) -> npt.NDArray[np.float64] | None:
    if given is None:
        return None
    if isinstance(given, Mapping):
        missing = [key for key in query_ids.tolist() if key not in given]
        if missing:
            raise DataError(
                f"query_weights has no weight for query {missing[0]!r} ({len(missing)} are missing); give one for each"
            )
        given = [given[key] for key in query_ids.tolist()]
    return _as_weights("query_weights", given, len(query_ids))


def _renumber(pairs: Pairs, row_order: Array) -> Pairs:
    position = np.empty_like(row_order)
    position[row_order] = np.arange(len(row_order))
    for name, rows in (("winner", pairs.winner), ("loser", pairs.loser)):
        _check_row_numbers(name, rows, len(row_order))
    return Pairs(position[pairs.winner], position[pairs.loser], pairs.probability, pairs.weight)


def _check_row_numbers(name: str, rows: Array, count: int) -> None:
    bad = (rows < 0) | (rows >= count)
    if bad.any():
        k = int(np.argmax(bad))
        raise DataError(f"pairs: {name}[{k}] = {rows[k]} is not a row of the data, which has rows 0 to {count - 1}")


def _check_shapes(data: RankingData) -> None:
    """That the parts fit together, at a cost that does not grow with the features."""
    n, q = data.n_documents, data.n_queries
    offsets = data.query_offsets
    if data.features.ndim != 2 or len(data.features) != n:
        raise DataError(f"features have shape {data.features.shape} for {n} labels; give [{n} × features]")
    if len(offsets) != q + 1 or offsets[0] != 0 or offsets[-1] != n or (np.diff(offsets) < 1).any():
        raise DataError(f"query_offsets must rise from 0 to {n} in {q} steps of at least 1")
    for name, count in (
        ("document_ids", n),
        ("document_weights", n),
        ("query_weights", q),
        ("row_order", n),
        ("feature_names", data.n_features),
    ):
        part = getattr(data, name)
        if part is not None and len(part) != count:
            raise DataError(f"{name} has {len(part)} entries; {count} are needed")


def _check(data: RankingData) -> None:
    """That the values are ones a ranker can learn from."""
    _check_shapes(data)
    if data.n_documents == 0:
        raise DataError("there are no documents; a data set needs at least one row")
    bad = ~np.isfinite(data.labels)
    if bad.any():
        k = int(np.argmax(bad))
        row = k if data.row_order is None else int(data.row_order[k])
        raise DataError(
            f"label of row {row} is {data.labels[k]}; labels must be finite numbers: drop the row or give it a label"
        )
    where = _core.first_infinite(data.features, resolve_threads(None)) if data.features.flags.c_contiguous else -1
    if where >= 0:
        row, column = divmod(where, data.n_features)
        row = row if data.row_order is None else int(data.row_order[row])
        raise DataError(
            f"feature {column} of row {row} is infinite as float32; features must be finite, or NaN where missing"
        )
    if data.pairs is not None:
        for name, rows in (("winner", data.pairs.winner), ("loser", data.pairs.loser)):
            _check_row_numbers(name, rows, data.n_documents)
        queries = data.document_queries
        across = queries[data.pairs.winner] != queries[data.pairs.loser]
        if across.any():
            k = int(np.argmax(across))
            raise DataError(
                f"pairs: pair {k} joins documents of two queries; documents are compared only inside their query"
            )
