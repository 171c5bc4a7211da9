"""The ranges of a search: those of the settings' declarations, or the user's own, as Optuna's distributions."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from podium.errors import ParameterError, UnknownNameError
from podium.models import MODELS
from podium.names import literal
from podium.parameters import Parameter
from podium.rankers.base import BaseRanker
from podium.rules import Custom, Integer, Real, Rule, Tuple, split_commas
from podium.training import SCHEDULES

Ranges = Mapping[str, Any] | Iterable[str] | None
BETWEEN = re.compile(r"(?P<low>[^,;]+?)\.\.(?P<high>[^,;:]+?)(?P<log>:log)?")
INTENDED_BETWEEN = re.compile(r"[\d.]\s*\.\.|\.\.\s*[-+.\d]")
SIGNIFICANT_DIGITS = 6  # of a number that is drawn: enough to search by, few enough to write down
FORMS = "write low..high, low..high:log, or the values to try, as in adam,sgd or (5,);(10,)"


@dataclass(frozen=True)
class Range:
    """Where a search looks for one setting.

    Attributes:
        distribution: Optuna's distribution. Choices are drawn by their printed form, because a study stores only numbers and text.
        choices: the values by their printed form, if the distribution is a choice.
    """

    distribution: BaseDistribution
    choices: Mapping[str, Any]

    @property
    def size(self) -> float:
        """Number of values in the range; infinity for real numbers."""
        if isinstance(self.distribution, IntDistribution):
            return int(self.distribution.high - self.distribution.low) // int(self.distribution.step) + 1
        return len(self.choices) or math.inf

    def drawn(self) -> list[Any]:
        """Return what Optuna can draw from a range of finite size."""
        found = self.distribution
        return list(self.choices) or list(range(found.low, found.high + 1, found.step))

    def contains(self, drawn: Any) -> bool:
        """Return whether Optuna can have drawn this."""
        if self.choices:
            return drawn in self.choices
        return bool(self.distribution.low <= drawn <= self.distribution.high)

    def value(self, drawn: Any) -> Any:
        """Return the value of the setting for what Optuna drew."""
        if self.choices:
            return self.choices[drawn]
        if isinstance(self.distribution, IntDistribution):
            return int(drawn)
        rounded = float(f"{drawn:.{SIGNIFICANT_DIGITS}g}")
        return min(max(rounded, self.distribution.low), self.distribution.high)

    def __str__(self) -> str:
        if self.choices:
            return ";".join(self.choices)
        found = self.distribution
        return f"{found.low!r}..{found.high!r}{':log' if found.log else ''}"


def read_ranges(ranker: BaseRanker, ranges: Ranges) -> dict[str, Range]:
    """Return the ranges to search, each checked against the declaration of its setting.

    Args:
        ranker: the ranker whose settings are searched.
        ranges: ranges by the name of a setting, or only names, whose ranges are then those of their declarations. None takes
            every declared range of a setting that the ranker leaves at its default.
    """
    known = ranker.tunable()
    if ranges is None:
        ranges = _declared_names(ranker)
    if isinstance(ranges, str) or not isinstance(ranges, Mapping | Iterable):
        raise ParameterError("ranges", ranges, "must give ranges by the names of settings, as in {'l2': '0..1'}")
    given = dict(ranges) if isinstance(ranges, Mapping) else dict.fromkeys(ranges)
    if not given:
        raise ParameterError(
            "ranges", rule="must name a setting", remedy=f"give a range for any of {', '.join(sorted(known))}"
        )
    read = {}
    for name, range_given in given.items():
        if name in ranker.parameters() and name not in known:
            raise ParameterError(
                "ranges", name, "cannot be searched for", "trials are compared by it, or it does not change the model"
            )
        if name not in known:
            raise UnknownNameError(f"setting of {type(ranker).__name__}", name, known)
        read[name] = _read(replace(known[name][0], name=name), range_given)
    return read


def _declared_names(ranker: BaseRanker) -> list[str]:
    """Return the settings to search by default: those with a declared range that matter and are left at their default."""
    of_parts = {name for table in (MODELS, SCHEDULES) for kind in table.values() for name in kind.parameters()}
    in_use = {*ranker._schedule().parameters(), *ranker._model().parameters()}
    return [
        name
        for name, (parameter, value) in ranker.tunable().items()
        if parameter.search is not None and value == parameter.default and (name in in_use or name not in of_parts)
    ]


def _read(parameter: Parameter, given: Any) -> Range:
    if given is None:
        if parameter.search is None:
            raise _refused(parameter, given, "has no declared range", FORMS)
        return _between(parameter, given, parameter.search.low, parameter.search.high, parameter.search.log)
    if isinstance(given, FloatDistribution | IntDistribution):
        return _between(parameter, given, given.low, given.high, given.log)
    if isinstance(given, CategoricalDistribution):
        given = given.choices
    if isinstance(given, str):
        return _parse(parameter, given)
    choices = list(given) if isinstance(given, Iterable) and not isinstance(given, Mapping) else []
    if not choices:
        raise _refused(
            parameter,
            given,
            "must be a word such as '1e-4..1e-1:log', a list of values, or one of Optuna's distributions",
        )
    return _choice(parameter, choices)


def _parse(parameter: Parameter, text: str) -> Range:
    """Return the range of a word: `low..high` with two numbers, or values separated by semicolons or commas."""
    found = BETWEEN.fullmatch(text.strip())
    if found is not None:
        low, high = (literal(found[end].strip()) for end in ("low", "high"))
        if not any(isinstance(end, bool) or not isinstance(end, int | float) for end in (low, high)):
            return _between(parameter, text, low, high, bool(found["log"]))
    if found is not None or INTENDED_BETWEEN.search(text):
        remedy = "write them as in 1e-4..1e-1:log or 1..20"
        raise _refused(parameter, text, "must be two numbers with two dots between them", remedy)
    words = [word.strip() for word in (text.split(";") if ";" in text else split_commas(text))]
    if not words[0] or not all(words[:-1]):
        raise _refused(parameter, text, "cannot be read", FORMS)
    choices = [literal(word) for word in words if word]
    if _number_kind(parameter.rule) is not None and any(
        choice is word for choice, word in zip(choices, words, strict=False)
    ):
        raise _refused(parameter, text, "cannot be read as numbers", FORMS)
    return _choice(parameter, choices)


def _between(parameter: Parameter, given: Any, low: float, high: float, log: bool) -> Range:
    kind = _number_kind(parameter.rule)
    if isinstance(parameter.rule, Custom):
        kind = Integer if isinstance(low, int) and isinstance(high, int) else Real
    if kind is None:
        raise _refused(parameter, given, "is a range of numbers, and this setting is not a number", FORMS)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise _refused(parameter, given, "must have a finite lower end below its upper end")
    if log and low <= 0:
        raise _refused(parameter, given, "must lie above 0 for a logarithm", "leave out :log, or raise the lower end")
    if kind is Integer and (low != int(low) or high != int(high)):
        raise _refused(parameter, given, "must have whole numbers as its ends", "write it as in 1..20")
    for end in (low, high):
        parameter.check(int(end) if kind is Integer else float(end))
    made = IntDistribution(int(low), int(high), log=log) if kind is Integer else FloatDistribution(low, high, log=log)
    return Range(made, {})


def _choice(parameter: Parameter, values: Iterable[Any]) -> Range:
    choices = {repr(value): value for value in values}
    for value in choices.values():
        parameter.check(value)
    return Range(CategoricalDistribution(list(choices)), choices)


def _number_kind(rule: Rule) -> type[Rule] | None:
    """Return what kind of number a setting is: Integer, Real, or None if it is not a number."""
    if isinstance(rule, Tuple):
        return _number_kind(rule.of) if rule.single else None
    return next((kind for kind in (Integer, Real) if isinstance(rule, kind)), None)


def _refused(parameter: Parameter, given: Any, rule: str, remedy: str = "") -> ParameterError:
    return ParameterError(f"ranges[{parameter.name!r}]", given, rule, remedy)


def describe_ranges(ranges: Mapping[str, Range]) -> str:
    """Return the ranges as they are written."""
    return ", ".join(f"{name}={found}" for name, found in ranges.items())
