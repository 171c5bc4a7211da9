"""podium data shard, and training and scoring with directories of shards."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import podium

TRAIN = podium.synthetic.network(queries=30, documents=12, features=6, hidden=3, seed=0)
VALID = podium.synthetic.network(queries=15, documents=12, features=6, hidden=3, seed=1, generator_seed=0)
TRAINING = ("--n-estimators", 5, "--threads", 1)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, data in (("train", TRAIN), ("vali", VALID)):
        podium.write(data.replace(document_ids=[f"{name}{k}" for k in range(len(data))]), tmp_path / f"{name}.txt")
    podium.write(TRAIN, tmp_path / "train.parquet")
    return tmp_path


def test_shards_train_and_score_as_the_file_does(cli, files):
    made = cli("data", "shard", "train.txt", "--by-query", "--shards", 4, "--out", "shards", "--json").json
    assert [row["queries"] for row in made["shards"]] == [8, 7, 8, 7]
    assert made["features"] == 6
    assert json.loads((files / "shards" / "manifest.json").read_text())["documents"] == 360
    told = cli("data", "shard", "vali.txt", "--shards", 2, "--out", "vali", "--to", "parquet").out.splitlines()
    assert told[-1] == "wrote vali/manifest.json: 15 queries, 180 documents, 6 features"
    cli("train", "train.txt", "--valid", "vali.txt", *TRAINING, "--out", "file.podium")
    cli("train", "shards", "--valid", "vali", *TRAINING, "--memory-limit", "512M", "--out", "shards.podium")
    cli("train", "train.parquet", "--valid", "vali.txt", *TRAINING, "--memory-limit", "1G", "--out", "parquet.podium")
    wanted = (files / "file.podium").read_bytes()
    assert (files / "shards.podium").read_bytes() == wanted
    assert (files / "parquet.podium").read_bytes() == wanted
    cli("score", "file.podium", "train.txt", "--out", "file.scores")
    scores = (files / "file.scores").read_text()
    assert cli("score", "file.podium", "shards").out == scores
    assert cli("score", "file.podium", "shards", "--out", "scored").out == "wrote scored: 360 scores in 4 files\n"
    parts = sorted((files / "scored").iterdir())
    assert [part.name for part in parts] == [f"part-0000{k}.scores" for k in range(4)]
    assert "".join(part.read_text() for part in parts) == scores
    found = cli("score", "file.podium", "shards", "--to", "trec-run", "--out", "runs", "--json").json
    assert found["files"] == [f"runs/part-0000{k}.run" for k in range(4)]
    assert found["documents"] == 360
    run = podium.read_scores(files / "runs" / "part-00000.run")
    np.testing.assert_allclose(np.sort(run.scores), np.sort([float(line) for line in scores.splitlines()[:96]]))
    assert len(cli("score", "file.podium", "shards", "--json").json["scores"]) == 360


def test_rows_of_a_query_are_put_together(cli, tmp_path):
    (tmp_path / "a.txt").write_text("1 qid:1 1:2\n0 qid:2 1:3\n1 qid:1 1:4\n")
    (tmp_path / "b.txt").write_text("1 qid:2 1:5\n0 qid:3 1:6\n")
    done = cli("data", "shard", "a.txt", "b.txt", "--shards", 2, "--out", "s")
    assert done.err == (
        "2 queries are in several places, the first of them 1; the rows of a query are put together, in their order\n"
    )
    assert podium.read(tmp_path / "s").features.ravel().tolist() == [2, 4, 3, 5, 6]
    assert cli("data", "shard", "s", "--shards", 1, "--out", "t").err == ""


def test_what_cannot_be_cut_into_shards(refused, tmp_path):
    (tmp_path / "a.txt").write_text("1 qid:1 1:2\n0 qid:2 1:3\n")
    (tmp_path / "b.txt").write_text("1 qid:2 1:2\n")
    (tmp_path / "c.txt").write_text("1 qid:1 1:2\n0 qid:2 1:3\n1 qid:1 1:4\n")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x")
    shard = ("data", "shard")
    (tmp_path / "both").mkdir()
    for name in ("a.txt", "b.txt"):
        (tmp_path / "both" / name).write_text((tmp_path / name).read_text())
    assert "b.txt: query 2 is also in both/a.txt; a query must lie in one file" in refused("train", "both")
    assert "--shards 3 must be at most 2, the number of queries" in refused(
        *shard, "a.txt", "--shards", 3, "--out", "s"
    )
    assert "full: exists and is not an empty directory" in refused(*shard, "a.txt", "--shards", 1, "--out", "full")
    assert "csv" in refused(*shard, "a.txt", "--shards", 1, "--out", "s", "--to", "csv")
    assert "--memory-limit 1M must be a size of at least 256M" in refused("train", "a.txt", "--memory-limit", "1M")


def test_a_damaged_shard_is_named(cli, refused, files):
    cli("data", "shard", "train.txt", "--shards", 2, "--out", "shards")
    path = files / "shards" / "part-00001.podium-data"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert "shards/part-00001.podium-data: has changed since the shards were written" in refused("train", "shards")
