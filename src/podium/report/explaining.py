"""What each feature adds to the score of a document, and how important it is to a model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from podium.explaining import PermutationImportance, permutation_importance
from podium.explaining.contributions import has_contributions, query_contributions
from podium.metrics import Metric
from podium.report.data_remarks import sample_queries
from podium.report.scored import ScoredModel
from podium.threads import resolve_threads

Floats = npt.NDArray[np.float64]
MOST_SCORINGS = 400_000  # documents that permutation importance may score for one model
MOST_SPLIT_VISITS = 40_000_000_000  # documents × splits there
MOST_EXPLAINED, LEAST_EXPLAINED = 1500, 200  # documents whose contributions are computed
MOST_EXPLAINED_SPLITS = 100_000_000  # documents × splits there
MOST_LINEAR_FEATURES = 700  # of a linear model whose contributions are computed


def why_no_contributions(model: ScoredModel) -> str:
    """Return in one sentence why a model has no contributions of features, or "" if it has."""
    if model.scorer is None:
        return f"{model.name} was given as scores, so what its features contribute is unknown."
    inner = model.scorer.model
    if inner.n_outputs > 1:
        return f"{model.name} has {inner.n_outputs} outputs, and its score is not a sum of contributions of features."
    if not has_contributions(inner):
        return f"In {model.name} the features act together; contributions exist for trees and linear models."
    if not inner.has_splits and inner.n_features > MOST_LINEAR_FEATURES:
        return f"{model.name} has {inner.n_features:,} features, too many to compute contributions for a page."
    return ""


def affordable_contributions(model: ScoredModel) -> int:
    """Return for how many documents contributions are computed, fewer for large forests."""
    return max(LEAST_EXPLAINED, min(MOST_EXPLAINED, MOST_EXPLAINED_SPLITS // _n_splits(model)))


def _n_splits(model: ScoredModel) -> int:
    """Return the number of splits of a forest, at least 1; 1 for other models."""
    if model.scorer is None or not model.scorer.model.has_splits:
        return 1
    return max(1, len(model.scorer.model.arrays()["feature"]))


def contributions(
    model: ScoredModel, number: int, documents: npt.NDArray[np.int64], num_threads: int | None
) -> Floats | None:
    """Return what each feature adds to the scores of some documents of one query, [documents × features], or None.

    `documents` are numbers of rows in the query.
    """
    if model.scorer is None or why_no_contributions(model):
        return None
    first, last = model.data.query_offsets[number : number + 2]
    threads = resolve_threads(num_threads)
    return query_contributions(model.scorer.model, model.features[first:last], documents, num_threads=threads)


@dataclass(frozen=True, eq=False)
class ModelImportance:
    """How important the features are to one model.

    Attributes:
        names: the names of the model's features.
        gain: [features], the share of the gains of all splits, for trees; else None.
        splits: [features], the number of splits, for trees; else None.
        permutation: how far the metric falls if a feature is permuted within queries; None if there are only scores.
        queries: number of queries that this was measured on.
        missing: why something is missing, as a whole sentence; "" if nothing is.
    """

    names: tuple[str, ...]
    gain: Floats | None = None
    splits: npt.NDArray[np.int64] | None = None
    permutation: PermutationImportance | None = None
    queries: int = 0
    missing: str = ""

    def top(self, count: int) -> list[int]:
        """Return the columns of the most important features: by permutation, or by gain without it."""
        by = self.permutation.mean if self.permutation is not None else self.gain
        if by is None:
            return []
        return [int(k) for k in np.argsort(-np.nan_to_num(by, nan=-np.inf), kind="stable")[:count]]


def measure_importance(
    model: ScoredModel, metric: Metric, *, confidence: float, seed: int, num_threads: int | None
) -> ModelImportance:
    """Measure the importance of a model's features: gains and splits of trees, and permutation for any model."""
    if model.scorer is None:
        return ModelImportance((), missing=f"{model.name} was given as scores, so its features are unknown.")
    inner = model.scorer.model
    names = model.feature_names
    gain = splits = None
    if inner.has_splits and model.ranker is not None:
        splits, gains = model.ranker.importance("split"), np.asarray(model.ranker.importance("gain"), np.float64)
        gain = gains / gains.sum() if gains.sum() > 0 else None
    missing = f"The file of {model.name} holds no gains of splits." if splits is not None and gain is None else ""
    if model.ranker is None:
        return ModelImportance(
            names, gain, splits, missing=f"{model.name} is a scorer; give the ranker for importances."
        )
    used = max(1, len(inner.used_features))
    scorings = min(MOST_SCORINGS, MOST_SPLIT_VISITS // _n_splits(model))
    some = sample_queries(model.data, max(1000, scorings // used))
    fall = permutation_importance(
        model.ranker, some, metric=metric, repeats=1, seed=seed, confidence=confidence, num_threads=num_threads
    )
    return ModelImportance(names, gain, splits, fall, some.n_queries, missing)
