"""The settings that every ranker has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from podium.memory import parse_bytes
from podium.metrics import Metric
from podium.metrics import metric as as_metric
from podium.names import expand_cutoffs
from podium.parameters import Parameter, Settings, setting
from podium.rules import Custom, Integer, Named, parse_list
from podium.threads import MOST_THREADS


def _metric_names(given: Any) -> tuple[Any, ...]:
    names = given if isinstance(given, list | tuple) else (given,)
    if not all(isinstance(name, str | Metric) or callable(name) for name in names):
        raise TypeError
    return tuple(one for name in names for one in (expand_cutoffs(name) if isinstance(name, str) else [name]))


def _parse_metric_names(text: str) -> tuple[str, ...]:
    """Return the names between commas; the commas of `ndcg@1,3,5` stand between cutoffs."""
    names: list[str] = []
    for part in parse_list(text, str):
        if names and part.isdecimal():
            names[-1] += f",{part}"
        else:
            names.append(part)
    return tuple(names)


METRIC = Named("metric", as_metric)
TARGET = Parameter(
    "target",
    None,
    METRIC,
    "The metric whose change weights the swap of two documents.",
    none="the same as `metric`",
)


@dataclass(kw_only=True, eq=False, repr=False)
class CommonSettings(Settings):
    """Settings of every ranker."""

    metric: Any = setting(
        "ndcg@10",
        METRIC,
        "The metric by which the best epoch is chosen on the validation data, and which the method `score` returns: a name such as ndcg@10, or "
        "module:function for your own. LambdaRank, LambdaMART and AdaRank also optimize it, unless `target` names another.",
        option=True,
        searchable=False,
    )
    also: Sequence[Any] = setting(
        (),
        Custom(_metric_names, "must be metrics, as in ['map', 'ndcg@1,3,5']", _parse_metric_names),
        "Further metrics on the validation data that the training log shows.",
        searchable=False,
    )
    seed: int = setting(
        0, Integer(0, 2**64 - 1), "Seed of all random numbers. The same seed gives the same model.", option=True
    )
    num_threads: int | None = setting(
        None,
        Integer(1, MOST_THREADS),
        "Number of threads. The model does not depend on it.",
        none="every core this process may use",
        searchable=False,
        option=True,
        flag="threads",
    )
    memory_limit: int | str | None = setting(
        None,
        Custom(
            parse_bytes,
            "must be a size of at least 256M, in bytes or as in 512M or 2G",
            lambda text: text.strip(),
            "SIZE",
        ),
        "For boosted trees: maximum memory of a training, as in 2G. Bins of features are then kept in files, and the memory that is "
        "used grows only with the number of documents. The model does not depend on it.",
        none="no limit; everything is kept in memory",
        searchable=False,
        option=True,
    )
