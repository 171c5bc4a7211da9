"""Requests that cannot be answered get a status of 4xx with a sentence; nothing of them is logged."""

from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import sys
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from running import CEILING, NAMES, Running, X, serving, wait_for

from podium.serve import ServiceError

RAW, STREAM = "application/octet-stream", "application/vnd.apache.arrow.stream"
KEY, OTHER_KEY = "correct-horse-battery", "0123456789abcdef0123456789abcdef"
ROW = [1.0, 2.0, 3.0, 4.0, 5.0]


def arrow(columns: dict, **options) -> bytes:
    sink = io.BytesIO()
    table = pa.table(columns)
    with pa.ipc.new_stream(sink, table.schema, **options) as writer:
        writer.write_table(table)
    return sink.getvalue()


GOOD = {name: [1.0, 2.0] for name in NAMES}
BODIES = {
    "nothing": (b"", 400, "malformed_body"),
    "no JSON": (b"features", 400, "malformed_body"),
    "half of it": (b'{"features": [[1,', 400, "malformed_body"),
    "NaN": (b'{"features": [[NaN,2,3,4,5]]}', 400, "malformed_body"),
    "Infinity": (b'{"features": [[1,2,3,4,-Infinity]]}', 400, "malformed_body"),
    "a trailing comma": (b'{"features": [[1,2,3,4,5]],}', 400, "malformed_body"),
    "more behind it": (b'{"features": [[1,2,3,4,5]]} {}', 400, "malformed_body"),
    "not UTF-8": (b'{"features": [[1,2,3,4,5]], "ids": ["\xff"]}', 400, "malformed_body"),
    "deep": (b'{"features": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 400, "malformed_body"),
    "a list": ([ROW], 422, "invalid_body"),
    "an empty object": ({}, 422, "invalid_body"),
    "a number": ({"features": 3}, 422, "invalid_body"),
    "a vector": ({"features": ROW}, 422, "invalid_body"),
    "null": ({"features": None}, 422, "invalid_body"),
    "text": ({"features": [["1", 2, 3, 4, 5]]}, 422, "invalid_body"),
    "a truth": ({"features": [[True, 2, 3, 4, 5]]}, 422, "invalid_body"),
    "a list inside": ({"features": [[[1], 2, 3, 4, 5]]}, 422, "invalid_body"),
    "too narrow": ({"features": [ROW, ROW[:4]]}, 422, "wrong_width"),
    "too wide": ({"features": [ROW, [*ROW, 6]]}, 422, "wrong_width"),
    "empty rows": ({"features": [[]]}, 422, "wrong_width"),
    "too large a number": ({"features": [[1e39, 2, 3, 4, 5]]}, 422, "invalid_body"),
    "a number beyond double": (b'{"features": [[1e999,2,3,4,5]]}', 422, "invalid_body"),
    "unknown field": ({"features": [ROW], "top": 3}, 422, "invalid_body"),
    "few ids": ({"features": [ROW, ROW], "ids": ["a"]}, 422, "invalid_body"),
    "ids that are no ids": ({"features": [ROW], "ids": [1.5]}, 422, "invalid_body"),
    "negative k": ({"features": [ROW], "k": -1}, 422, "invalid_body"),
    "k of text": ({"features": [ROW], "k": "3"}, 422, "invalid_body"),
    "both": ({"features": [ROW], "documents": []}, 422, "invalid_body"),
    "both, the other way": ({"documents": [], "features": [ROW]}, 422, "invalid_body"),
    "twice": (b'{"features": [[1,2,3,4,5]], "features": [[1,2,3,4,5]]}', 422, "invalid_body"),
    "query and queries": ({"features": [ROW], "queries": []}, 422, "invalid_body"),
    "some ids": ({"queries": [{"features": [ROW], "ids": [1]}, {"features": [ROW]}]}, 422, "invalid_body"),
    "unknown feature": ({"documents": [{"prize": 1}]}, 422, "unknown_feature"),
    "named text": ({"documents": [{"price": "cheap"}]}, 422, "invalid_body"),
    "named too large": ({"documents": [{"price": -1e300}]}, 422, "invalid_body"),
    "many documents": ({"features": [ROW] * 501}, 413, "too_many_documents"),
    "many named documents": ({"documents": [{}] * 501}, 413, "too_many_documents"),
    "many documents in queries": ({"queries": [{"features": [ROW] * 100}] * 6}, 413, "too_many_documents"),
    "many queries": ({"queries": [{"features": []}] * 21}, 413, "too_many_queries"),
    "many bytes": (b" " * 2_000_001, 413, "too_large"),
}


@pytest.mark.parametrize("name", BODIES)
def test_bad_json(service: Running, name: str):
    body, status, code = BODIES[name]
    reply = service.call("/v1/models/shop/score", body)
    assert (reply.status, reply.code) == (status, code)


def test_a_mistake_behind_the_features_is_found_at_its_place(service: Running):
    body = b'{"features": [[1,2,3,4,5]], "k": x}'
    message = service.call("/v1/models/shop/score", body).json["error"]["message"]
    assert f"byte {body.index(b'x')}" in message


RAW_BODIES = {
    "a few bytes": (b"123", "", 422, "wrong_width"),
    "too narrow": (X[:1, :4].tobytes(), "", 422, "wrong_width"),
    "infinite": (np.full((1, 5), np.inf, "<f4").tobytes(), "", 422, "invalid_body"),
    "many documents": (bytes(20 * 501), "", 413, "too_many_documents"),
    "sizes that do not add up": (X[:4].tobytes(), "?sizes=1,2", 422, "invalid_parameter"),
    "sizes of text": (X[:4].tobytes(), "?sizes=a", 422, "invalid_parameter"),
    "negative sizes": (X[:4].tobytes(), "?sizes=5,-1", 422, "invalid_parameter"),
    "huge sizes": (X[:4].tobytes(), "?sizes=99999999999999999999", 422, "invalid_parameter"),
    "many queries": (X[:4].tobytes(), "?sizes=4" + ",0" * 20, 413, "too_many_queries"),
    "k of text": (X[:4].tobytes(), "?k=a", 422, "invalid_parameter"),
    "another number of features": (X[:10, :4].tobytes(), "?features=4", 422, "wrong_width"),
    "features of text": (X[:4].tobytes(), "?features=five", 422, "invalid_parameter"),
    "unknown parameter": (X[:4].tobytes(), "?top=3", 422, "invalid_parameter"),
    "a parameter twice": (X[:4].tobytes(), "?k=3&k=4", 422, "invalid_parameter"),
    "unknown version": (X[:4].tobytes(), "?version=../../etc/passwd", 404, "unknown_version"),
}


@pytest.mark.parametrize("name", RAW_BODIES)
def test_bad_raw_bodies(service: Running, name: str):
    body, query, status, code = RAW_BODIES[name]
    reply = service.call(f"/v1/models/shop/rank{query}", body, RAW)
    assert (reply.status, reply.code) == (status, code)


def test_the_client_says_how_many_features_it_sends(service: Running):
    narrow = X[:10, :4]  # as many bytes as 8 documents of 5 features
    with service.client() as client:
        for call in (client.score, client.rank):
            with pytest.raises(
                ServiceError, match="the documents have 4 features, the model was trained on 5"
            ) as caught:
                call("shop", narrow)
            assert (caught.value.status, caught.value.code) == (422, "wrong_width")


def test_the_number_of_features_may_be_given_in_every_format(service: Running):
    for body, kind in ((X[:2].tobytes(), RAW), ({"features": [ROW]}, "application/json"), (arrow(GOOD), STREAM)):
        assert service.call("/v1/models/shop/score?features=5", body, kind).status == 200
        reply = service.call("/v1/models/shop/score?features=6", body, kind)
        assert (reply.status, reply.code) == (422, "wrong_width")


ARROW_BODIES = {
    "nothing": (b"", 400, "malformed_body"),
    "noise": (b"ARROW1\0\0" + bytes(range(256)), 400, "malformed_body"),
    "cut short": (arrow(GOOD)[:-9], 400, "malformed_body"),
    "a column missing": (arrow({name: [1.0] for name in NAMES[:4]}), 422, "wrong_width"),
    "a column too many": (arrow({**GOOD, "more": [1, 2]}), 422, "unknown_feature"),
    "text": (arrow({**GOOD, "price": ["a", "b"]}), 422, "invalid_body"),
    "lists": (arrow({**GOOD, "price": [[1.0], [2.0]]}), 422, "invalid_body"),
    "infinite": (arrow({**GOOD, "price": [np.inf, 1.0]}), 422, "invalid_body"),
    "too large": (arrow({**GOOD, "price": [1e300, 1.0]}), 422, "invalid_body"),
    "ids with nulls": (arrow({**GOOD, "id": ["a", None]}), 422, "invalid_body"),
    "compressed": (arrow(GOOD, options=pa.ipc.IpcWriteOptions(compression="zstd")), 422, "invalid_body"),
    "many documents": (arrow({name: np.zeros(501) for name in NAMES}), 413, "too_many_documents"),
}


@pytest.mark.parametrize("name", ARROW_BODIES)
def test_bad_arrow_bodies(service: Running, name: str):
    body, status, code = ARROW_BODIES[name]
    reply = service.call("/v1/models/shop/score", body, STREAM)
    assert (reply.status, reply.code) == (status, code)


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded", "application/x-pickle"])
def test_unknown_formats(service: Running, kind: str):
    reply = service.call("/v1/models/shop/score", b"{}", kind)
    assert (reply.status, reply.code) == (415, "unknown_format")


def test_compressed_bodies(service: Running):
    reply = service.call("/v1/models/shop/score", b"{}", content_encoding="gzip")
    assert (reply.status, reply.code) == (415, "unknown_encoding")


@pytest.mark.parametrize(
    "path",
    [
        "/v1/models/ship/score",
        "/v1/models//score",
        "/v1/models/..%2F..%2Fetc%2Fpasswd/score",
        "/v1/models/%2Fetc%2Fpasswd/rank",
        "/v1/models/shop%00/score",
        "/v1/models/../shop/score",
    ],
)
def test_names_are_never_paths(service: Running, path: str):
    reply = service.call(path, {"features": [ROW]})
    assert reply.status == 404
    assert reply.code in ("unknown_model", "not_found")
    assert "passwd" not in reply.body.decode()


def test_other_addresses_and_methods(service: Running):
    assert (service.call("/").status, service.call("/").code) == (404, "not_found")
    assert service.call("/v1/models/shop/score").code == "wrong_method"
    assert service.call("/v1/models/shop/score").headers["allow"] == "POST"
    assert service.call("/healthz", {}).status == 405
    assert service.call("/docs").status == 404
    assert service.call("/healthz").json == {"status": "alive"}
    assert service.call("/readyz").json == {"status": "ready"}


def test_the_log_has_no_payload(service: Running):
    secret = "swordfish"
    for body in ({"features": [ROW], "ids": [secret]}, {"documents": [{secret: 1}]}, {secret: 1}):
        service.call("/v1/models/shop/score", body)
    service.call(f"/v1/models/{secret}/score?{secret}=1", {})
    service.call(f"/{secret}?{secret}=1", {})
    service.call("/v1/models/shop/score", {"features": [[987654.25, 2, 3, 4, 5]]})
    wait_for(lambda: service.events("request")[-1]["status"] == 200)
    text = service.log_path.read_text()
    assert secret not in text
    assert "987654" not in text
    assert set(service.events("request")[-1]) == {
        *("time", "level", "event", "worker", "model", "version", "operation", "status", "documents", "queries", "ms")
    }


@pytest.fixture(scope="module")
def guarded(models, tmp_path_factory) -> Iterator[Running]:
    """A service that needs keys, handles one request at a time, and waits for one second."""
    folder = tmp_path_factory.mktemp("guarded")
    env = {**os.environ, "PODIUM_API_KEYS": f"{KEY}, {OTHER_KEY}"}
    words = ("--max-concurrency", 1, "--timeout", 1, "--no-access-log")
    with serving(folder, models / "shop.podium", *words, env=env) as running:
        yield running


def test_keys(guarded: Running):
    body = {"features": [ROW]}
    for headers in (
        {},
        {"authorization": "Bearer "},
        {"authorization": f"Basic {KEY}"},
        {"authorization": f"Bearer {KEY[:-1]}"},
        {"authorization": f"Bearer {KEY}x"},
        {"x_api_key": "x" * 10_000},
    ):
        for path, given in (("/v1/models/shop/score", body), ("/v1/models", None), ("/metrics", None)):
            reply = guarded.call(path, given, **headers)
            assert (reply.status, reply.code) == (401, "unauthorized")
            assert KEY[:-1] not in reply.body.decode()
    for headers in ({"authorization": f"Bearer {KEY}"}, {"x_api_key": OTHER_KEY}):
        assert guarded.call("/v1/models/shop/score", body, **headers).status == 200
        assert guarded.call("/metrics", **headers).status == 200
    assert guarded.call("/healthz").status == guarded.call("/readyz").status == 200
    with guarded.client(api_key=KEY) as client:
        assert client.score("shop", X[:3]).shape == (3,)
    assert KEY[:-1] not in guarded.log_path.read_text()
    assert OTHER_KEY not in guarded.log_path.read_text()
    assert guarded.call("/openapi.json").json["paths"]["/metrics"]["get"]["security"] == [{"key": []}]


def exchange(running: Running, *pieces: bytes) -> bytes:
    """Send pieces and return everything that comes back until the service closes the connection, which may be before the last."""
    with socket.create_connection(running.address, timeout=CEILING) as connection:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for piece in pieces:
                connection.sendall(piece)
        received = b""
        with contextlib.suppress(ConnectionResetError):
            while part := connection.recv(65536):
                received += part
        return received


HEAD = (
    f"POST /v1/models/shop/score HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nx-api-key: {KEY}\r\n".encode()
)


@pytest.mark.parametrize("sent", [b"", b"POST /v1/mod", HEAD, HEAD + b"content-length: 1000\r\n\r\n{"])
def test_slow_clients_are_told_so_and_cut_off(guarded: Running, sent: bytes):
    received = exchange(guarded, sent)
    assert received.startswith(b"HTTP/1.1 408 ")
    assert json.loads(received.partition(b"\r\n\r\n")[2])["error"]["code"] == "too_slow"


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
        b"POST /v1/models/\xff/score HTTP/1.1\r\nhost: x\r\n\r\n",
        b"POST /v1/models/shop/score HTTP/1.1\r\nhost: x\r\ncontent-length: many\r\n\r\n",
        b"POST /v1/models/shop/score HTTP/1.1\r\nhost: x\r\ncontent-length: -5\r\n\r\n",
        b"CONNECT a:80 HTTP/1.1\r\nhost: a\r\n\r\n",
    ],
)
def test_what_is_no_http_is_refused(guarded: Running, sent: bytes):
    assert exchange(guarded, sent).startswith(b"HTTP/1.1 400 ")


