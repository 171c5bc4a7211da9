"""Runs the service as a user does: a process that listens on a free port of this machine, and ends with the tests."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import podium
from podium.serve import Client

CEILING = 240  # seconds that anything may take on a busy machine
NAMES = ("bm25", "clicks", "price", "age", "length")
# The process ends with the one that started it, however that ends.
PROGRAM = """
import ctypes, signal
ctypes.CDLL(None).prctl(1, signal.SIGTERM)
from podium.cli import main
main()
"""
DATA = podium.synthetic.polynomial(queries=40, documents=12, features=5, seed=2).replace(feature_names=list(NAMES))
X = DATA.to_caller_order(DATA.features)


def wait_for(condition: Callable[[], Any]) -> Any:
    """Return the first value of the condition that is true."""
    end = time.monotonic() + CEILING
    while not (value := condition()):
        assert time.monotonic() < end, "the condition did not come true"
        time.sleep(0.02)
    return value


@dataclass
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The word of an error, which always has a sentence too."""
        error = self.json["error"]
        assert self.headers["content-type"] == "application/json"
        assert len(error["message"].split()) > 3, error
        return str(error["code"])


@dataclass
class Running:
    """A service that is running."""

    process: subprocess.Popen[str]
    url: str
    log_path: Path

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.url.removeprefix("http://").partition(":")
        return host, int(port)

    def call(self, path: str, body: Any = None, kind: str = "application/json", **headers: str) -> Reply:
        """Send one request on a connection of its own: POST with a body, GET without."""
        connection = http.client.HTTPConnection(*self.address, timeout=CEILING)
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        given |= {} if body is None or not kind else {"content-type": kind}
        with contextlib.closing(connection):
            connection.request("GET" if body is None else "POST", path, body, given)
            response = connection.getresponse()
            return Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())

    def client(self, **options: Any) -> Client:
        return Client(self.url, timeout=CEILING, **options)

    def counter(self, name: str, **labels: str) -> float:
        """The sum of a metric over all series with these labels."""
        total = 0.0
        for line in self.call("/metrics").body.decode().splitlines():
            if line.split("{")[0].split(" ")[0] == name and all(f'{k}="{v}"' in line for k, v in labels.items()):
                total += float(line.split()[-1])
        return total

    def log(self) -> list[dict[str, Any]]:
        """The complete lines of the log so far."""
        text = self.log_path.read_text()
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]

    def events(self, name: str) -> list[dict[str, Any]]:
        return [line for line in self.log() if line["event"] == name]

    def workers(self) -> set[int]:
        """The processes that have begun to serve."""
        found = (line["message"] for line in self.events("server"))
        return {int(text.split("[")[1][:-1]) for text in found if text.startswith("Started server process")}


@contextlib.contextmanager
def serving(folder: Path, *words: object, env: dict[str, str] | None = None) -> Iterator[Running]:
    """Run `podium serve WORDS…` on a free port until the end of the block."""
    log = folder / "log"
    # A service that is killed leaves its counters in the folder of temporary files.
    env = {**(os.environ if env is None else env), "TMPDIR": str(folder)}
    command = [sys.executable, "-c", PROGRAM, "serve", *map(str, words), "--port", "0", "--json"]
    with log.open("w") as file:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=file, text=True, cwd=folder, env=env)
    try:
        assert process.stdout is not None
        lines = []
        while (line := process.stdout.readline()).rstrip() != "}":
            assert line, log.read_text()
            lines.append(line)
        yield Running(process, json.loads("".join([*lines, "}"]))["url"], log)
    finally:
        process.terminate()
        process.communicate(timeout=CEILING)
