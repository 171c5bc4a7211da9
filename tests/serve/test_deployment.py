"""Versions, canaries and shadows; reloads, killed workers and shutdown while requests are running."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from running import CEILING, Running, X, serving, wait_for

import podium
from podium.serve.batch import Batch
from podium.serve.shadow import compare_rankings

RAW = "application/octet-stream"
ROWS = X[:30]


def scores_of(models: Path, name: str) -> np.ndarray:
    return podium.load_scorer(models / f"{name}.podium").scores(ROWS)


@pytest.fixture(scope="module")
def deployed(models, tmp_path_factory) -> Iterator[Running]:
    """Three versions of a model: one that answers, a canary and a shadow."""
    versions = [f"shop@{version}={models / f'{name}.podium'}" for version, name in (("1", "shop"), ("2", "second"))]
    versions.append(f"shop@dark={models / 'third.podium'}")
    roles = ("--canary", "shop@2=0.25", "--shadow", "shop@dark")
    with serving(tmp_path_factory.mktemp("deployed"), *versions, *roles) as running:
        yield running


def test_a_canary_answers_exactly_its_share(deployed: Running, models):
    wanted = {"1": scores_of(models, "shop").tobytes(), "2": scores_of(models, "second").tobytes()}
    answered = []
    for _ in range(40):
        reply = deployed.call("/v1/models/shop/score", ROWS.tobytes(), RAW)
        answered.append(reply.headers["x-model-version"])
        assert reply.body == wanted[answered[-1]]
    assert answered.count("2") == 10
    assert deployed.counter("podium_documents_total", model="shop", role="canary") == 10 * len(ROWS)
    assert deployed.counter("podium_documents_total", model="shop", role="default") == 30 * len(ROWS)


def test_requests_with_a_key_stay_with_their_version(deployed: Running):
    with deployed.client() as client:
        version = {}
        for user in [f"user{number}" for number in range(40)] * 2:
            scores = client.score("shop", ROWS[:2], canary_key=user).tobytes()
            assert version.setdefault(user, scores) == scores
        assert len(set(version.values())) == 2


def test_a_version_can_be_asked_for(deployed: Running, models):
    with deployed.client() as client:
        for version, name in (("1", "shop"), ("2", "second"), ("dark", "third")):
            np.testing.assert_array_equal(client.score("shop", ROWS, version=version), scores_of(models, name))
        roles = {entry["version"]: (entry["role"], entry["share"]) for entry in client.models()[0]["versions"]}
    assert roles == {"1": ("default", 0.75), "2": ("canary", 0.25), "dark": ("shadow", 0.0)}


def test_a_shadow_logs_its_differences(deployed: Running, models):
    before = len(deployed.events("shadow"))
    assert deployed.call("/v1/models/shop/score?version=1", ROWS.tobytes(), RAW).status == 200
    found = wait_for(lambda: deployed.events("shadow")[before:])[-1]
    first, second = scores_of(models, "shop"), scores_of(models, "third")
    assert found["max_difference"] == np.abs(first - second).max()
    moved = int((np.argsort(-first, kind="stable") != np.argsort(-second, kind="stable")).sum())
    assert (found["model"], found["version"], found["shadow"], found["documents"], found["moved"]) == (
        *("shop", "1", "dark", len(ROWS)),
        moved,
    )
    assert moved > 0
    counted = sum(event["moved"] for event in deployed.events("shadow"))
    wait_for(lambda: deployed.counter("podium_shadow_moved_total", model="shop") == counted)


def test_rankings_are_compared_query_by_query():
    batch = Batch(np.zeros((5, 1), np.float32), np.array([2, 0, 3]))
    scores = np.array([2.0, 1.0, 3.0, 2.0, 1.0])
    assert compare_rankings(scores, scores * 2, batch) == (0, 1.0)
    assert compare_rankings(scores, np.array([1.0, 2.0, 3.0, 1.0, 2.0]), batch) == (4, 1.0)


class Load(threading.Thread):
    """Sends requests until it is stopped, and keeps what was wrong: every answer must be the scores of one of the models."""

    def __init__(self, running: Running, allowed: list[np.ndarray]) -> None:
        super().__init__(daemon=True)
        self.client = running.client(retries=50)
        self.allowed = [scores.tobytes() for scores in allowed]
        self.seen: set[int] = set()
        self.answers = 0
        self.wrong: list[object] = []
        self.stop = threading.Event()

    def run(self) -> None:
        with self.client:
            while not self.stop.is_set():
                try:
                    self.seen.add(self.allowed.index(self.client.score("shop", ROWS).tobytes()))
                    self.answers += 1
                except Exception as error:
                    self.wrong.append(error)

    def finish(self) -> None:
        self.stop.set()
        self.join(CEILING)
        assert not self.is_alive()
        assert self.wrong == []


@pytest.fixture(scope="module")
def pair(models, tmp_path_factory) -> Iterator[Running]:
    """Two workers that serve a file which tests replace."""
    folder = tmp_path_factory.mktemp("pair")
    shutil.copy(models / "shop.podium", folder / "shop.podium")
    words = ("shop.podium", "--workers", 2, "--reload-seconds", 0.05, "--no-access-log")
    with serving(folder, *words) as running:
        wait_for(lambda: len(running.workers()) == 2)
        yield running


def replace(running: Running, content: bytes) -> None:
    """Put another file in the place of the served one, as `ranker.save` does: a new file under the old name.

    A file that is written in place could be read while it is still empty.
    """
    folder = running.log_path.parent
    (folder / "new").write_bytes(content)
    (folder / "new").rename(folder / "shop.podium")


def test_a_reload_under_load_loses_no_request_and_gives_no_wrong_score(pair: Running, models):
    names = ("shop", "second", "third")
    loads = [Load(pair, [scores_of(models, name) for name in names]) for _ in range(3)]
    for load in loads:
        load.start()
    for name in ("second", "third", "shop") * 3:
        before = pair.counter("podium_reloads_total")
        replace(pair, (models / f"{name}.podium").read_bytes())
        wait_for(lambda before=before: pair.counter("podium_reloads_total") == before + 2)
        answered = [load.answers for load in loads]
        wait_for(lambda before=answered: all(load.answers > n + 2 for load, n in zip(loads, before, strict=True)))
    for load in loads:
        load.finish()
    assert set.union(*(load.seen for load in loads)) == {0, 1, 2}


def test_a_broken_file_leaves_the_old_model_in_service(pair: Running, models):
    wanted = pair.call("/v1/models/shop/score", ROWS.tobytes(), RAW).body
    served = pair.log_path.parent / "shop.podium"
    whole = served.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", b"noise" * 100):
        before = pair.counter("podium_reload_failures_total")
        replace(pair, damaged)
        wait_for(lambda before=before: pair.counter("podium_reload_failures_total") >= before + 2)
        assert pair.call("/v1/models/shop/score", ROWS.tobytes(), RAW).body == wanted
    served.unlink()
    assert pair.call("/v1/models/shop/score", ROWS.tobytes(), RAW).body == wanted
    reloads = pair.counter("podium_reloads_total")
    replace(pair, (models / "second.podium").read_bytes())
    wait_for(lambda: pair.counter("podium_reloads_total") == reloads + 2)
    assert pair.call("/v1/models/shop/score", ROWS.tobytes(), RAW).body == scores_of(models, "second").tobytes()
    assert "checksum" in pair.events("reload_failed")[0]["message"]
    replace(pair, (models / "shop.podium").read_bytes())
    wait_for(lambda: pair.counter("podium_reloads_total") == reloads + 4)


def test_a_killed_worker_comes_back_and_no_request_is_lost(pair: Running, models):
    loads = [Load(pair, [scores_of(models, "shop")]) for _ in range(4)]
    for load in loads:
        load.start()
    for _ in range(2):
        counted = pair.counter("podium_documents_total")
        living = {pid for pid in pair.workers() if _is_running(pid)}
        before = len(pair.workers())
        victim = min(living)
        os.kill(victim, signal.SIGKILL)
        wait_for(lambda victim=victim: not _is_running(victim))
        wait_for(lambda before=before: len(pair.workers()) > before)
        answered = [load.answers for load in loads]
        wait_for(lambda before=answered: all(load.answers > n + 2 for load, n in zip(loads, before, strict=True)))
        assert pair.counter("podium_documents_total") > counted
    for load in loads:
        load.finish()


def test_shutdown_answers_requests_that_have_begun(models, tmp_path):
    with serving(tmp_path, models / "shop.podium", "--workers", 2) as running:
        body = ROWS.tobytes()
        head = f"POST /v1/models/shop/score HTTP/1.1\r\nhost: x\r\ncontent-type: {RAW}\r\ncontent-length: {len(body)}\r\n\r\n"
        with socket.create_connection(running.address, timeout=CEILING) as connection:
            connection.sendall(head.encode() + body[:100])
            wait_for(lambda: running.counter("podium_requests_in_flight") == 1)
            running.process.send_signal(signal.SIGTERM)
            wait_for(lambda: "Shutting down" in running.log_path.read_text())
            connection.sendall(body[100:])
            received = b""
            while part := connection.recv(65536):
                received += part
        assert received.startswith(b"HTTP/1.1 200 ")
        assert received.endswith(scores_of(models, "shop").tobytes())
        assert running.process.wait(CEILING) == 0
    assert not any(_is_running(pid) for pid in running.workers())
    assert not any(line["level"] == "error" for line in running.log())


def test_workers_end_with_their_supervisor(models, tmp_path):
    with serving(tmp_path, models / "shop.podium") as running:
        (worker,) = wait_for(running.workers)
        running.process.kill()
        running.process.wait(CEILING)
        wait_for(lambda: not _is_running(worker))


def _is_running(pid: int) -> bool:
    """Whether a process exists that has not ended yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
