"""Ray Data puts the rows of queries together as one process does."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import podium
from podium.formats import resolve, shuffling
from podium.formats.on_disk import read_on_disk_together
from podium.formats.shards import write_shards


def test_the_shards_are_the_same_bytes(cluster, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(shuffling, "BLOCK_BYTES", 2000)
    rng = np.random.default_rng(0)
    data = podium.RankingData(
        rng.normal(size=(500, 4)),
        rng.integers(0, 3, 500),
        [f"q{k}" for k in rng.integers(0, 40, 500)],
        document_ids=[f"d{k}" for k in range(500)],
        document_weights=rng.random(500),
    )
    podium.write(data, tmp_path / "a.parquet")
    read = read_on_disk_together([resolve(tmp_path / "a.parquet")], scattered=True)
    write_shards(read, tmp_path / "here", 3)
    write_shards(read, tmp_path / "there", 3, engine="ray(workers=2)")
    here, there = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("here", "there"))
    assert there == here


def test_the_command(cluster, tmp_path, monkeypatch, capsys):
    from podium.cli import main

    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("1 qid:1 1:2\n0 qid:2 1:3\n0 qid:1 1:4\n")
    words = [
        "podium",
        "data",
        "shard",
        "a.txt",
        "--by-query",
        "--shards",
        "2",
        "--out",
        "s",
        "--engine",
        "ray(workers=2)",
    ]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr()
    assert not stop.value.code, printed.err
    assert "One query is in several places: 1; the rows of a query are put together" in printed.err
    assert podium.read("s").features.ravel().tolist() == [2, 4, 3]
