"""Models of other libraries and search engines: written, read and verified. One table; one module per format."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from podium.artifact.tensors import read_bytes
from podium.errors import FormatError, ParameterError, PodiumError, UnknownNameError
from podium.export.catboost_json import json_of_model, load_cbm, read_catboost
from podium.export.changes import CHANGES
from podium.export.exporting import export_model
from podium.export.format import ExportFormat
from podium.export.reading import BadModelError, ReadModel
from podium.export.table import EXPORTS
from podium.export.verifying import ExportReport
from podium.kinds import KINDS, recognize
from podium.model_kinds import looks_like_cbm

__all__ = [
    "CHANGES",
    "EXPORTS",
    "ExportFormat",
    "ExportReport",
    "ReadModel",
    "export_model",
    "parse_catboost_model",
    "parse_model",
    "read_model",
]

HEAD_BYTES = 1 << 16
BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # which editors put in front of UTF-8 text
REMEDIES = {
    "model": "it needs no import",
    "xgboost-dump": "a dump has lost the base score: save the model itself with save_model",
}
DAMAGE = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError)


def read_model(path: str | os.PathLike[str], *, format: str | None = None) -> ReadModel:
    """Return the model of another library's file; without `format`, the file's first bytes tell what it is.

    A file that is not a model of that format, or a damaged one, is a FormatError. Nothing in a file is ever executed.
    """
    return parse_model(bytes(read_bytes(path)), path, format)


def parse_model(raw: bytes, path: str | os.PathLike[str], format: str | None = None) -> ReadModel:
    """Return the model of a file's bytes; `path` is named in messages."""
    raw = raw.removeprefix(BYTE_ORDER_MARK)
    try:
        if looks_like_cbm(raw[:HEAD_BYTES]) and format in (None, "catboost"):
            return replace(read_catboost(load_cbm(raw)), format="catboost")
        row = _importable(raw[:HEAD_BYTES], path, format)
        assert row.read is not None
        return replace(row.read(raw), format=row.name)
    except BadModelError as error:
        raise FormatError(path, f"cannot be imported: {error}") from None
    except PodiumError:
        raise
    except DAMAGE as error:
        raise FormatError(path, f"is damaged, or not the model that it seems to be: {error!r:.200}") from None


def parse_catboost_model(model: Any, pool: Any = None) -> ReadModel:
    """Return the model of a CatBoost model in memory; `pool` is its training data."""
    try:
        raw = json_of_model(model, pool)
    except BadModelError as error:
        raise FormatError("the model", f"cannot be imported: {error}") from None
    return parse_model(raw, "the model", "catboost")


def _importable(head: bytes, path: str | os.PathLike[str], format: str | None) -> ExportFormat:
    known = {name: row for name, row in EXPORTS.items() if row.read is not None}
    if format is not None:
        if format not in EXPORTS:
            raise UnknownNameError("format", format, known)
        if format not in known:
            raise ParameterError(
                "format", format, "can be written but not read", f"formats to read: {', '.join(known)}"
            )
        found: ExportFormat | None = known[format]
    else:
        found = next((row for row in known.values() if row.looks_like(head)), None)
    if found is None or not found.looks_like(head):
        _refuse_other_model(head, path, found)
    if found is None:
        raise FormatError(path, f"is not a model that can be imported; formats: {', '.join(known)}")
    return found


def _refuse_other_model(head: bytes, path: str | os.PathLike[str], wanted: ExportFormat | None) -> None:
    """Raise the error that says what a file is, if it is a model that is not wanted."""
    kinds = {"model", *(row.file_kind for row in EXPORTS.values())}
    kind = recognize(path, head)
    if kind is None or kind not in kinds or (wanted is not None and kind == wanted.file_kind):
        return
    what = "which cannot be imported" if wanted is None else f"not {KINDS[wanted.file_kind].noun}"
    remedy = REMEDIES.get(kind, f"formats: {', '.join(row.name for row in EXPORTS.values() if row.read is not None)}")
    raise FormatError(path, f"is {KINDS[kind].noun}, {what}; {remedy}")
