"""What a network takes from the documents of a query besides labels: which preferences meet, and how noisy documents are.

Both may be functions of yours, of one query each. They are called once for a data set, not once per round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data import RankingData
from podium.data.checks import caller_row
from podium.data.feature_names import feature_index, feature_indices
from podium.errors import DataError, short_repr
from podium.functions import UNNAMED, find_function, printed_path

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
LEAST_SCALE, MOST_SCALE = 1e-6, 1e6


@dataclass(frozen=True)
class NamedFunction:
    """A function of yours in the name of a force, as `module:function`."""

    function: Callable[..., Any]

    @classmethod
    def of(cls, value: Any, parameter: str) -> NamedFunction:
        """Return the function itself, or the one that `module:function` names."""
        if isinstance(value, NamedFunction):
            return value
        return cls(find_function(value, parameter) if isinstance(value, str) else value)

    @property
    def is_importable(self) -> bool:
        """Whether the name finds the function again."""
        return not str(self).startswith(f"{UNNAMED}:")

    def __str__(self) -> str:
        return printed_path(self.function)

    def __repr__(self) -> str:
        return repr(str(self))

    def call(self, where: str, *arguments: Any) -> Any:
        """Call the function; an error that it raises says where."""
        try:
            return self.function(*arguments)
        except Exception as error:
            error.add_note(f"In the {where} of {self}")
            raise


def plain_setting(value: Any) -> Any:
    """Return a setting with the name of a function in its place."""
    return str(value) if isinstance(value, NamedFunction) else value


@dataclass(frozen=True)
class Preferences:
    """The preferences of one query, as a function that says which of them meet sees them.

    Attributes:
        query_id: the id of the query.
        labels: one label per document of the query.
        winner: of each preference, the document that should rank higher, counted from 0 inside the query.
        loser: of each preference, the other document.
    """

    query_id: Any
    labels: Floats
    winner: Integers
    loser: Integers

    def __len__(self) -> int:
        return len(self.winner)


@dataclass(frozen=True)
class DocumentInputs:
    """What a network takes from the documents of some queries.

    Attributes:
        joins: the pairs of preferences that meet, each numbered inside its query; query after query.
        join_offsets: where the pairs of each query begin.
        scales: the given scale of each document's noise; empty if none is given.
        inputs: what the noise of each document is learned from, one column per feature.
    """

    joins: Integers
    join_offsets: Integers
    scales: Floats
    inputs: Floats

    def select(self, query_offsets: Integers, queries: Integers) -> DocumentInputs:
        """Return those of some of the queries, in their order."""
        documents = np.concatenate([np.arange(*query_offsets[query : query + 2]) for query in queries])
        joins = [self.joins[slice(*self.join_offsets[query : query + 2])] for query in queries]
        ends = np.cumsum([0, *(len(each) for each in joins)])
        scales = self.scales[documents] if len(self.scales) else self.scales
        return DocumentInputs(np.concatenate(joins), ends, scales, self.inputs[documents])

    def pass_to(self, core: _core.ForceInputs) -> None:
        """Give everything to the core."""
        first, second = np.ascontiguousarray(self.joins.T)
        _core.set_joins(core, first, second, self.join_offsets)
        _core.set_noise(core, self.scales, np.ascontiguousarray(self.inputs))


def find_joins(function: NamedFunction | None, data: RankingData, core: _core.ForceInputs) -> tuple[Integers, Integers]:
    """Return the pairs of preferences that meet, as a function says of each query, and where those of each query begin."""
    if function is None:
        return np.empty((0, 2), np.int64), np.zeros(data.n_queries + 1, np.int64)
    winner, loser, offsets = _core.preferences(core)
    joins, ends = [np.empty((0, 2), np.int64)], [0]
    for query, name in enumerate(data.query_ids.tolist()):
        own = slice(offsets[query], offsets[query + 1])
        documents = slice(data.query_offsets[query], data.query_offsets[query + 1])
        seen = Preferences(name, data.labels[documents], winner[own], loser[own])
        joins.append(_checked_joins(function, function.call("topology", seen), seen))
        ends.append(ends[-1] + len(joins[-1]))
    return np.concatenate(joins), np.array(ends)


def _checked_joins(function: NamedFunction, found: Any, seen: Preferences) -> Integers:
    rule = f"give pairs of numbers from 0 to {len(seen) - 1}, one pair per row"
    joins = _as_array(found)
    if joins is not None and not joins.size:
        return np.empty((0, 2), np.int64)
    if joins is None or joins.ndim != 2 or joins.shape[1] != 2 or joins.dtype.kind not in "iu":
        raise DataError(
            f"{function}: the pairs of preferences of query {seen.query_id!r} are {short_repr(found)}; {rule}"
        )
    for row in joins[((joins < 0) | (joins >= len(seen))).any(axis=1)][:1]:
        raise DataError(
            f"{function}: query {seen.query_id!r} has {len(seen)} preferences, and not {row.tolist()}; {rule}"
        )
    for row in joins[joins[:, 0] == joins[:, 1]][:1]:
        raise DataError(f"{function}: in query {seen.query_id!r} preference {row[0]} meets itself; leave that pair out")
    return joins.astype(np.int64)


def _as_array(found: Any, dtype: Any = None) -> npt.NDArray[Any] | None:
    """Return what a function of yours returned as an array, or None if it cannot be one."""
    try:
        return np.asarray(found, dtype)
    except (ValueError, TypeError):
        return None


def noise_inputs(features: tuple[Any, ...], data: RankingData) -> Floats:
    """Return the features that learned noise is a function of, standardized in each query."""
    columns = feature_indices(features, data.feature_names, data.n_features, parameter="noise_features")
    found = [_standardized(data.features[:, column], data) for column in columns]
    return np.column_stack(found or [np.empty((data.n_documents, 0))])


def noise_scales(scale: Any, data: RankingData) -> Floats:
    """Return the scale of each document's noise, if any: a feature, or what a function says of each query's features."""
    if scale is None:
        return np.empty(0)
    if isinstance(scale, NamedFunction):
        parts = []
        for query, name in enumerate(data.query_ids.tolist()):
            begin, end = data.query_offsets[query : query + 2]
            found = scale.call("noise_scale", data.features[begin:end].copy())
            scales = _as_array(found, np.float64)
            if scales is None or scales.shape != (end - begin,):
                raise DataError(
                    f"{scale}: the scales of query {name!r} are {short_repr(found)}; give {end - begin} numbers, one per document"
                )
            parts.append(scales)
        scales = np.concatenate(parts)
    else:
        column = feature_index(scale, data.feature_names, data.n_features, parameter="noise_scale")
        scales = data.features[:, column].astype(np.float64)
    wrong = np.flatnonzero(~((scales >= LEAST_SCALE) & (scales <= MOST_SCALE)))
    if len(wrong):
        raise DataError(
            f"noise_scale={scale!r}: the scale of row {caller_row(data, int(wrong[0]))} is {scales[wrong[0]]:g}; scales must lie between "
            f"{LEAST_SCALE:g} and {MOST_SCALE:g}"
        )
    return scales


def _standardized(column: npt.NDArray[np.float32], data: RankingData) -> Floats:
    """A feature with mean 0 and variance 1 in each query; 0 where it is missing or the same for all documents."""
    out = np.zeros(len(column))
    for begin, end in zip(data.query_offsets[:-1], data.query_offsets[1:], strict=True):
        values = column[begin:end].astype(np.float64)
        known = np.isfinite(values)
        if known.any():
            moved = values[known] - values[known].mean()
            spread = np.sqrt((moved * moved).mean())
            if spread > 0:
                out[begin:end][known] = moved / spread
    return out
