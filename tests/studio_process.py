"""Runs `podium studio` as a user does, and asks its interface for the numbers that the page must show."""

from __future__ import annotations

import contextlib
import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

CEILING = 120  # seconds that anything may take on a busy machine
# The process ends with the one that started it, however that ends.
PROGRAM = """
import ctypes, signal
ctypes.CDLL(None).prctl(1, signal.SIGTERM)
from podium.cli import main
main()
"""


@dataclass
class OpenStudio:
    """A studio that is running: its address without and with the key, and the folder that it runs in."""

    url: str
    page: str
    key: str
    folder: Path

    def ask(self, path: str, body: Any = None, **parameters: object) -> Any:
        """Ask the interface of the studio: POST with a body, GET without."""
        return self.request(f"/studio/api/{path}" + (f"?{urlencode(parameters)}" if parameters else ""), body)

    def request(self, address: str, body: Any = None) -> Any:
        """Ask for JSON at an address."""
        host = self.url.removeprefix("http://").removesuffix("/studio/")
        connection = http.client.HTTPConnection(host, timeout=CEILING)
        headers = {"authorization": f"Bearer {self.key}", "content-type": "application/json"}
        sent = None if body is None else json.dumps(body).encode()
        with contextlib.closing(connection):
            connection.request("GET" if sent is None else "POST", address, sent, headers)
            response = connection.getresponse()
            answer = response.read()
        assert response.status == 200, answer
        return json.loads(answer)


@contextlib.contextmanager
def studio_process(folder: Path, *words: object) -> Iterator[OpenStudio]:
    """Run `podium studio WORDS…` on a free port until the end of the block, and check that it ends with exit code 0."""
    command = [sys.executable, "-c", PROGRAM, "studio", *map(str, words), "--port", "0", "--json"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=folder)
    try:
        assert process.stdout is not None
        lines = []
        while (line := process.stdout.readline()).rstrip() != "}":
            assert line, (folder / "log").read_text()
            lines.append(line)
        found = json.loads("".join([*lines, "}"]))
        yield OpenStudio(found["url"], found["page"], found["key"], folder)
    finally:
        process.terminate()
        process.communicate(timeout=CEILING)
    assert process.returncode == 0, (folder / "log").read_text()
