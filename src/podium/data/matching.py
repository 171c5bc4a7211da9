"""Find the features of a model, or of other data, among the columns of some data.

If both sides have names, features are matched by name: the order of the columns does not matter, columns that are not asked
for are left out with a warning, and a missing one is a DataError. Otherwise they are matched by position.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data.categories import Categories
from podium.data.conversion import Features, convert_features
from podium.data.feature_names import default_names
from podium.data.frame_columns import Frame
from podium.data.frame_kinds import column_kind
from podium.data.ranking_data import RankingData
from podium.errors import DataError, short_list


class ModelFeatures(tuple[str, ...]):
    """Names of a model's features, for the option `features` of a reader of tables.

    The reader leaves out the other columns with a warning, while it takes a plain list of names as a wish.
    """

    __slots__ = ()


PLACE = re.compile(r"(?P<column>.*)\[(?P<place>\d+)\]", re.DOTALL)  # the name of one place in a column of lists


def match_columns(
    given: Sequence[str] | None,
    known: Sequence[str] | None,
    n_known: int,
    *,
    data: str = "the data",
    known_by: str = "the model was trained on",
    stacklevel: int = 3,
) -> list[int] | None:
    """Return the place in `given` of each known feature; None if features are matched by position.

    Args:
        given: The names that the data has, or None.
        known: The names to find, or None for features without names, which are called f0, f1, ….
        n_known: The number of features to find.
        data: What has the names, for messages.
        known_by: The rest of a relative clause that says where the names to find come from.
        stacklevel: That of the warning about columns that are left out.
    """
    if known is None and given is not None and set(default_names(n_known)) <= set(given):
        known = default_names(n_known)
    if given is None or known is None or list(given) == list(known):
        return None
    place = {name: column for column, name in enumerate(given)}
    missing = [name for name in known if name not in place]
    if missing:
        raise DataError(
            f"{data} has no {_features(missing)}, which {known_by}; its features: {short_list(list(given), 20)}"
        )
    extra = [name for name in given if name not in set(known)]
    if extra:
        warnings.warn(f"{data} has more features than {known_by}; left out: {short_list(extra)}", stacklevel=stacklevel)
    return [place[name] for name in known]


def _features(names: Sequence[str]) -> str:
    return f"feature {names[0]!r}" if len(names) == 1 else f"features {short_list([repr(name) for name in names])}"


def select_features(data: RankingData, columns: Sequence[int]) -> RankingData:
    """Return the data with some of its features, in the order given."""
    categories = data.categorical_features or {}
    return data.replace_grouped(
        features=np.ascontiguousarray(data.features[:, list(columns)]),
        feature_names=None if data.feature_names is None else [data.feature_names[column] for column in columns],
        categorical_features={new: categories[old] for new, old in enumerate(columns) if old in categories} or None,
    )


def convert_like(frame: Any, names: Sequence[str] | None, n_features: int, categories: Categories | None) -> Features:
    """Return the features of a frame, converted as those of the data that a model was trained on.

    The columns are found by name. Since the model knows them as features, text becomes categories, a time becomes days, and a
    list one feature per place, as if `podium.from_frame` were given their names. If neither side knows the other's names, the
    columns are taken as they are.

    Args:
        frame: A frame of pandas, polars or pyarrow.
        names: Names of the model's features, or None.
        n_features: Number of the model's features.
        categories: Categories of its categorical features, by column, or None.
    """
    table = Frame(frame)
    known = default_names(n_features) if names is None else names
    if names is None and not set(known) <= set(table.names):
        return convert_features(table.frame)
    lists = dict(_list_places(table, known))
    used = {column for column, _ in lists.values()}
    given = [name for name in table.names if name not in used] + list(lists)
    match_columns(given, known, n_features, data="the frame", stacklevel=6)
    values = np.empty((table.n_rows, n_features), np.float32)
    found: dict[int, tuple[str, ...] | None] = {}
    made: dict[str, npt.NDArray[Any]] = {}
    for column, name in enumerate(known):
        source, place = lists.get(name, (name, None))
        if place is not None:
            if source not in made:
                made[source] = table.feature(source, named=True).values
            cells = made[source][:, place]
        else:
            is_category = (categories or {}).get(column) is not None
            feature = table.feature(source, named=True, categorical=is_category)
            cells = feature.values
            if feature.categories is not None:
                found[column] = feature.categories
        with np.errstate(over="ignore"):  # what is infinite as float32 is reported by the caller
            values[:, column] = cells
    return Features(values, tuple(known) if names is not None else None, found or None)


def _list_places(table: Frame, known: Sequence[str]) -> Iterator[tuple[str, tuple[str, int | None]]]:
    """Yield the names of features that are places in a column of lists, with the column and the place."""
    held, widths = set(table.names), dict[str, int]()
    for name in known:
        match = PLACE.fullmatch(name)
        if name in held or match is None or match["column"] not in held:
            continue
        column = match["column"]
        if column_kind(table.column(column)) != "list":
            continue
        if column not in widths:
            widths[column] = int(table.feature(column, named=True).values.shape[1])
        if int(match["place"]) < widths[column]:
            yield name, (column, int(match["place"]))
