"""The kind of a column of a pandas or polars frame or of a pyarrow table.

A column has one of six kinds:

- numbers: integers, floats, decimals, Booleans, or nothing but nulls;
- category: pandas' category, polars' Categorical and Enum, Arrow's dictionary;
- text;
- time: dates, times of day, timestamps and durations;
- list: lists or arrays;
- other: structs, bytes, complex numbers, mixed objects and whatever else there is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.data.arrays import library_of

PANDAS_OBJECTS = {
    "integer": "numbers",
    "floating": "numbers",
    "mixed-integer-float": "numbers",
    "boolean": "numbers",
    "decimal": "numbers",
    "empty": "numbers",
    "string": "text",
    "categorical": "category",
    "datetime": "time",
    "datetime64": "time",
    "date": "time",
    "time": "time",
    "timedelta": "time",
    "timedelta64": "time",
}


def column_kind(column: Any) -> str:
    """Return the kind of a column: numbers, category, text, time, list or other."""
    library = library_of(column)
    if library == "pyarrow":
        return arrow_kind(column.type)
    return _polars_kind(column.dtype) if library == "polars" else _pandas_kind(column)


def column_type(column: Any) -> str:
    """Return the library's own name for the type of a column."""
    return str(column.type if library_of(column) == "pyarrow" else column.dtype)


def _pandas_kind(series: Any) -> str:
    import pandas as pd

    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return "category"
    if isinstance(dtype, pd.ArrowDtype):
        return arrow_kind(dtype.pyarrow_dtype)
    if isinstance(dtype, pd.StringDtype):
        return "text"
    if dtype.kind in "iufb":
        return "numbers"
    if dtype.kind in "mM":
        return "time"
    if dtype.kind == "O" and not isinstance(dtype, pd.PeriodDtype | pd.IntervalDtype):
        found = PANDAS_OBJECTS.get(pd.api.types.infer_dtype(series, skipna=True), "other")
        return "list" if found == "other" and _are_lists(series) else found
    return "other"


def _are_lists(series: Any) -> bool:
    """Return whether every value of a column of objects is a list or an array; a missing one may be among them."""
    known = [value for value in series if isinstance(value, list | tuple | np.ndarray) or value == value]
    return all(isinstance(value, list | tuple | np.ndarray) for value in known if value is not None)


def _polars_kind(dtype: Any) -> str:
    import polars as pl

    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
        return "numbers"
    if dtype in (pl.Categorical, pl.Enum):
        return "category"
    if dtype == pl.String:
        return "text"
    if dtype in (pl.List, pl.Array):
        return "list"
    return "time" if dtype.is_temporal() else "other"


def arrow_kind(kind: Any) -> str:
    """Return the kind of the columns of an Arrow type."""
    import pyarrow as pa

    is_a = pa.types
    if is_a.is_run_end_encoded(kind):
        return arrow_kind(kind.value_type)
    if is_a.is_dictionary(kind):
        return "category" if arrow_kind(kind.value_type) in ("numbers", "text", "time") else "other"
    if any(test(kind) for test in (is_a.is_integer, is_a.is_floating, is_a.is_boolean, is_a.is_decimal, is_a.is_null)):
        return "numbers"
    if is_a.is_string(kind) or is_a.is_large_string(kind) or is_a.is_string_view(kind):
        return "text"
    if is_a.is_list(kind) or is_a.is_large_list(kind) or is_a.is_fixed_size_list(kind):
        return "list"
    return "time" if is_a.is_temporal(kind) and not is_a.is_interval(kind) else "other"
