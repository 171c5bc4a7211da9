"""A metric of your own: one Python function of one query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, overload

from podium.errors import ParameterError, UnknownNameError, short_repr
from podium.functions import Function, find_function, found_at
from podium.metrics.custom_function import Bounds, MetricFunction
from podium.metrics.metric import Metric, MetricDefinition
from podium.names import PrintedName
from podium.parameters import Parameter
from podium.rules import Choice

EMPTY = Parameter(
    "empty",
    "refuse",
    Choice("refuse", "zero", "one", "skip"),
    "What happens if the function returns NaN for a query: 'refuse' raises an error, 'zero' and 'one' count the query as 0 or 1, "
    "and 'skip' leaves it out of the mean.",
)
TIES = Parameter(
    "ties",
    "auto",
    Choice("auto", "input", "trec_eval"),
    "How documents with equal scores are ranked: 'input' keeps their order in the data, 'trec_eval' puts the greater document "
    "id first, and 'auto' does so for runs only.",
)
CUSTOM = MetricDefinition(
    name="custom",
    summary="A function of yours: (scores, labels) -> value, one query at a time.",
    formula="as you write it",
    source="you",
    parameters=(EMPTY, TIES),
    bounds=(None, None),
    lacks="value",
)
OF_FUNCTION = ("name", "higher_is_better", "bounds", "compile")
OPTIONS = (*OF_FUNCTION, "empty", "ties")


@overload
def custom_metric(
    function: Function,
    *,
    name: str | None = None,
    higher_is_better: bool = True,
    bounds: Bounds = (None, None),
    empty: str = "refuse",
    ties: str = "auto",
    compile: bool | None = None,
) -> Metric: ...
@overload
def custom_metric(
    *,
    name: str | None = None,
    higher_is_better: bool = True,
    bounds: Bounds = (None, None),
    empty: str = "refuse",
    ties: str = "auto",
    compile: bool | None = None,
) -> Callable[[Function], Metric]: ...
def custom_metric(
    function: Function | None = None,
    *,
    name: str | None = None,
    higher_is_better: bool = True,
    bounds: Bounds = (None, None),
    empty: str = "refuse",
    ties: str = "auto",
    compile: bool | None = None,
) -> Metric | Callable[[Function], Metric]:
    """Make a metric of a function of yours, `(scores, labels) -> value` of one query; usable as a decorator too.

    The function gets the scores and labels of one query as float64 arrays, **ranked: the highest score first**, so that
    `labels[0]` is the label of the top document. It returns one number. `podium.metric(function)` makes the same metric
    without options, and the name `module:function` finds it wherever a metric is named.

    With a run, judged documents that were not retrieved come last, with score -inf, and retrieved documents that nobody
    judged have label 0.

    As LambdaRank's target, `lambdarank(module:function)`, the function is called for every pair of documents with different
    labels, in each round. That is slow for long queries; an installed Numba helps much.

    Args:
        function: the function of one query. If it is left out, `custom_metric` is a decorator.
        name: what results call the metric; `module:function` by default.
        higher_is_better: whether a better ranking has a higher value.
        bounds: the least and the greatest possible value; None for no bound.
        empty: what counts if the function returns NaN: 'refuse' raises an error, 'zero' and 'one' count the query as 0 and
            1, 'skip' leaves it out of the mean.
        ties: how documents with equal scores are ordered: 'input' keeps the order of the data, 'trec_eval' puts the greater
            document id first, and 'auto' does so for runs only.
        compile: with the extra `podium[numba]`, functions are compiled and run on all threads without Python. None
            compiles what Numba can and warns if it cannot, True insists, False runs as plain Python.

    Returns:
        A `Metric`; or, as a decorator, the function that makes one.
    """
    options = {key: value for key, value in locals().items() if key in OPTIONS}

    def make(given: Function) -> Metric:
        if isinstance(given, Metric):
            raise ParameterError("function", given, "is a metric already", "give the function it is made of")
        return _change(_plain(given), options)

    return make if function is None else make(function)


def named_custom_metric(parts: PrintedName) -> Metric:
    """Return the metric of `module:function`, perhaps with options in parentheses."""
    if parts.cutoff is not None:
        rule = "cannot be given to a function of yours, which sees the whole list"
        raise ParameterError("cutoff", parts.cutoff, rule, f"write {parts.base!r}")
    found, options = find_function(parts.base, "metric"), parts.settings
    for option in options:
        if option not in OPTIONS:
            raise UnknownNameError("option of a metric of yours", option, OPTIONS)
    if isinstance(found, Metric):
        if found.custom is None and options:
            rule = f"stands for {found!r}, which takes no options here"
            raise ParameterError("metric", parts.base, rule, "leave the options out")
        return _change(found, options) if options else found
    if not callable(found):
        raise ParameterError("metric", parts.base, f"is {short_repr(found)}", "name a function or a metric")
    return _change(_plain(found), options)


def printed_name(metric: Metric) -> str:
    """Return `module:function`, with the options that differ from those of the metric that is found there."""
    assert metric.custom is not None
    place = found_at(metric.custom.function)
    declared = place if isinstance(place, Metric) else _plain(metric.custom.function)
    there = _options(declared)
    inside = [f"{key}={value!r}" for key, value in _options(metric).items() if value != there[key]]
    return metric.custom.path + (f"({', '.join(inside)})" if inside else "")


def _plain(function: Function) -> Metric:
    return replace(CUSTOM(), custom=MetricFunction(function))


def _options(metric: Metric) -> dict[str, Any]:
    return {key: getattr(metric.custom, key) for key in OF_FUNCTION} | dict(metric.parameters)


def _change(metric: Metric, options: dict[str, Any]) -> Metric:
    """Return the metric with some options changed."""
    assert metric.custom is not None
    function = replace(metric.custom, **{key: value for key, value in options.items() if key in OF_FUNCTION})
    parameters = {key: value for key, value in options.items() if key not in OF_FUNCTION}
    return replace(metric.with_parameters(**parameters), custom=function)


def restore(function: Function, options: dict[str, Any]) -> Metric:
    """Return the metric of a function that no name leads to: what pickles of it call."""
    return _change(_plain(function), options)


def pickled(metric: Metric) -> tuple[Callable[..., Metric], tuple[Any, ...]]:
    """Return how to make a metric of a function again that no name leads to."""
    assert metric.custom is not None
    return restore, (metric.custom.function, _options(metric))
