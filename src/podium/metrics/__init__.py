"""Metrics: one table, one implementation of each for training, early stopping, evaluation and swap deltas."""

from __future__ import annotations

import re

from podium.errors import ParameterError, unknown_name
from podium.functions import Function
from podium.metrics import binary, discounted, pairs, reader
from podium.metrics.compute import Documents, per_query
from podium.metrics.custom import custom_metric, named_custom_metric
from podium.metrics.metric import Definition, Metric
from podium.metrics.names import split_name
from podium.metrics.ties import TieEffect, TieValues, tie_effect, tie_values

__all__ = [
    "ALIASES",
    "METRICS",
    "Definition",
    "Documents",
    "Metric",
    "TieEffect",
    "TieValues",
    "custom_metric",
    "metric",
    "per_query",
    "tie_effect",
    "tie_values",
]

METRICS: dict[str, Definition] = {
    definition.name: definition for family in (discounted, binary, reader, pairs) for definition in family.METRICS
}
ALIASES = {alias: definition.name for definition in METRICS.values() for alias in definition.aliases}


def metric(name: str | Metric | Function) -> Metric:
    """Return the metric of a name such as `ndcg@10` or `ndcg(gain='linear', empty='skip')@10`, or of a function of yours.

    A function, given as it is or as `module:function`, gets the scores and labels of one ranked query and returns its value;
    `custom_metric` takes it with options. A metric comes back as it is.
    """
    if isinstance(name, Metric):
        return name
    if not isinstance(name, str):
        if callable(name):
            return custom_metric(name)
        raise ParameterError(
            "metric", name, "must be a name such as 'ndcg@10' or 'module:function', a function, or a Metric"
        )
    custom = named_custom_metric(name)
    if custom is not None:
        return custom
    base, parameters, cutoff = split_name(name)
    key = base.lower()
    definition = METRICS.get(ALIASES.get(key, key))
    if definition is None:
        if trec := re.fullmatch(r"(ndcg_cut|map_cut|p|recall)_(\d+)", key):
            raise ParameterError(
                f"unknown metric {base!r}; trec_eval's {base} is {trec[1].removesuffix('_cut')}@{trec[2]} here"
            )
        raise unknown_name("metric", base, METRICS)
    return definition(cutoff=cutoff, **parameters)
