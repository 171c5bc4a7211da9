"""The values of columns of pandas and polars frames and pyarrow tables: as floats, as days, as lists, as Python objects."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data.arrays import library_of, real_numbers
from podium.data.frame_kinds import column_kind, column_type
from podium.errors import DataError

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
DAY_US = 86_400_000_000.0


def first_missing(column: Any) -> int | None:
    """Return the first row of a column that has no value; None if every row has one."""
    missing = np.asarray(column.isna() if library_of(column) == "pandas" else column.is_null())
    return int(np.argmax(missing)) if missing.any() else None


def decoded(column: Any) -> Any:
    """Return a run-end encoded column of pyarrow as a plain one, and any other as it is."""
    if library_of(column) != "pyarrow" or not str(column.type).startswith("run_end_encoded"):
        return column
    import pyarrow.compute as pc

    return pc.run_end_decode(column)


def floats(column: Any) -> npt.NDArray[np.floating[Any]]:
    """Return a column of the kind numbers as floats: float32 stays float32, any other number is float64; missing is NaN."""
    library = library_of(column)
    if library == "polars":
        import polars as pl

        return np.asarray((column if column.dtype == pl.Float32 else column.cast(pl.Float64)).to_numpy())
    if library == "pandas":
        kind = np.float32 if column.dtype == np.float32 else np.float64
        return np.asarray(column.to_numpy(dtype=kind, na_value=np.nan))
    import pyarrow as pa

    column = column if column.type == pa.float32() else column.cast(pa.float64(), safe=False)
    return np.asarray(column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy())


def objects(column: Any) -> list[Any]:
    """Return the values of a column, None where missing."""
    library = library_of(column)
    if library == "pyarrow":
        return list(column.to_pylist())
    if library == "polars":
        return list(column.to_list())
    missing = column.isna().tolist()
    return [None if gone else value for value, gone in zip(column.tolist(), missing, strict=True)]


def list_values(column: Any, name: str) -> Array:
    """Return a column of lists of numbers, all of one length, as a matrix; a missing number is NaN."""
    if library_of(column) == "pandas" and not hasattr(column.dtype, "pyarrow_dtype"):
        values = objects(column)
        width = _one_length(np.array([-1 if value is None else len(value) for value in values]), name)
        try:
            return real_numbers(values, np.float64).reshape(len(values), width)
        except (TypeError, ValueError, OverflowError) as error:
            raise DataError(f"column {name!r} holds lists of other things than numbers: {error}") from None
    import pyarrow.compute as pc

    arrow = _as_arrow(column)
    width = _one_length(np.asarray(pc.list_value_length(arrow).fill_null(-1)), name)
    inside = pc.list_flatten(arrow)
    if column_kind(inside) != "numbers":
        raise DataError(f"column {name!r} is {column_type(column)}; its lists must hold numbers")
    return floats(inside).reshape(len(arrow), width)


def _as_arrow(column: Any) -> Any:
    """Return a column that is Arrow inside as pyarrow has it: one of pyarrow, of polars, or of pandas' ArrowDtype."""
    if library_of(column) == "pyarrow":
        return column
    return column.to_arrow() if library_of(column) == "polars" else column.array.__arrow_array__()


def _one_length(lengths: Array, name: str) -> int:
    if not len(lengths):
        return 0
    if lengths.min() < 0:
        raise DataError(f"column {name!r} has no list in row {int(np.argmin(lengths))}; every row needs one")
    if lengths.min() < lengths.max():
        raise DataError(
            f"column {name!r} holds lists of {lengths.min()} to {lengths.max()} numbers; every row needs the same number"
        )
    return int(lengths[0])


def days(column: Any) -> Floats:
    """Return times as days: since 1970-01-01 (UTC) for a date or timestamp, since midnight for a time of day; missing is NaN."""
    if library_of(column) == "pandas" and not hasattr(column.dtype, "pyarrow_dtype"):
        return _pandas_days(column)
    if library_of(column) == "polars":
        return _polars_days(column)
    import pyarrow as pa

    column = _as_arrow(column)
    is_a = pa.types
    kind = pa.time64("us") if is_a.is_time(column.type) else pa.timestamp("us")
    ticks = column.cast(pa.duration("us") if is_a.is_duration(column.type) else kind, safe=False).cast(pa.int64())
    return np.asarray(ticks.cast(pa.float64(), safe=False)) / DAY_US


def _polars_days(series: Any) -> Floats:
    import polars as pl

    if series.dtype == pl.Time:
        return np.asarray(series.cast(pl.Int64).cast(pl.Float64).to_numpy()) / (1000 * DAY_US)
    kind = pl.Duration("us") if isinstance(series.dtype, pl.Duration) else pl.Datetime("us")
    return np.asarray(series.cast(kind).to_physical().cast(pl.Float64).to_numpy()) / DAY_US


def _pandas_days(series: Any) -> Floats:
    import pandas as pd

    if series.dtype.kind == "O":
        found = pd.api.types.infer_dtype(series, skipna=True)
        if found == "time":
            series = series.map(lambda time: dt.datetime.combine(dt.date(1970, 1, 1), time), na_action="ignore")
        series = pd.to_timedelta(series) if found.startswith("timedelta") else pd.to_datetime(series, utc=True)
    is_span = series.dtype.kind == "m"
    values = series.to_numpy(dtype="timedelta64[us]" if is_span else "datetime64[us]")
    return np.where(np.isnat(values), np.nan, values.astype(np.int64).astype(np.float64) / DAY_US)
