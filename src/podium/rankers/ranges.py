"""Ranges of parameters, declared in a word: `1e-4..1e-1:log`, `1..20`, `adam,sgd`, `(5,);(10,)`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from podium.errors import ParameterError, short_repr
from podium.names import literal

BETWEEN = re.compile(r"(?P<low>[^,;]+?)\.\.(?P<high>[^,;:]+?)(?P<log>:log)?")
NEARLY = re.compile(r"[\d.]\s*\.\.|\.\.\s*[-+.\d]")
DIGITS = 6  # of a drawn number: enough to search by, few enough to write down


@dataclass(frozen=True)
class Range:
    """The numbers from `low` to `high`, evenly or evenly in the logarithm; or a list of choices.

    A range between two whole numbers holds the whole numbers from one to the other, both included; `typed` makes it one of
    reals for a parameter that is real.
    """

    low: float = 0.0
    high: float = 0.0
    log: bool = False
    choices: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        if self.choices:
            return
        if not (math.isfinite(self.low) and math.isfinite(self.high)) or self.low >= self.high:
            raise ParameterError(f"range {self}: the first number must be below the second")
        if self.log and self.low <= 0:
            raise ParameterError(f"range {self}: a logarithm needs numbers above 0; leave out :log or raise {self.low}")

    @property
    def whole(self) -> bool:
        """Whether it holds whole numbers only."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    @property
    def size(self) -> float:
        """How many values it holds; infinity between two numbers that are not whole."""
        if self.choices:
            return len(self.choices)
        return self.high - self.low + 1 if self.whole else math.inf

    def at(self, share: float) -> Any:
        """The value at a share in [0, 1) of the range."""
        if self.choices:
            return self.choices[int(share * len(self.choices))]
        low, high = (self.low - 0.5, self.high + 0.5) if self.whole else (self.low, self.high)
        value = low + share * (high - low)
        if self.log:
            value = math.exp(math.log(low) + share * (math.log(high) - math.log(low)))
        value = round(value) if self.whole else float(f"{value:.{DIGITS}g}")
        return min(max(value, self.low), self.high)

    def __str__(self) -> str:
        if self.choices:
            return ";".join(repr(choice) for choice in self.choices)
        return f"{self.low!r}..{self.high!r}{':log' if self.log else ''}"


def as_range(declared: Range | str | Iterable[Any]) -> Range:
    """A range as it is, from its word, or from a list of choices."""
    if isinstance(declared, Range):
        return declared
    if isinstance(declared, str):
        return parse_range(declared)
    choices = tuple(declared) if isinstance(declared, Iterable) else ()
    if not choices:
        raise ParameterError(
            f"range {short_repr(declared)}: give a word such as '1e-4..1e-1:log', or a list of the values to try"
        )
    return Range(choices=choices)


def parse_range(text: str) -> Range:
    """The range of a word; `a..b` between two numbers, else choices apart by semicolons, or by commas where there are none."""
    between = BETWEEN.fullmatch(text.strip())
    if between is None and NEARLY.search(text):
        raise ParameterError(
            f"range {text!r}: write two numbers with two dots between, and :log behind them or nothing, as in "
            "1e-4..1e-1:log or 1..20"
        )
    if between is not None:
        low, high = (literal(between[end].strip()) for end in ("low", "high"))
        if any(isinstance(end, bool) or not isinstance(end, int | float) for end in (low, high)):
            raise ParameterError(f"range {text!r}: write two numbers, as in 1e-4..1e-1:log or 1..20")
        return Range(low, high, bool(between["log"]))
    words = [word.strip() for word in (text.split(";") if ";" in text else _split_commas(text))]
    if any(not word for word in words[:-1]) or not words[0]:
        raise ParameterError(
            f"range {text!r}: write low..high, low..high:log, or the values to try, as in adam,sgd or (5,);(10,)"
        )
    return Range(choices=tuple(literal(word) for word in words if word))


def typed(declared: Range, kind: Any) -> Range:
    """The range as a parameter of this type takes it: of reals where it is a float; what it cannot take is refused."""
    union = get_origin(kind) in (Union, UnionType)
    kinds = set(get_args(kind)) if union else {kind}
    if Any in kinds:
        return declared
    if declared.choices:
        text = next((choice for choice in declared.choices if isinstance(choice, str)), None)
        if text is not None and str not in kinds:
            raise ParameterError(
                f"{text!r} is no value for it; write low..high, low..high:log, or the values to try with commas between, as "
                f"in {'1e-3..1e-1' if float in kinds else '1..20' if int in kinds else 'true,false'}"
            )
        return declared
    if kinds <= {str, bool, NoneType}:
        raise ParameterError(f"it is no number, so {declared} says nothing; give the values to try, as in first;second")
    if int in kinds and float not in kinds and not declared.whole:
        raise ParameterError(f"it is a whole number, and {declared} holds others; write whole numbers, as in 1..20")
    if float in kinds and int not in kinds and declared.whole:
        return Range(float(declared.low), float(declared.high), declared.log)
    return declared


def _split_commas(text: str) -> list[str]:
    """The parts between commas that stand in no brackets or quotes."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote or letter in "'\"":
            quote = "" if letter == quote else quote or letter
        depth += (letter in "([{") - (letter in ")]}") if not quote else 0
        if letter == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
