"""Metrics: one table. One implementation of each serves training, early stopping, evaluation and swap deltas."""

from __future__ import annotations

import re

from podium.errors import ParameterError, UnknownNameError
from podium.functions import Function
from podium.metrics import binary, discounted, pairs, reader
from podium.metrics.compute import CheckedQueries, Documents, per_query
from podium.metrics.custom import custom_metric, named_custom_metric
from podium.metrics.metric import Metric, MetricDefinition
from podium.metrics.ties import TieEffect, TieValues, tie_effect, tie_lines, tie_values
from podium.names import PrintedName, split_name

__all__ = [
    "ALIASES",
    "METRICS",
    "CheckedQueries",
    "Documents",
    "Metric",
    "MetricDefinition",
    "TieEffect",
    "TieValues",
    "custom_metric",
    "metric",
    "per_query",
    "split_metric_name",
    "tie_effect",
    "tie_lines",
    "tie_values",
]

METRICS: dict[str, MetricDefinition] = {
    definition.name: definition for family in (discounted, binary, reader, pairs) for definition in family.METRICS
}
EXAMPLES = "ndcg, ndcg@10 or ndcg(gain='linear', empty='skip')@10"
TREC_EVAL_NAMES = {"recip_rank": "mrr"}
ALIASES = {alias: definition.name for definition in METRICS.values() for alias in definition.aliases}


def metric(name: str | Metric | Function) -> Metric:
    """Return the metric of a name such as `ndcg@10` or `ndcg(gain='linear', empty='skip')@10`, or of a function of yours.

    A function, given as it is or as `module:function`, takes the scores and labels of one ranked query and returns its value;
    `custom_metric` accepts options as well. A metric is returned as it is.

    Args:
        name: the printable name, the function, or a metric.
    """
    if isinstance(name, Metric):
        return name
    if not isinstance(name, str):
        if callable(name):
            return custom_metric(name)
        raise ParameterError(
            "metric", name, "must be a name such as 'ndcg@10' or 'module:function', a function, or a Metric"
        )
    parts = split_metric_name(name)
    if parts.is_path:
        return named_custom_metric(parts)
    key = parts.base.lower()
    definition = METRICS.get(ALIASES.get(key, key))
    if definition is None:
        if trec := re.fullmatch(r"(ndcg_cut|map_cut|p|recall)_(\d+)", key):
            remedy = f"write {trec[1].removesuffix('_cut')}@{trec[2]}"
            raise ParameterError("metric", parts.base, "is a name of trec_eval, not of Podium", remedy)
        if digits := re.fullmatch(r"([a-z]+)_?(\d+)", key):
            base = ALIASES.get(digits[1], digits[1])
            if base in METRICS and METRICS[base].takes_cutoff:
                raise ParameterError("metric", parts.base, "is not a metric", f"did you mean '{base}@{digits[2]}'?")
        if key in TREC_EVAL_NAMES:
            remedy = f"write {TREC_EVAL_NAMES[key]}"
            raise ParameterError("metric", parts.base, "is a name of trec_eval, not of Podium", remedy)
        raise UnknownNameError("metric", parts.base, METRICS)
    return definition(cutoff=parts.cutoff, **parts.settings)


def split_metric_name(text: str) -> PrintedName:
    """Take the name of a metric apart; everything in its parentheses has a name."""
    parts = split_name(text, "metric", EXAMPLES, cutoffs=True)
    if parts.first:
        raise ParameterError("metric", text, "has a parameter without a name", f"write it as {EXAMPLES}")
    if "cutoff" in parts.settings:
        raise ParameterError(
            "cutoff", parts.settings["cutoff"], "must stand behind an @", f"write it as {parts.base}@10"
        )
    return parts
