"""Starting Ray, connecting to it, and running pieces of work on it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import podium
from podium.cluster import Local, Ray, connect, engine, run_tasks, tasks

ALONE = """
import socket
from podium.cluster import Ray, connect
with connect(Ray(workers=3)) as ray:
    print(int(ray.cluster_resources()["CPU"]) >= 3, ray.util.get_node_ip_address())
print(ray.is_initialized())
"""


def sleep_and_add(shared: int, number: int) -> int:
    return shared + number


def fail(shared: None, number: int) -> int:
    if number == 2:
        raise podium.ParameterError("number", number, "is the bad one")
    return number


def die(folder: Path, number: int, times: int) -> int:
    tries = len(list(folder.glob(f"{number}-*")))
    (folder / f"{number}-{tries}").touch()
    if tries < times:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def wait_for_ever(shared: None) -> None:
    signal.pause()


def run(ray: Any, function: Any, shared: Any, jobs: Any, **settings: Any) -> list[Any]:
    return list(
        run_tasks(ray, Ray(**{"workers": 2, **settings}), function, shared, jobs, describe=lambda k: f"job {k}")
    )


def test_engines_print_and_read_back():
    assert engine("local") == Local()
    assert engine("ray(workers=4, threads=2, address='auto')") == Ray(workers=4, threads=2, address="auto")
    assert str(Ray(workers=4)) == "ray(workers=4)"
    assert engine(str(Ray(workers=4, patience=5.0))) == Ray(workers=4, patience=5.0)
    with pytest.raises(podium.ParameterError, match="unknown engine 'dask'"):
        engine("dask(workers=4)")
    with pytest.raises(podium.ParameterError, match="workers=0 must be"):
        engine("ray(workers=0)")


def test_ray_starts_by_itself_on_loopback_and_says_nothing():
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    done = subprocess.run(
        [sys.executable, "-c", ALONE], capture_output=True, text=True, timeout=120, check=True, env=environment
    )
    assert done.stdout.split() == ["True", "127.0.0.1", "False"]
    assert done.stderr == ""


def test_results_come_in_the_order_of_the_jobs(cluster):
    assert run(cluster, sleep_and_add, 100, [(k,) for k in range(7)]) == list(range(100, 107))


def test_an_error_of_a_job_is_raised_as_it_is(cluster):
    with pytest.raises(podium.ParameterError, match="number=2 is the bad one"):
        run(cluster, fail, None, [(k,) for k in range(4)])


def test_a_job_whose_worker_dies_is_run_again(cluster, tmp_path, caplog):
    assert run(cluster, die, tmp_path, [(0, 0), (1, 2), (2, 0)]) == [0, 1, 2]
    assert caplog.text.count("the worker for job 1 was lost") == 2


def test_a_job_that_kills_every_worker_ends_with_an_error(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(tasks, "RETRIES", 1)
    with pytest.raises(podium.ClusterError, match=r"job 0: its worker was lost 2 times.*more memory"):
        run(cluster, die, tmp_path, [(0, 9)])


def test_nothing_waits_for_ever(cluster, monkeypatch, caplog):
    monkeypatch.setattr(tasks, "REMINDER_SECONDS", 0.2)
    with pytest.raises(podium.ClusterError, match="job 0 made no progress for 1 s"):
        run(cluster, wait_for_ever, None, [()], patience=1.0)
    assert "still waiting for job 0" in caplog.text


def test_more_workers_than_the_cluster_has_room_for_are_refused(cluster):
    with pytest.raises(podium.ClusterError, match="needs 4000 cores"), connect(Ray(workers=4000)):
        pass


def test_a_running_cluster_of_this_machine_is_joined(cluster):
    script = (
        "from podium.cluster import Ray, connect\n"
        "with connect(Ray(address='auto')) as ray: print(len(ray.nodes()), ray.nodes()[0]['NodeID'])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["1", cluster.nodes()[0]["NodeID"]]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("127.0.0.1:1", "nothing answers at address='127.0.0.1:1'"),
        ("ray://127.0.0.1:1", "nothing answers at address='ray://127.0.0.1:1'"),
        ("somewhere", "address='somewhere' must be 'auto'"),
    ],
)
def test_a_cluster_that_cannot_be_reached_is_an_error(address, message):
    script = "import sys; from podium.cluster import Ray, connect\nwith connect(Ray(address=sys.argv[1])) as ray: pass"
    done = subprocess.run([sys.executable, "-c", script, address], capture_output=True, text=True, timeout=120)
    assert message in done.stderr.splitlines()[-1]
