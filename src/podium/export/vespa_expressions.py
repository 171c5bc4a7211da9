"""An evaluator of the ranking expressions that Podium writes for Vespa: numbers, rank features, functions, + − * /, if.

Vespa computes ranking expressions in float64.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
FUNCTION = re.compile(r"function (\w+)\(\) \{\s*expression: (.*?)\n\s*\}", re.DOTALL)
FIRST_PHASE = re.compile(r"first-phase \{\s*expression: (\w+)\n")
TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:e[-+]?\d+)?)|([A-Za-z_]\w*)|(.))")
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "isNan": np.isnan,
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}


def score_vespa_profile(raw: bytes, names: list[str], rows: npt.NDArray[np.float32]) -> Floats:
    """Return the first phase of a rank profile for every row; `names` are the rank features of the columns."""
    text = raw.decode()
    phase = FIRST_PHASE.search(text)
    assert phase is not None
    columns = {name: rows[:, k].astype(np.float64) for k, name in enumerate(names)}
    evaluator = _Expressions(dict(FUNCTION.findall(text)), columns)
    return np.broadcast_to(evaluator.function(phase[1]), len(rows)).astype(np.float64)


class _Expressions:
    """Functions that call each other; each is computed once, for all rows."""

    def __init__(self, functions: dict[str, str], columns: dict[str, Floats]) -> None:
        self.functions, self.columns = functions, columns
        self.known: dict[str, Any] = {}

    def function(self, name: str) -> Any:
        if name not in self.known:
            self.known[name] = _Parser(self.functions[name], self).parse()
        return self.known[name]


class _Parser:
    """Recursive descent over one expression, evaluating as it goes."""

    def __init__(self, text: str, home: _Expressions) -> None:
        self.text, self.home, self.at = text, home, 0

    def parse(self) -> Any:
        value = self.sum()
        assert not self.text[self.at :].strip(), self.text[self.at :]
        return value

    def take(self, sign: str) -> bool:
        found = re.compile(rf"\s*{re.escape(sign)}").match(self.text, self.at)
        if found:
            self.at = found.end()
        return found is not None

    def sum(self) -> Any:
        value = self.product()
        while True:
            if self.take("+"):
                value = value + self.product()
            elif self.take("-"):
                value = value - self.product()
            else:
                return value

    def product(self) -> Any:
        value = self.atom()
        while True:
            if self.take("*"):
                value = value * self.atom()
            elif self.take("/"):
                value = value / self.atom()
            else:
                return value

    def atom(self) -> Any:
        if self.take("("):
            value = self.sum()
            assert self.take(")")
            return value
        if self.take("-"):
            return -self.atom()
        feature = next((name for name in sorted(self.home.columns, key=len, reverse=True) if self.take(name)), None)
        if feature is not None:
            return self.home.columns[feature]
        found = TOKEN.match(self.text, self.at)
        assert found is not None
        self.at = found.end()
        number, word, sign = found.groups()
        if number is not None:
            return float(number)
        assert word is not None, sign
        return self.call(word) if self.take("(") else self.home.function(word)

    def call(self, name: str) -> Any:
        arguments = [self.sum()]
        while self.take(","):
            arguments.append(self.sum())
        assert self.take(")")
        first = arguments[0]
        if name == "if":
            return np.where(first, arguments[1], arguments[2])
        with np.errstate(over="ignore"):
            return FUNCTIONS[name](first)
