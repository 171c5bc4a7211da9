"""Directories of shards: whole queries, counts and checksums; what is missing, damaged or split is refused."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import podium
from podium.data import Pairs
from podium.formats import resolve
from podium.formats.on_disk import read_on_disk, read_on_disk_together
from podium.formats.shards import cuts, read_manifest
from podium.kinds import kind_of

SIZES = (3, 1, 900, 40, 2, 700, 64, 5)


def make_data(**parts: Any) -> podium.RankingData:
    rng = np.random.default_rng(0)
    rows = sum(SIZES)
    X = rng.normal(size=(rows, 5)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 2] = rng.integers(0, 3, rows)
    ids = np.repeat([f"q{k}" for k in range(len(SIZES))], SIZES)
    optional: dict[str, Any] = {
        "document_ids": [f"d{k}" for k in range(rows)],
        "document_weights": rng.random(rows),
        "query_weights": rng.random(len(SIZES)),
        "feature_names": list("abcde"),
        "categorical_features": {"c": ("red", "green", "blue")},
    }
    return podium.RankingData(X, rng.integers(0, 3, rows), ids, **{**optional, **parts})


def assert_same(found: podium.RankingData, wanted: podium.RankingData, *, ids: bool = True) -> None:
    np.testing.assert_array_equal(found.features, wanted.features)
    for name in ("labels", "query_offsets", "query_ids", "document_weights", "query_weights"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
    assert found.feature_names == wanted.feature_names
    assert found.categorical_features == wanted.categorical_features
    if ids:
        assert list(found.document_ids or ()) == list(wanted.document_ids or ())


@pytest.mark.parametrize("format", ["cache", "parquet"])
@pytest.mark.parametrize("shards", [1, 3, 8])
def test_shards_are_read_back_as_the_same_data(tmp_path, format, shards):
    data = make_data()
    made = podium.write_shards(data, tmp_path / "s", shards, format=format)
    assert (made.documents, made.queries, made.features) == (sum(SIZES), len(SIZES), 5)
    assert len(made.shards) == shards
    assert sum(shard.documents for shard in made.shards) == sum(SIZES)
    assert made == read_manifest(tmp_path / "s")
    assert kind_of(tmp_path / "s" / "manifest.json") == "shards"
    assert_same(podium.read(tmp_path / "s"), data)
    assert_same(read_on_disk([resolve(tmp_path / "s")], document_ids=False)[0], data.replace(document_ids=None))


def test_features_of_cache_shards_are_mapped_and_not_copied(tmp_path):
    data = make_data()
    podium.write_shards(data, tmp_path / "s", 4)
    read = podium.read(tmp_path / "s")
    with pytest.raises(ValueError, match="read-only"):
        read.features[0, 0] = 1
    begin, end = read.features.ctypes.data, read.features.ctypes.data + read.features.nbytes
    mapped = 0
    for line in Path("/proc/self/maps").read_text().splitlines():
        low, high = (int(word, 16) for word in line.split()[0].split("-"))
        if begin <= low < end and str(tmp_path) in line:
            mapped += high - low
    pages = 4096 * 2 * 3  # at each of three borders, parts of one page are copied; a shard may be smaller than a page
    assert mapped >= read.features.nbytes - pages


def test_pairs_are_kept_and_scattered_rows_are_put_together(tmp_path):
    scattered = podium.RankingData(
        [[1.0], [2.0], [3.0], [4.0]], [0, 1, 2, 0], [7, 8, 7, 8], pairs=Pairs.of([2, 1], [0, 3])
    )
    podium.write_shards(scattered, tmp_path / "s", 2)
    read = podium.read(tmp_path / "s")
    assert read.features.ravel().tolist() == [1, 3, 2, 4]
    assert read.query_ids.tolist() == [7, 8]
    assert read.pairs is not None
    assert (read.pairs.winner.tolist(), read.pairs.loser.tolist()) == ([1, 2], [0, 3])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(1, 50), min_size=1, max_size=40), st.data())
def test_every_shard_has_whole_queries_and_at_least_one(sizes, draw):
    shards = draw.draw(st.integers(1, len(sizes)))
    offsets = np.cumsum([0, *sizes])
    found = cuts(offsets, shards)
    assert len(found) == shards
    assert found[0][0] == 0
    assert found[-1][1] == len(sizes)
    assert all(first < last for first, last in found)
    assert all(before[1] == after[0] for before, after in itertools.pairwise(found))
    if set(sizes) == {sizes[0]} and len(sizes) % shards == 0:
        assert {last - first for first, last in found} == {len(sizes) // shards}


def flip(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)


DAMAGES = {
    "changed": (flip, r"part-00001\.podium-data: has changed since the shards were written, or is damaged"),
    "shorter": (
        lambda path: os.truncate(path, 5000),
        r"part-00001\.podium-data: has 5000 bytes, and the manifest says",
    ),
    "missing": (Path.unlink, r"part-00001\.podium-data: the shard is missing"),
    "another": (
        lambda path: path.with_name("part-00009.podium-data").write_bytes(path.read_bytes()),
        r"part-00009\.podium-data: is not in .*manifest\.json",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_directory_names_the_file(tmp_path, damage):
    podium.write_shards(make_data(), tmp_path / "s", 3)
    spoil, message = DAMAGES[damage]
    spoil(tmp_path / "s" / "part-00001.podium-data")
    with pytest.raises(podium.FormatError, match=message):
        podium.read(tmp_path / "s")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"kind": "podium shards"}',
        '{"kind": "podium shards", "version": 2}',
        '{"kind": "podium shards", "version": 1, "shards": [{"file": "../a"}]}',
    ],
)
def test_a_damaged_manifest_is_named(tmp_path, text):
    podium.write_shards(make_data(), tmp_path / "s", 2)
    (tmp_path / "s" / "manifest.json").write_text(text)
    with pytest.raises(
        podium.FormatError, match=r"manifest\.json: (the manifest is damaged|is 'podium shards', version 2)"
    ):
        podium.read(tmp_path / "s")


def test_a_manifest_never_points_outside_its_directory(tmp_path):
    podium.write_shards(make_data(), tmp_path / "s", 2)
    path = tmp_path / "s" / "manifest.json"
    made = json.loads(path.read_text())
    made["shards"][0]["file"] = "../other.podium-data"
    path.write_text(json.dumps(made))
    with pytest.raises(podium.FormatError, match="the manifest is damaged"):
        podium.read(tmp_path / "s")


def test_a_shard_that_becomes_shorter_while_it_is_mapped_is_an_error(tmp_path):
    rows = 40_000
    data = podium.RankingData(np.ones((rows, 10), np.float32), np.zeros(rows), np.arange(rows) // 100)
    podium.write_shards(data, tmp_path / "s", 2)
    read = podium.read(tmp_path / "s")
    os.truncate(tmp_path / "s" / "part-00001.podium-data", 8192)
    with pytest.raises(podium.FormatError, match=r"part-00001\.podium-data: became shorter while it was in use"):
        read.features.sum()


def test_a_query_in_two_files_is_refused(tmp_path):
    part = make_data()
    for name in ("a", "b"):
        podium.write(part.select([2, 4] if name == "a" else [0, 4]), tmp_path / f"{name}.podium-data")
    with pytest.raises(podium.FormatError, match=r"b\.podium-data: query 'q4' is also in .*a\.podium-data"):
        podium.read(tmp_path)
    sources = [resolve(tmp_path / f"{name}.podium-data") for name in ("a", "b")]
    with pytest.raises(podium.FormatError, match="a query must lie in one file"):
        read_on_disk_together(sources)


@pytest.mark.parametrize("format", ["csv", "parquet", "letor"])
def test_rows_that_are_not_sorted_by_query_are_refused(tmp_path, format):
    data = podium.RankingData(np.ones((3, 2), np.float32), [0, 1, 2], [1, 2, 1])
    path = tmp_path / f"a.{format}"
    podium.write(data, path, format=format)
    with pytest.raises(podium.FormatError, match=r"a\.\w+:.*(not together|sort|scattered)"):
        podium.read(path, on_disk=True)


DIFFERENCES = {
    "features": (
        lambda data: data.replace(
            features=np.ones((len(data), 6), np.float32), feature_names=None, categorical_features=None
        ),
        "has 6 features, and",
    ),
    "names": (lambda data: data.replace(feature_names=list("abcdf")), "has other feature names than"),
    "weights": (lambda data: data.replace(document_weights=None), "has document_weights and .* has none, or the other"),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_files_that_do_not_belong_together_are_refused(tmp_path, name):
    change, message = DIFFERENCES[name]
    data = make_data()
    podium.write(data.select([0, 1]), tmp_path / "a.podium-data")
    podium.write(change(data.select([2, 3])), tmp_path / "b.podium-data")
    with pytest.raises(podium.FormatError, match=rf"b\.podium-data: {message}"):
        podium.read(tmp_path)


def test_where_shards_cannot_be_written(tmp_path):
    data = make_data()
    (tmp_path / "file").write_text("x")
    for target in (tmp_path, tmp_path / "file"):
        with pytest.raises(podium.OutputError, match="exists and is not an empty directory"):
            podium.write_shards(data, target, 2)
    with pytest.raises(podium.ParameterError, match="shards=9 must be at most 8, the number of queries"):
        podium.write_shards(data, tmp_path / "new", 9)
    with pytest.raises(podium.ParameterError, match="must be a whole number of at least 1"):
        podium.write_shards(data, tmp_path / "new", 0)
    with pytest.raises(podium.ParameterError, match="csv"):
        podium.write_shards(data, tmp_path / "new", 2, format="csv")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "names", [(), ("train.txt", "test.txt"), ("a.txt", "b.csv"), ("a.txt", "notes.md"), ("Fold1/a.txt",)]
)
def test_directories_that_are_not_one_data_set_are_refused(tmp_path, names):
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(
            "label,qid,x\n1,1,2\n"
            if name.endswith(".csv")
            else "1 qid:1 1:2\n"
            if name.endswith(".txt")
            else "# notes\n"
        )
    with pytest.raises(podium.FormatError, match="is a directory; give the path of a file"):
        podium.read(tmp_path)
