"""Categorical features: columns whose values are codes of named categories.

`RankingData.categorical_features` maps the column of each categorical feature to its categories: code k, as the features hold
it, is the k-th category. It maps a column to None if the codes were given without names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from podium.data.feature_names import feature_indices, feature_name
from podium.errors import DataError, short_list, short_repr

if TYPE_CHECKING:
    from podium.data.conversion import Features
    from podium.data.ranking_data import RankingData

Categories = Mapping[int, tuple[str, ...] | None]
MAX_CATEGORIES = 1 << 24  # a float32 holds every whole number up to here


def category_names(feature: str, values: Iterable[object]) -> tuple[str, ...]:
    """Return categories as text; two must not read the same."""
    names = tuple(value if isinstance(value, str) else str(value) for value in values)
    if len(names) > MAX_CATEGORIES:
        raise DataError(f"feature {feature!r} has {len(names)} categories; at most {MAX_CATEGORIES} are taken")
    if len(set(names)) != len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise DataError(f"feature {feature!r} has two categories that read {twice!r}; rename one")
    return names


def as_categorical_features(
    given: Any, feature_names: Sequence[str] | None, features: npt.NDArray[np.float32]
) -> Categories | None:
    """Return categorical features, given as a list of features or as a mapping from features to categories.

    Every value of such a feature must be a whole number of at least 0, or NaN; with categories, below their number.
    """
    if given is None:
        return None
    n_features = features.shape[1]
    if isinstance(given, Mapping):
        columns = feature_indices(list(given), feature_names, n_features, parameter="categorical_features")
        held = {
            column: None if names is None else category_names(feature_name(column, feature_names), _listed(names))
            for column, names in zip(columns, given.values(), strict=True)
        }
    else:
        columns = feature_indices(given, feature_names, n_features, parameter="categorical_features")
        held = dict.fromkeys(columns)
    for column, names in held.items():
        _check_codes(feature_name(column, feature_names), features[:, column], names)
    return MappingProxyType(dict(sorted(held.items()))) if held else None


def joined_categories(features: Features, given: Any, feature_names: Sequence[str] | None) -> Categories | None:
    """Return the categorical features that a caller names, together with those that a frame has by itself."""
    found: Categories = features.categories or {}
    asked: Categories = as_categorical_features(given, feature_names, features.values) or {}
    for column in sorted(found.keys() & asked.keys()):
        if asked[column] is not None and asked[column] != found[column]:
            name = feature_name(column, feature_names)
            raise DataError(f"feature {name!r} has its categories in the frame; leave them out of categorical_features")
    joined = {**asked, **found}
    return MappingProxyType(dict(sorted(joined.items()))) if joined else None


def _listed(names: Any) -> Any:
    if isinstance(names, str) or not hasattr(names, "__iter__"):
        raise DataError(f"categorical_features: {short_repr(names)} must be a list of categories")
    return names


def _check_codes(feature: str, codes: npt.NDArray[np.float32], names: tuple[str, ...] | None) -> None:
    most = MAX_CATEGORIES if names is None else len(names)
    bad = ~np.isnan(codes) & ~((codes >= 0) & (codes < most) & (codes == np.floor(codes)))
    if bad.any():
        value = codes[int(np.argmax(bad))]
        rule = f"whole numbers from 0 to {most - 1}, or missing"
        raise DataError(f"feature {feature!r} is categorical and holds {value:g}; its codes must be {rule}")


def refuse_categories(data: RankingData, reader: str) -> None:
    """Raise DataError if the data has categorical features, for a reader that takes every feature as a number.

    Args:
        data: the training data.
        reader: what takes numbers, as the subject of a sentence.
    """
    names = [feature_name(column, data.feature_names) for column in data.categorical_features or ()]
    if not names:
        return
    many = len(names) > 1
    found = f"{'features' if many else 'feature'} {short_list([repr(name) for name in names])}"
    raise DataError(
        f"{reader} takes numbers, and the codes of the categorical {found} are not quantities",
        remedy=f"train boosted trees, which split by category; or leave {'them' if many else 'it'} out with "
        f"{{ignore={names!r}}}; or make plain numbers of the codes with {{without=categorical_features}}",
    )


def recode(
    features: npt.NDArray[np.float32], own: Categories | None, wanted: Categories | None, names: Sequence[str] | None
) -> tuple[npt.NDArray[np.float32], Categories | None]:
    """Return (features, categories) with the categories coded as in `wanted`, such as those of the training data.

    A category that `wanted` does not have keeps a code of its own, after the known ones. A feature whose codes were given
    without names is taken as coded already.
    """
    mine, known = own or {}, wanted or {}
    for column in sorted(mine.keys() - known.keys()):
        raise DataError(
            f"feature {feature_name(column, names)!r} is categorical here and a number in the data the model was trained on; "
            "give the same kind"
        )
    if mine == known:
        return features, wanted
    held: dict[int, tuple[str, ...] | None] = dict(known)
    changed: npt.NDArray[np.float32] | None = None
    for column, there in known.items():
        here = mine.get(column)
        if here is None or there is None or here == there:
            continue
        changed = features.copy() if changed is None else changed
        held[column], code = _recoding(here, there)
        _check_codes(feature_name(column, names), changed[:, column], here)
        changed[:, column] = _recoded(changed[:, column], code)
    return (features if changed is None else changed), as_categorical_features(
        held, names, features if changed is None else changed
    )


def with_categories(data: RankingData, wanted: Categories | None) -> RankingData:
    """Return the data with its categories coded as in `wanted`; see `recode`."""
    features, held = recode(data.features, data.categorical_features, wanted, data.feature_names)
    if features is data.features and held == data.categorical_features:
        return data
    return data.replace_grouped(features=features, categorical_features=held)


def without_unknown(features: npt.NDArray[np.float32], known: Categories) -> npt.NDArray[np.float32]:
    """Return features with codes of unknown categories as missing values; the same array if there are none.

    Args:
        features: one row per document.
        known: the known categories of some columns; those without names have no unknown ones.
    """
    out = features
    for column, names in known.items():
        if names is None or column >= features.shape[1]:
            continue
        unknown = features[:, column] >= len(names)
        if unknown.any():
            out = features.copy() if out is features else out
            out[unknown, column] = np.nan
    return out


def _recoding(mine: tuple[str, ...], names: tuple[str, ...]) -> tuple[tuple[str, ...], npt.NDArray[np.float32]]:
    """Return the known categories followed by the unknown ones, and the new code of each of `mine`."""
    place = {name: code for code, name in enumerate(names)}
    for name in mine:
        place.setdefault(name, len(place))
    return tuple(place), np.array([place[name] for name in mine], np.float32)


def _recoded(codes: npt.NDArray[np.float32], new: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    known = ~np.isnan(codes)
    out = codes.copy()
    out[known] = new[codes[known].astype(np.int64)]
    return out
