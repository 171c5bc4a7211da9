"""Columns of pandas and polars frames and pyarrow tables, as features: numbers, codes of categories, or days.

Columns of numbers and of a category type are features as they are. The others are features only if somebody names them as
features: text then becomes a category, a time becomes days (a date or timestamp counts them from 1970-01-01), and a list of
numbers becomes one feature per place in the list. Structs, bytes and mixed objects are never features.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data.arrays import library_of
from podium.data.categories import category_names
from podium.data.frame_kinds import column_kind, column_type
from podium.data.frame_values import days, decoded, floats, list_values, objects
from podium.errors import DataError

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
LIBRARIES = ("pandas", "polars", "pyarrow")


@dataclass(frozen=True)
class FeatureColumn:
    """A column of a frame as features.

    Attributes:
        values: One value per row, or [rows × features] for a column of lists; NaN where missing.
        categories: The categories that the values are codes of, in the order of the codes; None if they are no codes.
        ordered: Whether the order of the categories comes from the column's type; if not, they are sorted.
    """

    values: Array
    categories: tuple[str, ...] | None = None
    ordered: bool = False


def is_frame(value: object) -> bool:
    """Return whether a value is a table with named columns: of pandas, polars or pyarrow."""
    if library_of(value) == "pyarrow":
        return type(value).__name__ in ("Table", "RecordBatch", "RecordBatchReader")
    return type(value).__name__ == "LazyFrame" or (
        library_of(value) in LIBRARIES and hasattr(value, "columns") and hasattr(value, "to_numpy")
    )


class Frame:
    """A frame of any library: the names of its columns, as text, and its columns."""

    def __init__(self, given: Any) -> None:
        self.library = library_of(given)
        self.frame = whole_frame(given)
        keys = list(self.frame.column_names if self.library == "pyarrow" else self.frame.columns)
        self.names = [str(key) for key in keys]
        self._keys = dict(zip(self.names, keys, strict=True))
        if len(self._keys) != len(keys):
            twice = next(name for k, name in enumerate(self.names) if name in self.names[:k])
            raise DataError(f"two columns of the frame are called {twice!r}; rename one")
        self.n_rows = int(self.frame.num_rows if self.library == "pyarrow" else len(self.frame))

    def column(self, name: str) -> Any:
        """Return a column as the library has it: a Series or a ChunkedArray."""
        return self.frame.column(name) if self.library == "pyarrow" else self.frame[self._keys[name]]

    def feature(self, name: str, *, named: bool = False, categorical: bool = False) -> FeatureColumn:
        """Return a column as a feature; see `feature_column`."""
        return feature_column(self.column(name), name, named=named, categorical=categorical)


def feature_column(column: Any, name: str, *, named: bool = False, categorical: bool = False) -> FeatureColumn:
    """Return a column as a feature; a DataError names a column that cannot be one.

    Args:
        column: A pandas or polars Series, or a pyarrow array.
        name: What the column is called.
        named: Somebody named the column as a feature, so text, times and lists are taken.
        categorical: Take the values as categories, whatever they are.
    """
    kind = column_kind(column)
    if kind == "category" or (kind == "text" and named) or (categorical and kind in ("numbers", "text")):
        return _coded(decoded(column), name, kind)
    if kind == "numbers":
        return FeatureColumn(floats(decoded(column)))
    if kind == "time" and named and not categorical:
        return FeatureColumn(days(decoded(column)))
    if kind == "list" and named and not categorical:
        return FeatureColumn(list_values(column, name))
    on_purpose = f"with {{features=[…, {name!r}]}}" if not set("{}") & set(name) else "by naming it as a feature"
    remedy = {
        "text": f"leave it out, make it categorical, or take its values as categories {on_purpose}",
        "time": f"leave it out, or take it as days {on_purpose}",
        "list": f"leave it out, or take each place of the lists as a feature {on_purpose}",
        "other": "leave it out, or turn it into numbers",
    }[kind]
    raise DataError(f"column {name!r} is {column_type(column)}, which is not a feature", remedy=remedy)


def number_column(column: Any, name: str) -> Floats:
    """Return a column that must hold numbers, such as labels or weights; missing is NaN."""
    if column_kind(column) != "numbers":
        raise DataError(f"column {name!r} is {column_type(column)}, not numbers; cast it, or name another column")
    return floats(decoded(column)).astype(np.float64, copy=False)


def _coded(column: Any, name: str, kind: str) -> FeatureColumn:
    """Return codes and categories: in the order of a category type, and sorted otherwise."""
    library = library_of(column)
    if library == "pandas" and kind == "category" and not hasattr(column.dtype, "pyarrow_dtype"):
        codes = column.cat.codes.to_numpy().astype(np.float64)
        codes[codes < 0] = np.nan
        return FeatureColumn(codes, category_names(name, map(_category_text, column.cat.categories)), ordered=True)
    if library == "pyarrow" and kind == "category":
        return _arrow_coded(column, name)
    values = objects(column)
    is_enum = library == "polars" and str(column.dtype).startswith("Enum")
    if is_enum:
        texts: Sequence[str | None] = values
        found = category_names(name, column.dtype.categories)
    else:
        distinct = {value for value in values if value is not None}
        text_of = dict(zip(distinct, category_names(name, map(_category_text, distinct)), strict=True))
        texts = [None if value is None else text_of[value] for value in values]
        found = sorted_categories(text_of.values())
    code_of = {text: code for code, text in enumerate(found)}
    codes = np.array([np.nan if text is None else code_of[text] for text in texts], np.float64)
    return FeatureColumn(codes, found, ordered=is_enum)


def _arrow_coded(column: Any, name: str) -> FeatureColumn:
    import pyarrow as pa

    chunked = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    one = chunked.unify_dictionaries()
    if not one.num_chunks:
        return FeatureColumn(np.empty(0), (), ordered=True)
    dictionary = one.chunk(0).dictionary
    codes = np.concatenate([np.asarray(chunk.indices.cast(pa.float64())) for chunk in one.chunks])
    if dictionary.null_count:  # a null among the categories is a missing value
        is_known = np.asarray(dictionary.is_valid())
        new_code = np.where(is_known, np.cumsum(is_known) - 1.0, np.nan)
        codes = np.append(new_code, np.nan)[np.where(np.isnan(codes), len(new_code), codes).astype(np.int64)]
    return FeatureColumn(
        codes, category_names(name, map(_category_text, dictionary.drop_null().to_pylist())), ordered=True
    )


def _category_text(value: object) -> str:
    """Return a category as text; an integer held as a float has no point, so that 3.0 and 3 are one category."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def sorted_categories(names: Iterable[str]) -> tuple[str, ...]:
    """Return categories whose type gives them no order: by their value if all are numbers, otherwise by their text."""
    found = list(names)
    try:
        values = [float(name) for name in found]
    except ValueError:
        return tuple(sorted(found))
    are_finite = all(map(math.isfinite, values))
    return tuple(name for _, name in sorted(zip(values, found, strict=True))) if are_finite else tuple(sorted(found))


def whole_frame(given: Any) -> Any:
    """Return a frame that is there as a whole: a polars query is run, a pyarrow reader is read to its end."""
    if type(given).__name__ == "LazyFrame":
        return given.collect()
    if library_of(given) != "pyarrow":
        return given
    import pyarrow as pa

    if isinstance(given, pa.RecordBatch):
        given = pa.Table.from_batches([given])
    try:
        if isinstance(given, pa.RecordBatchReader):
            given = given.read_all()
        given.validate(full=True)
    except pa.ArrowException as error:
        raise DataError(f"the pyarrow table is damaged: {error}") from None
    return given
