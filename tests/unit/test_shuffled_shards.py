"""Shards of data in which the rows of a query are not together."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_shards import assert_same, make_data

import podium
from podium.formats import resolve, shuffling
from podium.formats.on_disk import read_on_disk_together
from podium.formats.shards import write_shards

FORMATS = {"letor": "txt", "csv": "csv", "parquet": "parquet", "arrow": "arrow", "cache": "podium-data"}


def scattered(seed: int = 0) -> podium.RankingData:
    """Return the data of the other tests with its rows in any order."""
    data = make_data(query_weights=None)
    order = np.random.default_rng(seed).permutation(data.n_documents)
    return podium.RankingData(
        data.features[order],
        data.labels[order],
        data.qid[order],
        document_ids=data.document_ids[order] if data.document_ids is not None else None,
        document_weights=data.document_weights[order] if data.document_weights is not None else None,
        feature_names=data.feature_names,
        categorical_features=data.categorical_features,
    )


def written(data: podium.RankingData, path: Path, format: str) -> podium.RankingData:
    """Write what a format holds of the data, and return the same."""
    if format == "letor":
        data = data.replace(document_weights=None, categorical_features=None, feature_names=None)
    podium.write(data, path, format=format)
    return data


@pytest.mark.parametrize("format", FORMATS)
def test_rows_of_a_query_are_put_together_in_their_order(tmp_path, format, monkeypatch):
    monkeypatch.setattr(shuffling, "BLOCK_BYTES", 1000)
    path = tmp_path / f"a.{FORMATS[format]}"
    data = written(scattered(), path, format)
    options: dict[str, Any] = {"categorical_features": ["c"]} if format == "csv" else {}
    read = read_on_disk_together([resolve(path, options=options)], scattered=True)
    if format != "cache":
        assert read.n_queries > data.n_queries
        np.testing.assert_array_equal(read.labels, data.to_caller_order(data.labels))
    write_shards(read, tmp_path / "s", 3)
    found = podium.read(tmp_path / "s")
    wanted = podium.read(path, **({"scattered": "group"} if format == "letor" else options))
    assert_same(found, wanted)
    assert found.row_order is None


def test_queries_in_several_files_are_put_together(tmp_path):
    parts = [scattered(seed).replace(document_ids=None) for seed in (1, 2)]
    for name, part in zip("ab", parts, strict=True):
        podium.write(part, tmp_path / f"{name}.parquet")
    sources = [resolve(tmp_path / f"{name}.parquet") for name in "ab"]
    write_shards(read_on_disk_together(sources, scattered=True), tmp_path / "s", 4)
    found = podium.read(tmp_path / "s")
    for query in found.query_ids:
        rows = [np.flatnonzero(part.query_ids == query)[0] for part in parts]
        wanted = [
            part.features[part.query_offsets[k] : part.query_offsets[k + 1]]
            for part, k in zip(parts, rows, strict=True)
        ]
        k = int(np.flatnonzero(found.query_ids == query)[0])
        np.testing.assert_array_equal(
            found.features[found.query_offsets[k] : found.query_offsets[k + 1]], np.concatenate(wanted)
        )


def test_training_from_shuffled_shards_gives_the_same_bytes(tmp_path):
    data = podium.synthetic.network(queries=30, documents=12, features=6, hidden=3, seed=0)
    order = np.random.default_rng(0).permutation(data.n_documents)
    podium.write(podium.RankingData(data.features[order], data.labels[order], data.qid[order]), tmp_path / "a.csv")
    whole = podium.read(tmp_path / "a.csv")
    write_shards(read_on_disk_together([resolve(tmp_path / "a.csv")], scattered=True), tmp_path / "s", 4)
    for name, given in (("one", whole), ("other", podium.read(tmp_path / "s"))):
        podium.LambdaMART(n_estimators=5).fit(given).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def with_query_weights(*weights: float) -> podium.RankingData:
    runs = podium.RankingData(np.ones((3, 1), np.float32), [0, 1, 0], [0, 1, 2], query_weights=list(weights))
    parts: dict[str, Any] = {name: getattr(runs, name) for name in podium.RankingData.PARTS}
    return podium.RankingData.of_parts(check=False, **{**parts, "query_ids": np.array([7, 8, 7])})


def test_query_weights_must_agree(tmp_path):
    write_shards(with_query_weights(2.0, 1.0, 2.0), tmp_path / "a", 1)
    assert podium.read(tmp_path / "a").query_weights.tolist() == [2, 1]
    with pytest.raises(podium.DataError, match="query 7 has different weights in different places"):
        write_shards(with_query_weights(2.0, 1.0, 3.0), tmp_path / "b", 1)


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    (tmp_path / "scratch").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    podium.write(scattered(), tmp_path / "a.parquet")
    write_shards(read_on_disk_together([resolve(tmp_path / "a.parquet")], scattered=True), tmp_path / "s", 3)
    assert not list((tmp_path / "scratch").iterdir())
    names = sorted(path.name for path in (tmp_path / "s").iterdir())
    assert list(itertools.takewhile(lambda name: name != "part-00000.podium-data", names)) == ["manifest.json"]
