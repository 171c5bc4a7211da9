"""What a cluster costs where gradients are followed: the time per epoch of workers on this machine, next to one process.

    python benchmarks/cluster_gradients.py [--queries 1000] [--epochs 6] [--workers 2] [--repeats 3] [--out FILE]

The time per epoch is the median of the epochs after the first two, by the clock of the training log. One process with as many
threads and the workers take turns, and the medians of the repeats are printed. Exchanges and bytes are those of one worker, per
epoch. The models of both have the same numbers, or the program ends with an error.
"""

from __future__ import annotations

import argparse
import json
import statistics
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import podium
from mslr_like import mslr_like
from podium.training.distributed import driver

FIRST_EPOCHS = 2  # that are left out
CASES = {
    "linear, lbfgs": ("linear", "lbfgs(l2=0.001, epochs={epochs})"),
    "net(10), lbfgs": ("net(10)", "lbfgs(l2=0.001, epochs={epochs})"),
    "net(10), adam, 32 queries per update": ("net(10)", "adam(batch=32, epochs={epochs})"),
    "net(100), adam, 32 queries per update": ("net(100)", "adam(batch=32, epochs={epochs})"),
    "net(100), adam, 256 queries per update": ("net(100)", "adam(batch=256, epochs={epochs})"),
    "net(300), adam, 32 queries per update": ("net(300)", "adam(batch=32, epochs={epochs})"),
    "linear, adam, 1 query per update": ("linear", "adam(epochs={epochs})"),
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--queries", type=int, default=1000)
    options.add_argument("--epochs", type=int, default=6)
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--only", default="", help="cases whose names contain this")
    options.add_argument("--out", type=Path)
    given = options.parse_args()
    data, rows = mslr_like(given.queries), []
    for name in (name for name in CASES if given.only in name):
        row = compared(given, name, data)
        rows.append(row)
        print(json.dumps(row), flush=True)
    if given.out is not None:
        found = {"documents": data.n_documents, "queries": data.n_queries, "workers": given.workers, "cases": rows}
        given.out.write_text(json.dumps(found, indent=2) + "\n")


def compared(given: argparse.Namespace, name: str, data: podium.RankingData) -> dict[str, Any]:
    """Return the milliseconds per epoch of one process and of the workers, and what these exchange."""
    local, ray = f"local(threads={given.workers})", f"ray(workers={given.workers})"
    seconds: dict[str, list[float]] = {local: [], ray: []}
    vectors, traffic = set(), {}
    for _ in range(given.repeats):
        for engine in (local, ray):
            ranker, report = trained(name, given.epochs, engine, data)
            seconds[engine].append(statistics.median(np.diff([row.seconds for row in ranker.log_])[FIRST_EPOCHS - 1 :]))
            vectors.add(b"".join(array.tobytes() for array in ranker.model_.arrays().values()))
            if report is not None:
                each = report.traffic[0]
                traffic = {"exchanges": each.exchanges / report.rounds, "bytes": each.bytes / report.rounds}
    assert len(vectors) == 1, f"{name}: the workers trained another model"
    here, there = (statistics.median(seconds[engine]) for engine in (local, ray))
    return {"case": name, "local_ms": 1000 * here, "ray_ms": 1000 * there, "ratio": there / here, **traffic}


def trained(
    name: str, epochs: int, engine: str, data: podium.RankingData
) -> tuple[podium.Ranker, driver.ClusterReport | None]:
    """Return a trained ranker, and what the workers report if there are any."""
    model, schedule = CASES[name]
    ranker = podium.Ranker(force="ranknet", model=model, schedule=schedule.format(epochs=epochs))
    reports: list[driver.ClusterReport] = []
    end = driver.Driver.end

    def keep(self: driver.Driver) -> None:
        reports.append(self.report)
        end(self)

    driver.Driver.end = keep  # type: ignore[method-assign]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker.fit(data, engine=engine)
    driver.Driver.end = end  # type: ignore[method-assign]
    return ranker, reports[0] if reports else None


if __name__ == "__main__":
    main()
