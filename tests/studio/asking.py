"""Sends requests to a studio's application, without a network."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

import podium
from podium.serve.keys import ApiKeys
from podium.serve.settings import ServiceSettings
from podium.studio.app import Studio
from podium.studio.server import guarded_app
from podium.studio.workspace import Workspace

KEY = "correct-horse-battery-staple"
HOST = "127.0.0.1:8090"
CEILING = 120  # seconds that anything may take on a busy machine
HOSTILE = "<img src=x onerror=alert(1)>"


def small_data() -> podium.RankingData:
    """Twenty queries of eight documents with ids, one id hostile, and a missing value."""
    data = podium.synthetic.polynomial(queries=20, documents=8, features=4, seed=3)
    features = np.array(data.features)
    features[0, 1] = np.nan
    names = [f"doc-{k}" for k in range(data.n_documents)]
    names[0] = HOSTILE
    return podium.RankingData(
        features,
        data.labels,
        np.repeat([f"q{k}" for k in range(20)], 8),
        document_ids=names,
        feature_names=["bm25", "clicks", HOSTILE, "age"],
    )


@dataclass
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        assert self.status == 200, self.body
        return json.loads(self.body)

    @property
    def refusal(self) -> tuple[int, str]:
        """The status and the word of an error, which always has a sentence too."""
        error = json.loads(self.body)["error"]
        assert self.headers["content-type"] == "application/json"
        assert len(error["message"].split()) > 3, error
        return self.status, str(error["code"])


class Asker:
    """A studio, and requests to it."""

    def __init__(self, workspace: Workspace, folder: Path) -> None:
        keys = ApiKeys.of([KEY], "the key")
        self.workspace, self.folder = workspace, folder
        self.studio = Studio(workspace, folder, keys, num_threads=1)
        settings = ServiceSettings((), keys=keys, access_log=False, reload_seconds=0.0, needs_models=False)
        self.app = guarded_app(self.studio, settings, "127.0.0.1", 8090)

    def close(self) -> None:
        service: Any = self.app.app
        self.studio.close()
        service.endpoint.close()
        service.meter.close()

    def send(self, method: str, path: str, headers: list[tuple[str, str]], body: bytes = b"", query: str = "") -> Reply:
        """Send a request as it is."""
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "scheme": "http",
            "root_path": "",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "server": ("127.0.0.1", 8090),
            "client": ("127.0.0.1", 1),
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers],
        }
        asyncio.run(self.app(scope, receive, send))
        fields = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return Reply(sent[0]["status"], fields, b"".join(message.get("body", b"") for message in sent[1:]))

    def get(self, path: str, **parameters: object) -> Reply:
        """Ask as the page does."""
        return self.send("GET", f"/studio/api/{path}", self.headers(), query=urlencode(parameters))

    def post(self, path: str, body: object = None) -> Reply:
        """Send JSON as the page does."""
        raw = body if isinstance(body, bytes) else json.dumps({} if body is None else body).encode()
        return self.send("POST", f"/studio/api/{path}", self.headers(), raw)

    @staticmethod
    def headers(**changed: str | None) -> list[tuple[str, str]]:
        fields: dict[str, str | None] = {
            "host": HOST,
            "origin": f"http://{HOST}",
            "sec-fetch-site": "same-origin",
            "content-type": "application/json",
            "authorization": f"Bearer {KEY}",
        }
        fields |= {name.replace("_", "-"): value for name, value in changed.items()}
        return [(name, value) for name, value in fields.items() if value is not None]

    def follow(self, number: int, done: Callable[[Any], bool]) -> Any:
        """Follow a training until a condition holds."""
        end = time.monotonic() + CEILING
        while not done(shown := self.get(f"trainings/{number}").json):
            assert time.monotonic() < end, shown
            time.sleep(0.01)
        return shown
