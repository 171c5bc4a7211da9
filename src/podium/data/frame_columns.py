"""Columns of pandas and polars frames and pyarrow tables, as numbers, codes of categories, or days.

A column has one of five kinds: numbers (whole, real, decimal, true or false, all null), category (pandas' category, polars'
Categorical and Enum, Arrow's dictionary), text, time (dates, times and durations) and other (lists, structs, bytes, complex
numbers, mixed objects). Numbers and categories are features as they are. Text and times are features only if somebody says so:
text then becomes a category, a time becomes days (since 1970-01-01, for a moment). Anything else is never a feature.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data.arrays import library_of
from podium.data.categories import category_names
from podium.errors import DataError

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
LIBRARIES = ("pandas", "polars", "pyarrow")
DAY_US = 86_400_000_000.0
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
    "timedelta": "time",
    "timedelta64": "time",
}


@dataclass(frozen=True)
class FeatureColumn:
    """The values of one feature, NaN where missing; `categories` are those the values are codes of, if they are codes."""

    values: Array
    categories: tuple[str, ...] | None = None


def is_frame(value: object) -> bool:
    """Whether a value is a table with named columns: of pandas, polars or pyarrow."""
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
    """Return a column as a feature; a DataError names a column that is none.

    Args:
        column: A pandas or polars Series, or a pyarrow array.
        name: What the column is called.
        named: Somebody named the column as a feature, so text and times are taken.
        categorical: Take the values as categories, whatever they are.
    """
    kind = column_kind(column)
    if kind == "category" or (kind == "text" and named) or (categorical and kind in ("numbers", "text")):
        return _coded(column, name, kind)
    if kind == "numbers":
        return FeatureColumn(numbers(column))
    if kind == "time" and named and not categorical:
        return FeatureColumn(_days(column))
    on_purpose = f"podium.from_frame(frame, features=[…, {name!r}])"
    remedy = {
        "text": f"leave it out, make it categorical, or take its values as categories with {on_purpose}",
        "time": f"leave it out, or take it as days with {on_purpose}",
        "other": "leave it out, or turn it into numbers",
    }[kind]
    raise DataError(f"column {name!r} is {column_type(column)}, which is no feature; {remedy}")


def number_column(column: Any, name: str) -> Floats:
    """Return a column that must hold numbers, such as labels or weights; missing is NaN."""
    if column_kind(column) != "numbers":
        raise DataError(f"column {name!r} is {column_type(column)}, not numbers; cast it, or name another column")
    return numbers(column)


def column_type(column: Any) -> str:
    """Return the library's own name for the type of a column."""
    return str(column.type if library_of(column) == "pyarrow" else column.dtype)


def column_kind(column: Any) -> str:
    """Return the kind of a column: numbers, category, text, time or other."""
    library = library_of(column)
    if library == "pyarrow":
        return _arrow_kind(column.type)
    return _polars_kind(column.dtype) if library == "polars" else _pandas_kind(column)


def numbers(column: Any) -> Floats:
    """Return a column of the kind numbers as float64; missing is NaN."""
    library = library_of(column)
    if library == "polars":
        import polars as pl

        return np.asarray(column.cast(pl.Float64).to_numpy())
    if library == "pandas":
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    import pyarrow as pa

    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))


def _pandas_kind(series: Any) -> str:
    import pandas as pd

    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return "category"
    if isinstance(dtype, pd.ArrowDtype):
        return _arrow_kind(dtype.pyarrow_dtype)
    if isinstance(dtype, pd.StringDtype):
        return "text"
    if dtype.kind in "iufb":
        return "numbers"
    if dtype.kind in "mM":
        return "time"
    if dtype.kind == "O" and not isinstance(dtype, pd.PeriodDtype | pd.IntervalDtype):
        return PANDAS_OBJECTS.get(pd.api.types.infer_dtype(series, skipna=True), "other")
    return "other"


def _polars_kind(dtype: Any) -> str:
    import polars as pl

    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
        return "numbers"
    if dtype in (pl.Categorical, pl.Enum):
        return "category"
    if dtype == pl.String:
        return "text"
    return "time" if dtype.is_temporal() else "other"


