"""Training on shards: each worker opens its own, also one that was replaced, and the model is that of one process."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_cluster_training import TRAIN, VALID
from test_faults import RANKER, plan_of, same
from typer.testing import CliRunner

import podium
from podium.cli.app import app
from podium.cluster import engine
from podium.errors import FormatError
from podium.formats.shard_parts import ShardPart
from podium.training import train
from podium.training.distributed import driver
from podium.training.distributed.exchanging import Fault

pytestmark = pytest.mark.usefixtures("cluster")


@pytest.fixture(params=["cache", "parquet"])
def folders(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path]:
    for name, data in (("train", TRAIN), ("valid", VALID)):
        podium.write_shards(data, tmp_path / name, 5, format=request.param)
    return tmp_path / "train", tmp_path / "valid"


def train_on_shards(folders: tuple[Path, Path], *faults: Fault, callback: Any = None) -> tuple[Any, list[Any]]:
    handed: list[Any] = []
    part = driver.Driver._part

    def keep(self: Any, *args: Any) -> Any:
        handed.append(part(self, *args))
        return handed[-1]

    data, valid = podium.read(folders[0]), podium.read(folders[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver.Driver, "_part", keep)
        found = driver.train_on_cluster(
            plan_of(RANKER, 3),
            data,
            valid=valid,
            callbacks=() if callback is None else (callback,),
            checkpoint=None,
            faults=faults,
        )
    return found, handed


def test_workers_read_their_shards(folders: tuple[Path, Path]) -> None:
    expected = train(replace(plan_of(RANKER, 1), engine=engine("local")), TRAIN, valid=VALID)
    found, handed = train_on_shards(folders, Fault(1, 2, 4))
    assert all(isinstance(part, ShardPart) for part in handed)
    assert len(handed) == 6
    assert same(found, expected)


def test_a_shard_that_changes_during_training_is_named(folders: tuple[Path, Path]) -> None:
    shard = sorted(path for path in folders[0].iterdir() if path.name != "manifest.json")[2]

    def change(row: Any) -> None:
        if row.epoch == 1:
            held = shard.read_bytes()
            other = shard.with_name(".other")
            other.write_bytes(held[:-1] + bytes([held[-1] ^ 1]))
            other.replace(shard)

    with pytest.raises(FormatError, match=f"{shard.name}: has changed since the shards were written"):
        train_on_shards(folders, Fault(1, 2, 4), callback=change)


def test_a_shard_that_goes_missing_is_named(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    shard = sorted(path for path in folders[1].iterdir() if path.name != "manifest.json")[0]
    connect = driver.connect

    def lose(engine: Any) -> Any:
        shard.unlink()
        return connect(engine)

    monkeypatch.setattr(driver, "connect", lose)
    with pytest.raises(FormatError, match=f"{shard.name}: the shard is missing"):
        train_on_shards(folders)


def test_the_command_trains_the_same_bytes(folders: tuple[Path, Path], tmp_path: Path) -> None:
    models = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("local", "ray(workers=2)"):
            models.append(tmp_path / name)
            command = ["train", *map(str, folders), "--n-estimators", "3", "--engine", name, "--out", str(models[-1])]
            command.insert(2, "--valid")
            found = CliRunner().invoke(app, command)
            assert found.exit_code == 0, found.output
    assert models[0].read_bytes() == models[1].read_bytes()
