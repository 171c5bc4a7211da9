"""A frame as documents with named features, as `podium.serve.Client` sends it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from podium.data.categories import Categories, recode
from podium.data.feature_names import default_names
from podium.data.matching import convert_like
from podium.errors import DataError, ParameterError
from podium.scoring.scorer import check_finite
from podium.threads import resolve_threads

Info = Mapping[str, Any]  # a version of a model, as /v1/models describes it


def find_features(models: Sequence[Info], name: str, version: str | None) -> Info | None:
    """Return the description of the version that will answer, or None if there is none, which the service says itself.

    Without a version it may be the default or the canary, so both must have the same features.
    """
    versions = [each for model in models if model["name"] == name for each in model["versions"]]
    if version is None:
        found = [each for each in versions if each["role"] in ("default", "canary")]
    else:
        found = [each for each in versions if each["version"] == version]
    if any(_features(each) != _features(found[0]) for each in found):
        raise ParameterError(
            "version",
            rule=f"must be given for a frame, because versions of {name!r} that may answer have different features",
        )
    return found[0] if found else None


def _features(version: Info) -> tuple[Any, ...]:
    return version["features"], version["feature_names"], version["categories"]


def frame_documents(frame: Any, version: Info) -> list[dict[str, Any]]:
    """Return the rows of a frame with the values that `ranker.predict(frame)` would read.

    Categories that the model knows are given by name; others by codes after the known ones, as predicting gives them.

    Args:
        frame: A frame of pandas, polars or pyarrow.
        version: The version of the model that will answer.
    """
    n_features: int = version["features"]
    names = version["feature_names"] or default_names(n_features)
    place = {name: column for column, name in enumerate(names)}
    known: Categories = {
        place[name]: None if texts is None else tuple(texts) for name, texts in (version["categories"] or {}).items()
    }
    given = convert_like(frame, version["feature_names"], n_features, known or None)
    if given.values.shape[1] != n_features:
        raise DataError(f"the frame has {given.values.shape[1]} features, the model was trained on {n_features}")
    check_finite(given.values, resolve_threads(None), given.names)
    values = given.values
    if given.categories is not None:
        values = recode(values, given.categories, known, given.names)[0]
    columns = [_cells(values[:, column].tolist(), known.get(column)) for column in range(n_features)]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _cells(values: list[float], categories: tuple[str, ...] | None) -> list[float | str | None]:
    """Return the values of a feature as JSON holds them: null for NaN, and the names of categories."""
    if categories is None:
        return [None if value != value else value for value in values]
    return [
        None
        if value != value
        else categories[int(value)]
        if value.is_integer() and 0 <= value < len(categories)
        else value
        for value in values
    ]
