"""Settings, each declared once: name, default, rule, description.

A `Parameter` is written in the class that owns the setting:

    num_leaves: int | None = setting(
        None, Integer(2, 32768), "Maximum number of leaves per tree.", none="chosen from the size of the data"
    )

Everything else is derived from it: the constructor's argument and its check, the parameters of rankers, the options of the
command line with their help, the tables of the docs, the ranges of `podium.tune`, and the JSON in a saved model.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import MISSING as NO_DEFAULT
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, TypeVar
from weakref import WeakKeyDictionary

from podium.errors import ParameterError, UnknownNameError
from podium.names import split_name
from podium.rules import Rule, Tuple

DOC_WIDTH = 120  # of the lines of docstrings
KEY = "podium"  # of a dataclass field's metadata


@dataclass(frozen=True)
class Search:
    """The range in which `podium.tune` looks for a number by default: from `low` to `high`, evenly in the logarithm if `log`."""

    low: float
    high: float
    log: bool = False


@dataclass(frozen=True)
class Parameter:
    """One setting.

    Attributes:
        name: as Python spells it.
        default: the value if nothing is given.
        rule: what a value must be.
        description: a sentence that says what the setting does.
        none: what None stands for; None itself is refused if this is empty.
        alias: a shorter name that printable names such as `adam(rate=0.001)` use instead.
        search: the range that a search looks in by default.
        option: whether the command line has an option of its own for it; others are given by `--set`.
        flag: the name of that option, if it is another than the parameter's.
        budget: whether it only limits the length of training, so that a resumed training may change it.
        searchable: whether a search may vary it. Trials are compared by the metric, and some settings change no model.
        suspect: whether it is the setting to change if all documents of a query get the same score.
        fixed_by_first_call: whether later calls of `partial_fit` cannot change it.
        core: whether the core takes it together with the others of its class, under the same name.
        examples: other values than the default, for the contract tests to try.
    """

    name: str
    default: Any
    rule: Rule
    description: str
    none: str = ""
    alias: str = ""
    search: Search | None = None
    option: bool = False
    flag: str = ""
    budget: bool = False
    searchable: bool = True
    suspect: bool = False
    fixed_by_first_call: bool = False
    core: bool = False
    examples: tuple[Any, ...] = ()

    def check(self, value: Any, *, name: str | None = None) -> Any:
        """Return the value as it is kept. Raise ParameterError if it breaks the rule."""
        if value is None and self.none:
            return None
        remedy = f"None means: {self.none}" if self.none else ""
        return self.rule.check(name or self.name, value, remedy)

    def parse(self, text: str) -> Any:
        """Return the value that is written as text on the command line. Whether it keeps the rule is not checked."""
        return None if self.none and text.strip().lower() == "none" else self.rule.parse(text)

    @property
    def short(self) -> str:
        """The name in printable names."""
        return self.alias or self.name

    @property
    def meaning(self) -> str:
        """The description, and what None stands for."""
        return f"{self.description} None means: {self.none}." if self.none else self.description


def setting(default: Any, rule: Rule, description: str, **more: Any) -> Any:
    """Declare a setting as a dataclass field; the parameter's name is the field's."""
    return field(default=default, metadata={KEY: Parameter("", default, rule, description, **more)})


def inherit(parameter: Parameter, **changes: Any) -> Any:
    """Declare a dataclass field by a parameter that is declared elsewhere; `changes` replace its attributes."""
    changed = replace(parameter, **changes)
    return field(default=changed.default, metadata={KEY: changed})


class Settings:
    """Base of every dataclass that declares settings."""

    @classmethod
    def parameters(cls) -> dict[str, Parameter]:
        """Return the settings by name: each as the class that declares it says, with this class's default."""
        own = cls.__dict__.get("__dataclass_fields__")
        if own is None:  # the fields are those of another class, or there are none yet
            return _parameters(cls)
        known = PARAMETERS.get(cls)
        if known is None or known[0] is not own:
            known = PARAMETERS[cls] = own, _parameters(cls)
        return dict(known[1])

    def settings_of(self, kind: type[Settings]) -> dict[str, Any]:
        """Return the values of those settings that another class has too, as its constructor takes them."""
        mine = self.parameters()
        return {name: getattr(self, name) for name in kind.parameters() if name in mine}


PARAMETERS: WeakKeyDictionary[type, tuple[Any, dict[str, Parameter]]] = WeakKeyDictionary()  # by class, with its fields


