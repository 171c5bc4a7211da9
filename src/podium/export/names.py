"""Names of features as files of other libraries can hold them."""

from __future__ import annotations

import re
from collections.abc import Sequence

BLANKS = re.compile(r"[\s\x00-\x1f\x7f]+")  # part the names in LightGBM's files
BRACKETS = re.compile(r"[\[\]<]")  # XGBoost refuses names that contain them


def lightgbm_names(names: Sequence[str]) -> list[str]:
    """Return the names of features in LightGBM's files."""
    return _distinct([BLANKS.sub("_", BLANKS.sub(" ", name).strip()) for name in names], "Column_")


def xgboost_names(names: Sequence[str]) -> list[str]:
    """Return the names of features in XGBoost's files."""
    return _distinct([BRACKETS.sub("_", name) for name in names], "f")


def _distinct(names: list[str], default: str) -> list[str]:
    """Return names that are not empty; if two are the same, numbered ones instead."""
    filled = [name or "_" for name in names]
    return filled if len(set(filled)) == len(filled) else [f"{default}{k}" for k in range(len(filled))]


def renaming(names: Sequence[str] | None, written: Sequence[str]) -> str:
    """Return the sentence that says which features have other names in the file; nothing if all keep theirs."""
    changed = [(name, other) for name, other in zip(names or (), written, strict=False) if name != other]
    if not changed:
        return ""
    name, other = changed[0]
    if len(changed) == 1:
        return f"the feature {name!r} is called {other!r} in the file"
    return f"{len(changed)} features have other names in the file: {name!r} is called {other!r}"
