"""How an engine is told about the features of a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podium.errors import ParameterError
from podium.export.options import ExportOptions
from podium.export.source import feature_names
from podium.scoring import Scorer

Definition = dict[str, Any]


def feature_definitions(
    scorer: Scorer, options: ExportOptions, define: Callable[[str], Definition]
) -> list[Definition]:
    """Return one definition per feature: those that were given, or `define(name)`; a given text is a name."""
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
            found.append(entry)
        elif isinstance(entry, str):
            found.append(define(entry))
        else:
            raise ParameterError("features", entry, "is neither a name nor a definition with a name")
    names = [entry["name"] for entry in found]
    if len(set(names)) < len(names):
        raise ParameterError("features", rule="has two features of one name")
    return found
