"""Smoke test of an installed wheel with the extras `serve` and `plots`: the studio answers, and a chart is drawn.

    make wheel        (or, with the Python of an environment that holds the wheel with both extras: python extras.py)

The script is not a pytest module, because the environment it runs in has no pytest. It runs in a new temporary folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CEILING = 120  # seconds that an answer may take on a busy machine
COMMAND = Path(sys.executable).parent / "podium"


@contextlib.contextmanager
def studio(*words: str) -> Iterator[dict[str, str]]:
    """Run `podium studio` on a free port until the end of the block, and give its address and key."""
    command = [COMMAND, "studio", *words, "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            lines = []
            while (line := process.stdout.readline()).rstrip() != "}":
                assert line, "podium studio ended without an address"
                lines.append(line)
            yield json.loads("".join([*lines, "}"]))
        finally:
            process.terminate()
            process.wait(CEILING)
    assert process.returncode == 0, f"podium studio ended with {process.returncode}"


def ask(address: dict[str, str], path: str, body: Any = None) -> bytes:
    """Return what the studio answers: to a POST with a body, to a GET without."""
    headers = {"Authorization": f"Bearer {address['key']}", "Content-Type": "application/json"}
    sent = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{address['url']}{path}", sent, headers)
    with urllib.request.urlopen(request, timeout=CEILING) as answer:
        return bytes(answer.read())


def check_studio() -> None:
    """The page is there, and documents move."""
    with studio() as address:
        assert b"<!doctype html>" in ask(address, "").lower()
        state = json.loads(ask(address, "api/state"))
        scene = json.loads(ask(address, f"api/scene?preset={state['presets'][0]['name']}"))
        body = {"preset": state["presets"][0]["name"], "scores": scene["scores"], "force": scene["force"]}
        points = json.loads(ask(address, "api/descend", {**body, "rate": scene["rate"], "steps": 3}))["points"]
        assert len(points) == 3
        assert points[-1]["scores"] != scene["scores"], "no document moved"
    print(f"studio        {state['queries']} queries, {len(scene['scores'])} documents moved")


def check_chart() -> None:
    """A chart is drawn as SVG."""
    subprocess.run([COMMAND, "plot", "force-gap", "ranknet", "--out", "gap.svg"], check=True, capture_output=True)
    drawn = Path("gap.svg").read_text(encoding="utf-8")
    assert drawn.startswith("<svg"), drawn[:80]
    print(f"chart         {len(drawn):,} letters of SVG")


def main() -> None:
    """Run both checks in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check_studio()
        check_chart()
        os.chdir("/")
    print("The wheel works with its extras.")


if __name__ == "__main__":
    main()