def _arrow_kind(kind: Any) -> str:
    import pyarrow as pa

    is_a = pa.types
    if is_a.is_run_end_encoded(kind):
        return _arrow_kind(kind.value_type)
    if is_a.is_dictionary(kind):
        return "other" if _arrow_kind(kind.value_type) in ("other", "category") else "category"
    if any(test(kind) for test in (is_a.is_integer, is_a.is_floating, is_a.is_boolean, is_a.is_decimal, is_a.is_null)):
        return "numbers"
    if is_a.is_string(kind) or is_a.is_large_string(kind) or is_a.is_string_view(kind):
        return "text"
    return "time" if is_a.is_temporal(kind) and not is_a.is_interval(kind) else "other"


def _coded(column: Any, name: str, kind: str) -> FeatureColumn:
    """Return codes and categories: in the order of a category type, and sorted otherwise."""
    library = library_of(column)
    if library == "pandas" and kind == "category" and not hasattr(column.dtype, "pyarrow_dtype"):
        codes = column.cat.codes.to_numpy().astype(np.float64)
        codes[codes < 0] = np.nan
        return FeatureColumn(codes, category_names(name, column.cat.categories))
    if library == "pyarrow" and kind == "category":
        return _arrow_coded(column, name)
    if library == "polars" and str(column.dtype).startswith("Enum"):
        places = {value: code for code, value in enumerate(column.dtype.categories)}
    else:
        places = {}
    values = _objects(column)
    known = [value for value in values if value is not None]
    if not places:
        places = {value: code for code, value in enumerate(sorted(set(known)))}
    codes = np.array([np.nan if value is None else places[value] for value in values], np.float64)
    return FeatureColumn(codes, category_names(name, (_shown(value) for value in places)))


def _arrow_coded(column: Any, name: str) -> FeatureColumn:
    import pyarrow as pa

    chunked = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    one = chunked.unify_dictionaries()
    if not one.num_chunks:
        return FeatureColumn(np.empty(0), ())
    dictionary = one.chunk(0).dictionary
    if dictionary.null_count:  # a null among the categories is a missing value
        return feature_column(one.cast(one.type.value_type), name, categorical=True)
    codes = [np.asarray(chunk.indices.cast(pa.float64()).to_numpy(zero_copy_only=False)) for chunk in one.chunks]
    return FeatureColumn(np.concatenate(codes), category_names(name, map(_shown, dictionary.to_pylist())))


def _objects(column: Any) -> list[Any]:
    """Return the values of a column, None where missing."""
    library = library_of(column)
    if library == "pyarrow":
        return list(column.to_pylist())
    if library == "polars":
        return list(column.to_list())
    missing = column.isna().tolist()
    return [None if gone else value for value, gone in zip(column.tolist(), missing, strict=True)]


def _shown(value: object) -> str:
    """A category as text; whole numbers without a point, so that 3.0 and 3 are one category."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _days(column: Any) -> Floats:
    """Return times as days: since 1970-01-01 (UTC) for a moment, since midnight for a time of day; missing is NaN."""
    library = library_of(column)
    if library == "polars":
        import polars as pl

        if column.dtype == pl.Time:
            return np.asarray(column.cast(pl.Int64).cast(pl.Float64).to_numpy()) / (1000 * DAY_US)
        kind = pl.Duration("us") if isinstance(column.dtype, pl.Duration) else pl.Datetime("us")
        return np.asarray(column.cast(kind).to_physical().cast(pl.Float64).to_numpy()) / DAY_US
    if library == "pyarrow":
        import pyarrow as pa

        if pa.types.is_time(column.type):
            column = column.cast(pa.time64("us"))
        else:
            column = column.cast(pa.duration("us") if pa.types.is_duration(column.type) else pa.timestamp("us"))
        return np.asarray(column.cast(pa.int64()).cast(pa.float64()).to_numpy(zero_copy_only=False)) / DAY_US
    return _pandas_days(column)


def _pandas_days(series: Any) -> Floats:
    import pandas as pd

    if isinstance(series.dtype, pd.ArrowDtype):
        return _days(series.array.__arrow_array__())
    if series.dtype.kind == "O":
        found = pd.api.types.infer_dtype(series, skipna=True)
        series = pd.to_timedelta(series) if found.startswith("timedelta") else pd.to_datetime(series, utc=True)
    is_span = series.dtype.kind == "m"
    values = series.to_numpy(dtype="timedelta64[us]" if is_span else "datetime64[us]")
    days = values.astype("timedelta64[us]" if is_span else np.int64).astype(np.float64) / DAY_US
    return np.where(np.isnat(values), np.nan, days)


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
