"""Summary statistics of a data set."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from podium.data.blocks import query_blocks
from podium.data.feature_names import feature_name
from podium.data.ranking_data import RankingData
from podium.errors import short_list

MOST_LEVELS = 20  # labels with more distinct values are described by quantiles


@dataclass(frozen=True)
class Description:
    """Counts and shares of one data set; `print` shows them, and `to_dict` returns them as plain numbers, text, lists and dicts.

    A document is relevant if its label is at least 1. `label_counts` is None if there are more than 20 distinct labels; otherwise
    `label_quantiles` (min, 25 %, median, 75 %, max) is None. Features without names are called f0, f1, … by their column.
    `categorical_features` holds the number of categories of each categorical feature.
    """

    queries: int
    documents: int
    features: int
    documents_per_query: dict[str, float]
    label_counts: dict[str, int] | None
    label_quantiles: dict[str, float] | None
    queries_without_relevant: int
    queries_of_one_document: int
    queries_of_one_label: int
    constant_features: tuple[str, ...]
    features_with_missing: tuple[str, ...]
    missing_share: float
    feature_names: tuple[str, ...] | None
    categorical_features: dict[str, int | None] | None
    has_document_ids: bool
    has_document_weights: bool
    has_query_weights: bool
    pairs: int | None
    memory_bytes: int

    def to_dict(self) -> dict[str, Any]:
        """Return the fields in types that JSON has."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    def rows(self) -> list[tuple[str, str]]:
        """Return the fields that are known, with their values as text."""
        return [(name.replace("_", " "), _text(value)) for name, value in self.to_dict().items() if value is not None]

    def remarks(self) -> list[str]:
        """Return one sentence for each thing that may cause trouble."""
        constant, listed = len(self.constant_features), short_list(self.constant_features)
        alone, alike = self.queries_of_one_document, self.queries_of_one_label - self.queries_of_one_document
        found = [
            (
                alone,
                f"{_of(alone, self.queries)} {_have(alone)} only one document, so that there is nothing to rank there",
            ),
            (
                alike,
                f"{_of(alike, self.queries)} {_have(alike)} one label for all documents, and no pair to learn from",
            ),
            (
                self.queries_without_relevant,
                f"{_of(self.queries_without_relevant, self.queries)} {_have(self.queries_without_relevant)} no document with a "
                "label of at least 1, and most metrics count 0 there",
            ),
            (constant, f"{constant:,} {'feature is' if constant == 1 else 'features are'} constant: {listed}"),
        ]
        return [sentence for count, sentence in found if count]

    def __str__(self) -> str:
        rows = self.rows()
        width = max(len(name) for name, _ in rows)
        lines = [f"{name:<{width}}  {text}" for name, text in rows]
        return "\n".join([*lines, *(f"note: {remark}" for remark in self.remarks())])


def _of(count: int, queries: int) -> str:
    return f"{count:,} of {queries:,} queries"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_text(part)}" for key, part in value.items()) or "none"
    if isinstance(value, list):
        shown = ", ".join(_text(part) for part in value[:12]) + (", …" if len(value) > 12 else "")
        return f"{len(value)}: {shown}" if value else "none"
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def describe(data: RankingData) -> Description:
    """Describe a data set. It is read one block of queries at a time, so that a mapped cache may be larger than memory.

    Args:
        data: the data set.
    """
    starts = data.query_offsets[:-1]
    sizes = data.query_sizes
    highest = np.maximum.reduceat(data.labels, starts)
    lowest = np.minimum.reduceat(data.labels, starts)
    constant, missing = _scan_features(data)
    cells = data.n_documents * data.n_features
    counts, quantiles = _describe_labels(data)
    return Description(
        queries=data.n_queries,
        documents=data.n_documents,
        features=data.n_features,
        documents_per_query={
            "min": int(sizes.min()),
            "median": float(np.median(sizes)),
            "mean": float(sizes.mean()),
            "max": int(sizes.max()),
        },
        label_counts=counts,
        label_quantiles=quantiles,
        queries_without_relevant=int((highest < 1).sum()),
        queries_of_one_document=int((sizes == 1).sum()),
        queries_of_one_label=int((highest == lowest).sum()),
        constant_features=_names(data, constant),
        features_with_missing=_names(data, missing),
        missing_share=float(missing.sum() / cells) if cells else 0.0,
        feature_names=data.feature_names,
        categorical_features=_count_categories(data),
        has_document_ids=data.document_ids is not None,
        has_document_weights=data.document_weights is not None,
        has_query_weights=data.query_weights is not None,
        pairs=None if data.pairs is None else len(data.pairs),
        memory_bytes=_memory_bytes(data),
    )


def _names(data: RankingData, chosen: np.ndarray[Any, Any]) -> tuple[str, ...]:
    return tuple(feature_name(column, data.feature_names) for column in np.flatnonzero(chosen).tolist())


def _count_categories(data: RankingData) -> dict[str, int | None] | None:
    if data.categorical_features is None:
        return None
    return {
        feature_name(column, data.feature_names): None if names is None else len(names)
        for column, names in data.categorical_features.items()
    }


def _scan_features(data: RankingData) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return whether each feature is constant, and how many of its values are missing; missing counts as a value here."""
    low = np.full(data.n_features, np.nan, np.float32)
    high, missing = low.copy(), np.zeros(data.n_features, np.int64)
    for first, last in query_blocks(data):
        block = data.features[int(data.query_offsets[first]) : int(data.query_offsets[last])]
        low = np.fmin(low, np.fmin.reduce(block, axis=0))
        high = np.fmax(high, np.fmax.reduce(block, axis=0))
        missing += np.isnan(block).sum(axis=0)
    return ((low == high) & (missing == 0)) | (missing == data.n_documents), missing


def _describe_labels(data: RankingData) -> tuple[dict[str, int] | None, dict[str, float] | None]:
    levels, counts = np.unique(data.labels, return_counts=True)
    if len(levels) <= MOST_LEVELS:
        return {_label_text(level): count for level, count in zip(levels.tolist(), counts.tolist(), strict=True)}, None
    names = ("min", "25%", "median", "75%", "max")
    return None, dict(zip(names, np.quantile(data.labels, (0, 0.25, 0.5, 0.75, 1)).tolist(), strict=True))


def _label_text(label: float) -> str:
    """Return the shortest text that no other label has; integers have no point."""
    return str(int(label)) if label.is_integer() and abs(label) < 2**53 else repr(label)


def _memory_bytes(data: RankingData) -> int:
    arrays: list[Any] = [getattr(data, name) for name in data.PARTS]
    if data.document_ids is not None:
        ids = data.document_ids.compact()
        arrays += [ids.offsets, ids.data]
    if data.pairs is not None:
        arrays += [data.pairs.winner, data.pairs.loser, data.pairs.probability, data.pairs.weight]
    return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))
