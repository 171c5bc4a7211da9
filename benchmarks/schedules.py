"""RankNet with one update per pair (V1) against one update per query (V2), as in LambdaRank (NIPS 2006) §6.1.

Run: python benchmarks/schedules.py [--rounds 5]

Speed-up: one epoch of 1,000 queries of 26 documents with 367 features and 5 levels, the shape of the paper's web data,
one layer and two layers of 10 hidden units. Slopes: training time against documents per query, 4 to 512, 50 features, two
layers; 100 queries where the paper has 1,000, which moves the line and not its slope. Both schedules run on the same
kernels and one thread; rounds are interleaved and the median is reported.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from pathlib import Path

import numpy as np

import podium
from podium import _core
from podium.models import model
from podium.training.steps import Task, make_descent

PAPER = {"one layer": 5.1, "two layers": 8.0, "slope V1": 1.943, "slope V2": 1.185}
SIZES = [4, 8, 16, 32, 64, 128, 256, 512]


def make_data(queries: int, documents: int, features: int) -> podium.RankingData:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(queries * documents, features)).astype(np.float32)
    labels = rng.integers(0, 5, queries * documents)
    return podium.RankingData(X, labels, np.repeat(np.arange(queries), documents))


def make_epoch(data: podium.RankingData, name: str, per_pair: bool):
    started = model(name).start(data, n_outputs=1, seed=0)
    task = Task(podium.force("ranknet"), started, data, seed=0, num_threads=1)
    descent = make_descent(task)
    descent.set_parameters(started.vector)
    order = np.arange(data.n_queries)

    def epoch() -> float:
        began = time.perf_counter()
        descent.run(
            order,
            optimizer=_core.Optimizer.sgd,
            rate=1e-6,
            l2=0.0,
            batch=1,
            per_pair=per_pair,
            cost=False,
            seed=0,
            round=0,
            seen=None,
        )
        return time.perf_counter() - began

    return epoch


def medians(epochs: dict, rounds: int) -> dict:
    times = {name: [] for name in epochs}
    for _ in range(rounds):
        for name, epoch in epochs.items():
            times[name].append(epoch())
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    result: dict = {
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "paper": PAPER,
        "speedup": {},
        "seconds": {},
    }
    web = make_data(1000, 26, 367)
    for label, name in (("one layer", "linear"), ("two layers", "net(10)")):
        taken = medians({kind: make_epoch(web, name, kind == "V1") for kind in ("V1", "V2")}, rounds)
        result["seconds"][label] = taken
        result["speedup"][label] = taken["V1"] / taken["V2"]
        print(f"{label}: V2 over V1 {result['speedup'][label]:.1f}x (paper {PAPER[label]}x)")
    curve: dict[str, list[float]] = {"V1": [], "V2": []}
    for size in SIZES:
        data = make_data(100, size, 50)
        taken = medians({kind: make_epoch(data, "net(10)", kind == "V1") for kind in ("V1", "V2")}, min(rounds, 3))
        for kind, seconds in taken.items():
            curve[kind].append(seconds)
    result["curve"] = {"documents": SIZES, **curve}
    for kind, seconds in curve.items():
        result[f"slope {kind}"] = float(np.polyfit(np.log(SIZES), np.log(seconds), 1)[0])
        print(f"slope {kind}: {result[f'slope {kind}']:.3f} (paper {PAPER[f'slope {kind}']})")
    path = Path(__file__).parent / "results" / "schedules.json"
    path.write_text(json.dumps(result, indent=2) + "\n")
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
