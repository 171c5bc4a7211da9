"""One exception tree.

    PodiumError
    ├── DataError        the numbers or ids given do not make a ranking data set   (also a ValueError)
    │   └── FormatError  a file cannot be read: says file, line and column
    ├── ParameterError   an argument is out of range or does not fit               (also a ValueError)
    │   └── UnknownNameError  a table has no entry of this name
    ├── OutputError      a file cannot be written                                  (also an OSError)
    ├── ClusterError     a cluster cannot be reached or does not do its work       (also a RuntimeError)
    └── MissingExtraError  an optional package is not installed                    (also an ImportError)

Every message names the thing, the value found, the rule and the remedy.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral
from typing import Any


class PodiumError(Exception):
    """Root of every error Podium raises on purpose."""


class DataError(PodiumError, ValueError):
    """The numbers or ids given do not make a ranking data set.

    Args:
        message: what is wrong.
        remedy: what to do instead. It names options in braces, as in "use {scattered='group'}": Python shows them as
            `scattered='group'`, the command line as its own options.
    """

    def __init__(self, message: str, *, remedy: str = "") -> None:
        self.message, self.remedy = message, remedy
        super().__init__(self.phrase(python_spelling))

    def phrase(self, spell: Spell) -> str:
        """Return the message with every option of the remedy spelled by `spell(name, value or None)`."""
        return f"{self.message}; {spell_options(self.remedy, spell)}" if self.remedy else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_data_error, (type(self), self.__dict__)


class FormatError(DataError):
    """A file cannot be read as the format says. Carries `path`, `line` and `column` (1-based; None if unknown)."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        message: str,
        *,
        line: int | None = None,
        column: int | None = None,
        remedy: str = "",
    ) -> None:
        self.path, self.line, self.column = os.fspath(path), line, column
        place = self.path + "".join(f":{number}" for number in (line, column) if number is not None)
        super().__init__(f"{place}: {message}", remedy=remedy)

    @classmethod
    def of(cls, path: str | os.PathLike[str], error: DataError, *, line: int | None = None) -> FormatError:
        """Return an error about the contents of a file as one that names the file."""
        return cls(path, error.message, line=line, remedy=error.remedy)


def _rebuild_data_error(kind: type[DataError], state: dict[str, Any]) -> DataError:
    error = kind.__new__(kind)
    error.__dict__.update(state)
    error.args = (error.phrase(python_spelling),)
    return error


class _Missing:
    """The type of MISSING, a value that was not given."""

    def __reduce__(self) -> str:
        return "MISSING"


MISSING = _Missing()
MENTION = re.compile(r"\{(?P<name>[A-Za-z_]\w*)(=(?P<value>[^{}]*))?\}")
Spell = Callable[[str, str | None], str]


def python_spelling(name: str, value: str | None) -> str:
    """Write a parameter as Python code does: `name=value`, or `name=` if no value is named.

    `{without=pairs}` stands for data without a part, `data.replace(pairs=None)`; `{start_over}` for how to ignore a checkpoint.
    """
    if name == "start_over":
        return "remove the file to start over"
    return f"data.replace({value}=None)" if name == "without" else f"{name}={value or ''}"


def spell_options(text: str, spell: Spell) -> str:
    """Return a text with every option that it names in braces spelled by `spell(name, value or None)`."""
    return MENTION.sub(lambda found: spell(found["name"], found["value"]), text)


