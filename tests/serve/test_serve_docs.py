"""The commands and programs of the page run as printed, against a service that is started as the page says."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from running import CEILING, Running, serving

import podium
from podium.serve.meter import HELP
from podium.serve.settings import ServiceLimits

PAGE = (Path(__file__).parents[2] / "docs" / "serve.md").read_text()
BLOCK = re.compile(r"```(python|sh)\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)
VERSION = re.compile(r'"version":"[0-9a-f]{12}"')  # the checksum of a file, which holds the version of Podium
BLOCKS = [found.groups() for found in BLOCK.finditer(PAGE)]


@pytest.fixture(scope="module")
def shop(tmp_path_factory) -> Any:
    """The service of the page's first two blocks."""
    folder = tmp_path_factory.mktemp("shop")
    with contextlib.chdir(folder):
        exec(BLOCKS[0][1], {})
    program, command, *words = shlex.split(BLOCKS[1][1])
    assert (program, command) == ("podium", "serve")
    with serving(folder, *words) as running:
        yield running


def here(text: str, running: Running) -> str:
    return text.replace("localhost:8080", "127.0.0.1:8080").replace(
        "127.0.0.1:8080", running.url.removeprefix("http://")
    )


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("number", [k for k, block in enumerate(BLOCKS) if block[1].startswith("curl")])
def test_curl(shop: Running, number: int):
    _, command, printed = BLOCKS[number]
    done = subprocess.run(
        shlex.split(here(command, shop).replace("\\\n", "")), capture_output=True, text=True, check=True
    )
    assert VERSION.sub("", done.stdout).strip() == VERSION.sub("", printed).strip()


def test_the_client_prints_what_the_page_says(shop: Running):
    (block,) = (block for block in BLOCKS if "with Client(" in block[1])
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(here(block[1], shop), {})
    assert out.getvalue() == block[2]


class Engine(BaseHTTPRequestHandler):
    """Answers every search with the same hits."""

    hits = tuple(
        {"_score": s, "_source": {"clicks": c, "price": 0.3}} for s, c in ((0.9, 0.1), (0.2, 0.7), (0.5, None))
    )

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps({"hits": {"hits": self.hits}}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        pass


def test_the_proxy_reorders_what_the_engine_finds(shop: Running):
    (block,) = (block for block in BLOCKS if "_search" in block[1])
    with HTTPServer(("127.0.0.1", 0), Engine) as engine:
        thread = threading.Thread(target=engine.serve_forever)
        thread.start()
        try:
            names: dict[str, Any] = {}
            text = here(block[1], shop).replace("127.0.0.1:9200", f"127.0.0.1:{engine.server_port}")
            exec(text.replace("timeout=0.2", f"timeout={CEILING}"), names)
            found = names["search"]("products", {"match_all": {}}, size=2)
            names["client"].close()
            names["client"] = podium.serve.Client("http://127.0.0.1:1", retries=0)
            without = names["search"]("products", {"match_all": {}}, size=2)
        finally:
            engine.shutdown()
            thread.join()
    rows = [[hit["_score"], hit["_source"]["clicks"], 0.3] for hit in Engine.hits]
    scorer = podium.load_scorer(shop.log_path.parent / "shop.podium")
    wanted = scorer.rank([[float("nan") if value is None else value for value in row] for row in rows], 2)
    assert found == [Engine.hits[place] for place in wanted]
    assert without == list(Engine.hits[:2])


def test_the_tables_name_every_limit_and_metric():
    for name in ServiceLimits.parameters():
        assert f"`--{name.replace('_', '-')}`" in PAGE
    shown = PAGE.replace("`…_", "`podium_shadow_")
    for name in HELP:
        assert f"`{name}`" in shown
