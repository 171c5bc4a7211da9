"""The importance of features: by the gains or the number of splits, or by permuting their values."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.data import RankingData
from podium.errors import ParameterError, UnknownNameError
from podium.evaluation.result import percent
from podium.explaining import PermutationImportance, permutation_importance
from podium.metrics import Metric
from podium.plots.inputs import Floats, check_positive, feature_names, some_of, trained_scorer
from podium.plots.output import themed
from podium.plots.stack import alt, pd
from podium.plots.theme import COLORS, NAME_LABELS, QUIET

KINDS = {
    "gain": ("total gain of the feature's splits", "Importance of features by gain"),
    "split": ("number of splits on the feature", "Importance of features by number of splits"),
    "weight": ("weight of the feature, scaled to variance 1 if the model scales it", "Weights of features"),
}
MOST_FEATURES = 200


def importance(
    ranker: Any,
    data: RankingData | None = None,
    *,
    kind: str | None = None,
    top: int = 20,
    metric: str | Metric | None = None,
    repeats: int = 5,
    seed: int = 0,
    among: str = "query",
    confidence: float = 0.95,
    num_threads: int | None = None,
) -> Any:
    """Draw the importance of each feature, largest first; of a linear model its weight, which may be negative.

    The columns of `chart.data` are feature, importance, low and high. The last two are the confidence interval of the importance
    by permutation, and NaN for the others.

    Args:
        ranker: a trained ranker, or a PermutationImportance.
        data: with kind "permutation": judged queries, best such that the ranker was not trained on.
        kind: "gain" or "split", for trees; "weight", for linear models; or "permutation", for every ranker. By default the gain, or
            the weight of a linear model.
        top: maximum number of features to draw.
        metric: with kind "permutation": the metric whose fall is measured, as are the other settings of
            `podium.permutation_importance`.
        repeats: number of permutations per feature.
        seed: seed of the permutations.
        among: "query" to permute values within each query, or "all".
        confidence: confidence of the intervals.
        num_threads: number of threads for the metric.
    """
    top = check_positive("top", top, MOST_FEATURES)
    found = ranker if isinstance(ranker, PermutationImportance) else None
    if found is None and kind == "permutation":
        if data is None:
            raise ParameterError("kind", kind, "needs judged data", "give {data}")
        found = permutation_importance(
            ranker,
            data,
            metric=metric,
            repeats=repeats,
            seed=seed,
            among=among,
            confidence=confidence,
            num_threads=num_threads,
        )
    if found is not None:
        return _permutation(found, top)
    kind, values = _values(ranker, kind)
    names = feature_names(ranker, data)
    order = np.argsort(-np.abs(values), kind="stable")[:top]
    frame = pd.DataFrame(
        {"feature": [names[k] for k in order], "importance": values[order], "low": np.nan, "high": np.nan}
    )
    unit, title = KINDS[kind]
    bars = (
        alt.Chart(frame)
        .mark_bar(color=COLORS[0])
        .encode(x=alt.X("importance:Q", title=unit), y=_features(frame), tooltip=["feature", "importance"])
    )
    return themed(bars, title, some_of(len(order), len(values), "features, the most important ones"))


def _values(ranker: Any, kind: str | None) -> tuple[str, Floats]:
    """Return the kind of importance that is drawn without data, and its value for each feature."""
    if kind is not None and kind not in KINDS:
        raise UnknownNameError("kind of importance", kind, [*KINDS, "permutation"])
    model = trained_scorer(ranker).model
    weights = model.feature_weights
    if (kind is None and weights is not None) or kind == "weight":
        if weights is None:
            raise ParameterError("kind", kind, "needs a linear model", "give {kind=permutation}, which every model has")
        return "weight", np.asarray(weights.standardized, np.float64)
    if not model.has_splits:
        rule = f"needs a model of trees, and this {type(ranker).__name__} has another"
        remedy = "give {kind=permutation} and judged data, which works for every model"
        raise ParameterError("kind", kind or "gain", rule, remedy)
    if kind in (None, "gain") and not model.has_gains:
        rule = "needs the gains of splits, which the file of this model does not hold"
        raise ParameterError("kind", "gain", rule, "draw split or permutation")
    return kind or "gain", np.asarray(ranker.importance(kind or "gain"), np.float64)


def _features(frame: Any) -> Any:
    axis = alt.Axis(labelExpr=NAME_LABELS)
    return alt.Y("feature:N", sort=list(frame["feature"]), title=None, axis=axis)


def _permutation(found: PermutationImportance, top: int) -> Any:
    order = found.order[:top]
    frame = pd.DataFrame(
        {
            "feature": [found.features[k] for k in order],
            "importance": found.mean[order],
            "low": found.interval[order, 0],
            "high": found.interval[order, 1],
        }
    )
    y = _features(frame)
    unit = f"fall of {found.metric} when the feature is permuted"
    tips = ["feature", *(alt.Tooltip(f"{name}:Q", format="+.4f") for name in ("importance", "low", "high"))]
    points = (
        alt.Chart()
        .mark_point(filled=True, size=60, opacity=1, color=COLORS[0])
        .encode(x=alt.X("importance:Q", title=unit), y=y, tooltip=tips)
    )
    spans = alt.Chart().mark_rule(color=QUIET).encode(x=alt.X("low:Q", title=unit), x2="high:Q", y=y, tooltip=tips)
    where = "within each query" if found.among == "query" else "among all documents"
    return themed(
        alt.layer(spans, points, data=frame),
        "Importance of features by permutation",
        f"{percent(found.confidence)} intervals over queries; {found.metric} is {found.baseline:.4f} without permutation",
        f"Values are permuted {where}, {found.repeats} {'time' if found.repeats == 1 else 'times'}.",
        some_of(len(order), len(found.features), "features, the most important ones"),
    )
