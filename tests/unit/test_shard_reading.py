"""What a worker reads of a directory of shards, from paths, URIs and other file systems, and what it refuses."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_shards import SIZES, assert_same, make_data

import podium
from podium.formats.shard_reading import deal_shards, read_shards, refuse_split_shards
from podium.formats.shards import Manifest, Shard, read_manifest
from podium.formats.storage import Storage, as_uri


def manifest_of(sizes: list[int]) -> Manifest:
    shards = tuple(Shard(f"part-{k}", size, 1, 0, "") for k, size in enumerate(sizes))
    return Manifest("cache", sum(sizes), len(sizes), 1, None, shards)


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=30), st.data())
def test_every_shard_is_dealt_once_and_no_worker_waits(sizes, draw):
    workers = draw.draw(st.integers(1, len(sizes)))
    parts = deal_shards(manifest_of(sizes), workers)
    assert sorted(itertools.chain(*parts)) == list(range(len(sizes)))
    assert all(parts)
    held = [sum(sizes[number] for number in part) for part in parts]
    assert max(held) - min(held) <= max(sizes)


def test_more_workers_than_shards_are_refused():
    with pytest.raises(podium.ParameterError, match="workers=3 is more than the 2 shards"):
        deal_shards(manifest_of([5, 5]), 3)


@pytest.mark.parametrize("format", ["cache", "parquet"])
def test_the_parts_of_all_workers_are_the_data(tmp_path, format):
    data = make_data()
    manifest = podium.write_shards(data, tmp_path / "s", 5, format=format)
    for workers in (1, 2, 5):
        parts = deal_shards(manifest, workers)
        read = [read_shards(tmp_path / "s", part, manifest=manifest, document_ids=True) for part in parts]
        offsets = np.cumsum([0, *(shard.queries for shard in manifest.shards)])
        for part, held in zip(parts, read, strict=True):
            queries = np.concatenate([np.arange(offsets[k], offsets[k + 1]) for k in part])
            assert_same(held, data.select(queries))
        refuse_split_shards(tmp_path / "s", [held.query_ids for held in read], parts, manifest)
    assert read[0].document_ids is not None
    assert read_shards(tmp_path / "s", [0]).document_ids is None


def change_manifest(folder: Path) -> None:
    found = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**found, "feature_names": list("abcdx")}))


def flip(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)


FAULTS = {
    "missing": (lambda folder: (folder / "part-00001.podium-data").unlink(), r"part-00001\.podium-data: the shard is"),
    "damaged": (lambda folder: flip(folder / "part-00001.podium-data"), r"part-00001\.podium-data: has changed since"),
    "manifest": (change_manifest, r"manifest\.json: has changed since the work began"),
    "none": (lambda folder: (folder / "manifest.json").unlink(), r"manifest\.json: there is no manifest; write"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_worker_names_what_is_wrong_with_its_shards(tmp_path, fault):
    manifest = podium.write_shards(make_data(), tmp_path / "s", 3)
    spoil, message = FAULTS[fault]
    spoil(tmp_path / "s")
    with pytest.raises(podium.FormatError, match=message):
        read_shards(tmp_path / "s", [1], manifest=manifest)


def test_a_shard_of_another_worker_may_be_missing(tmp_path):
    manifest = podium.write_shards(make_data(), tmp_path / "s", 3)
    (tmp_path / "s" / "part-00001.podium-data").unlink()
    assert read_shards(tmp_path / "s", [0, 2], manifest=manifest).n_queries < len(SIZES)


def test_a_manifest_that_contradicts_its_shards_is_refused(tmp_path):
    podium.write_shards(make_data(), tmp_path / "s", 3)
    change_manifest(tmp_path / "s")
    with pytest.raises(podium.FormatError, match=r"manifest\.json: has other feature names than its shards"):
        read_shards(tmp_path / "s", [0])
    found = json.loads((tmp_path / "s" / "manifest.json").read_text())
    (tmp_path / "s" / "manifest.json").write_text(json.dumps({**found, "documents": 7}))
    with pytest.raises(podium.FormatError, match="the documents of its shards do not add up"):
        read_shards(tmp_path / "s", [0])


def test_a_query_in_shards_of_two_workers_is_named(tmp_path):
    manifest = podium.write_shards(make_data(), tmp_path / "s", 4)
    parts = [(0, 2), (1, 3)]
    ids = [read_shards(tmp_path / "s", part).query_ids.copy() for part in parts]
    ids[1][-1] = ids[0][0]
    with pytest.raises(podium.FormatError, match=r"part-00003\.podium-data: query 'q0' is also in .*part-00000"):
        refuse_split_shards(tmp_path / "s", ids, parts, manifest)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("s3://bucket/a/b", "s3://bucket/a/b"),
        (Path("gs://bucket/a"), "gs://bucket/a"),
        (Path("file:///tmp/x"), "file:///tmp/x"),
        ("file:/tmp/x", "file:///tmp/x"),
        ("/tmp/x", None),
        ("a:b", None),
        ("c:/", None),
    ],
)
def test_what_is_a_uri(given, wanted):
    assert as_uri(given) == wanted


def test_uris_are_read_as_paths_are(tmp_path):
    data = make_data()
    podium.write_shards(data, tmp_path / "s", 3)
    uri = (tmp_path / "s").as_uri()
    assert_same(podium.read(uri), data)
    assert_same(podium.read(Path(uri)), data)
    assert_same(read_shards(uri, document_ids=True), data)
    flip(tmp_path / "s" / "part-00002.podium-data")
    with pytest.raises(podium.FormatError, match=r"file://.*part-00002\.podium-data: has changed since"):
        podium.read(uri)
    with pytest.raises(podium.FormatError, match="there is no manifest"):
        podium.read(tmp_path.as_uri())
    with pytest.raises(podium.FormatError, match=r"nowhere://x/y: cannot be opened"):
        podium.read("nowhere://x/y")


def filesystems(folder: Path) -> dict[str, Any]:
    from pyarrow import fs

    memory, _ = fs.FileSystem.from_uri("mock:///")
    memory.create_dir("bucket")
    for path in folder.iterdir():
        with memory.open_output_stream(f"bucket/{path.name}") as file:
            file.write(path.read_bytes())
    return {"memory": memory, "subtree": fs.SubTreeFileSystem(str(folder.parent), fs.LocalFileSystem())}


def test_file_systems_of_pyarrow(tmp_path):
    data = make_data()
    podium.write_shards(data, tmp_path / "bucket", 3)
    for filesystem in filesystems(tmp_path / "bucket").values():
        assert_same(read_shards("bucket", filesystem=filesystem, document_ids=True), data)
        assert_same(read_shards("bucket", [1], filesystem=filesystem), read_shards(tmp_path / "bucket", [1]))
        assert read_manifest(Storage.of("bucket", filesystem)) == read_manifest(tmp_path / "bucket")
