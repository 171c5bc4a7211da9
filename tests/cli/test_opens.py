"""Every command looks at a data file once to recognize it, and opens it once more to read it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import podium
from podium.data import synthetic

COUNTER = """
import collections, json, os, sys
counts = collections.Counter()
def hook(event, args):
    if event == "open" and isinstance(args[0], (str, bytes)):
        counts[os.path.basename(os.fsdecode(args[0]))] += 1
from podium.cli import main
sys.addaudithook(hook)
try:
    main()
finally:
    with open(os.environ["COUNTS"], "w") as file:
        json.dump(counts, file)
"""
SUFFIXES = (".txt", ".txt.gz", ".csv", ".parquet", ".arrow", ".podium-data")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with data in every format, a model, and scores."""
    path = tmp_path_factory.mktemp("opens")
    data = synthetic.network(queries=10).replace(feature_names=None)
    ranker = podium.RankNet(epochs=1).fit(data)
    ranker.save(path / "m.podium")
    podium.write(ranker.predict(data), path / "s.scores")
    for suffix in SUFFIXES:
        for name in ("train", "valid"):
            podium.write(data, path / f"{name}{suffix}")
    return path


def count_opens(folder, *words):
    """Run a command; return how often it opened each file by name."""
    counts = folder / "counts.json"
    done = subprocess.run(
        [sys.executable, "-c", COUNTER, *words],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "COUNTS": str(counts)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(counts.read_text())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_data_file_is_opened_twice(folder, suffix):
    train, valid = f"train{suffix}", f"valid{suffix}"
    opened = count_opens(folder, "score", "m.podium", train, "--out", f"out{suffix}.scores")
    assert opened[train] == 2
    assert opened["m.podium"] == 1
    opened = count_opens(
        folder, "train", train, "--valid", valid, "--ranker", "ranknet", "--epochs", "1", "--out", "n.podium"
    )
    assert (opened[train], opened[valid]) == (2, 2)


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", "m.podium", "train.txt"],
        ["evaluate", "s.scores", "train.txt"],
        ["compare", "train.txt", "s.scores", "m.podium"],
        ["data", "describe", "train.txt"],
        ["data", "convert", "train.txt", "converted.podium-data"],
        ["data", "convert", "train.txt", "converted.csv"],
        ["data", "split", "train.txt", "parts"],
        ["data", "normalize", "train.txt", "normalized.txt"],
        ["explain", "m.podium", "train.txt", "--permutation", "--repeats", "1"],
        ["cv", "train.txt", "--ranker", "ranknet", "--epochs", "1"],
    ],
    ids=" ".join,
)
def test_every_command_opens_its_files_as_often(folder, words):
    opened = count_opens(folder, *words)
    assert opened["train.txt"] == 2
    assert opened.get("s.scores", 2) == 2
    assert opened.get("m.podium", 1) == 1
