"""A force as a value: hashable, with a name that prints and reads back, acting on the scores of many queries.

λ_i = −∂C/∂s_i: positive lifts the document. w_i = ∂²C/∂s_i² ≥ 0 is its curvature, for Newton steps.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data import RankingData
from podium.data.hashing import query_hashes
from podium.errors import DataError, ParameterError, unknown_name
from podium.metrics import Metric
from podium.metrics.compute import core_spec
from podium.metrics.metric import Metric as MetricValue
from podium.threads import resolve_threads

Floats = npt.NDArray[np.float64]
Value = float | int | bool


@dataclass(frozen=True)
class Definition:
    """One row of the table of forces."""

    name: str
    summary: str
    formula: str
    source: str
    defaults: Mapping[str, Value] = field(default_factory=dict)
    takes: str | None = None  # what stands first inside the parentheses: "metric", "force" or nothing
    has_cost: bool = True
    over_pairs: bool = False
    n_outputs: str = "1"

    def __hash__(self) -> int:
        return hash(self.name)


@dataclass(frozen=True)
class Force:
    """A definition with its metric or inner force and the parameters that differ from its defaults."""

    definition: Definition
    metric: Metric | None = None
    inner: Force | None = None
    given: tuple[tuple[str, Value], ...] = ()
