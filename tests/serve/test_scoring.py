"""Every format gives exactly the scores of the scorer, in the caller's order."""

from __future__ import annotations

import io
import json
import socket

import numpy as np
import pyarrow as pa
import pytest
from running import DATA, NAMES, Running, X

import podium

RAW = "application/octet-stream"
STREAM, FILE = "application/vnd.apache.arrow.stream", "application/vnd.apache.arrow.file"


@pytest.fixture(scope="session")
def scorer(models):
    return podium.load_scorer(models / "shop.podium")


def arrow(table: pa.Table, kind: str = STREAM) -> bytes:
    sink = io.BytesIO()
    with (pa.ipc.new_stream if kind == STREAM else pa.ipc.new_file)(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def read_arrow(body: bytes) -> pa.Table:
    return pa.ipc.open_stream(body).read_all()


@pytest.mark.parametrize("order", ["features first", "features last", "named", "indented"])
def test_json_gives_the_scores_of_the_scorer(service: Running, scorer, order):
    rows = X.astype(float).tolist()
    body = {
        "features first": {"features": rows, "ids": list(range(len(rows)))},
        "features last": {"ids": list(range(len(rows))), "features": rows},
        "named": {"documents": [dict(zip(NAMES, row, strict=True)) for row in rows], "ids": list(range(len(rows)))},
        "indented": json.dumps({"features": rows, "ids": list(range(len(rows)))}, indent=2).encode(),
    }[order]
    reply = service.call("/v1/models/shop/score", body)
    assert reply.status == 200
    assert reply.json["scores"] == scorer.scores(X).tolist()
    assert reply.json["ids"] == list(range(len(rows)))
    assert reply.json["model"] == "shop"
    assert reply.json["version"] == reply.headers["x-model-version"]


def test_large_json_is_scored_by_a_thread(service: Running, scorer):
    body = json.dumps({"features": X.astype(float).tolist()}, indent=100).encode()  # 480 documents, more than 512 KiB
    assert 512 * 1024 < len(body) < 2_000_000
    assert service.call("/v1/models/shop/score", body).json["scores"] == scorer.scores(X).tolist()


def test_raw_bodies_give_the_bits_of_the_scorer(service: Running, scorer):
    reply = service.call("/v1/models/shop/score", X.tobytes(), RAW)
    assert reply.headers["content-type"] == RAW
    assert reply.body == scorer.scores(X).tobytes()
    as_json = service.call("/v1/models/shop/score", X.tobytes(), RAW, accept="application/json")
    assert as_json.json["scores"] == scorer.scores(X).tolist()


@pytest.mark.parametrize("kind", [STREAM, FILE])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_arrow_bodies_give_the_scores_of_the_scorer(service: Running, scorer, kind, dtype):
    values = (X * 10).astype(dtype)
    columns = {name: values[:, column] for column, name in enumerate(NAMES)}
    table = pa.table({"id": [f"d{row}" for row in range(len(X))], **dict(reversed(columns.items()))})
    reply = service.call("/v1/models/shop/score", arrow(table, kind), kind)
    answer = read_arrow(reply.body)
    np.testing.assert_array_equal(answer["score"].to_numpy(), scorer.scores(values.astype(np.float32)))
    assert answer["id"].to_pylist() == [f"d{row}" for row in range(len(X))]


def test_arrow_columns_of_a_model_without_names_are_taken_in_their_order(service: Running, models):
    table = pa.table({f"any{column}": X[:, column] for column in range(5)})
    wanted = podium.load_scorer(models / "linear.podium").scores(X)
    answer = read_arrow(service.call("/v1/models/linear/score", arrow(table), STREAM).body)
    np.testing.assert_array_equal(answer["score"].to_numpy(), wanted)


def test_missing_values(service: Running, scorer):
    holes = X[:6].copy()
    holes[1, 2] = holes[3, 0] = holes[4, 4] = np.nan
    wanted = scorer.scores(holes).tolist()
    rows = [[None if value != value else float(value) for value in row] for row in holes]
    named = [{name: v for name, v in zip(NAMES, row, strict=True) if v is not None} for row in rows]
    table = pa.table({name: pa.array([row[k] for row in rows], pa.float32()) for k, name in enumerate(NAMES)})
    assert service.call("/v1/models/shop/score", {"features": rows}).json["scores"] == wanted
    assert service.call("/v1/models/shop/score", {"documents": named}).json["scores"] == wanted
    assert service.call("/v1/models/shop/score", holes.tobytes(), RAW).body == np.array(wanted).tobytes()
    answer = service.call("/v1/models/shop/score", arrow(table), STREAM, accept="application/json")
    assert answer.json["scores"] == wanted


@pytest.mark.parametrize("k", [None, 0, 1, 3, 100])
def test_rankings_are_those_of_the_scorer(service: Running, scorer, k):
    rows = np.repeat(X[:6], 2, axis=0)  # equal scores keep their order
    wanted = scorer.rank(rows, k).tolist()
    ids = [f"d{row}" for row in range(len(rows))]
    body = {"features": rows.astype(float).tolist(), "ids": ids, "k": k}
    ranking = service.call("/v1/models/shop/rank", body).json["ranking"]
    assert [entry["position"] for entry in ranking] == wanted
    assert [entry["id"] for entry in ranking] == [ids[row] for row in wanted]
    assert [entry["score"] for entry in ranking] == scorer.scores(rows)[wanted].tolist()
    address = "/v1/models/shop/rank" + ("" if k is None else f"?k={k}")
    assert np.frombuffer(service.call(address, rows.tobytes(), RAW).body, "<i4").tolist() == wanted
    table = pa.table({"id": ids, **{name: rows[:, column] for column, name in enumerate(NAMES)}})
    answer = read_arrow(service.call(address, arrow(table), STREAM).body)
    assert answer["position"].to_pylist() == wanted
    assert answer["id"].to_pylist() == [ids[row] for row in wanted]


@pytest.mark.parametrize(
    ("ids", "wanted"),
    [
        ([3, 2**63 - 1], [3, 2**63 - 1]),
        ([3, "a"], ["3", "a"]),
        ([3, 2**63], ["3", str(2**63)]),
    ],
)
@pytest.mark.parametrize("operation", ["score", "rank"])
def test_ids_of_any_kind_fit_into_an_arrow_answer(service: Running, operation, ids, wanted):
    body = {"features": X[:2].astype(float).tolist(), "ids": ids}
    reply = service.call(f"/v1/models/shop/{operation}", body, accept=STREAM)
    assert sorted(read_arrow(reply.body)["id"].to_pylist(), key=str) == sorted(wanted, key=str)


def test_several_queries(service: Running, scorer):
    sizes, parts = (3, 0, 4), (X[:3], X[3:3], X[3:7])
    body = {
        "queries": [{"features": part.astype(float).tolist(), "ids": list(range(len(part)))} for part in parts],
        "k": 2,
    }
    answer = service.call("/v1/models/shop/score", body).json
    assert [query["scores"] for query in answer["queries"]] == [scorer.scores(part).tolist() for part in parts]
    wanted = [scorer.rank(part, 2).tolist() for part in parts]
    rankings = service.call("/v1/models/shop/rank", body).json["queries"]
    assert [[entry["position"] for entry in query["ranking"]] for query in rankings] == wanted
    address = f"/v1/models/shop/rank?k=2&sizes={','.join(map(str, sizes))}"
    flat = np.frombuffer(service.call(address, X[:7].tobytes(), RAW).body, "<i4")
    assert flat.tolist() == [position for order in wanted for position in order]
    table = pa.table({name: X[:7, column] for column, name in enumerate(NAMES)})
    answer = read_arrow(service.call(address, arrow(table), STREAM).body)
    assert list(zip(answer["query"].to_pylist(), answer["position"].to_pylist(), strict=True)) == [
        (query, position) for query, order in enumerate(wanted) for position in order
    ]


def test_a_model_that_normalizes_needs_its_queries(service: Running, models):
    scorer = podium.load_scorer(models / "scaled.podium")
    sizes = np.diff(DATA.query_offsets)
    wanted = scorer.scores(DATA)
    address = f"/v1/models/scaled/score?sizes={','.join(map(str, sizes[:10]))}"
    count = int(sizes[:10].sum())
    found = np.frombuffer(service.call(address, X[:count].tobytes(), RAW).body)
    np.testing.assert_array_equal(found, wanted[:count])


def test_categories_are_given_by_name_or_code(service: Running, models):
    scorer = podium.load_scorer(models / "colors.podium")
    codes = np.array([[0.5, 0], [0.5, 1], [0.5, 2], [0.5, 3], [0.5, np.nan]], np.float32)
    wanted = scorer.scores(codes).tolist()
    assert len(set(wanted)) > 1
    words = ["red", "green", "blue", "mauve", None]
    documents = [{"size": 0.5, "color": word} for word in words]
    assert service.call("/v1/models/colors/score", {"documents": documents}).json["scores"] == wanted
    rows = [[0.5, word] for word in words]
    assert service.call("/v1/models/colors/score", {"features": rows}).json["scores"] == wanted
    for column in (pa.array(words), pa.array(words).dictionary_encode()):
        table = pa.table({"size": [0.5] * 5, "color": column})
        reply = service.call("/v1/models/colors/score", arrow(table), STREAM, accept="application/json")
        assert reply.json["scores"] == wanted


def test_no_documents(service: Running):
    assert service.call("/v1/models/shop/score", {"features": []}).json["scores"] == []
    assert service.call("/v1/models/shop/rank", {"documents": []}).json["ranking"] == []
    assert service.call("/v1/models/shop/score", {"queries": []}).json["queries"] == []
    assert service.call("/v1/models/shop/score", b"", RAW).body == b""


def test_the_client(service: Running, scorer):
    with service.client() as client:
        np.testing.assert_array_equal(client.score("shop", X), scorer.scores(X))
        np.testing.assert_array_equal(client.score("shop", X, sizes=[len(X) - 5, 5]), scorer.scores(X))
        documents = [dict(zip(NAMES, row, strict=True)) for row in X[:9]]
        np.testing.assert_array_equal(client.score("shop", documents), scorer.scores(X[:9]))
        np.testing.assert_array_equal(client.score("shop", documents, sizes=[4, 5]), scorer.scores(X[:9]))
        for given in (X[:9], documents):
            ranking = client.rank("shop", given, 3, ids=list("abcdefghi"))
            assert ranking.positions.tolist() == scorer.rank(X[:9], 3).tolist()
            assert ranking.scores.tolist() == scorer.scores(X[:9])[ranking.positions].tolist()
            assert ranking.ids == ["abcdefghi"[k] for k in ranking.positions]
        (version,) = client.models()[0]["versions"]
        assert version["feature_names"] == list(NAMES)
        np.testing.assert_array_equal(client.score("shop", X, version=version["version"]), scorer.scores(X))
        with pytest.raises(podium.serve.ServiceError, match="no model of this name") as caught:
            client.score("ship", X)
        assert (caught.value.status, caught.value.code) == (404, "unknown_model")


def test_a_scorer_says_what_it_is(models):
    assert repr(podium.load_scorer(models / "linear.podium")).endswith("over 5 features>")
    assert repr(podium.load_scorer(models / "colors.podium")) == "<Scorer: TreeModel over 2 features, 20 trees>"


def test_a_client_without_a_service_says_so():
    with pytest.raises(podium.serve.ServiceError, match=r"http://127\.0\.0\.1:\d+ cannot be reached"):
        podium.serve.Client("http://127.0.0.1:1", retries=1).score("shop", X)


def test_a_service_that_does_not_answer_is_not_asked_again():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = podium.serve.Client(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.05, retries=3)
        with pytest.raises(podium.serve.ServiceError, match=r"did not answer within 0.05 s") as caught:
            client.score("shop", X)
        assert (caught.value.status, caught.value.code) == (None, "timeout")
        silent.setblocking(False)
        silent.accept()[0].close()
        with pytest.raises(BlockingIOError):
            silent.accept()
