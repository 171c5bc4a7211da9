"""What to know about the data before believing a result: a summary, and sentences on what may cause trouble."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data import Description, RankingData, describe
from podium.data.canonical import canonical_order
from podium.data.feature_names import feature_name
from podium.errors import short_list
from podium.metrics import Documents, metric, per_query
from podium.report.texts import as_sentence, cut

Floats = npt.NDArray[np.float64]
LEAK = 0.95  # a feature that orders this share of the pairs is hardly an honest one
SORTED_ROWS = 0.99  # rows in which this share of the pairs is in the order of the labels are sorted by label
LONGEST_REMARK = 600  # characters, because names of features can be long
LEAST_DOCUMENTS = 50  # with fewer documents, a feature may order all pairs by chance
MOST_DOCUMENTS, MOST_VALUES = 20_000, 5_000_000  # that are looked at for leaks
PAIRS = metric("pairwise_correct(empty='skip')")


@dataclass(frozen=True)
class Remark:
    """One sentence about data or a model.

    Attributes:
        level: "warning" if a result may be wrong because of it, "note" if it is good to know.
        text: the whole sentence.
    """

    level: str
    text: str


@dataclass(frozen=True, eq=False)
class DataSummary:
    """The data of a report.

    Attributes:
        description: what `podium.describe` counts.
        strengths: [features], the share of pairs of different labels in a query that the feature alone orders rightly, its ties
            counting half, in the better of the two directions; NaN for a feature that is constant or categorical, whose codes
            have no order, or if nothing can be compared.
        sampled_queries: number of queries that the strengths were measured on.
        sampled_documents: number of their documents.
        remarks: what to know about the data.
    """

    description: Description
    strengths: Floats
    sampled_queries: int
    sampled_documents: int
    remarks: tuple[Remark, ...]

    @property
    def strongest(self) -> list[int]:
        """The columns of the features whose strength is known, the strongest first."""
        known = np.flatnonzero(~np.isnan(self.strengths))
        return [int(known[k]) for k in np.argsort(-self.strengths[known], kind="stable")]


def summarize_data(data: RankingData, *, num_threads: int | None = None) -> DataSummary:
    """Describe the data, and look for what may make a result look better or worse than it is."""
    description = describe(data)
    some = sample_queries(data, min(MOST_DOCUMENTS, max(1000, MOST_VALUES // max(1, data.n_features))))
    strengths, by_rows = _single_feature_strengths(some, num_threads)
    names = [cut(feature_name(column, data.feature_names)) for column in range(data.n_features)]
    remarks = [
        *(
            Remark("warning", as_sentence(cut(line[0].upper() + line[1:], LONGEST_REMARK)))
            for line in description.remarks()
        ),
        *_leak_remarks(strengths, names, some.n_documents),
        *_order_remarks(by_rows, some.n_documents),
        *_notes(description),
    ]
    return DataSummary(description, strengths, some.n_queries, some.n_documents, tuple(remarks))


def sample_queries(data: RankingData, most: int) -> RankingData:
    """Return some queries with at most about `most` documents, the same ones for every order of the queries.

    Of a query that is too long by itself, evenly spaced documents are taken.
    """
    if data.n_documents <= most:
        return data
    order = canonical_order(data)
    counts = np.cumsum(np.minimum(data.query_sizes[order], most))
    chosen = np.sort(order[: max(1, int(np.searchsorted(counts, most, side="right")))])
    some = data.select(chosen)
    if some.n_documents <= most:
        return some
    kept = np.zeros(some.n_documents, bool)
    kept[np.linspace(0, some.n_documents - 1, most).astype(np.int64)] = True
    return some.select_grouped_documents(kept)


def _single_feature_strengths(data: RankingData, num_threads: int | None) -> tuple[Floats, float]:
    """Return how well each feature alone orders the documents, and how well the order of the rows does."""
    strengths, categorical = np.full(data.n_features, np.nan), data.categorical_features or {}
    for column in range(data.n_features):
        values = data.features[:, column].astype(np.float64)
        missing = np.isnan(values)
        if missing.all() or (not missing.any() and values.min() == values.max()) or column in categorical:
            continue
        share = _share_in_order(np.where(missing, -np.inf, values), data, num_threads)
        strengths[column] = max(share, 1 - share)
    places = np.arange(data.n_documents, dtype=np.float64)
    return strengths, _share_in_order(-places, data, num_threads)


def _share_in_order(scores: Floats, data: RankingData, num_threads: int | None) -> float:
    documents = Documents(scores, data.labels, data.query_offsets)
    values = per_query([PAIRS], documents, num_threads=num_threads)[0][0]
    counted = values[~np.isnan(values)]
    return math.fsum(counted.tolist()) / len(counted) if len(counted) else math.nan


def _leak_remarks(strengths: Floats, names: list[str], documents: int) -> Iterable[Remark]:
    if documents < LEAST_DOCUMENTS:
        yield Remark("note", f"The data has only {documents} documents, too few to tell a leaking feature from chance.")
        return
    leaking = [int(k) for k in np.flatnonzero(np.nan_to_num(strengths) >= LEAK)]
    for column in sorted(leaking, key=lambda k: -strengths[k])[:10]:
        yield Remark(
            "warning",
            f"Feature {names[column]} alone orders {strengths[column]:.1%} of the pairs of documents with different labels rightly: "
            "it may hold the label itself, or something that is known only after the judgment.",
        )
    if len(leaking) > 10:
        yield Remark("warning", f"{len(leaking) - 10} more features alone order at least {LEAK:.0%} of the pairs.")


def _order_remarks(share: float, documents: int) -> Iterable[Remark]:
    if documents < LEAST_DOCUMENTS or not max(share, 1 - share) >= SORTED_ROWS:
        return
    best = share >= SORTED_ROWS
    order, effect = ("best", "better") if best else ("worst", "worse")
    yield Remark(
        "warning",
        f"The rows of each query are sorted by label, {order} first. Documents with tied scores keep the order of the rows, so "
        f"that ties look {effect} than they are.",
    )


def _notes(found: Description) -> Iterable[Remark]:
    if found.has_document_weights or found.has_query_weights:
        yield Remark("note", "The data has weights. They are for training: every query counts alike in this report.")
    missing = found.features_with_missing
    if missing:
        have = "feature has" if len(missing) == 1 else "features have"
        names = short_list([cut(name) for name in missing], 20)
        yield Remark(
            "note", f"{len(missing)} {have} missing values ({found.missing_share:.1%} of all values): {names}."
        )


def describe_rows(found: Description) -> list[tuple[str, str]]:
    """Return the summary as rows of a table: what, and how much."""
    per_query = found.documents_per_query
    labels = found.label_counts or found.label_quantiles or {}
    rows: list[tuple[str, Any]] = [
        ("Queries", f"{found.queries:,}"),
        ("Documents", f"{found.documents:,}"),
        (
            "Documents per query",
            f"{per_query['min']:,.0f} to {per_query['max']:,.0f}, median {per_query['median']:,g}, mean {per_query['mean']:,.1f}",
        ),
        ("Features", f"{found.features:,}"),
        ("Constant features", f"{len(found.constant_features):,}"),
        ("Missing values", f"{found.missing_share:.2%}"),
        ("Queries without a relevant document", f"{found.queries_without_relevant:,}"),
    ]
    if found.label_counts is not None:
        total = max(1, found.documents)
        rows += [
            (f"Documents with label {label}", f"{n:,} ({n / total:.1%})") for label, n in found.label_counts.items()
        ]
    else:
        rows.append(("Labels", ", ".join(f"{name} {value:g}" for name, value in labels.items())))
    if found.categorical_features is not None:
        rows.append(("Categorical features", f"{len(found.categorical_features):,}"))
    if found.pairs is not None:
        rows.append(("Preference pairs", f"{found.pairs:,}"))
    return rows
