"""Training within a limit of memory that the operating system enforces, from data with four times as many bytes of features."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import podium

LIMIT = 320 << 20
FEATURES, CHUNK, CHUNKS = 2048, 4096, 40  # 4 · 2048 · 163,840 bytes are 1.25 GiB
TRAINING = ("--n-estimators", "3", "--set", "num_leaves=6", "--threads", "1")


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write 1.25 GiB of features as shards, never holding more than 32 MiB of them."""
    folder = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(0)
    X = rng.integers(0, 40, (CHUNK, FEATURES)).astype(np.float32)
    (folder / "chunks").mkdir()
    for number in range(CHUNKS):
        X[:, :8] = rng.normal(size=(CHUNK, 8))
        labels = (X[:, 0] + X[:, 1] + rng.normal(size=CHUNK) > 1).astype(float)
        ids = number * CHUNK // 64 + np.arange(CHUNK) // 64
        podium.write(podium.RankingData(X, labels, ids), folder / "chunks" / f"{number:02d}.podium-data")
    made = podium.write_shards(podium.read(folder / "chunks"), folder / "shards", 4)
    assert 4 * made.documents * made.features == 4 * LIMIT
    for path in (folder / "chunks").iterdir():
        path.unlink()
    return folder / "shards"


def train(shards: Path, out: Path, *words: str, limit: int | None = None) -> subprocess.CompletedProcess[str]:
    """Train in a process that cannot allocate more than the limit: RLIMIT_DATA does not count the pages of mapped files."""

    def enforce() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))

    command = [sys.executable, "-m", "podium", "train", str(shards), *TRAINING, *words, "--out", str(out)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # every thread of OpenBLAS reserves memory
    return subprocess.run(command, capture_output=True, text=True, env=environment, preexec_fn=enforce, timeout=600)


def test_features_of_four_times_the_limit_give_the_same_bytes(shards, tmp_path):
    limited = train(shards, tmp_path / "limited", "--memory-limit", str(LIMIT), limit=LIMIT)
    assert limited.returncode == 0, limited.stderr
    free = train(shards, tmp_path / "free")
    assert free.returncode == 0, free.stderr
    assert (tmp_path / "limited").read_bytes() == (tmp_path / "free").read_bytes()


def test_the_limit_is_enforced(shards, tmp_path):
    refused = train(shards, tmp_path / "model", limit=LIMIT)
    assert refused.returncode != 0
    assert "memory" in refused.stderr.lower()
    assert not (tmp_path / "model").exists()
