"""podium studio as a process: it prints its address, answers, and ends quietly."""

from __future__ import annotations

import socket
import stat
import sys
from pathlib import Path

import pytest
from asking import small_data

import podium
from podium.cli import main
from podium.cli.studio import _announce
from studio_process import studio_process


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    data = small_data().replace(feature_names=None)
    podium.write(data, folder / "judged.txt")
    ranker = podium.LambdaMART(n_estimators=4, num_threads=1).fit(data)
    ranker.save(folder / "shop.podium")
    ranker.export(folder / "lightgbm.txt", format="lightgbm")
    podium.write(ranker.predict(data), folder / "old.scores")
    return folder


def test_data_and_a_model_are_shown_and_served(files):
    with studio_process(files, "judged.txt", "shop.podium", "my shop=shop.podium", "--out", "kept") as opened:
        assert opened.page == f"{opened.url}#key={opened.key}"
        state = opened.ask("state")
        assert state["rankings"] == ["shop", "my shop", "order of the data"]
        assert (state["start"], state["queries"], state["title"], state["folder"]) == (
            "queries",
            20,
            "judged.txt",
            "kept",
        )
        assert [model["name"] for model in opened.request("/v1/models")["models"]] == ["shop", "my-shop"]
    assert not (files / "kept").exists()


def test_models_of_others_and_scores_are_shown_in_any_order(files):
    with studio_process(files, "shop.podium", "lightgbm.txt", "old.scores", "judged.txt") as opened:
        assert opened.ask("state")["rankings"] == ["shop", "lightgbm", "old", "order of the data"]
        assert [model["name"] for model in opened.request("/v1/models")["models"]] == ["shop"]
        for other in ("lightgbm", "old"):
            rows = opened.ask("queries", first="shop", second=other)["queries"]
            assert {row["gain"] for row in rows} == {0}
        move = opened.ask("queries/0/move", first="shop", second="old", document=0)
        assert move["note"] == "No reasons can be given for old: they need trees or a linear model."


def test_the_key_is_not_on_the_command_line_of_the_browser(tmp_path, monkeypatch):
    """--open hands the browser a file that only its owner can read, and that leads to the studio."""
    shown: list[str] = []
    monkeypatch.setattr("webbrowser.open", shown.append)
    _announce("http://127.0.0.1:8090/studio/", key="secret", folder=tmp_path, json=False)
    (address,) = shown
    assert address.startswith("file://")
    assert "secret" not in address
    page = Path(address.removeprefix("file://"))
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert 'content="0; url=http://127.0.0.1:8090/studio/#key=secret"' in page.read_text()


def test_without_data_there_are_generated_queries_and_two_models(tmp_path):
    with studio_process(tmp_path) as opened:
        state = opened.ask("state")
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
