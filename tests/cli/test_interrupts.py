"""Training and search that are stopped at chosen lines and run again give the same bytes as one run."""

from __future__ import annotations

import json
import re
import signal

import forked
import pytest
from forked import Stop

import podium

STOPS = (signal.SIGINT, signal.SIGKILL, signal.SIGTERM, signal.SIGKILL, signal.SIGINT)  # sent to each training in turn
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -signal.SIGKILL}
PARTS = ("training", "models", "rankers", "artifact", "files.py")  # everything that trains and writes files
TRAININGS = {
    "adam over a net": ["--ranker", "lambdarank", "--hidden", "8", "--epochs", 120],
    "sgd, one pair at a time, the rate halved": [
        *["--force", "ranknet", "--model", "net(4)", "--optimizer", "sgd", "--batch", "pair", "--learning-rate", 0.05],
        *["--set", "rate_rule=halve", "--epochs", 40],
    ],
    "lbfgs over a kernel": ["--ranker", "kernel-ranknet", "--set", "landmarks=300", "--l2", 0.0001, "--epochs", 200],
    "bundle": ["--ranker", "ranksvm", "--set", "C=1000.0", "--set", "tolerance=1e-9", "--epochs", 150],
    "trees": ["--ranker", "lambdamart", "--n-estimators", 60, "--set", "num_leaves=8"],
}


@pytest.fixture
def folder(tmp_path):
    data = podium.synthetic.network(queries=300, documents=20, features=8, seed=7)
    train, valid = podium.split(data, (0.7, 0.3))
    podium.write(train, tmp_path / "train.txt")
    podium.write(valid, tmp_path / "vali.txt")
    return tmp_path


def rows_without_seconds(path):
    return [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in path.read_text().splitlines()]


def run_to_the_end(folder, *words):
    code, out, err = forked.run(folder, *words)
    assert code == 0, out + err


@pytest.mark.parametrize("name", TRAININGS)
def test_training_stopped_again_and_again_gives_the_same_bytes(folder, name):
    words = ["train", "train.txt", "--valid", "vali.txt", *TRAININGS[name], "--checkpoint-seconds"]
    # A checkpoint is written after every epoch, or only after the first epoch and when the signal arrives.
    totals = {often: forked.count_lines(folder, *words, often, "--out", "whole", parts=PARTS) for often in (0, 1e9)}
    expected = (folder / "whole").read_bytes()
    podium.RankNet(hidden=(), epochs=1).fit(podium.read(folder / "train.txt")).save(folder / "stopped")
    for k, number in enumerate(STOPS):
        often = (0, 1e9)[k % 2]
        before = (folder / "stopped").read_bytes()
        stop = Stop(PARTS, totals[often] // 8, number)
        code, _, err = forked.run(folder, *words, often, "--out", "stopped", stop=stop)
        assert code == CODES[number], err
        if number == signal.SIGKILL:
            assert (folder / "stopped").read_bytes() == before
        else:
            podium.load(folder / "stopped")
        assert (folder / "stopped.checkpoint").exists()
        assert not list(folder.glob(".*.part"))
    run_to_the_end(folder, *words, 0, "--out", "stopped")
    assert (folder / "stopped").read_bytes() == expected
    assert not (folder / "stopped.checkpoint").exists()
    assert rows_without_seconds(folder / "stopped.log.jsonl") == rows_without_seconds(folder / "whole.log.jsonl")


def trials_without_seconds(folder, *words):
    code, out, err = forked.run(folder, *words, "--json")
    assert code == 0, out + err
    found = json.loads(out)["trials"]
    return [{name: value for name, value in trial.items() if name != "seconds"} for trial in found]


TUNE = ["tune", "train.txt", "--valid", "vali.txt", "--ranker", "ranknet", "--epochs", 9]
TUNE += ["--range", "learning_rate=1e-3..1e-1:log", "--range", "hidden=2..6"]


def test_a_search_stopped_again_and_again_finds_the_same(folder):
    words = [*TUNE, "--trials", 12]
    total = forked.count_lines(folder, *words, "--out", "whole", parts=PARTS)
    for number in (signal.SIGINT, signal.SIGKILL, signal.SIGTERM):
        code, _, err = forked.run(folder, *words, "--out", "stopped", stop=Stop(PARTS, total // 5, number))
        assert code == CODES[number], err
        assert not (folder / "stopped").exists()
        if number != signal.SIGKILL:
            assert "interrupted; no model was written; the trials that have ended are in stopped.study.jsonl" in err
    found = trials_without_seconds(folder, *words, "--out", "stopped")
    assert found == trials_without_seconds(folder, *words, "--out", "whole")
    assert (folder / "stopped").read_bytes() == (folder / "whole").read_bytes()
    assert not [
        path for path in folder.iterdir() if path.name.startswith((".", "stopped.")) and "study" not in path.name
    ]


def test_a_search_in_processes_stopped_again_and_again_finds_the_same(folder):
    words = [*TUNE, "--trials", 6, "--sampler", "random", "--pruner", "none"]
    whole = trials_without_seconds(folder, *words, "--out", "whole")
    parallel = [*words, "--jobs", 2, "--out", "stopped"]
    parts = ("rankers/tuning",)
    total = forked.count_lines(folder, *[*words, "--jobs", 2, "--out", "counted"], parts=parts)
    for number in (signal.SIGINT, signal.SIGKILL, signal.SIGTERM):
        code, _, err = forked.run(folder, *parallel, stop=Stop(parts, total // 5, number))
        assert code == CODES[number], err
    assert trials_without_seconds(folder, *parallel) == whole


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
def test_stopping_keeps_the_best_so_far_and_says_so(folder, number, share):
    podium.RankNet(hidden=(), epochs=1).fit(podium.read(folder / "train.txt")).save(folder / "model.podium")
    words = ["train", "train.txt", "--valid", "vali.txt", "--ranker", "ranknet", "--epochs", "30"]
    words += ["--early-stopping-rounds", "none", "--checkpoint-seconds", "0"]
    total = forked.count_lines(folder, *words, "--out", "whole", parts=PARTS)
    code, out, err = forked.run(folder, *words, stop=Stop(PARTS, int(share * total), number))
    assert code == CODES[number]
    last, best = re.findall(
        r"interrupted after epoch (\d+); the best epoch, (\d+), is in model.podium; run the same", err
    )[0]
    assert f"wrote model.podium: epoch {best} of {last}, ndcg@10 " in out
    assert podium.load(folder / "model.podium").best_epoch_ == int(best)
    assert (folder / "model.podium.checkpoint").exists()
    assert len((folder / "model.podium.log.jsonl").read_text().splitlines()) == int(last) + 1


def test_stopping_before_anything_is_learned_writes_nothing(folder):
    (folder / "slow.py").write_text(
        "import signal\n\ndef push(scores, labels):\n    signal.raise_signal(signal.SIGINT)\n    return scores\n"
    )
    before = {file.name for file in folder.iterdir()}
    code, out, err = forked.run(folder, "train", "train.txt", "--force", "slow:push(compile=False)")
    assert (code, out, err) == (130, "", "podium: interrupted; no model was written\n")
    assert {file.name for file in folder.iterdir()} - {"__pycache__"} == before
