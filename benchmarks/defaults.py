"""The experiment behind the defaults of boosted trees: candidates on tasks of many kinds and sizes.

    PODIUM_DATA=… python benchmarks/defaults.py [--candidates balanced …] [--sizes 10000 …] [--families mslr …]
    PODIUM_DATA=… python benchmarks/defaults.py --kept --out benchmarks/results/defaults.json   # summarize

A task is drawn from a family of synthetic data (`task_families.py`) at a number of training documents, or is one fold of a
cross-validation inside the training queries of a real set. A candidate is a set of settings of LambdaMART. Every training has up to
1,000 rounds, chooses its best round on validation queries and is judged on test queries by NDCG@10 without the queries that have no
relevant document. Results are kept in `build/defaults`, one file per task and candidate, so that a run continues where the last one stopped.

Time is the processor time of a training with one thread, which other programs on the machine hardly change.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import podium
from machine import machine
from quality_sets import POOLS, Task, crossed
from task_families import FAMILIES, draw

METRIC = "ndcg(empty='skip')@10"
KEPT = Path(__file__).parents[1] / "build" / "defaults"
DEVELOP_SEED = 100  # of the tasks
TEST_DOCUMENTS = 30_000
ROUNDS = 1000
SMALL = {"growth": "leaf", "l2": 0.0, "num_leaves": 7, "learning_rate": 0.03, "smoothing": 40, "draws": 5, "forests": 4}
SMALL |= {"row_sampling": 1.0, "query_sampling": 0.5, "column_sampling": 0.5}
LARGE = {
    "growth": "leaf",
    "l2": 0.0,
    "num_leaves": 31,
    "learning_rate": 0.05,
    "smoothing": 10,
    "draws": 1,
    "forests": 1,
}
LARGE |= {"row_sampling": 0.2, "query_sampling": 1.0, "column_sampling": 1.0, "sampling": "force"}
FORMER_LARGE_DOCUMENTS = 100_000


def symmetric(leaves: int, **settings: Any) -> dict[str, Any]:
    """Return settings of symmetric trees that are grown from all documents, features and queries."""
    whole = {"query_sampling": 1.0, "column_sampling": 1.0, "forests": 1}
    return (
        {"growth": "symmetric", "l2": 3.0, "num_leaves": leaves, "draws": 5, "learning_rate": 0.05} | whole | settings
    )


def half(leaves: int, sampling: str, **settings: Any) -> dict[str, Any]:
    """Return settings of symmetric trees that are grown from half of the documents."""
    return symmetric(leaves, row_sampling=0.5, sampling=sampling, **settings)


def small(**settings: Any) -> dict[str, Any]:
    """Return settings like those of small data: half of the queries and columns, four forests of 32 leaves."""
    halves = {"query_sampling": 0.5, "column_sampling": 0.5, "row_sampling": 1.0, "smoothing": 40, "forests": 4}
    return symmetric(32, **halves | {"effort": "balanced"} | settings)


CANDIDATES: dict[str, dict[str, Any]] = {
    "former defaults": {},  # 7 leaves and 4 forests; from 100,000 documents on 31 leaves and a fifth of the documents
    "all documents, 64 leaves": symmetric(64),
    "all documents, 32 leaves": symmetric(32),
    "all documents, 16 leaves": symmetric(16),
    "all documents, 128 leaves": symmetric(128),
    "half of queries and columns, 32 leaves": symmetric(32, query_sampling=0.5, column_sampling=0.5),
    "… in 4 forests": symmetric(32, query_sampling=0.5, column_sampling=0.5, forests=4),
    "… in 4 forests, 16 leaves": symmetric(16, query_sampling=0.5, column_sampling=0.5, forests=4),
    "… in 4 forests, rate 0.03": symmetric(32, query_sampling=0.5, column_sampling=0.5, forests=4, learning_rate=0.03),
    "… in 8 forests": symmetric(32, query_sampling=0.5, column_sampling=0.5, forests=8),
    "0.7 of queries and columns, 64 leaves": symmetric(64, query_sampling=0.7, column_sampling=0.7),
    "… in 2 forests": symmetric(64, query_sampling=0.7, column_sampling=0.7, forests=2),
    "half of queries": symmetric(64, query_sampling=0.5),
    "half of columns": symmetric(32, column_sampling=0.5),
    "l2 = 1": symmetric(64, l2=1.0),
    "l2 = 10": symmetric(64, l2=10.0),
    "20 draws": symmetric(64, draws=20),
    "rate 0.03": symmetric(64, learning_rate=0.03),
    "rate 0.1": symmetric(64, learning_rate=0.1),
    "random strength 0.3": symmetric(64, random_strength=0.3),
    "half of documents, uniform": half(64, "uniform"),
    "… patience 100": half(64, "uniform", early_stopping_rounds=100),
    "… patience 200": half(64, "uniform", early_stopping_rounds=200),
    "… patience 100, 2 forests": half(64, "uniform", early_stopping_rounds=100, forests=2),
    "… 32 leaves, 2 forests, 0.7 of columns": half(
        32, "uniform", early_stopping_rounds=100, forests=2, column_sampling=0.7
    ),
    "half of documents, by force": half(64, "force"),
    "… by force, patience 100, 2 forests": half(64, "force", early_stopping_rounds=100, forests=2),
    "0.3 of documents, by force": symmetric(64, row_sampling=0.3, sampling="force"),
    "half of documents, by force, rate 0.03": half(64, "force", learning_rate=0.03),
    "half of documents, by force, rate 0.07": half(64, "force", learning_rate=0.07),
    "small": small(early_stopping_rounds=300),
    "patience 200": small(early_stopping_rounds=200),
    "patience 150": small(early_stopping_rounds=150),
    "3 draws": small(early_stopping_rounds=300, draws=3),
    "2 draws": small(early_stopping_rounds=300, draws=2),
    "patience 150, rate 0.1": small(early_stopping_rounds=150, learning_rate=0.1),
    "patience 200, 2 forests": small(early_stopping_rounds=200, forests=2),
    "patience 200, 2 forests, rate 0.08": small(early_stopping_rounds=200, forests=2, learning_rate=0.08),
    "patience 150, 2 forests, rate 0.1": small(early_stopping_rounds=150, forests=2, learning_rate=0.1),
    "patience 100, 1 forest, rate 0.1": small(early_stopping_rounds=100, forests=1, learning_rate=0.1),
    "fast": {"effort": "fast"},
    "balanced": {"effort": "balanced"},
    "best": {"effort": "best"},
}


def synthetic(family: str, documents: int, task_seed: int) -> Task:
    """Draw a task: a sixth as many documents to choose on, and the same number to be judged on at every size."""
    sizes = (documents, max(3000, documents // 6), TEST_DOCUMENTS)
    return Task(*(draw(family, n, seed=k, task_seed=task_seed) for k, n in enumerate(sizes)))


def tasks(options: argparse.Namespace) -> Iterator[tuple[str, Callable[[], Task]]]:
    """Name every task, and say how it is made."""
    for family in options.families:
        for size in options.sizes:
            yield f"{family}-{size}", partial(synthetic, family, size, DEVELOP_SEED)
    for name in options.real:
        repeats = {"ohsumed": 3, "yandex": 2, "lightgbm-lambdarank": 2}[name]
        for seed in range(repeats):
            folds = partial(crossed, POOLS[name][0 if seed < 2 else 2 * (name == "ohsumed")](), 5, seed)
            for k in range(5):
                yield f"{name}-fold{k}" + (f"s{seed}" if seed else ""), lambda k=k, folds=folds: list(folds())[k]


def outcome(
    name: str, make: Callable[[], Task], settings: dict[str, Any], cache: dict[str, Task], *, train: bool
) -> dict[str, Any] | None:
    """Return the kept result, or train if that is allowed."""
    key = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:12]
    path = KEPT / f"{name}-{key}.json"
    if path.exists():
        return json.loads(path.read_text())
    if not train:
        return None
    if name not in cache:
        cache.clear()
        cache[name] = make()
    task = cache[name]
    if not settings:
        settings = LARGE if task.train.n_documents >= FORMER_LARGE_DOCUMENTS else SMALL
    ranker = podium.LambdaMART(n_estimators=ROUNDS, num_threads=1, metric=METRIC, **settings)
    began = time.process_time()
    ranker.fit(task.train, valid=task.valid)
    seconds = time.process_time() - began
    judged = podium.evaluate(ranker.predict(task.test), task.test, [METRIC])
    found = {
        "settings": settings,
        "value": judged.mean[METRIC],
        "seconds": seconds,
        "rounds": ranker.best_epoch_,
        "grown": len(ranker.log_),
    }
    KEPT.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".part").write_text(json.dumps(found))
    path.with_suffix(".part").rename(path)
    return found


def group_of(task: str) -> str:
    """Return the row of the table that a task belongs to: a real set, or a number of documents."""
    kind, _, last = task.rpartition("-")
    return f"{int(last):,} documents" if last.isdigit() else kind


def grown(found: dict[str, Any]) -> int:
    """Return how many trees a training grew."""
    return found["grown"] * found["settings"].get("forests", 1)


def summary(table: dict[str, dict[str, dict[str, Any]]], candidates: list[str]) -> list[dict[str, Any]]:
    """Return mean difference to the first candidate, its standard error and mean seconds, by group and candidate."""
    groups: dict[str, list[str]] = defaultdict(list)
    for task in table:
        groups[group_of(task)].append(task)
    found = []
    for group, names in groups.items():
        for candidate in candidates:
            both = [name for name in names if {candidate, candidates[0]} <= set(table[name])]
            if both:
                apart = [table[name][candidate]["value"] - table[name][candidates[0]]["value"] for name in both]
                error = float(np.std(apart, ddof=1) / len(both) ** 0.5) if len(both) > 1 else None
                seconds = float(np.mean([table[name][candidate]["seconds"] for name in both]))
                first = candidates[0]
                trees = float(np.mean([grown(table[name][candidate]) / grown(table[name][first]) for name in both]))
                row = {"difference": float(np.mean(apart)), "error": error, "seconds": seconds, "tasks": len(both)}
                row["trees"] = trees
                found.append({"group": group, "candidate": candidate, **row})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--candidates", nargs="+", choices=list(CANDIDATES), metavar="NAME", default=list(CANDIDATES))
    parser.add_argument("--families", nargs="*", default=["mslr", *FAMILIES])
    parser.add_argument("--sizes", nargs="*", type=int, default=[3000, 10_000, 30_000])
    parser.add_argument("--real", nargs="*", default=["ohsumed", "yandex", "lightgbm-lambdarank"])
    parser.add_argument("--kept", action="store_true", help="summarize what is kept, train nothing")
    parser.add_argument("--out", type=Path, help="where the summary goes")
    options = parser.parse_args()
    cache: dict[str, Task] = {}
    table: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for name, make in tasks(options):
        for candidate in options.candidates:
            found = outcome(name, make, CANDIDATES[candidate], cache, train=not options.kept)
            if found:
                table[name][candidate] = found
                if not options.kept:
                    print(f"{name}, {candidate}: {found['value']:.4f}, {found['seconds']:.1f} s", flush=True)
    rows = summary(table, options.candidates)
    for row in rows:
        error = "" if row["error"] is None else f" ± {row['error']:.4f}"
        print(
            f"{row['group']:<22}{row['candidate']:<42}{row['difference']:+.4f}{error}  {row['seconds']:.1f} s  {row['tasks']} tasks"
        )
    if options.out:
        options.out.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
