"""podium studio as a process: it prints its address, answers, and ends quietly."""

from __future__ import annotations

import contextlib
import http.client
import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from asking import CEILING, small_data

import podium
from podium.cli import main

# The process ends with the one that started it, however that ends.
PROGRAM = """
import ctypes, signal
ctypes.CDLL(None).prctl(1, signal.SIGTERM)
from podium.cli import main
main()
"""


@contextlib.contextmanager
def opened(folder: Path, *words: object) -> Any:
    """Run `podium studio WORDS…` on a free port until the end of the block, and check that it ends with exit code 0."""
    command = [sys.executable, "-c", PROGRAM, "studio", *map(str, words), "--port", "0", "--json"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=folder)
    try:
        lines = []
        while (line := process.stdout.readline()).rstrip() != "}":
            assert line, (folder / "log").read_text()
            lines.append(line)
        yield json.loads("".join([*lines, "}"]))
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=CEILING)
    assert process.returncode == 0, (folder / "log").read_text()


def ask(address: dict[str, str], path: str) -> Any:
    host = address["url"].removeprefix("http://").removesuffix("/studio/")
    connection = http.client.HTTPConnection(host, timeout=CEILING)
    with contextlib.closing(connection):
        connection.request("GET", path, headers={"authorization": f"Bearer {address['key']}"})
        response = connection.getresponse()
        body = response.read()
    assert response.status == 200, body
    return json.loads(body)


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    data = small_data().replace(feature_names=None)
    podium.write(data, folder / "judged.txt")
    podium.LambdaMART(n_estimators=4, num_threads=1).fit(data).save(folder / "shop.podium")
    return folder


def test_data_and_a_model_are_shown_and_served(files):
    with opened(files, "judged.txt", "shop.podium", "my shop=shop.podium", "--out", "kept") as address:
        assert address["page"] == f"{address['url']}#key={address['key']}"
        state = ask(address, "/studio/api/state")
        assert state["rankings"] == ["shop", "my shop", "order of the data"]
        assert (state["start"], state["queries"], state["title"], state["folder"]) == (
            "queries",
            20,
            "judged.txt",
            "kept",
        )
        assert [model["name"] for model in ask(address, "/v1/models")["models"]] == ["shop", "my-shop"]
    assert not (files / "kept").exists()


def test_without_data_there_are_generated_queries_and_two_models(tmp_path):
    with opened(tmp_path) as address:
        state = ask(address, "/studio/api/state")
        assert state["rankings"] == ["ranksvm", "lambdamart", "order of the data"]
        assert (state["start"], state["queries"]) == ("forces", 200)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nothing.txt"], "nothing.txt"),
        (["judged.txt", "nothing.podium"], "nothing.podium"),
        (["judged.txt", "--out", "judged.txt"], "is not a folder"),
    ],
)
def test_what_cannot_be_opened_ends_with_a_sentence(files, monkeypatch, capsys, words, sentence):
    monkeypatch.chdir(files)
    monkeypatch.setattr(sys, "argv", ["podium", "studio", *words])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    assert sentence in capsys.readouterr().err


def test_a_port_that_is_taken_is_refused(files, monkeypatch, capsys):
    monkeypatch.chdir(files)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(sys, "argv", ["podium", "studio", "judged.txt", "--port", str(taken.getsockname()[1])])
        with pytest.raises(SystemExit) as caught:
            main()
    assert caught.value.code == 2
    assert "cannot be used" in capsys.readouterr().err


def test_a_model_of_other_features_is_refused(files, tmp_path, monkeypatch, capsys):
    data = podium.synthetic.polynomial(queries=5, documents=5, features=2, seed=0)
    podium.RankSVM().fit(data).save(tmp_path / "other.podium")
    words = ["podium", "studio", str(files / "judged.txt"), str(tmp_path / "other.podium"), "--port", "0"]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    assert f"{tmp_path / 'other.podium'} cannot score {files / 'judged.txt'}" in capsys.readouterr().err
