"""What a cluster costs: Podium in one process and on two workers, next to LightGBM and XGBoost on two workers of Dask.

    python benchmarks/cluster.py [--queries 6000] [--trees 100] [--rounds 3] [--systems …] [--out benchmarks/results/cluster.json]

Needs the extras `bench` and `cluster`. Data like those of MSLR-WEB, 63 or 64 leaves, rate 0.1, 255 bins; every other setting of a
peer is its default. Two workers with one thread each, or one process with two threads. Each run is a process of its own
(`cluster_peers.py`), rounds are interleaved, and medians count.

The target is the NDCG@10 on 2,000 other queries that LightGBM reaches with all of its trees; the others grow up to a third more.
The first round says how many trees each system needs, judged after every fifth one, and later rounds time as many. Seconds begin
with `fit`, when the cluster runs, and for Dask when the data is on its workers, too; Podium's seconds include handing out the data.
The time of a tree is the median of those after the first few. Run it on an idle machine; with the defaults it takes about 10
minutes there.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import cluster_tables
import podium
from cluster_peers import STAGE, systems
from machine import machine
from mslr_like import mslr_like

BASE = "lightgbm.dask"
FIRST_TREES = 4  # that are left out
RESULTS = Path(__file__).parent / "results" / "cluster.json"
Runs = dict[str, list[dict[str, Any]]]


def run(system: str, folder: Path, trees: int, *more: str) -> dict[str, Any]:
    """Return what one run in a process of its own found."""
    script = Path(__file__).with_name("cluster_peers.py")
    command = [sys.executable, str(script), system, str(folder), "--trees", str(trees), *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{system} failed:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(
        f"{system}: {len(found['ends'])} trees of {tree_ms(found):.1f} ms in {found['ends'][-1]:.1f} s", file=sys.stderr
    )
    return found


def tree_ms(found: dict[str, Any]) -> float:
    return 1000 * float(np.median(np.diff(found["ends"])[FIRST_TREES:]))


def trees_to(target: float, curve: list[float]) -> int | None:
    """Return the number of trees after which the target is first reached; None if it is not."""
    return next((STAGE * (k + 1) for k, value in enumerate(curve) if value >= target), None)


def measure(folder: Path, names: list[str], trees: int, rounds: int) -> dict[str, Any]:
    """Run all systems in turn, and return what is kept."""
    more = -(-trees * 4 // (3 * STAGE)) * STAGE
    runs: Runs = {BASE: [run(BASE, folder, trees, "--curve")]}
    target = runs[BASE][0]["curve"][-1]
    for name in names:
        if name != BASE:
            runs[name] = [run(name, folder, more, "--curve")]
    needed = {name: trees_to(target, found[0]["curve"]) for name, found in runs.items()}
    for _ in range(1, rounds):
        for name in runs:
            runs[name].append(run(name, folder, needed[name] or trees))
    return {
        "target": target,
        "trees": trees,
        "rounds": rounds,
        "systems": {name: summary(found, needed[name]) for name, found in runs.items()},
    }


def summary(found: list[dict[str, Any]], needed: int | None) -> dict[str, Any]:
    """Return the medians of the runs of a system."""
    out: dict[str, Any] = {
        "tree_ms": statistics.median(map(tree_ms, found)),
        "seconds_to_first_tree": statistics.median(each["ends"][0] for each in found),
        "trees_to_target": needed,
        "seconds_to_target": needed and statistics.median(each["ends"][needed - 1] for each in found),
        "curve": found[0]["curve"],
    }
    for name in ("exchanges_per_tree", "bytes_per_tree", "waiting_per_tree", "loopback_bytes_per_tree"):
        if name in found[0]:
            out[name] = statistics.median(each[name] for each in found)
    return out


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--queries", type=int, default=6000)
    options.add_argument("--test-queries", type=int, default=2000)
    options.add_argument("--trees", type=int, default=100)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--systems", nargs="+", choices=list(systems()), default=list(systems()))
    options.add_argument("--out", type=Path, default=RESULTS)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        train, test = mslr_like(given.queries), mslr_like(given.test_queries, seed=1)
        podium.write(train, Path(folder) / "train.podium-data")
        podium.write(test, Path(folder) / "test.podium-data")
        documents = train.n_documents
        del train, test
        found = measure(Path(folder), given.systems, given.trees, given.rounds)
    found = {
        "machine": machine("ray", "lightgbm", "xgboost", "dask"),
        "documents": documents,
        "test_queries": given.test_queries,
        **found,
    }
    given.out.write_text(json.dumps(found, indent=1) + "\n")
    print(cluster_tables.cluster_section(found))


if __name__ == "__main__":
    main()
