"""How far the growth of exact trees is from what the machine allows: updates of histogram cells and bytes read.

    python benchmarks/roofline.py [--queries 6000] [--threads 1] [--repeats 5]

A tree adds every document to the histograms of its root, and those of the smaller child of every split to the histograms of
that child; the larger child is the difference, and the children of the last split need none. Each addition updates one cell of 8 bytes per code, and a code is one feature or
several features with few bins. Two limits are measured on the same machine: how fast memory is read, and how fast cells are
updated in a tree with two leaves, for which all rows are read in order. Times include everything that a tree needs.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from machine import machine, short_repr
from mslr_like import mslr_like
from podium import RankingData
from podium.models.growing import TreeBooster
from podium.models.tree_settings import TreesSpec

CELL_BYTES, INDEX_BYTES = 8, 4
BANDWIDTH_BYTES = 1 << 28


def n_codes(bins: list[int]) -> int:
    """Return how many bytes a row has if features with few bins share one: those with the fewest join those with the most."""
    rising, codes = sorted(bins), 0
    few, many = 0, len(rising)
    while few < many:
        many -= 1
        size = rising[many] + 1
        while few < many and size * (rising[few] + 1) <= 256:
            size *= rising[few] + 1
            few += 1
        codes += 1
    return codes


def rows_added(tree: dict[str, np.ndarray]) -> int:
    """Return how many documents a tree adds to histograms: those of the root and of the smaller child of every split but the last."""
    documents: dict[int, int] = {}

    def size(child: int) -> int:
        return int(tree["documents"][~child]) if child < 0 else documents[child]

    added = 0
    for node in reversed(range(len(tree["left"]))):
        left, right = size(int(tree["left"][node])), size(int(tree["right"][node]))
        documents[node] = left + right
        added += min(left, right) if node + 1 < len(tree["left"]) else 0
    return documents[0] + added


def bandwidth(repeats: int) -> float:
    """Return the bytes per second at which one thread reads an array that fits into no cache."""
    values = np.ones(BANDWIDTH_BYTES // 8)
    return BANDWIDTH_BYTES / min(seconds_of(lambda: values.max()) for _ in range(repeats))


def seconds_of(work: object) -> float:
    """Return the processor time of this process that a call takes."""
    began = time.process_time()
    work()  # type: ignore[operator]
    return time.process_time() - began


def measure(data: RankingData, num_leaves: int, threads: int, repeats: int) -> dict[str, float]:
    """Return processor seconds and rows of one tree, grown from forces that stand for those of a first round."""
    spec = TreesSpec(num_leaves=num_leaves, row_sampling=1.0, min_documents=20)
    booster = TreeBooster(spec, data, base=np.zeros(1), seed=0, num_threads=threads)
    force, curvature = data.labels - data.labels.mean(), np.ones(data.n_documents)
    taken = min(seconds_of(lambda: booster.grow(force, curvature, 0.1)) for _ in range(repeats))
    return {"leaves": num_leaves, "seconds": taken, "rows": rows_added(booster.arrays_of(0))}


def main() -> None:
    """Print one row per size of tree, and the two limits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=6000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print(short_repr(machine()))
    data = mslr_like(options.queries)
    distinct = [min(255, len(np.unique(data.features[:100_000, f]))) for f in range(data.n_features)]
    codes = n_codes([bins for bins in distinct if bins > 1])
    speed = bandwidth(options.repeats)
    rows = [measure(data, leaves, options.threads, options.repeats) for leaves in (2, 8, 31, 63)]
    best = rows[0]["rows"] * codes / rows[0]["seconds"]
    print(
        f"{data.n_documents:,} documents × {data.n_features} features in {codes} codes; processor time of all threads"
    )
    print(f"limits: {speed / 1e9:.1f} GB/s read by one thread, {best / 1e9:.2f} cell updates per ns with two leaves")
    print("leaves  ms/tree  rows added  updates/ns  GB/s  at the rate of two, ms  at memory's rate, ms")
    for row in rows:
        updates = row["rows"] * codes
        read = row["rows"] * (codes + CELL_BYTES + INDEX_BYTES)
        rate = f"{updates / row['seconds'] / 1e9:10.2f}  {read / row['seconds'] / 1e9:4.1f}"
        floors = f"{updates / best * 1e3:22.1f}  {read / speed * 1e3:20.1f}"
        print(f"{row['leaves']:6.0f}  {row['seconds'] * 1e3:7.1f}  {row['rows']:10,.0f}  {rate}  {floors}")


if __name__ == "__main__":
    main()
