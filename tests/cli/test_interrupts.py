"""Training and search, stopped at random moments and started again, end in the same bytes as if nothing had happened."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

import forked
import pytest

import podium

STOPS = 5  # of each training; four trainings make twenty
SEED = os.environ.get("INTERRUPT_SEED", "")  # other moments: INTERRUPT_SEED=2 pytest tests/cli/test_interrupts.py
TRAININGS = {
    "adam over a net": ["--ranker", "lambdarank", "--hidden", "8", "--epochs", 120],
    "sgd, a pair at a time, the rate halved": [
        *["--force", "ranknet", "--model", "net(4)", "--optimizer", "sgd", "--batch", "pair", "--learning-rate", 0.05],
        *["--set", "rate_rule=halve", "--epochs", 40],
    ],
    "lbfgs over a kernel": ["--ranker", "kernel-ranknet", "--set", "landmarks=300", "--l2", 0.0001, "--epochs", 200],
    "bundle": ["--ranker", "ranksvm", "--set", "C=1000.0", "--set", "tolerance=1e-9", "--epochs", 150],
}


@pytest.fixture
def folder(tmp_path):
    data = podium.synthetic.network(queries=300, documents=20, features=8, seed=7)
    train, valid = podium.split(data, (0.7, 0.3))
    podium.write(train, tmp_path / "train.txt")
    podium.write(valid, tmp_path / "vali.txt")
    forked.start(tmp_path, "--version").join()  # the first one waits for the imports
    return tmp_path


def rows_without_seconds(path):
    return [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in path.read_text().splitlines()]


def run_to_the_end(folder, *words):
    process = forked.start(folder, *words)
    process.join(60)
    assert process.exitcode == 0, (folder / "printed").read_text()


@pytest.mark.parametrize("name", TRAININGS)
def test_training_stopped_at_random_moments_gives_the_same_bytes(folder, name):
    words = ["train", "train.txt", "--valid", "vali.txt", *TRAININGS[name], "--checkpoint-seconds", 0.02]
    began = time.monotonic()
    run_to_the_end(folder, *words, "--out", "whole")
    lasts = time.monotonic() - began
    expected = (folder / "whole").read_bytes()
    moments, stops, finished = random.Random(f"{name} {SEED}"), 0, 0
    while stops < STOPS:
        process = forked.start(folder, *words, "--out", "stopped")
        process.join(moments.uniform(0.1, 0.6) * lasts)
        if process.exitcode is None:
            number = signal.SIGKILL if (stops + len(name)) % 2 else signal.SIGINT
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, number)
            process.join(30)
            stops += process.exitcode != 0
        if process.exitcode == 0:  # it was faster: check, and begin anew
            assert (folder / "stopped").read_bytes() == expected
            (folder / "stopped").unlink()
            finished += 1
            assert finished < 10 * STOPS
        if (folder / "stopped").exists():
            podium.load(folder / "stopped")  # a model, whole, whenever there is one
        assert not list(folder.glob(".*.part"))
    run_to_the_end(folder, *words, "--out", "stopped")
    assert (folder / "stopped").read_bytes() == expected
    assert not (folder / "stopped.checkpoint").exists()
    assert rows_without_seconds(folder / "stopped.log.jsonl") == rows_without_seconds(folder / "whole.log.jsonl")


def test_a_search_stopped_at_random_moments_finds_the_same(folder):
    words = [
        "tune",
        "train.txt",
        "--valid",
        "vali.txt",
        "--ranker",
        "ranknet",
        "--epochs",
        9,
        "--trials",
        9,
        "--halving",
    ]
    words += ["--range", "learning_rate=1e-3..1e-1:log", "--range", "hidden=2..6"]
    began = time.monotonic()
    run_to_the_end(folder, *words, "--out", "whole")
    lasts = time.monotonic() - began
    moments = random.Random(f"search {SEED}")
    for number in (signal.SIGINT, signal.SIGKILL, signal.SIGTERM):
        process = forked.start(folder, *words, "--out", "stopped")
        process.join(moments.uniform(0.2, 0.6) * lasts)
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)
        process.join(30)
    run_to_the_end(folder, *words, "--out", "stopped")
    assert (folder / "stopped").read_bytes() == (folder / "whole").read_bytes()
    found, expected = (rows_without_seconds(folder / f"{out}.study.jsonl") for out in ("stopped", "whole"))
    assert found == expected
    assert not (folder / "stopped.study.jsonl.checkpoints").exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopping_keeps_the_best_so_far_and_says_so(folder, number, code):
    (folder / "model.podium").write_text("the model of before")
    words = ["train", "train.txt", "--valid", "vali.txt", "--ranker", "ranknet", "--epochs", "1000000"]
    command = [sys.executable, "-W", "error", "-c", "from podium.cli import main; main()", *words]
    command += ["--early-stopping-rounds", "0"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while not (folder / "model.podium.checkpoint").exists():
            assert process.poll() is None
            time.sleep(0.01)
        assert (folder / "model.podium").read_text() == "the model of before"
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert process.returncode == code
    last, best = re.findall(
        r"interrupted after epoch (\d+); the best epoch, (\d+), is in model.podium; run the same", err
    )[0]
    assert f"wrote model.podium: epoch {best} of {last}, ndcg@10 " in out
    assert podium.load(folder / "model.podium").best_epoch_ == int(best)
    assert (folder / "model.podium.checkpoint").exists()
    assert len((folder / "model.podium.log.jsonl").read_text().splitlines()) == int(last) + 1


def test_stopping_before_anything_is_learned_writes_nothing(folder):
    (folder / "slow.py").write_text(
        "import pathlib, time\n\ndef push(scores, labels):\n    pathlib.Path('begun').touch()\n    time.sleep(60)\n"
    )
    command = [sys.executable, "-c", "from podium.cli import main; main()", "train", "train.txt"]
    command += ["--force", "slow:push(compile=False)"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        while not (folder / "begun").exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == "podium: interrupted; no model was written\n"
    left = {"train.txt", "vali.txt", "slow.py", "begun", "printed"}
    assert {file.name for file in folder.iterdir()} - {"__pycache__"} == left
