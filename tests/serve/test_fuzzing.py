"""Whatever is sent, the service answers with what it describes, never with an error of its own, and goes on serving."""

from __future__ import annotations

import io
import random
import socket

import numpy as np
import pyarrow as pa
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from running import NAMES, Running, X
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

RAW = "application/octet-stream"
STREAM, FILE = "application/vnd.apache.arrow.stream", "application/vnd.apache.arrow.file"
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
SHARED = {"suppress_health_check": list(HealthCheck), "deadline": None, "derandomize": True, "database": None}


@pytest.fixture(scope="module", autouse=True)
def still_serving(service: Running):
    """After all tests the same worker answers, and none has failed."""
    before = service.workers()
    yield
    assert service.call("/v1/models/shop/score", X[:3].tobytes(), RAW).status == 200
    assert service.workers() == before
    assert service.events("failed") == []


@pytest.mark.parametrize(
    "path", ["/v1/models/{name}/score", "/v1/models/{name}/rank", "/v1/models", "/metrics", "/healthz"]
)
def test_answers_are_as_described(service: Running, path: str):
    schema = schemathesis.openapi.from_url(f"{service.url}/openapi.json")
    operation = schema[path]["GET" if "{" not in path else "POST"]

    @given(case=operation.as_strategy())
    @settings(max_examples=60 if "{" in path else 3, **SHARED)
    def check(case: schemathesis.Case) -> None:
        if "{" in path:
            case.path_parameters = {"name": random.Random(repr(case.body)).choice(["shop", "linear", "colors", "none"])}
        case.call_and_validate(checks=CHECKS, timeout=60)

    check()


def bodies(kind: str) -> list[bytes]:
    """Good bodies of a binary format, to be damaged."""
    if kind == RAW:
        return [X[:4].tobytes(), b""]
    made = []
    for columns in (
        {name: X[:4, column] for column, name in enumerate(NAMES)},
        {"id": ["a", "b", "c", "d"], **{name: pa.array([1, None, 3, 4]) for name in NAMES}},
    ):
        table = pa.table(columns)
        sink = io.BytesIO()
        with (pa.ipc.new_stream if kind == STREAM else pa.ipc.new_file)(sink, table.schema) as writer:
            writer.write_table(table)
        made.append(sink.getvalue())
    colors = pa.table({"size": [1.0, 2.0], "color": pa.array(["red", "blue"]).dictionary_encode()})
    sink = io.BytesIO()
    with (pa.ipc.new_stream if kind == STREAM else pa.ipc.new_file)(sink, colors.schema) as writer:
        writer.write_table(colors)
    return [*made, sink.getvalue()]


@st.composite
def damaged(draw: st.DrawFn, kind: str) -> bytes:
    body = bytearray(draw(st.sampled_from(bodies(kind))))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(0, len(body) - 1)))
        change = draw(st.sampled_from(["flip", "word", "cut", "insert", "repeat"]))
        if change == "flip" and body:
            body[place] ^= 1 << draw(st.integers(0, 7))
        elif change == "word":
            word = draw(st.sampled_from([0, 1, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1, 0x7F800000]))
            body[place : place + 8] = word.to_bytes(8, "little")
        elif change == "cut":
            del body[place : place + draw(st.integers(1, 64))]
        elif change == "insert":
            body[place:place] = draw(st.binary(max_size=16))
        else:
            body += body[place:]
    return bytes(body)


@pytest.mark.parametrize("kind", [RAW, STREAM, FILE])
def test_damaged_binary_bodies(service: Running, kind: str):
    @given(damaged(kind), st.sampled_from(["shop", "colors", "linear", "scaled"]), st.sampled_from(["score", "rank"]))
    @settings(max_examples=150, **SHARED)
    def check(body: bytes, model: str, operation: str) -> None:
        reply = service.call(f"/v1/models/{model}/{operation}", body, kind, accept="application/json")
        assert reply.status in (200, 400, 413, 422)
        if reply.status == 200:
            numbers = reply.json.get("scores") or [entry["score"] for entry in reply.json.get("ranking", [])]
            assert np.isfinite(numbers).all()
        else:
            assert reply.code

    check()


@given(head=st.binary(max_size=200), body=st.binary(max_size=100))
@settings(max_examples=60, **SHARED)
def test_noise_in_place_of_http(service: Running, head: bytes, body: bytes):
    with socket.create_connection(service.address, timeout=60) as connection:
        connection.sendall(b"POST /v1/models/shop/score HTTP/1.1\r\n" + head + b"\r\n\r\n" + body)
        connection.shutdown(socket.SHUT_WR)
        try:
            received = connection.recv(65536)
        except ConnectionResetError:
            return
    assert not received or received.split(b" ")[1][:1] in (b"2", b"4")


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=5), lambda x: st.lists(x, max_size=3)))
@settings(max_examples=80, **SHARED)
def test_any_features_in_json(service: Running, value: object):
    for field in ("features", "documents", "ids", "queries", "k"):
        assert service.call("/v1/models/shop/rank", {"features": [], field: value}).status in (200, 400, 413, 422)
