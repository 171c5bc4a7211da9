"""Boosted trees on MSLR-like data: Podium against LightGBM, XGBoost and CatBoost, on the same two threads.

    python benchmarks/trees.py [--rounds 3] [--threads 2] [--systems podium lightgbm …] [--peers-only]
    python benchmarks/trees.py --quick      # small, to see that everything runs; --out FILE keeps it
    python benchmarks/trees.py --scale      # 2,000 to 20,000 queries: how the time of a tree grows
    python benchmarks/trees.py --small      # real sets of about 10,000 documents (needs PODIUM_DATA)

6,000 training queries of about 120 documents and 136 features, 2,000 other queries to judge on; 63 leaves (CatBoost: 64),
rate 0.1, 255 bins, every other setting of a peer its default. Each run is a process of its own (`tree_peers.py`), rounds are
interleaved, and medians count. The target is what LightGBM at its defaults reaches after 200 trees: NDCG@10 on those 2,000
queries, judged outside the clock after every fifth tree. A system's time to the target is binning plus all trees until it
first gets there; one that is not there after 200 trees may grow 260 (CatBoost, which cannot continue, grows 260 at once), and one
that does not get there shows the time it spent in vain, with `>`.

The first round says how good the trees are, and how many reach the target. Later rounds time those trees alone, or the first 50
of a system that does not get there, which are enough for the time of a tree. They leave out settings of a peer, its default
excepted, that took more than 1.5 times as long to the target as the fastest of its settings, or did not get there; and
XGBoost and CatBoost if a run takes more than 150 seconds. A system's `rounds` say how many its medians are over.

Ratios: time to the target against Podium at its defaults (`podium`), time of a tree against Podium without sampling
(`podium, exact`). Memory is the peak beyond libraries and training data. Results go to `results/trees.json`, the curves to
`docs/images/trees.svg`. Run it on an idle machine.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

import podium
import tree_tables
from machine import machine, short_repr
from mslr_like import mslr_like
from tree_figures import BASE, add_ratios, at, median, repeated, summary, tree_ms, trees_to
from tree_peers import SYSTEMS, library

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
SCALES = (2000, 5000, 10_000, 20_000)
SCALED = ("podium, exact", "podium", "lightgbm")
SMALL = ("podium, exact", "lightgbm")
Runs = dict[str, list[dict]]


# running -------------------------------------------------------------------------------------------------------------


def write(folder: Path, **parts: podium.RankingData) -> None:
    for name, data in parts.items():
        podium.write(data, folder / f"{name}.podium-data")


def run(system: str, folder: Path, trees: int, options: argparse.Namespace, *more: str) -> dict:
    """One run in a process of its own."""
    script = Path(__file__).with_name("tree_peers.py")
    command = [sys.executable, str(script), system, str(folder), "--trees", str(trees), *more]
    command += ["--threads", str(options.threads), "--leaves", str(options.leaves)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{system} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def interleaved(systems: Iterable[str], folder: Path, options: argparse.Namespace) -> Runs:
    """`--rounds` runs of each system, one of each in turn, for the time of a tree."""
    runs: Runs = {system: [] for system in systems}
    for number, system in itertools.product(range(options.rounds), runs):
        runs[system].append(run(system, folder, options.most_trees, options, "--no-curve"))
        tell(number, system, runs[system][-1])
    return runs


def to_target(folder: Path, options: argparse.Namespace) -> tuple[Runs, float]:
    """Runs of each system, as many as are worth it, and the target."""
    order = sorted(options.systems, key=lambda system: system != BASE)  # the first says what the target is
    runs: Runs = {system: [] for system in options.systems}
    target: float | None = None
    for system in order:
        more = [] if target is None else ["--most", str(options.most_trees), "--target", repr(target)]
        runs[system].append(run(system, folder, options.trees, options, *more))
        target = at(runs[system][0], options.trees) if target is None else target
        tell(0, system, runs[system][0])
    assert target is not None
    again = repeated({system: rows[0] for system, rows in runs.items()}, target)
    for number, system in itertools.product(range(1, options.rounds), [system for system in order if system in again]):
        enough = trees_to(target, runs[system][0]) or min(options.short_trees, options.trees)
        runs[system].append(run(system, folder, enough, options, "--no-curve"))
        tell(number, system, runs[system][-1])
    return runs, target


def tell(number: int, system: str, one: dict) -> None:
    print(
        f"round {number + 1}: {system}: binning {one['binning']:.2f} s, {len(one['trees'])} trees of {tree_ms(one):.1f} ms",
        file=sys.stderr,
        flush=True,
    )


# showing it ---------------------------------------------------------------------------------------------------


def show(found: dict[str, dict], target: float, trees: int) -> None:
    print(f"\nthe target is NDCG@10 {target:.4f}")
    print(
        f"{'':<24}{'rounds':>7}{'binning s':>10}{'ms/tree':>9}{'× exact':>9}{'s to target':>13}{'× podium':>10}"
        f"{f'NDCG@10, {trees}':>15}{'peak MB':>9}{'beyond':>8}"
    )
    for name, row in found.items():
        more = "" if row["reached"] else ">"
        print(
            f"{name:<24}{row['rounds']:>7}{row['binning_seconds']:>10.2f}{row['tree_ms']:>9.1f}{number(row['tree_ratio']):>9}"
            f"{more + number(row['seconds_to_target']):>13}{more + number(row['target_ratio']):>10}{row['ndcg']:>15.4f}"
            f"{row['peak_bytes'] / 1e6:>9.0f}{row['peak_beyond_data_bytes'] / 1e6:>8.0f}"
        )
    settings = [name for name in found if library(name) == BASE and found[name]["reached"]]
    if settings:
        best = min(settings, key=lambda name: found[name]["seconds_to_target"])
        print(f"the fastest LightGBM to the target: {best}, {number(found[best]['target_ratio'])} × podium")


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def benchmark(options: argparse.Namespace, folder: Path) -> dict:
    print(f"{options.queries:,} training queries, {options.leaves} leaves, up to {options.rounds} rounds", flush=True)
    write(
        folder,
        train=mslr_like(options.queries, seed=options.seed),
        test=mslr_like(options.queries // 3, seed=options.seed + 1),
    )
    runs, target = to_target(folder, options)
    found = {name: summary(rows, target, options.trees) for name, rows in runs.items()}
    add_ratios(found)
    show(found, target, options.trees)
    return {"target": target, "trees": options.trees, "systems": found}


def scale(options: argparse.Namespace, folder: Path) -> dict:
    """Milliseconds per tree by the number of queries, and the slope of log time against log queries."""
    options.most_trees, table = 30, {system: [] for system in SCALED if system in options.systems}
    for queries in SCALES if not options.quick else (100, 200, 400):
        write(folder, train=mslr_like(queries, seed=options.seed))
        for system, rows in interleaved(table, folder, options).items():
            table[system].append((queries, median(map(tree_ms, rows))))
    print(
        f"\nms a tree{'':<15}" + "".join(f"{queries:>10,}" for queries, _ in next(iter(table.values()))) + "     slope"
    )
    found = {}
    for system, points in table.items():
        slope = float(np.polyfit(*np.log(np.array(points).T), 1)[0])
        found[system] = {"queries_and_ms": points, "slope": slope}
        print(f"{system:<24}" + "".join(f"{ms:>10.1f}" for _, ms in points) + f"{slope:>10.3f}")
    return found


def small(options: argparse.Namespace, folder: Path) -> dict:
    """Milliseconds per tree on real data sets."""
    from quality_sets import TEST

    found: dict[str, dict] = {}
    options.most_trees = min(options.most_trees, 100)
    for name in ("ohsumed", "yandex", "lightgbm-lambdarank"):
        train = next(TEST[name]()).train
        write(folder, train=train)
        rows = interleaved([s for s in SMALL if s in options.systems], folder, options)
        found[name] = {system: median(map(tree_ms, each)) for system, each in rows.items()}
        cells = ", ".join(f"{system} {ms:.2f}" for system, ms in found[name].items())
        print(f"{name}, {train.n_documents:,} documents: ms a tree: {cells}", flush=True)
    return found


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--queries", type=int, default=6000)
    parser.add_argument("--leaves", type=int, default=63)
    parser.add_argument("--trees", type=int, default=200, help="after which LightGBM sets the target")
    parser.add_argument("--most-trees", type=int, default=260, help="that each may grow to reach it")
    parser.add_argument("--short-trees", type=int, default=50, help="after the first round, of what did not reach it")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--peers-only", action="store_true", help="do not run Podium")
    parser.add_argument("--quick", action="store_true", help="600 queries, 20 trees, one round")
    parser.add_argument("--scale", action="store_true", help="how the time of a tree grows with the data")
    parser.add_argument("--small", action="store_true", help="the time of a tree on small real sets")
    parser.add_argument(
        "--out", type=Path, help="where results go; by default those of all systems to results/trees.json"
    )
    parser.add_argument("--plot", type=Path, help="where the curves go; by default, with such results, to docs/images")
    options = parser.parse_args()
    if set(options.systems) == set(SYSTEMS) and not (options.quick or options.peers_only):
        options.out = options.out or RESULTS / "trees.json"
        options.plot = options.plot or ROOT / "docs" / "images" / "trees.svg"
    if options.quick:
        options.queries, options.trees, options.most_trees, options.rounds = 600, 20, 30, 1
    if options.peers_only:
        options.systems = [system for system in options.systems if library(system) != "podium"]
    return options


def main() -> None:
    options = parsed()
    where = machine("lightgbm", "xgboost", "catboost")
    print(short_repr(where))
    kind = "scale" if options.scale else "small" if options.small else "large"
    with tempfile.TemporaryDirectory() as folder:
        found = {"large": benchmark, "scale": scale, "small": small}[kind](options, Path(folder))
    if kind == "large" and options.plot:
        tree_tables.draw(found, options.plot)
    if options.out:
        kept = json.loads(options.out.read_text()) if options.out.exists() else {}
        asked = {"rounds": options.rounds, "threads": options.threads, "machine": where}
        options.out.write_text(json.dumps(kept | {kind: asked | {"found": found}}, indent=2) + "\n")
        print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
