"""The grammar of printable names, one for every axis.

    ranknet   net(128, 64)   kernel('rbf', width=0.5)   ndcg(gain='linear')@10   lambdarank(ndcg@10, sigma=2)   module:function

Only literals are evaluated; a bare word in the parentheses is text.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Any

from podium.errors import ParameterError

SHAPE = re.compile(
    r"\s*(?P<base>[^\s:()@]+:[^\s:()@]+|[A-Za-z_]\w*(?:-[A-Za-z]\w*)*)"  # module:function; or words joined by hyphens
    r"\s*(?:\((?P<inside>.*)\))?\s*(?:@(?P<cutoff>[^()]*))?\s*",
    re.DOTALL,
)
SEVERAL = re.compile(r"(?P<name>.*)@(?P<cutoffs>\s*[0-9]+\s*(,\s*[0-9]+\s*)+)", re.DOTALL)
PATH = re.compile(r"(?<=\w):(?=[A-Za-z_])")  # of module:function inside parentheses, which Python cannot parse
STAND_IN = "\u02d0"  # a letter that looks like a colon
WORDS = {"true": True, "false": False, "none": None}
UNREADABLE = (SyntaxError, ValueError, TypeError, MemoryError, RecursionError)


@dataclass(frozen=True)
class PrintedName:
    """The parts of a printable name.

    Attributes:
        base: what stands before the parentheses.
        first: the source text of what stands in the parentheses without a name.
        settings: the settings by name.
        cutoff: the number behind the @; None if there is none.
    """

    base: str
    first: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    cutoff: int | None = None

    @property
    def is_path(self) -> bool:
        """Whether the name is `module:function`."""
        return ":" in self.base

    def values(self) -> list[Any]:
        """Return what stands first as values; a bare word is text, and anything else that is no literal is refused."""
        values = [literal(text) for text in self.first]
        for value, text in zip(values, self.first, strict=True):
            if value is text and not text.isidentifier():
                raise ParameterError(self.base, text, "cannot be read", "write numbers, words or text in quotes")
        return values


def split_name(text: str, kind: str, examples: str, *, cutoffs: bool = False) -> PrintedName:
    """Take a printable name apart; a ParameterError shows `examples` if it cannot be read.

    Args:
        text: the name.
        kind: what is named: the parameter of the error.
        examples: names of this kind.
        cutoffs: whether `@k` may follow.
    """
    match = SHAPE.fullmatch(text)
    if match is None or (match["cutoff"] is not None and not cutoffs):
        raise _unreadable(text, kind, examples)
    source = f"_({PATH.sub(STAND_IN, match['inside'] or '')})"
    try:
        call = ast.parse(source, mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise ValueError  # the parentheses close and open again
        names = [str(keyword.arg) for keyword in call.keywords if keyword.arg is not None]
        starred = any(isinstance(node, ast.Starred) for node in call.args) or len(names) != len(call.keywords)
        if starred or len(set(names)) < len(names):
            raise ValueError
        first = tuple((ast.get_source_segment(source, node) or "").replace(STAND_IN, ":") for node in call.args)
        values = [_value(keyword.value) for keyword in call.keywords]
    except UNREADABLE:
        raise _unreadable(text, kind, examples) from None
    return PrintedName(match["base"], first, dict(zip(names, values, strict=True)), _cutoff(match["cutoff"]))


def expand_cutoffs(text: str) -> list[str]:
    """Return the names that `ndcg@1,3,5` stands for: `ndcg@1`, `ndcg@3` and `ndcg@5`. Other names stand for themselves."""
    match = SEVERAL.fullmatch(text)
    return [text] if match is None else [f"{match['name']}@{cutoff.strip()}" for cutoff in match["cutoffs"].split(",")]


def literal(text: str) -> Any:
    """Return a Python literal; true, false or none in any case; or else the text itself."""
    if text.strip().lower() in WORDS:
        return WORDS[text.strip().lower()]
    try:
        return ast.literal_eval(text.strip())
    except UNREADABLE:
        return text


def _unreadable(text: str, kind: str, examples: str) -> ParameterError:
    return ParameterError(kind, text, "cannot be read", f"write it as {examples}")


def _cutoff(digits: str | None) -> int | None:
    if digits is None:
        return None
    if not re.fullmatch(r"[+-]?[0-9]{1,400}", digits.strip()):
        remedy = "leave it out to use the whole list"
        raise ParameterError("cutoff", digits.strip(), "must be a whole number of at least 1", remedy)
    return int(digits)


def _value(node: ast.expr) -> Any:
    value = literal(node.id) if isinstance(node, ast.Name) else ast.literal_eval(node)
    return value.replace(STAND_IN, ":") if isinstance(value, str) else value
