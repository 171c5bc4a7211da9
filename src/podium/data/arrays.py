"""Convert what callers pass as arrays (lists, NumPy, masked, pandas, polars, pyarrow) to plain NumPy arrays."""

from __future__ import annotations

import sys
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from podium.errors import DataError

Array = npt.NDArray[Any]


def library_of(value: object) -> str:
    """Return the name of the package that a value's type comes from, such as 'pandas' or 'pyarrow'."""
    return type(value).__module__.partition(".")[0]


def is_masked(values: object) -> TypeGuard[np.ma.MaskedArray[Any, Any]]:
    """Return whether values are a masked array. NumPy loads its support for them only when somebody makes one."""
    return "numpy.ma" in sys.modules and isinstance(values, np.ma.MaskedArray)


def refuse_masked(name: str, values: Any, rule: str) -> Any:
    """Return the values without a mask; raise a DataError if any of them is masked."""
    if not is_masked(values):
        return values
    hidden = np.ma.getmaskarray(values)
    if hidden.any():
        place = ", ".join(str(int(index)) for index in np.argwhere(hidden)[0])
        raise DataError(f"{name}[{place}] is masked; {rule}")
    return np.ma.getdata(values)


def fill_masked(values: Any) -> Any:
    """Return a masked array of real numbers as floats with NaN for masked values, and anything else as it is."""
    if not is_masked(values) or values.dtype.kind not in "iufb":
        return values
    return np.ma.filled(values.astype(np.float64 if values.dtype.kind != "f" else values.dtype), np.nan)


def real_numbers(values: Any, dtype: type[np.floating[Any]]) -> Array:
    """Return real numbers as an array of floats in C order; masked, null and NA are NaN.

    A value that is not a real number raises a TypeError or ValueError, whose text says why.
    """
    if library_of(values) == "pyarrow":
        given = _arrow_numbers(values)
    elif library_of(values) == "pandas" and hasattr(values, "to_numpy"):
        given = _pandas_numbers(values)
    else:
        given = values if is_masked(values) else np.asarray(values)
    if given.dtype.kind in "cmMV":
        raise TypeError(f"{given.dtype} is not a real number")
    if given.dtype.kind in "UST" or (
        given.dtype.kind == "O" and any(isinstance(value, str | bytes) for value in given.flat)
    ):
        raise TypeError("text is not a real number")
    with np.errstate(over="ignore"):  # a value too large for float32 is reported later as infinite
        if is_masked(given):
            given = np.ma.filled(given.astype(dtype), np.nan)
        return np.asarray(given, dtype, order="C")


def _arrow_numbers(values: Any) -> Array:
    import pyarrow as pa

    if pa.types.is_null(values.type) or pa.types.is_boolean(values.type) or pa.types.is_decimal(values.type):
        values = values.cast(pa.float64())
    return np.asarray(values)  # ints with nulls become floats with NaN


def _pandas_numbers(values: Any) -> Array:
    kind = getattr(values.dtype, "kind", "O")
    return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan) if kind in "iufb" else values.to_numpy())
