"""How an engine is told about the features of a model."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from podium.errors import ParameterError
from podium.export.options import ExportOptions
from podium.export.source import feature_names
from podium.scoring import Scorer

Definition = dict[str, Any]


def feature_definitions(
    scorer: Scorer, options: ExportOptions, define: Callable[[str], Definition], *, needed: Sequence[str] = ()
) -> list[Definition]:
    """Return one definition per feature: those that were given, or `define(name)`; a given text is a name.

    `needed` are keys without which the engine refuses a definition.
    """
    given = options.features
    if given is None:
        return [define(name) for name in feature_names(scorer)]
    if len(given) != scorer.model.n_features:
        raise ParameterError(
            "features", rule=f"has {len(given)} definitions", remedy=f"the model has {scorer.model.n_features} features"
        )
    found = []
    for entry in given:
        if isinstance(entry, dict) and isinstance(entry.get("name"), str):
            found.append(_checked(entry, needed))
        elif isinstance(entry, str):
            found.append(define(entry))
        else:
            raise ParameterError("features", entry, "is neither a name nor a definition with a name")
    names = [entry["name"] for entry in found]
    if len(set(names)) < len(names):
        raise ParameterError("features", rule="has two features of one name")
    return found


def _checked(entry: Definition, needed: Sequence[str]) -> Definition:
    """Return a definition that an engine can take: it has what is needed, and JSON can hold it."""
    name = entry["name"]
    for key in needed:
        if key not in entry:
            raise ParameterError(
                "features", rule=f"has a definition of {name!r} without {key!r}, which the engine needs"
            )
    try:
        json.dumps(entry, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ParameterError("features", rule=f"has a definition of {name!r} that JSON cannot hold: {error}") from None
    return entry
