"""Short forms of numbers and texts for a page of limited size."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

LONGEST_TEXT = 80  # characters of an id or a name; longer ones are cut
DIGITS = 5  # significant digits of scores
DECIMALS = 4  # of metrics


def cut(text: str, most: int = LONGEST_TEXT) -> str:
    """Return a text that is not too long for its place."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def as_sentence(text: str) -> str:
    """Return a text that ends with a period, or with an ellipsis if it was cut."""
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def rounded(number: float | None, digits: int = DIGITS) -> float | int | None:
    """Return a number with a few significant digits, as an integer if it is one; None for NaN and infinity."""
    if number is None or not math.isfinite(number):
        return None
    short = float(f"{number:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def fixed(number: float) -> str:
    """Return the value of a metric with four decimals; a dash if it is unknown."""
    return "–" if math.isnan(number) else f"{number:.{DECIMALS}f}".replace("-", "−")


def signed(number: float) -> str:
    """Return a difference with its sign and four decimals; a dash if it is unknown."""
    return "–" if math.isnan(number) else f"{number:+.{DECIMALS}f}".replace("-", "−")


def interval(ends: tuple[float, float], show: Callable[[float], str] = fixed) -> str:
    """Return an interval as text; "unknown" if there were too few values for one."""
    low, high = ends
    return "unknown" if math.isnan(low) or math.isnan(high) else f"{show(low)} to {show(high)}"


def decimals(number: float | None) -> float | None:
    """Return the value of a metric with as many decimals as are shown; None if it is unknown."""
    return None if number is None else round(number, DECIMALS)


def embedded_json(value: Any) -> str:
    """Return JSON that can stand inside a script element: nothing in it can end the element or begin a comment."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def p_value(p: float) -> str:
    """Return a p-value with four decimals, "< 0.0001" if it is smaller, or "unknown"."""
    if math.isnan(p):
        return "unknown"
    return f"{p:.4f}" if p >= 0.0001 else "< 0.0001"


def n_queries(count: int) -> str:
    """Return a number of queries in words: "1 query", "1,000 queries"."""
    return f"{count:,} {'query' if count == 1 else 'queries'}"
