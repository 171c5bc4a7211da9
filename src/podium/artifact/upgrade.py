"""Reading models of older layouts: each version is converted to the next one, so that the rest of Podium handles only the newest."""

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
# Settings that format 1 stored beside the force and model of a Ranker, and their names in schedules.
SCHEDULE_SETTINGS = {
    "optimizer": "",
    "learning_rate": "rate",
    **{
        name: name
        for name in (
            "batch",
            "early_stopping_rounds",
            "epochs",
            "l2",
            "rate_rule",
            "restart_rounds",
            "smoothing",
            "tolerance",
        )
    },
}
WORDS = re.compile(rf"\b({'|'.join(RENAMED)})\b")


def upgrade(header: Header, arrays: Arrays) -> tuple[Header, Arrays]:
    """Return the header and arrays of a model of any older format in the newest layout."""
    if header["format"] == 1:
        header = {"schedule": "", "resolved": {}, **_renamed(header), "format": 2}
        if header.get("ranker") == "Ranker" and isinstance(header.get("parameters"), dict):
            header["parameters"] = _with_schedule(header["parameters"])
        arrays = {_renamed(name): value for name, value in arrays.items()}
    return header, arrays


def _with_schedule(parameters: dict[str, Any]) -> dict[str, Any]:
    """Combine the settings that format 1 stored beside force and model into the name of a schedule."""
    rest = {name: value for name, value in parameters.items() if name not in SCHEDULE_SETTINGS}
    given = {name: value for name, value in parameters.items() if name in SCHEDULE_SETTINGS and value is not None}
    grows = str(parameters.get("model", "")).startswith("trees")
    base = "boosting" if grows else given.get("optimizer", "adam")
    names = SCHEDULE_SETTINGS if not grows else {**SCHEDULE_SETTINGS, "epochs": "rounds"}
    known = {"epochs", "learning_rate", "early_stopping_rounds", *(("smoothing",) if grows else ("l2",))}
    known |= (
        {"tolerance"} if base in ("lbfgs", "bundle") else set() if grows else {"batch", "rate_rule", "restart_rounds"}
    )
    known -= {"learning_rate"} if base in ("lbfgs", "bundle") else set()
    inside = ", ".join(f"{names[name]}={value!r}" for name, value in given.items() if name in known)
    return {**rest, "schedule": f"{base}({inside})"}


def _renamed(value: Any) -> Any:
    """Rename every key and every printable name; feature names belong to the user and stay as they are."""
    if isinstance(value, dict):
        return {_renamed(key): inner if key == "names" else _renamed(inner) for key, inner in value.items()}
    return WORDS.sub(lambda word: RENAMED[word[0]], value) if isinstance(value, str) else value
