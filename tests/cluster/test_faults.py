"""Workers, and the program that trains, are killed at chosen points: the model has the same bytes, and nothing hangs."""

from __future__ import annotations

import logging
import subprocess
import sys
import textwrap
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_cluster_training import TRAIN, VALID

import podium
from podium.cluster import engine
from podium.errors import ClusterError
from podium.training import Checkpoint, Trained, train
from podium.training.distributed import driver
from podium.training.distributed.exchanging import Fault

pytestmark = pytest.mark.usefixtures("cluster")


def plan_of(ranker: Any, workers: int) -> Any:
    plan = ranker._plan(TRAIN)
    plan = plan.schedule.resolve(plan, TRAIN)
    return replace(plan, engine=engine(f"ray(workers={workers}, patience=600)"))


def same(found: Trained, expected: Trained) -> bool:
    arrays = expected.model.arrays()
    log = [(row.train, row.valid) for row in expected.log]
    return (
        all(found.model.arrays()[name].tobytes() == array.tobytes() for name, array in arrays.items())
        and [(row.train, row.valid) for row in found.log] == log
        and found.best_epoch == expected.best_epoch
    )


RANKER = podium.LambdaMART(n_estimators=4, seed=2, num_leaves=9)
# In the preparation, in the sample, in histograms, in leaves and metrics, twice in one worker, and all workers at once.
FAULTS = {
    "bins": [Fault(1, 0, 6, after=True)],
    "histograms": [Fault(0, 2, 7)],
    "preparation and later": [Fault(1, 0, 2), Fault(1, 3, 9, after=True)],
    "both": [Fault(0, 2, 1), Fault(1, 2, 7, after=True)],
    "while it follows": [Fault(0, 3, 8), Fault(0, 3, 2)],
}


@pytest.mark.parametrize("phase", FAULTS)
def test_a_killed_worker_changes_nothing(phase: str, caplog: pytest.LogCaptureFixture) -> None:
    plan = plan_of(RANKER, 2)
    expected = train(replace(plan, engine=engine("local")), TRAIN, valid=VALID)
    with caplog.at_level(logging.WARNING, "podium.cluster"):
        found = driver.train_on_cluster(
            plan, TRAIN, valid=VALID, callbacks=(), checkpoint=None, faults=tuple(FAULTS[phase])
        )
    assert same(found, expected)
    for fault in FAULTS[phase]:
        assert f"worker {fault.worker} was lost and starts again" in caplog.text


NETS: dict[str, Any] = {
    "adam": podium.Ranker(
        force="ordinal", model="net(4)", schedule="adam(epochs=5, batch=9, rate=0.5, restart_rounds=1)"
    ),
    "lbfgs": podium.Ranker(force="ranknet", model="linear", schedule="lbfgs(epochs=6, l2=0.01)"),
}


@pytest.mark.parametrize("name", NETS)
def test_a_killed_worker_changes_no_gradient(name: str, caplog: pytest.LogCaptureFixture) -> None:
    plan = plan_of(NETS[name], 2)
    expected = train(replace(plan, engine=engine("local")), TRAIN, valid=VALID)
    faults = (Fault(1, 0, 3), Fault(1, 4, 2, after=True))
    found = driver.train_on_cluster(plan, TRAIN, valid=VALID, callbacks=(), checkpoint=None, faults=faults)
    assert same(found, expected)
    assert found.certificate == expected.certificate
    assert caplog.text.count("worker 1 was lost and starts again") == 2


@pytest.mark.parametrize("name", ["dart", "thresholds", "checkpoints"])
def test_a_worker_follows_what_it_has_missed(name: str, tmp_path: Path) -> None:
    ranker = {
        "dart": podium.LambdaMART(n_estimators=6, dart=0.5, forests=1),
        "thresholds": podium.Ranker(force="ordinal", model="trees(forests=2)", schedule="boosting(rounds=5)"),
        "checkpoints": RANKER,
    }[name]
    plan = plan_of(ranker, 3)
    expected = train(replace(plan, engine=engine("local")), TRAIN, valid=VALID)
    saves = Checkpoint(tmp_path / "checkpoint", 0.0) if name == "checkpoints" else None
    faults = (Fault(1, 4, 6), Fault(2, 2, 6, after=True))
    found = driver.train_on_cluster(plan, TRAIN, valid=VALID, callbacks=(), checkpoint=saves, faults=faults)
    assert same(found, expected)


def test_a_worker_that_is_lost_again_and_again_ends_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "RESTARTS", 1)
    faults = tuple(Fault(1, 1, 3) for _ in range(2))
    with pytest.raises(ClusterError, match="worker 1 was lost for good"):
        driver.train_on_cluster(plan_of(RANKER, 2), TRAIN, valid=VALID, callbacks=(), checkpoint=None, faults=faults)


@pytest.mark.parametrize("name", ["trees", "lbfgs"])
def test_checkpoints_do_not_depend_on_the_engine(name: str, tmp_path: Path) -> None:
    ranker = podium.LambdaMART(n_estimators=6, dart=0.3, forests=1) if name == "trees" else NETS[name]
    whole = plan_of(ranker, 3)
    local = replace(whole, engine=engine("local"))
    expected = train(local, TRAIN, valid=VALID)

    def third(row: Any) -> bool:
        return bool(row.epoch == 3)

    for first, second in ((whole, local), (local, whole)):
        path = tmp_path / f"checkpoint of {first.engine.name}"
        train(first, TRAIN, valid=VALID, callbacks=[third], checkpoint=Checkpoint(path))
        assert same(train(second, TRAIN, valid=VALID, checkpoint=Checkpoint(path)), expected)


SCRIPT = """
    import os, signal, sys
    import numpy as np
    from pathlib import Path
    import podium
    from test_cluster_training import TRAIN, VALID
    from podium.training import Checkpoint

    def die(row):
        if row.epoch == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)

    ranker = podium.LambdaMART(n_estimators=6, seed=2)
    ranker.fit(TRAIN, valid=VALID, callbacks=die, checkpoint=Checkpoint(sys.argv[1], 0.0), engine="ray(workers=2)")
"""


def test_a_killed_driver_resumes_from_its_checkpoint(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    ranker = podium.LambdaMART(n_estimators=6, seed=2)
    checkpoint = tmp_path / "checkpoint"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = ranker.fit(TRAIN, valid=VALID).model_.arrays()
        environment = {"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
        command = [sys.executable, str(script), str(checkpoint), "4"]
        killed = subprocess.run(command, env=environment, capture_output=True, timeout=100, check=False)
        assert killed.returncode == -9, killed.stderr.decode()
        numbers = Checkpoint(checkpoint).read_numbers() if hasattr(Checkpoint, "read_numbers") else None
        assert numbers is None or numbers["epoch"] >= 2
        ranker.fit(TRAIN, valid=VALID, checkpoint=str(checkpoint), engine="ray(workers=3)")
    assert all(np.array_equal(ranker.model_.arrays()[name], array) for name, array in expected.items())
