"""Sentences about features that cannot be read name the feature, and say what to write instead."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest
from running import NAMES, Running

STREAM = "application/vnd.apache.arrow.stream"
MESSAGES = {
    "unknown feature": (
        "shop",
        {"documents": [{"price": 1}, {"title": 2}]},
        "document 1 has the feature 'title', which the model was not trained on",
    ),
    "misspelled": (
        "shop",
        {"documents": [{"prize": 1}]},
        "document 0 has the feature 'prize', which the model was not trained on; did you mean 'price'?",
    ),
    "number of a named feature": (
        "shop",
        {"documents": [{"1": 1}]},
        "document 0 has the feature '1', which the model was not trained on",
    ),
    "first of LETOR": (
        "linear",
        {"documents": [{"1": 0.5}]},
        "document 0 has the feature '1', which the model was not trained on; its features are called f0 to f4, and what LETOR "
        "files write as 1: is f0",
    ),
    "last of LETOR": (
        "linear",
        {"documents": [{"5": 0.5}]},
        "document 0 has the feature '5', which the model was not trained on; its features are called f0 to f4, and what LETOR "
        "files write as 5: is f4",
    ),
    "beyond LETOR": (
        "linear",
        {"documents": [{"6" * 5000: 0.5}]},
        f"document 0 has the feature '{'6' * 59}…{'6' * 18}', which the model was not trained on; its features are called f0 to "
        "f4, and what LETOR files write as 1: is f0",
    ),
    "a named truth": (
        "shop",
        {"documents": [{"price": 1, "age": True}]},
        "feature 'age' of document 0 is true; write 1 instead",
    ),
    "a truth beside categories": (
        "colors",
        {"features": [[1, "red"], [False, "red"]]},
        "feature 'size' of document 1 is false; write 0 instead",
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_name_the_feature(service: Running, name: str):
    model, body, message = MESSAGES[name]
    reply = service.call(f"/v1/models/{model}/score", body)
    assert (reply.status, reply.json["error"]["message"]) == (422, message)


def test_an_unknown_column_of_arrow_is_named(service: Running):
    table = pa.table({**{name: [1.0, 2.0] for name in NAMES}, "id": [1, 2], "more": [1, 2]})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    reply = service.call("/v1/models/shop/score", sink.getvalue(), STREAM)
    message = "the table has the column 'more', which the model was not trained on; leave it out"
    assert (reply.status, reply.json["error"]["message"]) == (422, message)


@pytest.mark.parametrize(
    ("body", "hint"),
    [(b'{"features": [[NaN]]}', True), (b'{"documents": [{"price": -Infinity}]}', True), (b"{bad", False)],
)
def test_null_is_advised_only_for_numbers_that_json_does_not_have(service: Running, body, hint):
    reply = service.call("/v1/models/shop/score", body)
    assert reply.status == 400
    assert ("write null for a missing value" in reply.json["error"]["message"]) == hint
