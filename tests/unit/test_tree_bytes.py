"""Model bytes do not depend on threads or the order of queries, nor on stopping and resuming the training."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import podium
from generated import any_schedule
from interrupting import Lines
from podium import _core

TRAIN = podium.synthetic.network(queries=40, documents=15, features=8, hidden=3, seed=0)
VALID = podium.synthetic.network(queries=20, documents=15, features=8, hidden=3, seed=1, generator_seed=0)
PLAIN: dict[str, Any] = {
    "n_estimators": 24,
    "num_leaves": 8,
    "learning_rate": 0.3,
    "l2": 0.1,
    "min_documents": 4,
    "row_sampling": 1.0,
    "query_sampling": 1.0,
    "column_sampling": 1.0,
    "random_strength": 0.0,
}
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "dart": {"dart": 0.3},
    "rows by force": {"row_sampling": 0.5},
    "rows at random": {"row_sampling": 0.5, "sampling": "uniform"},
    "queries": {"query_sampling": 0.6},
    "columns": {"column_sampling": 0.5},
    "symmetric": {"growth": "symmetric", "column_sampling": 0.5, "forests": 1},
    "forests": {"forests": 3, "query_sampling": 0.6, "column_sampling": 0.6},
    "everything": {
        "dart": 0.2,
        "row_sampling": 0.7,
        "query_sampling": 0.8,
        "column_sampling": 0.7,
        "random_strength": 0.5,
        "monotone": {0: 1},
        "categorical": (7,),
        "class_weight": "balanced",
        "normalize": True,
    },
}


def with_categories(data: podium.RankingData) -> podium.RankingData:
    X = data.features.copy()
    X[:, 7] = np.round(2 * X[:, 7])
    X[np.random.default_rng(len(X)).random(X.shape) < 0.05] = np.nan
    return data.replace(features=X)


TRAIN, VALID = with_categories(TRAIN), with_categories(VALID)


def ranker(kind: str, **others: Any) -> podium.LambdaMART:
    return podium.LambdaMART(**PLAIN | KINDS[kind] | {"num_threads": 1} | others)


def saved(fitted: Any, path: Path) -> bytes:
    fitted.save(path)
    return path.read_bytes()


def turned(data: podium.RankingData, seed: int) -> podium.RankingData:
    return data.select(np.random.default_rng(seed).permutation(data.n_queries))


def by_kind(kinds=KINDS):
    return pytest.mark.parametrize("kind", kinds)


@by_kind()
def test_threads_orders_and_avx2_do_not_change_a_byte(kind, tmp_path):
    first = saved(ranker(kind).fit(TRAIN, valid=VALID), tmp_path / "a")
    for threads in (2, 5):
        assert saved(ranker(kind, num_threads=threads).fit(TRAIN, valid=VALID), tmp_path / "b") == first
    for seed in (1, 2):
        found = ranker(kind, num_threads=seed).fit(turned(TRAIN, seed), valid=turned(VALID, seed))
        assert saved(found, tmp_path / "b") == first
    try:
        _core.use_avx2(False)
        assert saved(ranker(kind).fit(TRAIN, valid=VALID), tmp_path / "b") == first
    finally:
        _core.use_avx2(True)


def test_more_documents_than_a_piece_keep_their_bytes(tmp_path):
    """Enough documents that threads share every loop, and that bins are chosen from a sample."""
    rng = np.random.default_rng(0)
    n = 110_000
    X = rng.normal(size=(n, 4)).astype(np.float32)
    labels = np.digitize(X[:, 0] + X[:, 1] ** 2 + rng.normal(size=n), [0, 1, 2]).astype(float)
    data = podium.RankingData(X, labels, np.repeat(np.arange(n // 50), 50))
    settings = {"n_estimators": 3, "num_leaves": 16}
    for kind in ("plain", "everything"):
        others = settings | ({"categorical": (), "monotone": ()} if kind == "everything" else {})
        first = saved(ranker(kind, **others).fit(data), tmp_path / "a")
        assert saved(ranker(kind, num_threads=5, **others).fit(data), tmp_path / "b") == first
        assert saved(ranker(kind, num_threads=2, **others).fit(turned(data, 3)), tmp_path / "b") == first


def interrupt_after(rounds: int) -> Any:
    def callback(epoch: podium.training.progress.Epoch) -> None:
        if epoch.epoch == rounds:
            raise KeyboardInterrupt

    return callback


@by_kind()
def test_interrupted_and_resumed(kind, tmp_path):
    whole = ranker(kind).fit(TRAIN, valid=VALID)
    first = saved(whole, tmp_path / "a")
    rounds = np.sort(np.random.default_rng(0).choice(np.arange(1, 24), 3, replace=False))
    for k, stop in enumerate(rounds.tolist()):
        with pytest.warns(UserWarning, match="interrupted"):
            part = ranker(kind).fit(
                turned(TRAIN, k), valid=turned(VALID, k), callbacks=interrupt_after(stop), checkpoint=tmp_path / "c"
            )
        assert part.interrupted_
        assert part.n_epochs_ == stop
        assert [row.valid for row in part.log_] == [row.valid for row in whole.log_[:stop]]
    resumed = ranker(kind, num_threads=3).fit(TRAIN, valid=VALID, checkpoint=tmp_path / "c")
    assert resumed.n_epochs_ == whole.n_epochs_
    assert [row.train for row in resumed.log_] == [row.train for row in whole.log_]
    assert saved(resumed, tmp_path / "b") == first
    again = ranker(kind).fit(TRAIN, valid=VALID, checkpoint=tmp_path / "c")  # it had ended
    assert saved(again, tmp_path / "b") == first


@pytest.mark.parametrize("method", ["grow_together", "grow"])
@by_kind(["plain", "dart"])
def test_an_interrupt_in_the_middle_of_a_round(kind, method, tmp_path, monkeypatch):
    """The unfinished tree is lost, and the finished ones are kept."""
    first = saved(ranker(kind).fit(TRAIN, valid=VALID), tmp_path / "a")
    grow, calls = getattr(podium.models.growing.TreeBooster, method), []

    def interrupted(self: Any, *given: Any) -> None:
        calls.append(1)
        grow(self, *given)
        if len(calls) == 11:
            raise KeyboardInterrupt

    monkeypatch.setattr(podium.models.growing.TreeBooster, method, interrupted)
    if method == "grow":  # as with large data
        monkeypatch.setattr(podium.models.growing, "TOGETHER_DOCUMENTS", 0)
    checkpoint = podium.Checkpoint(tmp_path / "c", seconds=0.0)
    with pytest.warns(UserWarning, match="interrupted"):
        part = ranker(kind).fit(TRAIN, valid=VALID, checkpoint=checkpoint)
    assert part.n_epochs_ == 10
    assert part.n_trees_ == part.best_epoch_ <= 10
    monkeypatch.undo()
    assert saved(ranker(kind).fit(TRAIN, valid=VALID, checkpoint=tmp_path / "c"), tmp_path / "b") == first


def test_more_outputs_and_thresholds_resume_too(tmp_path):
    spec = "trees(num_leaves=5, l2=0, min_documents=3, row_sampling=0.7, query_sampling=1, column_sampling=1, random_strength=0)"
    for force in ("multiclass", "ordinal", "xendcg", "squared"):

        def make(force=force):
            return podium.Ranker(force=force, model=spec, **any_schedule(spec, epochs=12, learning_rate=0.3))

        first = saved(make().fit(TRAIN, valid=VALID), tmp_path / "a")
        path = tmp_path / f"{force}.checkpoint"
        with pytest.warns(UserWarning, match="interrupted"):
            make().fit(turned(TRAIN, 1), valid=VALID, callbacks=interrupt_after(5), checkpoint=path)
        assert saved(make().fit(TRAIN, valid=VALID, checkpoint=path), tmp_path / "b") == first


KILLED = """
import signal, sys
from pathlib import Path
from sklearn.exceptions import ConvergenceWarning

