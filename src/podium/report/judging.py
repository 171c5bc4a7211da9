"""The metrics of every model with their intervals, and the paired tests between models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.errors import DataError
from podium.evaluation import Comparison, Evaluation, compare, evaluate
from podium.evaluation.evaluate import DEFAULT_METRICS
from podium.evaluation.remarks import empty_lines
from podium.functions import Function
from podium.metrics import Metric
from podium.metrics import metric as as_metric
from podium.names import expand_cutoffs
from podium.report.data_remarks import Remark
from podium.report.texts import as_sentence

Floats = npt.NDArray[np.float64]
MetricLike = str | Metric | Function
MOST_SIGNS = 50_000_000  # random signs that the randomization test may draw for one metric and pair


@dataclass(frozen=True, eq=False)
class Judgment:
    """The values of all models.

    Attributes:
        main: the metric by which queries are sorted and models compared first.
        evaluations: the values of each model, by its name.
        comparisons: one per metric if there are several models, else empty. Differences are first − second, in the order of the
            models. A metric that has a value for no query is left out.
        remarks: on tied scores, queries that count in a special way, and metrics that were left out.
    """

    main: Metric
    evaluations: dict[str, Evaluation]
    comparisons: tuple[Comparison, ...]
    remarks: tuple[Remark, ...]

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics, the main one first."""
        return next(iter(self.evaluations.values())).metrics

    def per_query(self, name: str) -> Floats:
        """Return the main metric of each query under a model; NaN for a query that is left out."""
        return self.evaluations[name].per_query[self.main]

    def n_judged(self, metric: Metric | str) -> int:
        """Return how many queries the mean of a metric is over. A query may be left out for its labels, so for all models alike."""
        return int(np.sum(~np.isnan(next(iter(self.evaluations.values())).per_query[metric])))


def judge(
    scores: Mapping[str, Floats],
    data: RankingData,
    *,
    metrics: Sequence[MetricLike] | None,
    preferred: str | None,
    confidence: float,
    seed: int,
    num_threads: int | None,
) -> Judgment:
    """Evaluate the scores of each model, in the caller's row order, and compare the models.

    Without `metrics`, `preferred` (the metric that a model was trained for) comes first, then the usual ones; those that the
    labels do not fit are left out with a remark.
    """
    used, left_out = _usable(metrics, preferred, data)
    evaluations = {
        name: evaluate(each, data, used, confidence=confidence, seed=seed, num_threads=num_threads)
        for name, each in scores.items()
    }
    first = next(iter(evaluations.values()))
    comparisons = tuple(
        compare(
            scores,
            data,
            each,
            confidence=confidence,
            seed=seed,
            n_randomizations=min(10_000, max(1000, MOST_SIGNS // data.n_queries)),
            num_threads=num_threads,
        )
        for each in (used if len(scores) > 1 else ())
        if not np.isnan(first.per_query[each]).all()
    )
    remarks = [Remark("note", as_sentence(text)) for text in (*left_out, *empty_lines(first))]
    for name, result in evaluations.items():
        effect = result.ties[used[0]]
        if effect.n_affected:
            remarks.append(Remark("note", as_sentence(f"{used[0]} of {name}: {effect}")))
    return Judgment(used[0], evaluations, comparisons, tuple(remarks))


def _usable(
    metrics: Sequence[MetricLike] | None, preferred: str | None, data: RankingData
) -> tuple[list[Metric], list[str]]:
    """Return the metrics to compute, and sentences on the default ones that this data's labels do not fit."""
    if metrics:
        named = [name for each in metrics for name in (expand_cutoffs(each) if isinstance(each, str) else [each])]
        return list(dict.fromkeys(as_metric(each) for each in named)), []
    names = dict.fromkeys([*([] if preferred is None else [preferred]), "ndcg@10", *DEFAULT_METRICS])
    used, refused = [], []
    nothing = np.zeros(data.n_documents)
    for each in dict.fromkeys(as_metric(name) for name in names):
        try:
            evaluate(nothing, data, each, num_threads=1)
        except DataError as error:
            refused.append((each, error))
        else:
            used.append(each)
    if not used:
        raise refused[0][1]
    return used, [f"{each} was left out: {error}" for each, error in refused]
