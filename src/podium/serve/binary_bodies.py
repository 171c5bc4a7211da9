"""Binary bodies: raw float32 rows, and Arrow IPC files or streams."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np

from podium.data.categories import category_names
from podium.data.feature_names import feature_name
from podium.errors import DataError, MissingExtraError, nearest_name, short_repr
from podium.formats.arrow import require_pyarrow
from podium.formats.arrow_batches import check_batch, check_schema
from podium.formats.arrow_messages import DICTIONARY, ArrowMessage, read_layout
from podium.formats.flatbuffers import DamageError
from podium.serve.batch import (
    Batch,
    Features,
    Ids,
    check_counts,
    malformed,
    one_query,
    parse_sizes,
    unprocessable,
)
from podium.serve.problems import RequestError
from podium.serve.registry import ServedModel
from podium.serve.settings import ServiceLimits

ID_COLUMN = "id"
MAX_COLUMNS = 20_000  # of an Arrow schema, before its types are looked at


def read_raw(body: bytes, model: ServedModel, limits: ServiceLimits, sizes: str | None, k: int | None) -> Batch:
    """Return the documents of a body of little-endian float32 values, row after row."""
    width = 4 * model.n_features
    if not width or len(body) % width:
        raise unprocessable(
            f"the body has {len(body):,} bytes, which is no multiple of {width:,}: a document is {model.n_features} float32 "
            "values of 4 bytes",
            "wrong_width",
        )
    features = np.frombuffer(body, "<f4").reshape(-1, model.n_features)
    return _batch(features, None, limits, sizes, k)


def _batch(features: Features, ids: Ids | None, limits: ServiceLimits, sizes: str | None, k: int | None) -> Batch:
    parsed = one_query(len(features)) if sizes is None else parse_sizes(sizes, len(features))
    check_counts(len(features), len(parsed), limits)
    return Batch(features, parsed, ids, k, several=sizes is not None)


def check_arrow() -> None:
    """Raise a RequestError if Arrow is not installed."""
    try:
        require_pyarrow()
    except MissingExtraError as error:
        raise RequestError(415, "no_arrow", f"this service cannot read or write Arrow: {error}") from None


def read_arrow_body(body: bytes, model: ServedModel, limits: ServiceLimits, sizes: str | None, k: int | None) -> Batch:
    """Return the documents of an Arrow IPC file or stream: one column per feature, and perhaps a column of ids."""
    pa = require_pyarrow()
    try:
        table = _read_table(pa, body, limits)
    except DamageError as error:
        raise malformed(f"the body is not an Arrow IPC file or stream, or is damaged: {error}") from None
    except (pa.ArrowException, OSError, ValueError, TypeError, OverflowError, IndexError, KeyError):
        raise malformed("the body is not an Arrow IPC file or stream, or is damaged") from None
    columns = _feature_columns(table, model)
    features = np.empty((table.num_rows, model.n_features), np.float32)
    for column, name in enumerate(columns):
        features[:, column] = _values(pa, table.column(name), column, model)
    return _batch(features, _ids(pa, table, columns), limits, sizes, k)


def _read_table(pa: Any, body: bytes, limits: ServiceLimits) -> Any:
    file = io.BytesIO(body)
    layout = read_layout(file)
    for message in layout.messages:
        _check_size(message, limits)
    source = pa.py_buffer(body)
    reader = pa.ipc.open_file(source) if layout.is_file else pa.ipc.open_stream(source)
    schema = reader.schema
    if len(schema.names) > MAX_COLUMNS or len(set(schema.names)) != len(schema.names):
        raise unprocessable("the columns of the table must have different names")
    for field in schema:
        if not _is_plain(pa, field.type):
            raise unprocessable("the columns of the table must hold numbers, categories or text")
    check_schema(layout.first_message, schema)
    for message in layout.messages:
        check_batch(file, message, None if message.type == DICTIONARY else [field.type for field in schema])
    check_counts(sum(message.n_rows for message in layout.batches), 1, limits)
    table = reader.read_all()
    table.validate(full=True)
    if table.num_rows != sum(message.n_rows for message in layout.batches):
        raise DamageError("it has another number of rows than it says")
    return table


def _check_size(message: ArrowMessage, limits: ServiceLimits) -> None:
    """Refuse what could take more memory than the body has bytes."""
    if message.batch.table(3) is not None:
        raise unprocessable("the body must not be compressed; write Arrow without compression")
    if not 0 <= message.n_rows <= limits.max_documents:
        check_counts(max(message.n_rows, 0), 1, limits)
        raise DamageError("a batch has a negative number of rows")


def _is_plain(pa: Any, kind: Any) -> bool:
    is_a = pa.types
    if is_a.is_dictionary(kind):
        return bool(is_a.is_string(kind.value_type) or is_a.is_large_string(kind.value_type))
    checks: tuple[Callable[[Any], bool], ...] = (
        is_a.is_floating,
        is_a.is_integer,
        is_a.is_boolean,
        is_a.is_string,
        is_a.is_large_string,
    )
    return any(check(kind) for check in checks)


def _feature_columns(table: Any, model: ServedModel) -> list[str]:
    """Return the names of the columns that hold the features, in the model's order.

    Features are found by name if the model knows names. Otherwise they are the columns in their order, without the ids.
    """
    names: list[str] = table.column_names
    known = model.scorer.feature_names
    if known is None:
        others = [name for name in names if name != ID_COLUMN]
        if len(others) != model.n_features:
            raise unprocessable(
                f"the table has {len(others)} columns of features, the model was trained on {model.n_features}",
                "wrong_width",
            )
        return others
    missing = [name for name in known if name not in set(names)]
    if missing:
        hint = nearest_name(missing[0], names)
        raise unprocessable(
            f"the table has no column {missing[0]!r}, which the model was trained on; {hint or 'give every feature'}",
            "wrong_width",
        )
    extra = [name for name in names if name not in set(known) and name != ID_COLUMN]
    if extra:
        raise unprocessable(
            f"the table has the column {short_repr(extra[0])}, which the model was not trained on; leave it out",
            "unknown_feature",
        )
    return list(known)


def _values(pa: Any, column: Any, number: int, model: ServedModel) -> Any:
    """Return a column as float32, categories by their codes in the model; nulls are missing values."""
    name = feature_name(number, model.scorer.feature_names)
    if pa.types.is_dictionary(column.type) or pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return _codes(column, number, name, model)
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.array(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)
        out = values.astype(np.float32)
    infinite = np.isinf(out)
    if infinite.any():
        raise unprocessable(
            f"feature {name!r} of document {int(np.argmax(infinite))} is infinite, or too large for float32; use null if "
            "it is missing"
        )
    return out


def _codes(column: Any, number: int, name: str, model: ServedModel) -> Any:
    categories = (model.scorer.categories or {}).get(number)
    if categories is None:
        raise unprocessable(f"column {name!r} must hold numbers")
    try:
        code = {category: place for place, category in enumerate(category_names(name, categories))}
    except DataError as error:  # pragma: no cover - the model would not have loaded
        raise unprocessable(str(error)) from None
    unknown = float(len(code))
    return [np.nan if value is None else code.get(value, unknown) for value in column.to_pylist()]


def _ids(pa: Any, table: Any, columns: list[str]) -> Ids | None:
    if ID_COLUMN not in table.column_names or ID_COLUMN in columns:
        return None
    found = table.column(ID_COLUMN)
    if pa.types.is_floating(found.type) or pa.types.is_boolean(found.type) or found.null_count:
        raise unprocessable("column 'id' must hold text or whole numbers, without nulls")
    ids: Ids = found.to_pylist()
    return ids


def write_arrow_table(columns: dict[str, Any]) -> bytes:
    """Return columns as an Arrow IPC stream."""
    pa = require_pyarrow()
    table = pa.table(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
