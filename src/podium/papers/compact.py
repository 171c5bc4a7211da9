"""Values per query as a short string, so that results.json can hold those of hundreds of cells.

A value is kept to five decimals: as a whole number of 32 bits, of which first all low bytes are written, then all next ones and
so on, compressed by zlib and spelled in base64.
"""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np

DECIMALS = 5
SCALE = 10**DECIMALS


def pack_values(values: list[float]) -> str:
    """Return values, rounded to five decimals, as text of about three characters per value."""
    whole = np.rint(np.array(values, np.float64) * SCALE).astype("<i4")
    planes = whole.view(np.uint8).reshape(-1, 4).T.tobytes()
    return base64.b64encode(zlib.compress(planes, 9)).decode("ascii")


def unpack_values(text: str) -> list[float]:
    """Return the values that `pack_values` wrote."""
    planes = np.frombuffer(zlib.decompress(base64.b64decode(text, validate=True)), np.uint8)
    whole = np.ascontiguousarray(planes.reshape(4, -1).T).view("<i4").ravel()
    return [round(int(value) / SCALE, DECIMALS) for value in whole]


def pack_result(result: dict[str, Any]) -> dict[str, Any]:
    """Return a cell's result with its values per query packed."""
    return result | {"per_query": {name: pack_values(values) for name, values in result["per_query"].items()}}


def unpack_result(result: dict[str, Any]) -> dict[str, Any]:
    """Return a cell's result as it was before `pack_result`."""
    return result | {"per_query": {name: unpack_values(text) for name, text in result["per_query"].items()}}
