"""A user's metric: one Python function of one query, and what Podium must know about it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from podium import _core
from podium.compiling import Compiled, compiled
from podium.data.conversion import as_number
from podium.errors import DataError, ParameterError, short_numbers, short_repr
from podium.functions import UNNAMED, Floats, Function, call, check_function, found_at, path_of, qualified_name

Bounds = tuple[float | None, float | None]


@dataclass(frozen=True)
class MetricFunction:
    """A function `(scores, labels) -> value` of one ranked query; `custom_metric` describes the fields."""

    function: Function
    name: str | None = None
    higher_is_better: bool = True
    bounds: Bounds = (None, None)
    compile: bool | None = None

    def __post_init__(self) -> None:
        check_function("metric", self.function, self.compile)
        if self.name is not None and (not isinstance(self.name, str) or not self.name.strip()):
            raise ParameterError("name", self.name, "must be text", "leave it out for module:function")
        if not isinstance(self.higher_is_better, bool):
            raise ParameterError("higher_is_better", self.higher_is_better, "must be True or False")
        object.__setattr__(self, "bounds", _check_bounds(self.bounds))

    @property
    def is_importable(self) -> bool:
        """Whether its module and name lead to this function, or to a metric made of it."""
        place = found_at(self.function)
        made = getattr(place, "custom", None)
        return place is self.function or (isinstance(made, MetricFunction) and made.function is self.function)

    @property
    def path(self) -> str:
        """`module:function`, or `unnamed:function` if that does not lead to it."""
        return path_of(self.function) if self.is_importable else f"{UNNAMED}:{qualified_name(self.function)}"

    def compiled(self) -> Compiled | None:
        """Return the function as Numba compiled it; None if it runs as Python."""
        return compiled(self.function, "metric", self.compile)

    def core(self, *, allow_nan: bool) -> _core.CustomMetric:
        """Return the metric in the form that the core calls, from any thread."""
        machine_code = self.compiled()
        return _core.CustomMetric(
            lambda scores, labels: self.checked(scores, labels, allow_nan=allow_nan),
            compiled_value=0 if machine_code is None else machine_code.address,
            compiled=machine_code,
        )

    def checked(self, scores: Floats, labels: Floats, *, allow_nan: bool) -> float:
        """Return what the function gives for one query, after checking that it is a finite number, or NaN if that is allowed."""
        answer = call(self.function, scores, labels, f"the metric of {self.path}")
        try:
            value = float(answer)
        except (TypeError, ValueError):
            raise DataError(f"{self.path}: gave {short_repr(answer)}; it must give one number") from None
        if math.isfinite(value) or (allow_nan and math.isnan(value)):
            return value
        query = f"scores {short_numbers(scores.tolist())} and labels {short_numbers(labels.tolist())}"
        remedy = ", or say with empty='skip' that NaN leaves a query out of the mean" if math.isnan(value) else ""
        raise DataError(f"{self.path}: gave {value} for a query with {query}; it must give a finite number{remedy}")


def _check_bounds(bounds: object) -> Bounds:
    if isinstance(bounds, tuple | list) and len(bounds) == 2:
        low, high = (None if end is None else as_number(end) for end in bounds)
        are_numbers = (low is None) == (bounds[0] is None) and (high is None) == (bounds[1] is None)
        if are_numbers and (low is None or high is None or low < high):
            return low, high
    raise ParameterError(
        "bounds", bounds, "must be the least and the greatest value, None for no bound", "write (0, 1)"
    )
