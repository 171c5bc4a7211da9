"""The grammar of model names: `name`, `name(10, 5)`, `name('rbf', parameter=value)`."""

from __future__ import annotations

import ast
import re

from podium.errors import ParameterError

NAME = re.compile(r"\s*[A-Za-z_]\w*(-[A-Za-z]\w*)*(?=\s*(\(|$))")  # a hyphen joins words, as in nadaraya-watson


def split_name(text: str) -> tuple[str, list[object], dict[str, object]]:
    """(name, what stands in front inside the parentheses, parameters). Only literals are evaluated; a bare word is text."""
    name = NAME.match(text)
    base = name[0].strip() if name else ""
    try:
        body = ast.parse("_" + text[name.end() :] if name else text.strip(), mode="eval").body
        if name is not None and isinstance(body, ast.Name):
            return base, [], {}
        if name is None or not isinstance(body, ast.Call) or not isinstance(body.func, ast.Name):
            raise ValueError
        names = [str(keyword.arg) for keyword in body.keywords if keyword.arg is not None]
        if len(names) != len(body.keywords) or len(set(names)) < len(names):
            raise ValueError
        first = [_literal(node) for node in body.args]
        return base, first, {str(keyword.arg): _literal(keyword.value) for keyword in body.keywords}
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise ParameterError(
            f"model {text!r} cannot be read; write it as linear, net(10), net(128, 64, activation='relu') or kernel(rbf)"
        ) from None


def _literal(node: ast.expr) -> object:
    return node.id if isinstance(node, ast.Name) else ast.literal_eval(node)
