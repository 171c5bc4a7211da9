"""RankingData: judged queries, flat and never padded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, TypedDict, Unpack, overload

import numpy as np
import numpy.typing as npt

from podium.data.arrays import refuse_masked
from podium.data.categories import Categories, as_categorical_features, joined_categories
from podium.data.checks import check_shapes, check_values
from podium.data.conversion import (
    PER_DOCUMENT,
    as_column,
    as_feature_names,
    as_pairs,
    as_part,
    as_query_weights,
    as_weights,
    convert_features,
)
from podium.data.frame_columns import is_frame
from podium.data.grouping import group_rows, held_ids
from podium.data.ordering import group, ungroup
from podium.data.pairs import Pairs
from podium.data.selection import document_mask, query_numbers, rows_of_mask, rows_of_queries, select_rows
from podium.data.strings import Strings
from podium.errors import DataError, ParameterError, UnknownNameError

Array = npt.NDArray[Any]
OPTIONAL = ("document_ids", "document_weights", "query_weights", "pairs", "feature_names", "categorical_features")
CategoricalFeatures = Sequence[int | str] | Mapping[Any, Sequence[str] | None] | None


class ReplaceParts(TypedDict, total=False):
    """The parts that `RankingData.replace` exchanges."""

    features: Any
    labels: npt.ArrayLike
    query_ids: Any
    document_ids: Sequence[object] | Array | Strings | None
    document_weights: npt.ArrayLike | None
    query_weights: Mapping[Any, float] | npt.ArrayLike | None
    pairs: Pairs | None
    feature_names: Sequence[str] | None
    categorical_features: CategoricalFeatures


class RankingData:
    """Judged queries: the features and the label of each document, and the query it belongs to. Immutable.

    Rows may be given in any order and query ids may be of any type. RankingData groups the documents of each query: queries are
    in the order of their first row, and the documents of a query in the order given.

    So there are two orders. Everything you pass or get back is in *your* row order: the arguments of the constructor, of
    `replace` and of `select_documents`, and scores, forces and attributions. Only the attributes below are *grouped*, because
    `query_offsets` counts grouped documents. If the rows you give are grouped already, the two orders are the same.
    `to_caller_order` and `from_caller_order` translate, and `replace_grouped` takes parts computed from the attributes.

    Arrays that already have the right type and order are held, not copied: do not change them afterwards.

    Args:
        X: Features [rows × features]. NaN is a missing value, infinity is refused. A frame gives its column names.
        y: One real label per row, higher is better.
        qid: One query id per row.
        document_ids: One id per row, kept as text.
        document_weights: One weight per row, at least 0.
        query_weights: Weights by query id (a mapping), or one per query in the order of first appearance.
        pairs: Preferences between two rows of one query, numbered as your rows.
        feature_names: One name per column, all different.
        categorical_features: Features, by name or number, whose values are codes of categories (whole numbers from 0), or a
            mapping from such features to their categories. In a frame, columns of a category type are categorical by
            themselves; other columns named here become so.

    Attributes:
        features: float32 [documents × features], C order, grouped.
        labels: float64 [documents], grouped.
        query_offsets: int64 [queries + 1]. The documents of query q are query_offsets[q] to query_offsets[q + 1] - 1.
        query_ids: [queries], int64 or text, one per query.
        document_ids: Strings [documents], grouped, or None.
        document_weights: float64 [documents], grouped, or None.
        query_weights: float64 [queries], or None.
        pairs: Pairs that number the grouped documents, or None.
        feature_names: One name per feature, or None.
        categorical_features: A mapping from the column of each categorical feature to its categories, or None if there is
            none. Code k in `features` is the k-th category. The categories are None if only the codes are known.
        absent_value: The value of features after the last column, 0 or NaN, for data read from sparse text, which may leave the
            last features out; None if the data has all its features.
        row_order: int64 [documents], the caller's row of each grouped document, or None if the two orders are the same.
    """

    PARTS: ClassVar[tuple[str, ...]] = (
        "absent_value",
        "categorical_features",
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
    __slots__ = (*PARTS, "_fingerprint", "_shards")
    features: npt.NDArray[np.float32]
    labels: npt.NDArray[np.float64]
    query_offsets: npt.NDArray[np.int64]
    query_ids: Array
    document_ids: Strings | None
    document_weights: npt.NDArray[np.float64] | None
    query_weights: npt.NDArray[np.float64] | None
    pairs: Pairs | None
    feature_names: tuple[str, ...] | None
    categorical_features: Categories | None
    absent_value: float | None
    row_order: npt.NDArray[np.int64] | None
    _fingerprint: str  # see `podium.data.canonical.fingerprint`
    _shards: Any  # see `podium.formats.shard_parts`

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
        categorical_features: CategoricalFeatures = None,
    ) -> None:
        features = convert_features(X, categorical_features)
        names = as_feature_names(features.names if feature_names is None else feature_names)
        rows = len(features.values)
        labels = as_column("y", y, rows)
        query_ids, query_offsets, row_order = group_rows(qid, rows)
        ids = None if document_ids is None else Strings.of(document_ids, "document_ids")
        if ids is not None and len(ids) != rows:
            raise DataError(f"document_ids: {len(ids)} ids for {rows} rows; give one per row")
        weights = None if document_weights is None else as_weights("document_weights", document_weights, rows)
        _fill(
            self,
            features=group(features.values, row_order),
            labels=group(labels, row_order),
            query_offsets=query_offsets,
            query_ids=query_ids,
            document_ids=None if ids is None else group(ids, row_order),
            document_weights=None if weights is None else group(weights, row_order),
            query_weights=as_query_weights(query_weights, query_ids),
            pairs=None if pairs is None else group(as_pairs(pairs), row_order),
            feature_names=names,
            categorical_features=joined_categories(features, categorical_features, names),
            absent_value=None,
            row_order=row_order,
        )
        check_shapes(self)
        check_values(self)

    @classmethod
    def of_parts(cls, *, check: bool = True, **parts: Any) -> RankingData:
        """Make data of the attributes themselves, already grouped; for readers.

        `check=False` trusts the values, but not the shapes.
        """
        data = cls.__new__(cls)
        if isinstance(parts.get("query_ids"), np.ndarray):
            parts["query_ids"] = held_ids(parts["query_ids"])
        _fill(data, **{name: parts.get(name) for name in cls.PARTS})
        check_shapes(data)
        if check:
            check_values(data)
        return data

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self._parts(),)

    def _parts(self) -> dict[str, Any]:
        parts = {name: getattr(self, name) for name in self.PARTS}
        if self.categorical_features is not None:
            parts["categorical_features"] = dict(self.categorical_features)  # a view of a dict cannot be pickled
        return parts

    @property
    def n_documents(self) -> int:
        """The number of documents (rows)."""
        return len(self.labels)

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return len(self.query_ids)

    @property
    def n_features(self) -> int:
        """The number of features of a document."""
        return int(self.features.shape[1])

    @property
    def query_sizes(self) -> npt.NDArray[np.int64]:
        """The number of documents of each query."""
        return np.diff(self.query_offsets)

    @property
    def document_queries(self) -> npt.NDArray[np.int64]:
        """The query number (not the id) of each document, grouped."""
        return np.repeat(np.arange(self.n_queries), self.query_sizes)

    @property
    def qid(self) -> Array:
        """The query id of each document, grouped like `labels`; `to_caller_order(data.qid)` has one per row given."""
        return np.repeat(self.query_ids, self.query_sizes)

    def __len__(self) -> int:
        return self.n_documents

    def __repr__(self) -> str:
        extras = [name for name in OPTIONAL if getattr(self, name) is not None]
        tail = f", with {', '.join(extras)}" if extras else ""
        return (
            f"RankingData({self.n_documents} documents × {self.n_features} features in {self.n_queries} queries{tail})"
        )

    @overload
    def to_caller_order(self, values: Pairs) -> Pairs: ...
    @overload
    def to_caller_order(self, values: npt.ArrayLike) -> Array: ...
    def to_caller_order(self, values: npt.ArrayLike | Pairs) -> Array | Pairs:
        """Return grouped values, one per document, in the caller's row order; of Pairs, number the caller's rows."""
        moved: Array | Pairs = ungroup(self._one_per_document(values), self.row_order)
        return moved

    @overload
    def from_caller_order(self, values: Pairs) -> Pairs: ...
    @overload
    def from_caller_order(self, values: npt.ArrayLike) -> Array: ...
    def from_caller_order(self, values: npt.ArrayLike | Pairs) -> Array | Pairs:
        """Return values given one per caller's row, grouped like the attributes; of Pairs, number the grouped documents."""
        moved: Array | Pairs = group(self._one_per_document(values), self.row_order)
        return moved

    def _one_per_document(self, values: Any) -> Any:
        if isinstance(values, Pairs):
            return values
        given = np.asarray(refuse_masked("values", values, "give a value for every document"))
        if given.shape[:1] != (self.n_documents,):
            raise DataError(
                f"{len(np.atleast_1d(given))} values for {self.n_documents} documents; give one per document"
            )
        return given

    def replace(self, **parts: Unpack[ReplaceParts]) -> RankingData:
        """Return the same data with some parts exchanged. None leaves an optional part out.

        As in the constructor, whatever has one entry per document is in the caller's row order, and pairs number the caller's
        rows. A part computed from the attributes is grouped: pass it to `replace_grouped`, or through `to_caller_order`.
        `query_ids` and `query_weights` have one entry per query, in the order of `data.query_ids`.
        """
        return self._replace(dict(parts), grouped=False)

    def replace_grouped(self, **parts: Unpack[ReplaceParts]) -> RankingData:
        """Return the same data with some parts exchanged, given in the grouped order of the attributes.

        `data.replace_grouped(labels=2 * data.labels)` doubles every label, whatever the order of the rows.
        """
        return self._replace(dict(parts), grouped=True)

    def _replace(self, parts: dict[str, Any], *, grouped: bool) -> RankingData:
        for name in parts:
            if name in ("query_offsets", "row_order"):
                raise ParameterError(
                    name,
                    rule="describes how rows are grouped and cannot be replaced",
                    remedy="make a new RankingData(X, y, qid)",
                )
            if name not in ReplaceParts.__annotations__:
                raise UnknownNameError("part of RankingData", name, ReplaceParts.__annotations__)
        held = self._parts()
        if "query_ids" in parts:
            held["query_ids"] = as_part("query_ids", parts.pop("query_ids"), self.query_ids, self.n_documents)
        made = convert_features(parts["features"]) if is_frame(parts.get("features")) else None
        parts |= {} if made is None else {"features": made.values}
        own = self.categorical_features if made is None else made.categories
        categorical = parts.pop("categorical_features", own)
        for name, value in parts.items():
            part = as_part(name, value, held["query_ids"], self.n_documents)
            move = name in PER_DOCUMENT and part is not None and not grouped
            held[name] = group(part, self.row_order) if move else part
        if held["features"].shape[1] != self.n_features:
            held["absent_value"] = None
        held["categorical_features"] = as_categorical_features(categorical, held["feature_names"], held["features"])
        return RankingData.of_parts(**held)

    def with_absent_value(self, value: float | None) -> RankingData:
        """Return the same data with another `absent_value`."""
        return RankingData.of_parts(check=False, **(self._parts() | {"absent_value": value}))

    def select(self, queries: npt.ArrayLike) -> RankingData:
        """Return the given queries (numbers or a mask), in the order given.

        If the numbers rise, as those of a mask do, the rows keep the caller's order among themselves: the selection is what
        the constructor makes of the caller's rows of these queries. Numbers in another order rearrange the data: the rows of
        the selection follow its queries. Neighboring queries are a view, others a copy.

        Args:
            queries: numbers of queries, or one True or False per query.
        """
        chosen = query_numbers(queries, self.n_queries)
        rows, offsets = rows_of_queries(self.query_offsets, chosen)
        keeps_order = bool((np.diff(chosen) > 0).all())
        return RankingData.of_parts(check=False, **select_rows(self, rows, offsets, chosen, keeps_order=keeps_order))

    def select_documents(self, keep: npt.ArrayLike) -> RankingData:
        """Return the documents whose row has a True in the mask, which is in the caller's row order.

        Rows keep the caller's order among themselves. A query that loses all documents is dropped, and so is a pair that
        loses one.

        Args:
            keep: one True or False per row, in the caller's order.
        """
        return self.select_grouped_documents(self.from_caller_order(document_mask(keep, self.n_documents)))

    def select_grouped_documents(self, keep: npt.ArrayLike) -> RankingData:
        """Return the documents with a True in the mask, which is grouped like the attributes; see `select_documents`."""
        rows, offsets, left = rows_of_mask(self.query_offsets, document_mask(keep, self.n_documents))
        return RankingData.of_parts(check=False, **select_rows(self, rows, offsets, left, keeps_order=True))


def _fill(data: RankingData, **parts: Any) -> None:
    for name, value in parts.items():
        if isinstance(value, np.ndarray):
            value = value.view()
            value.flags.writeable = False
        elif isinstance(value, dict):
            value = MappingProxyType(value)
        object.__setattr__(data, name, value)


def _immutable(self: object, name: str, value: object) -> None:
    raise AttributeError(f"RankingData is immutable; use data.replace({name}=…) for a changed copy")


RankingData.__setattr__ = _immutable  # type: ignore[method-assign]
RankingData.__delattr__ = lambda self, name: _immutable(self, name, None)  # type: ignore[method-assign]


def _rebuild(parts: dict[str, Any]) -> RankingData:
    return RankingData.of_parts(check=False, **parts)
