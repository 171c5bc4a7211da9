"""The settings that every ranker has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from podium.parameters import Custom, Integer, Rule, Settings, setting
from podium.threads import MOST_THREADS


def _metric_names(given: Any) -> tuple[Any, ...]:
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, list | tuple):
        raise TypeError
    return tuple(given)


@dataclass(kw_only=True, eq=False, repr=False)
class CommonSettings(Settings):
    """Settings of every ranker."""

    metric: Any = setting(
        "ndcg@10",
        Rule(),
        "The metric that chooses the best epoch on the validation data, and that `score` returns.",
        option=True,
    )
    also: Sequence[str] = setting(
        (),
        Custom(_metric_names, "must be the names of metrics, as in ['map', 'err@10']", "tuple"),
        "Further metrics that the training log shows on the validation data.",
    )
    seed: int = setting(0, Integer(0, 2**64 - 1), "The same seed gives the same model.", option=True)
    num_threads: int | None = setting(
        None,
        Integer(1, MOST_THREADS),
        "Number of threads. The model does not depend on it.",
        none="every core this process may use",
    )
