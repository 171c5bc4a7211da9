"""What docs/models.md promises under "The same answer": scores in batches of any size, and the bytes of models elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from digests import trained
from test_rankers import TEST

from podium import _core
from podium.models import MODELS

try:
    from numpy._core import _multiarray_umath as numpy_core
except ImportError:  # NumPy keeps it private
    numpy_core = None

RANKERS = trained()
ROWS = np.random.default_rng(5).normal(size=(1000, TEST.n_features)).astype(np.float32)
ROWS[np.random.default_rng(6).random(ROWS.shape) < 0.05] = np.nan


def test_every_model_is_among_the_trained():
    assert {ranker.model_name_ for ranker in RANKERS.values()} == set(MODELS)


@pytest.mark.parametrize("name", RANKERS)
def test_a_score_does_not_depend_on_the_batch(name):
    scorer = RANKERS[name].scorer_
    whole = scorer.scores(ROWS, num_threads=2)
    assert len(np.unique(whole)) > 3
    for size in (1, 7, 33, 129):
        for threads in (1, 3):
            parts = [scorer.scores(ROWS[k : k + size], num_threads=threads) for k in range(0, len(ROWS), size)]
            assert np.concatenate(parts).tobytes() == whole.tobytes(), f"batches of {size}, {threads} threads"
    backwards = scorer.scores(ROWS[::-1])
    assert backwards[::-1].tobytes() == whole.tobytes()


def run_script(task: str, folder: Path, **environment: str) -> dict[str, list[str]]:
    """Return what digests.py prints in a process with these environment variables."""
    command = [sys.executable, str(Path(__file__).with_name("digests.py")), task, str(folder)]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    run = subprocess.run(command, env=variables, capture_output=True, check=False)
    assert run.returncode == 0, run.stderr.decode()
    return json.loads(run.stdout)


def blas_kernels() -> list[str]:
    """Return the kernels of OpenBLAS that this processor can run. Another BLAS ignores the variable."""
    features = {} if numpy_core is None else numpy_core.__cpu_features__
    avx512 = features.get("AVX512_SKX", False)
    return ["Prescott", "Nehalem"] + ["Haswell", "Zen"] * _core.use_avx2(True) + ["SkylakeX"] * avx512


def numpy_features() -> str:
    """Return the instruction sets that NumPy chooses at run time and that can be switched off."""
    if numpy_core is None:
        return ""
    return " ".join(name for name in numpy_core.__cpu_dispatch__ if numpy_core.__cpu_features__.get(name))


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> dict[str, list[str]]:
    return run_script("train", tmp_path_factory.mktemp("plain"))


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the kernels of OpenBLAS are those of x86-64 under Linux"
)
@pytest.mark.parametrize("kernel", blas_kernels())
def test_bytes_do_not_depend_on_the_blas(kernel, plain, tmp_path):
    assert run_script("train", tmp_path, OPENBLAS_CORETYPE=kernel) == plain


def test_bytes_do_not_depend_on_the_instructions_of_numpy(plain, tmp_path):
    features = numpy_features()
    if not features:
        pytest.skip("NumPy has no instruction sets to choose from on this processor")
    assert run_script("train", tmp_path, NPY_DISABLE_CPU_FEATURES=features) == plain


def test_saved_models_score_the_same_with_another_c_library(tmp_path):
    """The GNU C library computes logarithms without fused multiply-adds; other C libraries ignore the variable."""
    expected = {}
    for k, (name, ranker) in enumerate(RANKERS.items()):
        ranker.save(tmp_path / f"{k}.podium")
        expected[f"{k}.podium"] = name, ranker.predict(TEST)
    found = run_script("score", tmp_path, GLIBC_TUNABLES="glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA,-FMA4")
    assert found.keys() == expected.keys()
    for file, (name, scores) in expected.items():
        if name == "centers":  # whose masses enter by their logarithms
            np.testing.assert_allclose(found[file], scores, rtol=0, atol=1e-12 * TEST.labels.max())
        else:
            assert found[file] == scores.tolist(), name
