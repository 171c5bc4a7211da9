"""Literals in the text of names and options: numbers, quoted text, true, false, none, and tuples, lists and mappings of these.

Python's own `ast` module would read them too, but in Python 3.11 it can fail with a SystemError if two threads use it at once.
"""

from __future__ import annotations

import re
from typing import Any

TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>[+-]?(?:0[xXoObB][0-9a-fA-F_]+|(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?)(?![\w.]))
      | (?P<text>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")
      | (?P<word>[A-Za-z_]\w*)
      | (?P<mark>[()\[\]{},:])
      | (?P<end>\Z)
    )""",
    re.DOTALL | re.VERBOSE,
)
ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}
WORDS = {"true": True, "false": False, "none": None}
CLOSING = {"(": ")", "[": "]", "{": "}"}
DEEPEST = 50  # brackets inside brackets

Tokens = list[tuple[str, str]]  # kinds and texts, the next one last


def read_literal(text: str) -> Any:
    """Return the value that a text stands for; several values with commas between them are a tuple.

    Raises:
        ValueError: if the text is no literal.
    """
    tokens = _tokens(text)
    value = _value(tokens, 0)
    if tokens[-1][1] == ",":
        tokens.pop()
        value = (value, *_values(tokens, "", 0)[0])
    elif tokens[-1][0] != "end":
        raise ValueError("text follows the literal")
    return value


def _tokens(text: str) -> Tokens:
    tokens: Tokens = []
    position = 0
    while not tokens or tokens[-1][0] != "end":
        match = TOKEN.match(text, position)
        if match is None:
            raise ValueError(f"{text[position:]!r} begins no literal")
        kind = str(match.lastgroup)
        tokens.append((kind, match[kind]))
        position = match.end()
    return tokens[::-1]


def _value(tokens: Tokens, depth: int) -> Any:
    kind, token = tokens.pop()
    if kind == "number":
        return _number(token)
    if kind == "text":
        return ESCAPE.sub(_unescape, token[1:-1])
    if kind == "word" and token.lower() in WORDS:
        return WORDS[token.lower()]
    if token not in CLOSING or kind != "mark" or depth == DEEPEST:
        raise ValueError("no literal, or too many brackets inside brackets")
    if token == "{":
        return _mapping(tokens, depth + 1)
    values, ends_with_comma = _values(tokens, CLOSING[token], depth + 1)
    if token == "[":
        return values
    return values[0] if len(values) == 1 and not ends_with_comma else tuple(values)


def _values(tokens: Tokens, closing: str, depth: int) -> tuple[list[Any], bool]:
    """Return the values up to a closing bracket, or to the end, and whether a comma stands behind the last."""
    values: list[Any] = []
    comma = True
    while tokens[-1][1] != closing:
        if not comma:
            raise ValueError("a comma is missing")
        values.append(_value(tokens, depth))
        comma = tokens[-1] == ("mark", ",")
        if comma:
            tokens.pop()
    tokens.pop()
    return values, comma


def _mapping(tokens: Tokens, depth: int) -> dict[Any, Any]:
    mapping: dict[Any, Any] = {}
    comma = True
    while tokens[-1] != ("mark", "}"):
        if not comma:
            raise ValueError("a comma is missing")
        key = _value(tokens, depth)
        if tokens.pop() != ("mark", ":") or isinstance(key, list | dict):
            raise ValueError("a mapping is written as {key: value}")
        mapping[key] = _value(tokens, depth)
        comma = tokens[-1] == ("mark", ",")
        if comma:
            tokens.pop()
    tokens.pop()
    return mapping


def _number(token: str) -> int | float:
    try:
        return int(token, 0)
    except ValueError:
        if re.search("[.eE]", token) is None or re.match("[+-]?0[xX]", token):
            raise
        return float(token)


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if code in ESCAPES:
        return ESCAPES[code]
    if len(code) == 1:
        raise ValueError(f"the escape {match[0]!r} is not known")
    return chr(int(code[1:], 16))
