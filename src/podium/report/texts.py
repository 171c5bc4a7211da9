"""Short forms of numbers and texts for a page of limited size."""

from __future__ import annotations

import json
import math
from typing import Any

LONGEST_TEXT = 80  # characters of an id or a name; longer ones are cut
DIGITS = 5  # significant digits of numbers that the page's script shows


def cut(text: str, most: int = LONGEST_TEXT) -> str:
    """Return a text that is not too long for its place."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def as_sentence(text: str) -> str:
    """Return a text that ends with a period."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def rounded(number: float | None) -> float | int | None:
    """Return a number with a few significant digits, as an integer if it is one; None for NaN and infinity."""
    if number is None or not math.isfinite(number):
        return None
    short = float(f"{number:.{DIGITS}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def embedded_json(value: Any) -> str:
    """Return JSON that can stand inside a script element: nothing in it can end the element or begin a comment."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
