"""The grammar of printable names: `name`, `name(10, 5)`, `name(ndcg@10, sigma=2)`, `name('rbf', width=0.5)`."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any

from podium.errors import ParameterError

BASE = re.compile(r"\s*[A-Za-z_]\w*(-[A-Za-z]\w*)*(?=\s*(\(|$))")  # a hyphen joins words, as in nadaraya-watson
PATH = re.compile(r"(?<=\w):(?=[A-Za-z_])")  # of module:function, which Python cannot parse
STAND_IN = "\u02d0"  # a letter that looks like a colon
WORDS = {"true": True, "false": False, "none": None}


@dataclass(frozen=True)
class PrintedName:
    """The parts of a printable name.

    Attributes:
        base: what stands before the parentheses.
        first: the source text of what stands in the parentheses without a name.
        settings: the settings by name; only literals are evaluated, and a bare word is text.
    """

    base: str
    first: tuple[str, ...]
    settings: dict[str, Any]

    def values(self) -> list[Any]:
        """Return what stands first as values; a bare word is text, and anything else that is no literal is refused."""
        values = [literal(text) for text in self.first]
        for value, text in zip(values, self.first, strict=True):
            if value is text and not text.isidentifier():
                raise ParameterError(self.base, text, "cannot be read", "write numbers, words or text in quotes")
        return values


def split_name(text: str, kind: str, examples: str) -> PrintedName:
    """Take a printable name apart; a ParameterError shows `examples` if it cannot be read."""
    source = PATH.sub(STAND_IN, text.strip())
    base = BASE.match(source)
    try:
        body = ast.parse("_" + source[base.end() :] if base else source, mode="eval").body
        if base is not None and isinstance(body, ast.Name):
            return PrintedName(base[0].strip(), (), {})
        if base is None or not isinstance(body, ast.Call) or not isinstance(body.func, ast.Name):
            raise ValueError
        names = [keyword.arg for keyword in body.keywords if keyword.arg is not None]
        starred = any(isinstance(node, ast.Starred) for node in body.args)
        if starred or len(names) != len(body.keywords) or len(set(names)) < len(names):
            raise ValueError
        shifted = "_" + source[base.end() :]
        first = tuple((ast.get_source_segment(shifted, node) or "").replace(STAND_IN, ":") for node in body.args)
        settings = {str(keyword.arg): _value(keyword.value) for keyword in body.keywords}
        return PrintedName(base[0].strip(), first, settings)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise ParameterError(kind, text, "cannot be read", f"write it as {examples}") from None


def literal(text: str) -> Any:
    """Return a Python literal; true, false or none in any case; or else the text itself."""
    if text.strip().lower() in WORDS:
        return WORDS[text.strip().lower()]
    try:
        return ast.literal_eval(text.strip())
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        return text


def _value(node: ast.expr) -> Any:
    value = literal(node.id) if isinstance(node, ast.Name) else ast.literal_eval(node)
    return value.replace(STAND_IN, ":") if isinstance(value, str) else value
