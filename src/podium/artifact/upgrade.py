"""Reading models of older layouts: each version is brought up to the next one, so the rest of Podium knows only the newest."""

from __future__ import annotations

import re
from typing import Any

from podium.artifact.tensors import Arrays, Header

# Format 2 uses American spelling in names.
RENAMED = {
    "optimiser": "optimizer",
    "standardise": "standardize",
    "normalise": "normalize",
    "neighbours": "neighbors",
    "centre": "center",
}
WORDS = re.compile(rf"\b({'|'.join(RENAMED)})\b")


def upgrade(header: Header, arrays: Arrays) -> tuple[Header, Arrays]:
    """Return the header and arrays of a model of any older format in the newest layout."""
    if header["format"] == 1:
        header = {**_renamed(header), "format": 2}
        arrays = {_renamed(name): value for name, value in arrays.items()}
    return header, arrays


def _renamed(value: Any) -> Any:
    """Rename every key and every printable name; feature names belong to the user and stay as they are."""
    if isinstance(value, dict):
        return {_renamed(key): inner if key == "names" else _renamed(inner) for key, inner in value.items()}
    return WORDS.sub(lambda word: RENAMED[word[0]], value) if isinstance(value, str) else value
