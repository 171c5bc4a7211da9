"""The name of a feature, and the column that a name or number stands for.

A feature without a name of its own is called f0, f1, … by its column, counted from 0. LETOR files count from 1, so the
feature that such a file writes as `39:` is f38.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from podium.errors import ParameterError, is_integer


def default_names(count: int) -> tuple[str, ...]:
    """Return the names of `count` features that have none of their own: f0, f1, …."""
    return tuple(f"f{column}" for column in range(count))


def feature_name(column: int, feature_names: Sequence[str] | None = None) -> str:
    """Return what the feature in a column is called: its own name, or f0, f1, … if features have no names."""
    return f"f{column}" if feature_names is None else feature_names[column]


def feature_index(
    feature: Any, feature_names: Sequence[str] | None, n_features: int, *, parameter: str = "feature"
) -> int:
    """Return the column, counted from 0, of a feature given by name or number.

    Args:
        feature: A name, or a column number counted from 0. If no feature has that name, the text of a number is taken as
            that number. Features without names of their own are called f0, f1, ….
        feature_names: One name per feature, or None.
        n_features: The number of features.
        parameter: The parameter to name in the ParameterError that anything else raises.
    """
    known: Sequence[str] = default_names(n_features) if feature_names is None else feature_names
    if isinstance(feature, str):
        if feature in known:
            return known.index(feature)
        number: Any = int(feature) if feature.isascii() and feature.isdigit() and len(feature) < 10 else None
    else:
        number = feature if is_integer(feature) else None
    if number is not None and 0 <= number < n_features:
        return int(number)
    raise _unknown_feature(feature, feature_names, known, number is not None, parameter)


def feature_indices(
    features: Any, feature_names: Sequence[str] | None, n_features: int, *, parameter: str = "features"
) -> list[int]:
    """Return the column of each feature of a list of names and numbers; a feature must not occur twice."""
    if isinstance(features, str) or not hasattr(features, "__iter__"):
        raise ParameterError(parameter, features, "must be a list of names or numbers", f"write [{features!r}] for one")
    columns: list[int] = []
    for feature in features:
        column = feature_index(feature, feature_names, n_features, parameter=parameter)
        if column in columns:
            name = feature_name(column, feature_names)
            raise ParameterError(parameter, features, f"names the feature {name!r} twice", "name each feature once")
        columns.append(column)
    return columns


def _unknown_feature(
    feature: Any, feature_names: Sequence[str] | None, known: Sequence[str], is_number: bool, parameter: str
) -> ParameterError:
    numbers = f"a number from 0 to {len(known) - 1}"
    if not len(known):
        return ParameterError(parameter, feature, "names a feature, but the data has none")
    if is_number:
        return ParameterError(
            parameter, feature, f"is not one of the {len(known)} features", f"give a name, or {numbers}"
        )
    if not isinstance(feature, str):
        return ParameterError(parameter, feature, "must be a feature's name or number", f"give a name, or {numbers}")
    if feature_names is None:
        remedy = f"the features have no names of their own: give {known[0]} to {known[-1]}, or {numbers}"
        return ParameterError(parameter, feature, f"is not one of the {len(known)} features", remedy)
    near = difflib.get_close_matches(feature, known, n=1)
    hint = f"did you mean {near[0]!r}? Known" if near else "known"
    listed = ", ".join(known[:20]) + (", …" if len(known) > 20 else "")
    return ParameterError(parameter, feature, f"is not one of the {len(known)} features", f"{hint}: {listed}")
