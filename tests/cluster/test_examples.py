"""The example runs, and the manifest for Kubernetes holds a command that there is."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_example_gives_the_bytes_of_one_process(cluster, tmp_path):
    environment = {**os.environ, "RAY_ADDRESS": "auto"}
    command = [sys.executable, EXAMPLES / "cluster.py", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=200)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "cluster.podium and" in done.stdout
    assert done.stdout.count("byte for byte") == 2


def test_the_manifest_runs_a_command_that_can_be_parsed():
    yaml = pytest.importorskip("yaml")
    job = yaml.safe_load((EXAMPLES / "kuberay.yaml").read_text())
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    words = shlex.split(job["spec"]["entrypoint"])
    assert words[:2] == ["podium", "train"]
    from podium.cluster import engine

    runs_on = engine(words[words.index("--engine") + 1])
    group = job["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]
    (container,) = group["template"]["spec"]["containers"]
    assert runs_on.distributes
    cores = group["replicas"] * int(container["resources"]["requests"]["cpu"])
    assert runs_on.values()["workers"] * runs_on.values()["threads"] <= cores
