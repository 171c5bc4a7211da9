"""What the value of a setting must be, and how the command line reads it from text."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.data.conversion import as_number
from podium.errors import ParameterError, is_integer, nearest_name
from podium.names import literal


class Rule:
    """What the value of a parameter must be. The rule of the base class accepts anything.

    Attributes:
        text: the rule as the rest of a sentence: "must be a number above 0".
        metavar: what the help of the command line shows in place of a value.
    """

    text: str = "may be anything"
    metavar: str = "VALUE"

    def convert(self, value: Any) -> Any:
        """Return the value as it is kept. Raise ValueError or TypeError if it breaks the rule."""
        return value

    def check(self, name: str, value: Any, remedy: str = "") -> Any:
        """Return the value as it is kept. Raise ParameterError if it breaks the rule."""
        try:
            return self.convert(value)
        except (TypeError, ValueError, OverflowError):
            raise ParameterError(name, value, self.text, remedy) from None

    def parse(self, text: str) -> Any:
        """Return the value that is written as text. Whether it keeps the rule is not checked."""
        return literal(text)


@dataclass(frozen=True)
class Integer(Rule):
    """A whole number from `low` to `high`, both included."""

    low: int
    high: int | None = None

    metavar = "INTEGER"

    @property
    def text(self) -> str:  # type: ignore[override]
        """The rule in words."""
        bound = f"of at least {self.low}" if self.high is None else f"from {self.low} to {_printed(self.high)}"
        return f"must be a whole number {bound}"

    def convert(self, value: Any) -> int:
        """Return an int."""
        if not is_integer(value) or value < self.low or (self.high is not None and value > self.high):
            raise ValueError
        return int(value)


def _printed(bound: int) -> str:
    """Return a bound in digits, or as a power of 2 if that is what it is."""
    return f"2**{bound.bit_length()} - 1" if bound > 2**31 - 2 and bound & (bound + 1) == 0 else str(bound)


@dataclass(frozen=True)
class Real(Rule):
    """A finite number, bounded by at least one of `least` and `above`, and perhaps by `most` or `below`."""

    least: float | None = None
    above: float | None = None
    most: float | None = None
    below: float | None = None
    integer_kept: bool = False  # whether a whole number stays an int, as in printable names

    metavar = "NUMBER"

    @property
    def text(self) -> str:  # type: ignore[override]
        """The rule in words."""
        words = {"of at least": self.least, "above": self.above, "at most": self.most, "below": self.below}
        bounds = " and ".join(f"{word} {bound:g}" for word, bound in words.items() if bound is not None)
        return f"must be a number {bounds}" if bounds else "must be a finite number"

    def convert(self, value: Any) -> float:
        """Return a float."""
        number = as_number(value)
        if (
            number is None
            or not abs(number) <= sys.float_info.max
            or (self.least is not None and number < self.least)
            or (self.above is not None and number <= self.above)
            or (self.most is not None and number > self.most)
            or (self.below is not None and number >= self.below)
        ):
            raise ValueError
        return number if self.integer_kept else float(number)


@dataclass(frozen=True)
class Flag(Rule):
    """True or False."""

    text = "must be True or False"
    metavar = "true|false"

    def convert(self, value: Any) -> bool:
        """Return a bool."""
        if not isinstance(value, bool | np.bool_):
            raise TypeError
        return bool(value)


@dataclass(frozen=True)
class Text(Rule):
    """Any text."""

    text = "must be text"
    metavar = "TEXT"

    def convert(self, value: Any) -> str:
        """Return the text."""
        if not isinstance(value, str):
            raise TypeError
        return str(value)

    def parse(self, text: str) -> str:
        """Return the text as it is, also if it looks like a number."""
        return text


def parse_word(text: str) -> str:
    """Return a text without the quotes that Python needs around it."""
    value = literal(text)
    return value if isinstance(value, str) else text.strip()


@dataclass(frozen=True)
class Choice(Rule):
    """One of some words."""

    words: tuple[str, ...]

    metavar = "NAME"

    def __init__(self, *words: str) -> None:
        object.__setattr__(self, "words", words)

    @property
    def text(self) -> str:  # type: ignore[override]
        """The rule in words."""
        return f"must be one of {', '.join(map(repr, self.words))}"

    def convert(self, value: Any) -> str:
        """Return the word."""
        if not isinstance(value, str) or value not in self.words:
            raise ValueError
        return str(value)

    def check(self, name: str, value: Any, remedy: str = "") -> str:
        """Return the word. The error suggests the nearest one."""
        hints = [hint for hint in (nearest_name(value, self.words), remedy) if hint]
        return str(super().check(name, value, " ".join(hints)))

    def parse(self, text: str) -> str:
        """Return the word."""
        return parse_word(text)


@dataclass(frozen=True)
class Custom(Rule):
    """Whatever a function accepts.

    Attributes:
        function: returns the value as it is kept, or raises ValueError or TypeError.
        text: what it accepts, as the rest of a sentence.
        reads: returns the value that is written as text on the command line.
        metavar: what the help of the command line shows in place of a value.
    """

    function: Callable[[Any], Any]
    text: str
    reads: Callable[[str], Any] = literal
    metavar: str = "VALUE"

    def convert(self, value: Any) -> Any:
        """Return what the function makes of the value."""
        return self.function(value)

    def parse(self, text: str) -> Any:
        """Return what `reads` makes of the text."""
        return self.reads(text)


@dataclass(frozen=True)
class Named(Rule):
    """A value of one of the axes: its printable name, or the value itself.

    Attributes:
        axis: what is named, such as metric: the parameter of the errors that `read` raises.
        read: returns the value of a name, or raises a ParameterError that says what is wrong with it.
    """

    axis: str
    read: Callable[[Any], Any]

    @property
    def text(self) -> str:  # type: ignore[override]
        """The rule in words."""
        return f"must name a {self.axis}"

    @property
    def metavar(self) -> str:  # type: ignore[override]
        """What is named."""
        return self.axis.upper()

    def convert(self, value: Any) -> Any:
        """Return the value of the name."""
        return self.read(value)

    def check(self, name: str, value: Any, remedy: str = "") -> Any:
        """Return the value of the name. The error is that of `read`, for the parameter of this name."""
        try:
            return self.read(value)
        except ParameterError as error:
            if name == self.axis or error.parameter != self.axis or type(error) is not ParameterError:
                raise
            raise error.renamed(self.axis, name) from None

    def parse(self, text: str) -> str:
        """Return the name."""
        return parse_word(text)


@dataclass(frozen=True)
class Tuple(Rule):
    """One or several values of a rule, kept as a tuple; `single` says whether one value may stand without brackets."""

    of: Rule
    text: str
    single: bool = True
    empty: bool = False

    @property
    def metavar(self) -> str:  # type: ignore[override]
        """One value, or several with commas between them."""
        return f"{self.of.metavar},…"

    def convert(self, value: Any) -> tuple[Any, ...]:
        """Return a tuple."""
        several = isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)
        if several and isinstance(value, np.ndarray) and value.ndim != 1:
            raise ValueError
        values = tuple(value) if several else (value,)
        if (not several and not self.single) or (not values and not self.empty):
            raise ValueError
        return tuple(self.of.convert(each) for each in values)

    def parse(self, text: str) -> Any:
        """Return a tuple of the values between commas."""
        return parse_list(text, self.of.parse)


def parse_list(text: str, parse: Callable[[str], Any] = literal) -> Any:
    """Return a tuple of the values between commas: `128,64`, `(128, 64)` or `f0,brand`. A single value needs no comma."""
    value = literal(text)
    if isinstance(value, list | tuple | set):
        return tuple(value)
    inside = text.strip()
    if inside[:1] + inside[-1:] in ("()", "[]"):  # words in brackets, which Python would need quotes for
        inside = inside[1:-1]
    return tuple(parse(part.strip()) for part in split_commas(inside) if part.strip())


def parse_mapping(text: str) -> Any:
    """Return a mapping of the pairs between commas: `{price: -1}`, `price:-1,f0:1` or `{'price': -1}`; or else the text."""
    value = literal(text)
    if not isinstance(value, str):
        return value
    inside = text.strip().removeprefix("{").removesuffix("}")
    parts = [part.rpartition(":") for part in split_commas(inside) if part.strip()]
    if not all(colon for _, colon, _ in parts):
        return parse_word(text)
    return {literal(key.strip()): literal(value.strip()) for key, _, value in parts}


def split_commas(text: str) -> list[str]:
    """Return the parts between commas that stand outside brackets and quotes."""
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
