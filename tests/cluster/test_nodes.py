"""Workers on several nodes: sums of each node meet at the hub, and a worker that comes back elsewhere changes nothing."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import replace
from typing import Any

import pytest
from test_cluster_training import TRAIN, VALID
from test_faults import RANKER, plan_of, same

import podium
from podium.cluster import engine
from podium.training import train
from podium.training.distributed import driver
from podium.training.distributed.exchanging import Fault

pytestmark = pytest.mark.usefixtures("cluster")
SYMMETRIC = podium.LambdaMART(n_estimators=3, growth="symmetric", num_leaves=8, row_sampling=0.7, metric="map")


def on_nodes(ranker: Any, nodes: str, *faults: Fault, later: str | None = None) -> tuple[Any, Any]:
    """Return what workers on nodes train, each named by a letter, and what one process trains."""
    plan = plan_of(ranker, len(nodes))
    places = tuple(zip(nodes, nodes if later is None else later, strict=True))
    found = driver.train_on_cluster(
        plan, TRAIN, valid=VALID, callbacks=(), checkpoint=None, faults=faults, nodes=places
    )
    return found, train(replace(plan, engine=engine("local")), TRAIN, valid=VALID)


@pytest.mark.parametrize("nodes", ["ab", "aba", "abcab"])
@pytest.mark.parametrize("ranker", [RANKER, SYMMETRIC], ids=["leaf-wise", "symmetric"])
def test_the_model_is_that_of_one_process(nodes: str, ranker: Any) -> None:
    assert same(*on_nodes(ranker, nodes))


@pytest.mark.parametrize(("worker", "after"), [(0, False), (1, True), (3, False)])
def test_a_worker_is_killed_on_one_of_two_nodes(worker: int, after: bool) -> None:
    assert same(*on_nodes(RANKER, "aabb", Fault(worker, 2, 5, after=after)))


@pytest.mark.parametrize(
    ("nodes", "later"), [("aab", "abb"), ("aab", "bab"), ("aaa", "aba"), ("abc", "aac"), ("aab", "acb")]
)
def test_a_worker_comes_back_on_another_node(nodes: str, later: str, caplog: pytest.LogCaptureFixture) -> None:
    moved = next(k for k in range(3) if nodes[k] != later[k])
    with caplog.at_level(logging.WARNING, "podium.cluster"):
        assert same(*on_nodes(RANKER, nodes, Fault(moved, 2, 4), later=later))
    assert f"worker {moved} is on another node now: all workers start over after round 1" in caplog.text


def test_a_worker_comes_back_on_another_node_in_the_preparation(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "podium.cluster"):
        assert same(*on_nodes(RANKER, "aab", Fault(2, 0, 3), later="aaa"))
    assert "worker 2 is on another node now: all workers start over after round 0" in caplog.text


def test_a_worker_comes_back_on_another_node_after_the_last_round(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "podium.cluster"):
        assert same(*on_nodes(RANKER, "aab", Fault(2, 5, 0), later="aaa"))
    assert "worker 2 was lost and starts again after round 4" in caplog.text


def test_all_workers_of_a_node_are_killed_and_their_memory_is_gone(caplog: pytest.LogCaptureFixture) -> None:
    faults = [Fault(worker, 2, 4 + worker // 2, after=True) for worker in (0, 1)]
    with caplog.at_level(logging.WARNING, "podium.cluster"):
        assert same(*on_nodes(RANKER, "aab", *faults))
    assert caplog.text.count("was lost and starts again") == 2


SCRIPT = """
    import warnings
    import ray
    from ray.cluster_utils import Cluster
    import podium
    from test_cluster_training import TRAIN, VALID

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    cluster.add_node(num_cpus=2)
    ranker = podium.LambdaMART(n_estimators=4, seed=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = ranker.fit(TRAIN, valid=VALID).model_.arrays()
        ray.init(address=cluster.address, log_to_driver=False)
        ranker.fit(TRAIN, valid=VALID, engine="ray(workers=4)")
    found = ranker.model_.arrays()
    print("nodes", len(ray.nodes()), "same", all(found[name].tobytes() == expected[name].tobytes() for name in expected))
    ray.shutdown()
    cluster.shutdown()
"""


def test_two_nodes_of_a_cluster() -> None:
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp") as folder:  # its paths must be short
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "RAY_TMPDIR": folder}
        environment.pop("RAY_ADDRESS", None)
        command = [sys.executable, "-c", textwrap.dedent(SCRIPT)]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200, check=False)
    assert "nodes 2 same True" in ran.stdout, ran.stderr[-2000:]
