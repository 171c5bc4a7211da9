"""Files and directories whose features are mapped give the same data as those that are read, and the same models."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_shards import assert_same, make_data
from test_tree_bytes import TRAIN, VALID, ranker, saved

import podium
from podium.formats import read_together, resolve
from podium.formats.on_disk import read_on_disk, read_on_disk_together
from podium.memory import scratch_folder

FORMATS = ["letor", "csv", "tsv", "parquet", "arrow", "cache"]


@pytest.fixture(autouse=True)
def own_scratch(tmp_path_factory, monkeypatch):
    """A scratch folder of its own, in which nothing may be left."""
    folder = tmp_path_factory.mktemp("scratch")
    monkeypatch.setenv("TMPDIR", str(folder))
    yield
    assert not list(folder.iterdir())


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_is_read_as_in_memory(tmp_path, format):
    data = make_data()
    if format == "letor":
        data = data.replace(document_weights=None, query_weights=None, categorical_features=None, feature_names=None)
    path = tmp_path / "file"
    podium.write(data, path, format=format)
    categorical = {"categorical_features": ["c"]} if format in ("csv", "tsv") else {}
    found = podium.read(path, format=format, on_disk=True, **categorical)
    assert_same(found, podium.read(path, format=format, **categorical))
    assert found.absent_value == podium.read(path, format=format, **categorical).absent_value


def test_text_that_pyarrow_does_not_read_is_read_by_python(tmp_path):
    (tmp_path / "a.csv").write_text("label,qid,x,name\n1,1,2,a\n1,1,,b\n0,1,Nan,a\n")
    options: dict[str, Any] = {"categorical_features": ["name"]}
    assert_same(podium.read(tmp_path / "a.csv", on_disk=True, **options), podium.read(tmp_path / "a.csv", **options))
    (tmp_path / "b.csv").write_text("label,qid,x\n1,1,two\n")
    with pytest.raises(podium.FormatError, match=r"b\.csv:2:"):
        podium.read(tmp_path / "b.csv", on_disk=True)


def test_letor_files_get_the_features_of_the_widest(tmp_path):
    lines = {"a": "1 qid:1 1:2 2:3\n0 qid:2 1:1\n", "b": "1 qid:3 0:5 4:1\n", "c": "2 qid:4 1:7\n"}
    for name, text in lines.items():
        (tmp_path / f"{name}.txt").write_text(text)
    paths = [tmp_path / f"{name}.txt" for name in lines]
    wanted = read_together(paths)
    widths: list[int] = []
    found = read_on_disk([resolve(path) for path in paths], on_widths=widths.extend)
    for one, other in zip(found, wanted, strict=True):
        assert_same(one, other)
    assert widths == [3, 5, 2]
    together = read_on_disk_together([resolve(path) for path in paths])
    np.testing.assert_array_equal(together.features, np.concatenate([part.features for part in wanted]))
    assert together.query_ids.tolist() == [1, 2, 3, 4]
    assert_same(podium.read(tmp_path), together)


def test_numbers_and_texts_as_query_ids(tmp_path):
    (tmp_path / "a.txt").write_text("1 qid:1 1:2\n")
    (tmp_path / "b.txt").write_text("1 qid:x 1:2\n")
    assert podium.read(tmp_path).query_ids.tolist() == ["1", "x"]


@pytest.mark.parametrize("format", ["csv", "parquet", "cache"])
def test_categories_of_several_files_are_joined(tmp_path, format):
    colors = [["red", "blue"], ["green", "blue"], ["blue", "blue"]]
    for number, values in enumerate(colors):
        names = tuple(sorted(set(values)))
        X = np.array([[names.index(value), 1.0] for value in values], np.float32)
        data = podium.RankingData(
            X, [1, 0], [number, number], feature_names=["color", "x"], categorical_features={0: names}
        )
        podium.write(data, tmp_path / f"{number}.{'podium-data' if format == 'cache' else format}", format=format)
    options = {"categorical_features": ["color"]} if format == "csv" else {}
    found = podium.read(tmp_path, **options)
    assert found.categorical_features == {0: ("blue", "green", "red")}
    assert found.features[:, 0].tolist() == [2, 0, 1, 0, 0, 0]


def test_columns_are_found_by_name_in_the_files_that_follow(tmp_path):
    (tmp_path / "a.csv").write_text("label,qid,x,y\n1,1,2,3\n")
    (tmp_path / "b.csv").write_text("y,qid,label,x,z\n6,2,0,5,9\n")
    with pytest.warns(UserWarning, match="left out: z"):
        found = podium.read(tmp_path)
    assert found.feature_names == ("x", "y")
    assert found.features.tolist() == [[2, 3], [5, 6]]


@pytest.mark.parametrize("format", ["letor", "csv", "parquet", "cache"])
@pytest.mark.parametrize("kind", ["plain", "symmetric", "forests"])
def test_training_from_shards_gives_the_same_bytes(tmp_path, kind, format):
    options = {"absent": "missing"} if format == "letor" else {}
    files = {}
    for name, data in (("train", TRAIN), ("valid", VALID)):
        files[name] = tmp_path / f"{name}.{'podium-data' if format == 'cache' else format}"
        podium.write(data, files[name], format=format)
    train, valid = (podium.read(file, format=format, **options) for file in files.values())
    in_memory = saved(ranker(kind).fit(train, valid=valid), tmp_path / "a")
    mapped = [podium.read(file, format=format, on_disk=True, **options) for file in files.values()]
    assert saved(ranker(kind, memory_limit="256M").fit(mapped[0], valid=mapped[1]), tmp_path / "b") == in_memory
    podium.write_shards(mapped[0], tmp_path / "s", 5)
    shards = podium.read(tmp_path / "s")
    assert saved(ranker(kind, memory_limit="256M").fit(shards, valid=valid), tmp_path / "c") == in_memory


LIMIT = 320 << 20
FEATURES, DOCUMENTS, QUERY = 2048, 163_840, 64  # 1.25 GiB of float32
LIMITED = """
import resource, sys
limit, folder, out = int(sys.argv[1]), sys.argv[2], sys.argv[3]
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
import podium
train, valid = podium.read(folder, num_threads=1), podium.read(folder + "/../valid.podium-data")
settings = dict(n_estimators=3, num_leaves=8, num_threads=1, row_sampling=0.2, min_documents=5)
podium.LambdaMART(**settings, memory_limit=limit).fit(train, valid=valid).save(out)
"""


def write_large(folder: Path) -> None:
    """Write shards of features that are four times the limit. Every eighth of the documents repeats the first, shifted a little."""
    rng = np.random.default_rng(0)
    rows = DOCUMENTS // 8
    block = rng.integers(0, 50, (rows, FEATURES), dtype=np.uint8).astype(np.float32)
    labels = (block[:, 0] > 25) + (block[:, 1] > 40) * 1.0
    (folder / "parts").mkdir()
    for number in range(8):
        ids = number * rows + np.arange(rows) // QUERY
        data = podium.RankingData(block, labels, ids)
        if number == 0:
            podium.write(data.select(np.arange(50)), folder / "valid.podium-data")
        podium.write(data, folder / "parts" / f"{number}.podium-data")
        block += np.float32(0.25)


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_DATA"), reason="the system has no limit on a process's memory")
def test_features_four_times_the_limit_of_the_process(tmp_path):
    write_large(tmp_path)
    assert 4 * FEATURES * DOCUMENTS == 4 * LIMIT
    podium.write_shards(podium.read(tmp_path / "parts"), tmp_path / "shards", 3)
    command = [sys.executable, "-W", "ignore", "-c", LIMITED, str(LIMIT), str(tmp_path / "shards"), str(tmp_path / "m")]
    environment = {"OPENBLAS_NUM_THREADS": "1", "TMPDIR": scratch_folder()}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=1200, check=False)
    assert done.returncode == 0, done.stderr
    settings: dict[str, Any] = {
        "n_estimators": 3,
        "num_leaves": 8,
        "num_threads": 1,
        "row_sampling": 0.2,
        "min_documents": 5,
    }
    data, valid = podium.read(tmp_path / "shards"), podium.read(tmp_path / "valid.podium-data")
    whole = podium.LambdaMART(**settings).fit(data, valid=valid)
    assert saved(whole, tmp_path / "whole") == (tmp_path / "m").read_bytes()
