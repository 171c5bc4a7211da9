"""JSON bodies: a matrix of features, or documents with named features, of one or several queries.

A matrix is read by the core straight into float32, which is several times faster than making a Python number of every value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, NoReturn

import msgspec
import numpy as np

from podium import _core
from podium.data.feature_names import feature_name
from podium.errors import nearest_name, short_repr
from podium.serve.batch import Batch, Features, Ids, malformed, one_query, too_many, unprocessable
from podium.serve.problems import RequestError
from podium.serve.registry import ServedModel
from podium.serve.settings import ServiceLimits

LARGEST_FLOAT = float(np.finfo(np.float32).max)
# Most bodies begin with their features; these are read without looking at them twice.
FEATURES_FIRST = re.compile(rb'[ \t\r\n]*\{[ \t\r\n]*"features"[ \t\r\n]*:[ \t\r\n]*(?=\[)')
NOT_JSON_NUMBERS = re.compile(rb"[:,\[]\s*(-?inf|nan)", re.IGNORECASE)  # what some writers of JSON write
MAX_DIGITS = 9  # of a number of a feature
NO_FAULT, SYNTAX, NOT_A_NUMBER, TOO_LARGE, WIDTH, TOO_MANY_ROWS = range(6)
Value = float | str | bool | None  # a truth value is read only to refuse it by name


class QueryBody(msgspec.Struct, forbid_unknown_fields=True):
    """The documents of one query."""

    features: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    documents: list[dict[str, Value]] | msgspec.UnsetType = msgspec.UNSET
    ids: list[str | int] | None = None


class RequestBody(QueryBody, forbid_unknown_fields=True):
    """The documents of one query, or several queries."""

    queries: list[QueryBody] | msgspec.UnsetType = msgspec.UNSET
    k: int | None = None


_DECODER = msgspec.json.Decoder(RequestBody)
_ROWS = msgspec.json.Decoder(list[list[Value]])


def read_json(body: bytes, model: ServedModel, limits: ServiceLimits) -> Batch:
    """Return the documents of a JSON body, as the model takes them."""
    first, given = _read_features_first(body, model, limits)
    if given is None:
        given = _decode(body)
    if given.k is not None and given.k < 0:
        raise unprocessable("k must be a whole number of at least 0")
    if given.queries is not msgspec.UNSET:
        if (
            first is not None
            or given.features is not msgspec.UNSET
            or given.documents is not msgspec.UNSET
            or given.ids
        ):
            raise unprocessable("give either queries, or the features or documents of one query")
        return _read_queries(given.queries, given.k, model, limits)
    features = _read_query(given, model, limits.max_documents, limits) if first is None else first
    _check_ids(given.ids, len(features))
    return Batch(features, one_query(len(features)), given.ids, given.k)


def _decode(body: bytes) -> RequestBody:
    try:
        return _DECODER.decode(body)
    except msgspec.ValidationError as error:
        raise unprocessable(f"the JSON body does not fit: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        hint = "; write null for a missing value" if NOT_JSON_NUMBERS.search(body) else ""
        raise malformed(f"the body cannot be read as JSON: {reason}{hint}") from None


def _read_features_first(
    body: bytes, model: ServedModel, limits: ServiceLimits
) -> tuple[Features | None, RequestBody | None]:
    """Return the features a body begins with and the rest of it; nothing if it begins otherwise or something is wrong."""
    start = FEATURES_FIRST.match(body)
    if start is None:
        return None, None
    values, rows, end, fault, _, _ = _core.parse_json_matrix(body, model.n_features, limits.max_documents, start.end())
    if fault != NO_FAULT:
        return None, None
    rest = body[end:].lstrip(b" \t\r\n")
    if rest[:1] == b",":
        rest = rest[1:].lstrip(b" \t\r\n")
        if rest[:1] == b"}":  # a trailing comma
            return None, None
    elif rest[:1] != b"}":
        return None, None
    try:
        given = _decode(b"{" + rest)
    except RequestError:
        return None, None  # reading the whole body says where it is wrong
    if given.features is not msgspec.UNSET or given.documents is not msgspec.UNSET:
        raise unprocessable("give features or documents, and only once")
    return values.reshape(rows, model.n_features), given


def _read_queries(queries: list[QueryBody], k: int | None, model: ServedModel, limits: ServiceLimits) -> Batch:
    if len(queries) > limits.max_queries:
        raise too_many("queries", limits.max_queries)
    parts: list[Features] = []
    left = limits.max_documents
    for query in queries:
        parts.append(_read_query(query, model, left, limits))
        _check_ids(query.ids, len(parts[-1]))
        left -= len(parts[-1])
    with_ids = [query.ids is not None for query in queries]
    if any(with_ids) and not all(with_ids):
        raise unprocessable("give ids for every query, or for none")
    ids: Ids | None = [id for query in queries for id in query.ids or ()] if any(with_ids) else None
    features = np.concatenate([np.empty((0, model.n_features), np.float32), *parts])
    return Batch(features, np.array([len(part) for part in parts], np.int64), ids, k, several=True)


def _read_query(query: QueryBody, model: ServedModel, left: int, limits: ServiceLimits) -> Features:
    """Return the features of one query, which may have as many documents as are left of the limit."""
    if query.features is not msgspec.UNSET:
        if query.documents is not msgspec.UNSET:
            raise unprocessable("give features or documents, not both")
        return _read_matrix(bytes(query.features), model, left, limits)
    if query.documents is msgspec.UNSET:
        raise unprocessable("the body lacks features: give features, documents or queries")
    if len(query.documents) > left:
        raise too_many("documents", limits.max_documents)
    return _read_documents(query.documents, model)


def _check_ids(ids: Sequence[str | int] | None, rows: int) -> None:
    if ids is not None and len(ids) != rows:
        raise unprocessable(f"there are {len(ids):,} ids for {rows:,} documents; give one id per document")


def _read_matrix(text: bytes, model: ServedModel, left: int, limits: ServiceLimits) -> Features:
    values, rows, _, fault, row, column = _core.parse_json_matrix(text, model.n_features, left, 0)
    if fault == NOT_A_NUMBER and any(names is not None for names in (model.scorer.categories or {}).values()):
        return _read_rows(text, model, left, limits)
    if fault != NO_FAULT:
        _refuse_matrix(fault, row, column, model, limits)
    return values.reshape(rows, model.n_features)


def _refuse_matrix(fault: int, row: int, column: int, model: ServedModel, limits: ServiceLimits) -> NoReturn:
    if fault == TOO_MANY_ROWS:
        raise too_many("documents", limits.max_documents)
    if fault == WIDTH:
        found = f"more than {column - 1}" if column > model.n_features else str(column)
        raise unprocessable(
            f"document {row} has {found} features, the model was trained on {model.n_features}", "wrong_width"
        )
    if fault == SYNTAX:
        raise unprocessable("features must be an array of arrays of numbers, one array per document")
    name = feature_name(column, model.scorer.feature_names)
    if fault == TOO_LARGE:
        raise unprocessable(f"feature {name!r} of document {row} is too large for float32; use null if it is missing")
    raise unprocessable(f"feature {name!r} of document {row} must be a number, or null if it is missing")


def _read_rows(text: bytes, model: ServedModel, left: int, limits: ServiceLimits) -> Features:
    """Return rows that name categories."""
    try:
        rows = _ROWS.decode(text)
    except msgspec.ValidationError as error:
        raise unprocessable(f"features must be arrays of numbers and categories: {error}") from None
    if len(rows) > left:
        raise too_many("documents", limits.max_documents)
    features = np.empty((len(rows), model.n_features), np.float32)
    for number, row in enumerate(rows):
        if len(row) != model.n_features:
            _refuse_matrix(WIDTH, number, min(len(row), model.n_features + 1), model, limits)
        features[number] = [_as_float(value, column, number, model) for column, value in enumerate(row)]
    return features


def _read_documents(documents: list[dict[str, Any]], model: ServedModel) -> Features:
    """Return documents whose features have names. A feature that a document does not name is missing."""
    features = np.full((len(documents), model.n_features), np.nan, np.float32)
    columns = model.columns
    for row, document in enumerate(documents):
        for name, value in document.items():
            column = columns.get(name)
            if column is None:
                raise unprocessable(
                    f"document {row} has the feature {short_repr(name)}, which the model was not trained on"
                    f"{_name_hint(name, model)}",
                    "unknown_feature",
                )
            features[row, column] = _as_float(value, column, row, model)
    return features


def _name_hint(name: str, model: ServedModel) -> str:
    """Return advice for a name that the model does not know. LETOR files count features from 1, and f0 is the first."""
    if model.scorer.feature_names is not None or not (name.isascii() and name.isdigit()):
        hint = nearest_name(name, model.columns)
        return f"; {hint}" if hint else ""
    last = model.n_features - 1
    is_letor = len(name) <= MAX_DIGITS and 1 <= int(name) <= model.n_features
    example = f"{int(name)}: is f{int(name) - 1}" if is_letor else "1: is f0"
    return f"; its features are called f0 to f{last}, and what LETOR files write as {example}"


def _as_float(value: Value, column: int, row: int, model: ServedModel) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool):
        name = feature_name(column, model.scorer.feature_names)
        raise unprocessable(f"feature {name!r} of document {row} is {str(value).lower()}; write {int(value)} instead")
    if isinstance(value, str):
        categories = (model.scorer.categories or {}).get(column)
        name = feature_name(column, model.scorer.feature_names)
        if categories is None:
            raise unprocessable(f"feature {name!r} of document {row} must be a number, or null if it is missing")
        return float(categories.index(value) if value in categories else len(categories))
    if abs(value) > LARGEST_FLOAT:
        name = feature_name(column, model.scorer.feature_names)
        raise unprocessable(f"feature {name!r} of document {row} is too large for float32; use null if it is missing")
    return value