def _parameters(cls: type) -> dict[str, Parameter]:
    found: dict[str, Parameter] = {}
    for name, each in getattr(cls, "__dataclass_fields__", {}).items():
        declared = _declaration(cls, name)
        if declared is not None and each.default is not NO_DEFAULT:
            found[name] = replace(declared, name=name, default=each.default)
    return found


def _declaration(cls: type, name: str) -> Parameter | None:
    for ancestor in cls.__mro__:
        declared = ancestor.__dict__.get("__dataclass_fields__", {}).get(name)
        if declared is not None and KEY in declared.metadata:
            parameter: Parameter = declared.metadata[KEY]
            return parameter
    return None


def describe_parameters(cls: type[Settings]) -> str:
    """Return a class's own docstring with a section on its settings, made from their declarations."""
    text = inspect.cleandoc(cls.__dict__.get("__doc__") or cls.__name__)
    lines = ["Args:"]
    for name, parameter in cls.parameters().items():
        wrapped = textwrap.wrap(
            f"{name}: {parameter.meaning}", DOC_WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 8
        )
        lines += wrapped
    section = "\n".join(lines)
    head, attributes, rest = text.partition("\n\nAttributes:")
    return f"{head}\n\n{section}{attributes}{rest}"


class Value(Settings):
    """Settings that are checked when they are given and never change; hashable, with a name that prints and reads back.

    Subclasses are dataclasses with `kw_only=True, eq=False, repr=False`.
    """

    name: ClassVar[str]
    leading: ClassVar[str] = ""  # the setting that stands first in the parentheses, without its name

    def __post_init__(self) -> None:
        for name, parameter in self.parameters().items():
            self.__dict__[name] = parameter.check(getattr(self, name))
        self.check_together()
        self.__dict__["_checked"] = True

    def check_together(self) -> None:
        """Raise ParameterError if settings that are fine alone do not go together."""

    def __setattr__(self, name: str, value: Any) -> None:
        if "_checked" in self.__dict__:
            raise AttributeError(f"{type(self).__name__} cannot be changed; use dataclasses.replace(…, {name}=…)")
        super().__setattr__(name, value)

    def values(self) -> dict[str, Any]:
        """Return the settings by name."""
        return {name: getattr(self, name) for name in self.parameters()}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.values() == other.values()

    def __hash__(self) -> int:
        return hash((type(self), tuple(self.values().values())))

    def __str__(self) -> str:
        leading = getattr(self, self.leading) if self.leading else ()
        words = [str(part) for part in (leading if isinstance(leading, tuple) else (leading,))]
        for name, parameter in self.parameters().items():
            if name != self.leading and getattr(self, name) != parameter.default:
                words.append(f"{parameter.short}={getattr(self, name)!r}")
        return f"{self.name}({', '.join(words)})" if words else self.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    @classmethod
    def of(cls, first: Sequence[Any], named: Mapping[str, Any]) -> Self:
        """Make one from what stands in the parentheses of a printable name."""
        spelled = {parameter.short: name for name, parameter in cls.parameters().items()}
        spelled |= {name: name for name in cls.parameters()}
        given: dict[str, Any] = {}
        if first:
            if not cls.leading:
                raise ParameterError(cls.name, first[0], "takes only settings by name in its parentheses")
            several = isinstance(cls.parameters()[cls.leading].rule, Tuple)
            if len(first) > 1 and not several:
                raise ParameterError(cls.leading, tuple(first), "must be one value", "give the others by name")
            given[cls.leading] = tuple(first) if several else first[0]
        for word, value in named.items():
            if word not in spelled:
                raise UnknownNameError(f"parameter of {cls.name}", word, [p.short for p in cls.parameters().values()])
            if spelled[word] in given:
                raise ParameterError(spelled[word], value, "is given twice", "leave one out")
            given[spelled[word]] = value
        return cls(**given)


V = TypeVar("V", bound=Value)


def read_value(name: str | V, kind: str, table: Mapping[str, type[V]], examples: str) -> V:
    """Return the value of a printable name such as `net(10)`; a value is returned as it is.

    Args:
        name: the name, or the value itself.
        kind: what is named: the parameter of errors.
        table: the classes of this kind by name.
        examples: names that errors show.
    """
    if isinstance(name, Value):
        return name
    if not isinstance(name, str):
        raise ParameterError(kind, name, f"must be a name such as {examples}")
    parts = split_name(name, kind, examples)
    found = table.get(parts.base.lower())
    if found is None:
        raise UnknownNameError(kind, parts.base, table)
    return found.of(parts.values(), parts.settings)
