"""The grammar of force names: `name`, `name(parameter=value, …)`, `name(metric or force, parameter=value, …)`."""

from __future__ import annotations

import ast

from podium.errors import ParameterError


def split_name(text: str) -> tuple[str, str | None, dict[str, object]]:
    """(name, what stands in front inside the parentheses as text or None, parameters). Only literals are evaluated."""
    try:
        body = ast.parse(text.strip(), mode="eval").body
        if isinstance(body, ast.Name):
            return body.id, None, {}
        if not isinstance(body, ast.Call) or not isinstance(body.func, ast.Name) or len(body.args) > 1:
            raise ValueError
        names = [str(keyword.arg) for keyword in body.keywords if keyword.arg is not None]
        if len(names) != len(body.keywords) or len(set(names)) < len(names):
            raise ValueError
        parameters = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in body.keywords}
        inner = ast.get_source_segment(text.strip(), body.args[0]) if body.args else None
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        if ":" in text and "(" in text.split(":")[0]:
            raise ParameterError(
                f"force {text!r} cannot be read: a function of your own is a force by itself and cannot stand inside another"
            ) from None
        raise ParameterError(
            f"force {text!r} cannot be read; write it as ranknet, ranknet(sigma=2), lambdarank(ndcg@10) or "
            "neighbors(lambdarank(ndcg@10))"
        ) from None
    return body.func.id, inner, parameters