import podium
from interrupting import Lines, sends
from test_tree_bytes import TRAIN, VALID, ranker
kind, path, line, seconds = sys.argv[1:]
with Lines("training", "models", "artifact", "files.py", at=int(line), act=sends(signal.SIGKILL)):
    ranker(kind, n_estimators=40).fit(TRAIN, valid=VALID, checkpoint=podium.Checkpoint(path, seconds=float(seconds)))
"""


@by_kind(["plain", "everything"])
@pytest.mark.parametrize("seconds", [0.0, 1e9], ids=["every round written", "the first round written"])
def test_killed_and_resumed(kind, seconds, tmp_path):
    """Each of three runs is killed after a quarter of the lines of an uninterrupted one."""
    first = saved(ranker(kind, n_estimators=40).fit(TRAIN, valid=VALID), tmp_path / "a")
    with Lines("training", "models", "artifact", "files.py") as lines:
        counted = podium.Checkpoint(tmp_path / "counted", seconds=seconds)
        ranker(kind, n_estimators=40).fit(TRAIN, valid=VALID, checkpoint=counted)
    here = Path(__file__).parent
    for _ in range(3):
        words = [kind, str(tmp_path / "c"), str(lines.count // 4), str(seconds)]
        command = [sys.executable, "-c", KILLED, *words]
        done = subprocess.run(command, cwd=here, env={**os.environ, "PYTHONPATH": str(here.parent)}, check=False)
        assert done.returncode == -signal.SIGKILL
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = ranker(kind, n_estimators=40).fit(TRAIN, valid=VALID, checkpoint=tmp_path / "c")
    assert saved(fitted, tmp_path / "b") == first


def test_a_checkpoint_of_another_training_is_refused(tmp_path):
    ranker("plain").fit(TRAIN, checkpoint=tmp_path / "c")
    for changed in (
        {"num_leaves": 9},
        {"learning_rate": 0.1},
        {"seed": 1},
        {"dart": 0.1},
        {"class_weight": "balanced"},
    ):
        with pytest.raises(podium.ParameterError, match="was written with another"):
            ranker("plain", **changed).fit(TRAIN, checkpoint=tmp_path / "c")
    with pytest.raises(podium.ParameterError, match="was written with another data"):
        ranker("plain").fit(VALID, checkpoint=tmp_path / "c")
    start = ranker("plain", n_estimators=2).fit(TRAIN)
    with pytest.raises(podium.ParameterError, match="another model to start from"):
        ranker("plain").fit(TRAIN, checkpoint=tmp_path / "c", start_from=start)
    more = ranker("plain", n_estimators=30).fit(TRAIN, checkpoint=tmp_path / "c")
    assert more.n_trees_ == 30
    assert saved(more, tmp_path / "a") == saved(ranker("plain", n_estimators=30).fit(TRAIN), tmp_path / "b")
