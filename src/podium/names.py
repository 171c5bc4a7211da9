"""The grammar of printable names, one for every axis.

    ranknet   net(128, 64)   kernel('rbf', width=0.5)   ndcg(gain='linear')@10   lambdarank(ndcg@10, sigma=2)   module:function

Only literals are evaluated; a bare word in the parentheses is text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from podium.errors import ParameterError
from podium.literals import WORDS, read_literal

SHAPE = re.compile(
    r"\s*(?P<base>[^\s:()@]+:[^\s:()@]+|[A-Za-z_]\w*(?:-[A-Za-z]\w*)*)"  # module:function; or words joined by hyphens
    r"\s*(?:\((?P<inside>.*)\))?\s*(?:@(?P<cutoff>[^()]*))?\s*",
    re.DOTALL,
)
SEVERAL = re.compile(r"(?P<name>.*)@(?P<cutoffs>\s*[0-9]+\s*(,\s*[0-9]+\s*)+)", re.DOTALL)
SETTING = re.compile(r"\s*(?P<name>[A-Za-z_]\w*)\s*=(?P<value>.*)", re.DOTALL)
BARE_WORD = re.compile(r"[A-Za-z_]\w*|[A-Za-z_][\w.]*:[A-Za-z_]\w*")  # also module:function
PART = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^'"]""", re.DOTALL)  # quoted text, or one letter
BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


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
    try:
        first, settings = _arguments(match["inside"] or "")
    except ValueError:
        raise _unreadable(text, kind, examples) from None
    return PrintedName(match["base"], first, settings, _cutoff(match["cutoff"]))


def expand_cutoffs(text: str) -> list[str]:
    """Return the names that `ndcg@1,3,5` stands for: `ndcg@1`, `ndcg@3` and `ndcg@5`. Other names stand for themselves."""
    match = SEVERAL.fullmatch(text)
    return [text] if match is None else [f"{match['name']}@{cutoff.strip()}" for cutoff in match["cutoffs"].split(",")]


def literal(text: str) -> Any:
    """Return a Python literal; true, false or none in any case; or else the text itself."""
    if text.strip().lower() in WORDS:
        return WORDS[text.strip().lower()]
    try:
        return read_literal(text)
    except ValueError:
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


def _arguments(inside: str) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return what stands in the parentheses: the texts without a name, and the values by name."""
    first: list[str] = []
    settings: dict[str, Any] = {}
    for text in _split_at_commas(inside):
        setting = SETTING.fullmatch(text)
        if setting is None and not settings and text.strip()[:1] not in ("", "*"):
            first.append(text.strip())
        elif setting is not None and setting["name"] not in settings:
            settings[setting["name"]] = _value(setting["value"].strip())
        else:
            raise ValueError("nothing between commas, a name twice, or a value without a name behind settings")
    return tuple(first), settings


def _split_at_commas(text: str) -> list[str]:
    """Return the parts between commas that stand in no quotes and no brackets; a comma may follow the last part."""
    parts, depth, position = [""], 0, 0
    while position < len(text):
        match = PART.match(text, position)
        depth += BRACKETS.get(match[0], 0) if match else 0
        if match is None or depth < 0:
            raise ValueError("a quote is missing, or the parentheses close and open again")
        position = match.end()
        if match[0] == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += match[0]
    if depth > 0:
        raise ValueError("a bracket is not closed")
    return parts if parts[-1].strip() else parts[:-1]


def _value(text: str) -> Any:
    if text.lower() in WORDS or not BARE_WORD.fullmatch(text):
        return read_literal(text)
    return text
