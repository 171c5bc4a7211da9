"""Training on Ray: the bytes of one process, for any number of workers."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import podium
from podium.data import RankingData
from podium.errors import DataError, ParameterError

RANDOM = np.random.default_rng(3)


def made(queries: int, first: int) -> RankingData:
    sizes = RANDOM.integers(1, 15, queries)
    n = int(sizes.sum())
    features = RANDOM.normal(size=(n, 6)).astype(np.float32)
    features[:, 2] = RANDOM.integers(0, 6, n)
    features[:, 3] = np.where(RANDOM.random(n) < 0.2, np.nan, features[:, 3])
    labels = np.digitize(features[:, 0] + (features[:, 2] == 3) + RANDOM.normal(size=n), [0, 1, 2]).astype(float)
    return RankingData(features, labels, np.repeat(np.arange(first, first + queries), sizes))


TRAIN, VALID = made(40, 0), made(20, 1000)
RANKERS: dict[str, Any] = {
    "default": podium.LambdaMART(n_estimators=6, seed=1),
    "by level": podium.LambdaMART(n_estimators=5, growth="depth", num_leaves=9, row_sampling=0.6, metric="map"),
    "symmetric": podium.LambdaMART(n_estimators=5, growth="symmetric", num_leaves=8, also=["map"]),
    "early stopping": podium.LambdaMART(n_estimators=60, early_stopping_rounds=3, num_leaves=16, learning_rate=0.3),
    "stumps": podium.RankBoost(n_estimators=6),
    "linear": podium.RankSVM(),
    "net": podium.LambdaRank(hidden=(5,), batch=7, epochs=4, learning_rate=0.01),
    "kernel": podium.KernelRankNet(epochs=5),
}


def saved(ranker: Any, path: Path, engine: str, **more: Any) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker.fit(TRAIN, valid=VALID, engine=engine, **more).save(path)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("name", "engine"),
    [
        ("default", "ray(workers=1, threads=2)"),
        ("default", "ray(workers=2, threads=2)"),
        ("by level", "ray(workers=2)"),
        ("symmetric", "ray(workers=3)"),
        ("early stopping", "ray(workers=5)"),
        ("stumps", "ray(workers=2)"),
        ("linear", "ray(workers=3)"),
        ("net", "ray(workers=2, threads=2)"),
        ("kernel", "ray(workers=2)"),
    ],
)
def test_the_model_is_that_of_one_process(cluster: Any, tmp_path: Path, name: str, engine: str) -> None:
    ranker = RANKERS[name]
    expected = saved(ranker, tmp_path / "local", "local(threads=2)")
    rounds, value = ranker.n_epochs_, ranker.best_value_
    assert saved(ranker, tmp_path / "ray", engine) == expected
    assert (ranker.n_epochs_, ranker.best_value_) == (rounds, value)


def test_the_order_of_the_queries_has_no_effect(cluster: Any, tmp_path: Path) -> None:
    ranker = RANKERS["default"]
    expected = saved(ranker, tmp_path / "local", "local")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        order = RANDOM.permutation(TRAIN.n_queries)
        ranker.fit(TRAIN.select(order), valid=VALID, engine="ray(workers=3)").save(tmp_path / "ray")
    assert (tmp_path / "ray").read_bytes() == expected


def test_callbacks_follow_the_rounds_and_end_training(cluster: Any) -> None:
    rows: list[Any] = []

    def third(row: Any) -> bool:
        rows.append(row)
        return row.epoch == 3

    ranker = podium.LambdaMART(n_estimators=50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker.fit(TRAIN, valid=VALID, callbacks=third, engine="ray(workers=2)")
    assert [row.epoch for row in rows] == [1, 2, 3]
    assert ranker.n_epochs_ == 3


def test_an_interrupt_keeps_the_best_round_so_far(cluster: Any) -> None:
    rows: list[Any] = []

    def interrupt(row: Any) -> None:
        rows.append(row)
        if row.epoch == 3:
            raise KeyboardInterrupt

    ranker = podium.LambdaMART(n_estimators=50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker.fit(TRAIN, valid=VALID, callbacks=interrupt, engine="ray(workers=2)")
    assert ranker.interrupted_
    assert [row.epoch for row in rows] == [1, 2, 3]
    assert ranker.n_epochs_ == 3


def test_an_error_of_a_worker_is_raised_here(cluster: Any) -> None:
    wild = RankingData(TRAIN.features, TRAIN.labels * 1e100, TRAIN.qid)
    with pytest.raises(DataError, match="a value that trees cannot take"):
        podium.Ranker(force="squared", model="trees", metric="mrr").fit(wild, engine="ray(workers=2)")


def test_what_cannot_be_distributed_is_refused() -> None:
    with pytest.raises(ParameterError, match="learns from one document after the other"):
        podium.PRank().fit(TRAIN, engine="ray(workers=2)")
    with pytest.raises(DataError, match="fewer than the 50 workers"):
        podium.LambdaMART().fit(TRAIN, engine="ray(workers=50)")
    with pytest.raises(ParameterError):
        podium.LambdaMART().fit(TRAIN, engine="spark")
