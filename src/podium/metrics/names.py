"""The grammar of metric names: `name`, `name@cutoff`, `name(parameter=value, …)@cutoff`."""

from __future__ import annotations

import ast
import re
import warnings

from podium.errors import ParameterError, short_repr

_SHAPE = re.compile(r"\s*(?P<name>\w+)\s*(?:\((?P<inside>.*)\))?\s*(?:@(?P<cutoff>[^()]*))?\s*", re.DOTALL)

_SEVERAL = re.compile(r"(?P<name>.*)@(?P<cutoffs>\s*[0-9]+\s*(,\s*[0-9]+\s*)+)", re.DOTALL)


def split_name(text: str) -> tuple[str, dict[str, object], int | None]:
    """(name, parameters, cutoff) of a metric's printed name. Only literals are evaluated."""
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise ParameterError(
            f"metric {short_repr(text)} cannot be read; write it as ndcg, ndcg@10 or ndcg(gain='linear', empty='skip')@10"
        )
    return match["name"], read_parameters(text, match["inside"]), _cutoff(text, match["cutoff"])


def read_parameters(text: str, inside: str | None) -> dict[str, object]:
    """Return the parameters inside the parentheses of a metric's name. Only literals are evaluated."""
    if inside is None or not inside.strip():
        return {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd literals: what cannot be read is refused below
            call = ast.parse(f"_({inside})", mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise ValueError  # the parentheses close and open again
        if call.args or any(keyword.arg is None for keyword in call.keywords):
            raise ValueError
        names = [str(keyword.arg) for keyword in call.keywords]
        values = [ast.literal_eval(keyword.value) for keyword in call.keywords]
        if len(set(names)) < len(names):
            raise ValueError
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise ParameterError(
            f"metric {short_repr(text)}: parameters {short_repr(inside)} must be name=value pairs, each once and text in quotes, such as gain='linear', rel=2"
        ) from None
    if "cutoff" in names:
        raise ParameterError(f"metric {short_repr(text)}: write the cutoff behind an @, as in ndcg@10")
    return dict(zip(names, values, strict=True))


def _cutoff(text: str, cutoff: str | None) -> int | None:
    if cutoff is None:
        return None
    digits = cutoff.strip()
    if not re.fullmatch(r"[+-]?[0-9]{1,400}", digits):
        raise ParameterError(
            f"metric {short_repr(text)}: cutoff={short_repr(digits)} must be a whole number of at least 1; "
            "leave it out to use the whole list"
        )
    return int(digits)


def expand_cutoffs(text: str) -> list[str]:
    """Return the names that `ndcg@1,3,5` stands for: `ndcg@1`, `ndcg@3` and `ndcg@5`. Other names stand for themselves."""
    match = _SEVERAL.fullmatch(text)
    return [text] if match is None else [f"{match['name']}@{cutoff.strip()}" for cutoff in match["cutoffs"].split(",")]