class ParameterError(PodiumError, ValueError):
    """An argument is out of range, unknown, or does not go with the others.

    The message reads `parameter=value rule; remedy`. Rule and remedy name other parameters in braces, as in "give {valid}" or
    "use {optimizer='adam'}": Python shows them as `valid=` and `optimizer='adam'`, the command line as its options.

    Args:
        parameter: name of the parameter, as Python spells it.
        value: the value that was given; leave it out if the value is not what is wrong.
        rule: what must hold, as the rest of a sentence that begins with the parameter.
        remedy: what to do instead.
    """

    def __init__(self, parameter: str, value: object = MISSING, rule: str = "", remedy: str = "") -> None:
        self.parameter, self.value, self.rule, self.remedy = parameter, value, rule, remedy
        super().__init__(self.phrase(python_spelling))

    def phrase(self, spell: Spell) -> str:
        """Return the message with every parameter spelled by `spell(name, value or None)`."""
        subject = self.parameter
        if self.value is not MISSING:
            subject = spell(self.parameter, short_repr(self.value))
        elif spell is not python_spelling and self.rule:
            subject = spell(self.parameter, None)
        rule, remedy = (spell_options(part, spell) for part in (self.rule, self.remedy))
        sentence = f"{subject} {rule}" if rule else subject
        return f"{sentence}; {remedy}" if remedy else sentence

    def renamed(self, old: str, new: str) -> ParameterError:
        """Return the same error for a user who knows the parameter `old` by the name `new`."""
        rule, remedy = (re.sub(rf"\{{{old}\b", f"{{{new}", text) for text in (self.rule, self.remedy))
        return ParameterError(new if self.parameter == old else self.parameter, self.value, rule, remedy)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.parameter, self.value, self.rule, self.remedy)


class OutputError(PodiumError, OSError):
    """A file cannot be written."""


class ClusterError(PodiumError, RuntimeError):
    """A cluster cannot be reached, or does not do its work."""


class MissingExtraError(PodiumError, ImportError):
    """A feature needs an extra that is not installed."""


def short_repr(value: object) -> str:
    """A value as messages show it: its repr, cut short where it is long."""
    try:
        text = repr(value)
    except ValueError:  # Python does not print whole numbers of more than 4300 digits
        text = "a number of thousands of digits"
    return text if len(text) <= 80 else f"{text[:60]}…{text[-19:]}"


def short_numbers(values: Sequence[float]) -> str:
    """Return numbers as messages list them: four digits of each, and only the first and last ones where there are many."""
    shown = [repr(float(f"{value:.4g}")) for value in values]
    return f"[{', '.join(shown if len(shown) <= 8 else [*shown[:5], '…', *shown[-2:]])}]"


def short_list(names: Sequence[str], most: int = 5) -> str:
    """Return names as messages list them: with commas, and only the first few where there are many."""
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


def is_integer(value: object) -> bool:
    """Whether a value is a whole number (True and False are not)."""
    return isinstance(value, Integral) and not isinstance(value, bool)


class UnknownNameError(ParameterError):
    """A name that a table does not have. The message suggests the nearest name and lists all of them.

    Args:
        kind: what is named, such as "metric" or "parameter of ndcg".
        name: the name that was given.
        known: the names that there are.
    """

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        self.known = tuple(sorted(known))
        super().__init__(kind, str(name), f"must be one of {', '.join(self.known)}", nearest_name(name, self.known))

    def phrase(self, spell: Spell) -> str:
        """Return the message; it names the kind, so that no parameter has to be spelled."""
        hint = f" {self.remedy[0].upper()}{self.remedy[1:]}" if self.remedy else ""
        return f"unknown {self.parameter} {str(self.value)!r}.{hint} Known: {', '.join(self.known) or 'none'}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.parameter, self.value, self.known)


def nearest_name(name: object, known: Iterable[str]) -> str:
    """Return "did you mean …?" with the known name that is most like the given one, or nothing if none is like it."""
    near = _most_alike(str(name), list(known))
    return f"did you mean {' or '.join(map(repr, near))}?" if near else ""


def _most_alike(name: str, known: Sequence[str]) -> list[str]:
    """Return the known names most like a given one, whatever its case and hyphens; or up to three that it abbreviates."""
    plain = {each.lower().replace("-", "").replace("_", ""): each for each in known}
    asked = name.lower().replace("-", "").replace("_", "")
    if asked in plain:
        return [plain[asked]]
    begun = [each for text, each in plain.items() if len(asked) > 2 and text.startswith(asked)]
    return begun if 0 < len(begun) <= 3 else [plain[text] for text in difflib.get_close_matches(asked, plain, n=1)]