def test_a_chunked_body_beyond_the_limit_is_refused(service: Running):
    head = HEAD + b"transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
    assert b" 413 " in exchange(service, head, *[chunk] * 40, b"0\r\n\r\n").partition(b"\r\n")[0]


def test_a_busy_service_says_so(models, tmp_path):
    words = (models / "shop.podium", "--max-concurrency", 1, "--timeout", 3600)
    with serving(tmp_path, *words) as running, socket.create_connection(running.address, timeout=CEILING) as waiting:
        body = json.dumps({"features": [ROW]}).encode()
        waiting.sendall(HEAD + f"content-length: {len(body)}\r\n\r\n".encode() + body[:5])
        wait_for(lambda: running.counter("podium_requests_in_flight") == 1)
        reply = running.call("/v1/models/shop/score", body)
        assert (reply.status, reply.code) == (503, "busy")
        assert reply.headers["retry-after"] == "1"
        assert running.call("/healthz").status == 200
        waiting.sendall(body[5:])
        assert waiting.recv(65536).startswith(b"HTTP/1.1 200 ")


def test_without_pyarrow_arrow_is_refused(monkeypatch):
    from podium.serve.binary_bodies import check_arrow
    from podium.serve.problems import RequestError

    check_arrow()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(RequestError, match=r"pip install 'podium\[frames\]'") as caught:
        check_arrow()
    assert caught.value.status == 415
