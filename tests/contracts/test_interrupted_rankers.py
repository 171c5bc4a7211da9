"""Every ranker, interrupted at any line of its training and resumed, gives the bytes of the uninterrupted run."""

from __future__ import annotations

import contextlib
import shutil
import signal
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_rankers import EVERY, TREES, quick

import podium
from interrupting import Lines, sends

# An interrupt between the last line of a `with` block and its end leaves a file for the garbage collector to close.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
POINTS = 20  # interrupts per training
WATCHED = ("training", "models", "artifact", "files.py", "rankers")
TRAIN = podium.synthetic.network(queries=12, documents=8, features=5, seed=0)
VALID = podium.synthetic.network(queries=8, documents=8, features=5, seed=1, generator_seed=0)


@pytest.fixture(params=EVERY)
def name(request: pytest.FixtureRequest) -> Any:
    return request.param


def fit(name: str, checkpoint: podium.Checkpoint | None = None, **others: Any) -> Any:
    ranker = quick(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a solver may use up its few epochs
        return ranker.fit(TRAIN, valid=VALID, checkpoint=checkpoint, **others)


def saved(ranker: Any, path: Path) -> bytes:
    ranker.save(path)
    return path.read_bytes()


def fit_interrupted(name: str, line: int, checkpoint: podium.Checkpoint) -> Any:
    """Return a ranker whose training got SIGINT at a line, or None if `fit` raised KeyboardInterrupt."""
    with warnings.catch_warnings(record=True) as said, Lines(*WATCHED, at=line, act=sends(signal.SIGINT)) as lines:
        warnings.simplefilter("always", UserWarning)
        with contextlib.suppress(KeyboardInterrupt):
            ranker = quick(name).fit(TRAIN, valid=VALID, checkpoint=checkpoint)
            assert ranker.interrupted_
            assert "training was interrupted" in str(said[0].message)
            return ranker
    assert lines.acted
    return None


@pytest.mark.parametrize("seconds", [0.0, 1e9], ids=["every epoch written", "the first epoch written"])
def test_an_interrupt_at_any_line_loses_nothing(name, seconds, tmp_path):
    whole = saved(fit(name, podium.Checkpoint(tmp_path / "whole.checkpoint", seconds)), tmp_path / "whole")
    with Lines(*WATCHED) as lines:
        fit(name, podium.Checkpoint(tmp_path / "counted.checkpoint", seconds))
    kept = 0
    for line in np.random.default_rng(0).choice(lines.count, POINTS, replace=False).tolist():
        path = tmp_path / f"{line}.checkpoint"
        ranker = fit_interrupted(name, line + 1, podium.Checkpoint(path, seconds))
        if ranker is not None:
            kept += 1
            assert np.isfinite(ranker.predict(TRAIN)).all()
            assert ranker.log_[-1].epoch == ranker.n_epochs_ >= ranker.best_epoch_ > 0
            values = [row.valid for row in ranker.log_ if row.valid is not None]  # RankSVM judges its last step only
            assert not values or ranker.best_value_ == values[ranker.best_epoch_ - 1]
            assert not values or name in TREES or ranker.best_value_ == max(values)
        assert not list(tmp_path.glob(".*"))
        assert saved(fit(name, podium.Checkpoint(path)), tmp_path / "resumed") == whole
    assert kept > 0


def test_an_interrupt_writes_the_last_epoch_however_recently_the_file_was_written(name, tmp_path):
    """The file is written after the first epoch and is not due again for years when the interrupt comes."""
    path = tmp_path / "a.checkpoint"

    def interrupt(row: Any) -> None:
        if row.epoch == 3:
            raise KeyboardInterrupt

    assert fit(name, podium.Checkpoint(path, seconds=1e9), callbacks=interrupt).interrupted_
    resumed: list[int] = []
    fit(name, podium.Checkpoint(path), callbacks=lambda row: resumed.append(row.epoch))
    assert resumed[0] == 4


def test_training_that_is_interrupted_twice_resumes_twice(name, tmp_path):
    """Each interrupt comes in the middle of the second epoch after the start or the resumption."""
    whole = saved(fit(name), tmp_path / "whole")
    path = tmp_path / "a.checkpoint"
    epochs = []
    for _ in range(2):
        ends = epoch_ends(name, path, tmp_path / "copy.checkpoint")
        ranker = fit_interrupted(name, (ends[0] + ends[1]) // 2, podium.Checkpoint(path, seconds=0))
        epochs.append(ranker.n_epochs_)
    assert 0 < epochs[0] < epochs[1]
    assert saved(fit(name, podium.Checkpoint(path)), tmp_path / "resumed") == whole


def epoch_ends(name: str, path: Path, copy: Path) -> list[int]:
    """Return how many lines have run at the end of each remaining epoch, given a checkpoint."""
    copy.unlink(missing_ok=True)
    if path.exists():
        shutil.copy(path, copy)
    ends: list[int] = []
    with Lines(*WATCHED) as lines:
        fit(name, podium.Checkpoint(copy, seconds=0), callbacks=lambda row: ends.append(lines.count))
    return ends
