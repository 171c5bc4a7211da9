"""Parts of a directory of shards, as the workers of a cluster read them."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from test_shards import assert_same, make_data

import podium
from podium.errors import FormatError
from podium.formats.shard_parts import shard_part


@pytest.fixture(params=["cache", "parquet"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    podium.write_shards(make_data(), tmp_path / "s", 5, format=request.param)
    return tmp_path / "s"


def test_every_run_of_queries_is_read_from_its_shards(folder: Path) -> None:
    data = podium.read(folder)
    whole = data.replace(document_ids=None)
    for first in range(data.n_queries):
        for last in range(first + 1, data.n_queries + 1):
            part = shard_part(data, first, last)
            assert part is not None
            assert_same(pickle.loads(pickle.dumps(part)).read(1), whole.select(np.arange(first, last)))


def test_no_more_shards_are_read_than_hold_the_queries(folder: Path) -> None:
    data = podium.read(folder)
    ends = np.cumsum([shard.queries for shard in podium.formats.shards.read_manifest(folder).shards])
    first = shard_part(data, 0, int(ends[0]))
    last = shard_part(data, int(ends[3]), int(ends[4]))
    assert first is not None
    assert last is not None
    assert (first.shards, last.shards) == ((0,), (4,))


def test_other_data_is_not_that_of_shards(folder: Path, tmp_path: Path) -> None:
    data = podium.read(folder)
    (folder / "manifest.json").unlink()
    for other in (make_data(), data.select([0, 1]), data.replace(labels=data.labels), podium.read(folder)):
        assert shard_part(other, 0, 1) is None


def test_a_shard_that_is_missing_or_has_changed_is_named(folder: Path) -> None:
    data = podium.read(folder)
    part = shard_part(data, 0, data.n_queries)
    assert part is not None
    shard = sorted(path for path in folder.iterdir() if path.name != "manifest.json")[2]
    held = shard.read_bytes()
    other = shard.with_name(".other")
    other.write_bytes(held[:-1] + bytes([held[-1] ^ 1]))
    other.replace(shard)
    with pytest.raises(FormatError, match=f"{shard.name}: has changed since"):
        part.read(1)
    shard.unlink()
    with pytest.raises(FormatError, match=f"{shard.name}: the shard is missing"):
        part.read(1)
    (folder / "manifest.json").unlink()
    with pytest.raises(FormatError, match=r"manifest\.json: is not there on .*, where a worker runs"):
        part.read(1)
