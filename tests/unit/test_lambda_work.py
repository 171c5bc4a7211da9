"""The work of LambdaRank's force grows no faster than the pairs of documents that can change the metric.

Work is counted in basic blocks that the core executes, so that it does not depend on the machine or on what else runs.
"""

from __future__ import annotations

import itertools
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from podium.metrics import METRICS

CORE = Path(__file__).parents[2] / "core"
SOURCES = [
    *sorted((CORE / "metrics").glob("*.cpp")),
    *(
        CORE / "forces" / f"{name}.cpp"
        for name in ("lambda", "lambda_top", "lambda_draws", "lambda_labels", "force", "force_parameters", "normal")
    ),
    CORE / "interrupt.cpp",
    *sorted((CORE / "net").glob("dense_*.cpp")),
]
SOURCES.remove(CORE / "metrics" / "evaluate.cpp")
WIDE = {
    "_avx2": ["-mavx2", "-mfma"],
    "_avx512": ["-mavx2", "-mfma", *(f"-mavx512{part}" for part in ("f", "bw", "dq", "vl"))],
}
SIZES = (500, 1000, 2000)
BY_RELEVANCE = ["map", "mrr", "bpref", "auc", "err", "ndcg", "mean_ndcg", "dcg", "p", "recall", "rbp", "wta"]
COUNT = "-fsanitize-coverage=trace-pc"
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str, int], int]:
    folder = tmp_path_factory.mktemp("work")

    def compile_one(source: Path, *flags: str) -> Path:
        target = folder / f"{source.parent.name}-{source.stem}.o"
        command = [
            "g++",
            "-std=c++20",
            "-O1",
            "-ffp-contract=off",
            *next((flags for end, flags in WIDE.items() if source.stem.endswith(end)), []),
            "-Wno-psabi",
            *flags,
            f"-I{CORE}",
            "-c",
            str(source),
        ]
        subprocess.run([*command, "-o", str(target)], check=True)
        return target

    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(lambda source: compile_one(source, COUNT), SOURCES))
    objects.append(compile_one(Path(__file__).with_name("lambda_work.cpp")))
    program = folder / "lambda_work"
    subprocess.run(["g++", *map(str, objects), "-pthread", "-o", str(program)], check=True)
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in printed.splitlines()]
    return {(name, labels, int(n)): int(count) for name, labels, n, count in rows}


def test_work_grows_no_faster_than_pairs(blocks: dict[tuple[str, str, int], int]) -> None:
    for name, (small, large) in itertools.product(METRICS, itertools.pairwise(SIZES)):
        pairs = large * (large - 1) / (small * (small - 1))
        assert blocks[name, "many", large] <= pairs * blocks[name, "many", small], name


def test_each_pair_costs_few_steps(blocks: dict[tuple[str, str, int], int]) -> None:
    """A loop over the deltas, one over the pulls, and little else."""
    n = SIZES[-1]
    for name in METRICS:
        assert blocks[name, "many", n] <= 3 * n * (n - 1) / 2, name


def test_few_relevant_documents_have_few_pairs(blocks: dict[tuple[str, str, int], int]) -> None:
    """Eight relevant documents: twice the documents make twice the pairs of different relevance."""
    for name, (small, large) in itertools.product(BY_RELEVANCE, itertools.pairwise(SIZES)):
        assert blocks[name, "few", large] <= 2.2 * blocks[name, "few", small], name
