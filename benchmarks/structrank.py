"""StructRank on OHSUMED (LETOR 3.0): full, independent and random networks beside each other and beside others' rows.

Run: PODIUM_DATA=… python benchmarks/structrank.py [--folds 1,2]
     PODIUM_DATA=… python benchmarks/structrank.py --variants
     python benchmarks/structrank.py --cost

Each fold trains on its training queries; start, norm and epoch are chosen by MAP on its validation queries, and it is
judged once on its test queries, by the official LETOR scorer's definitions. A figure is the mean of the five folds; the
paired tests are over the 106 test queries. `--variants` runs other settings, from one start: the paper's schedule (a plain
sum of terms, steps of rate 0.5 that shrink), w₁ and w₂ tied, the 25 features of LETOR 2.0 that the paper had, and a query's own
documents left in. `--cost` trains on
25, 50 and 100 thousand documents of 136 features, each in a process of its own, and prints seconds a pass and peak memory.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import podium
from letor_ohsumed import COLUMNS, MAP, PUBLISHED, letor
from machine import machine, short_repr

RESULTS = Path(__file__).parent / "results"
TOPOLOGIES = ("full", "independent", "random")
# Of LETOR 3.0's 45 features those that LETOR 2.0 had: ten of the title, ten of the abstract, five of both together.
LETOR_2 = [*range(10), *range(15, 25), *range(40, 45)]
VARIANTS: dict[str, dict[str, Any]] = {
    "as above, one start": {},
    "the paper's schedule": {"scale": "sum", "step": "shrink", "learning_rate": 0.5, "norm": (30.0, 100.0)},
    "the paper's steps on the mean": {"step": "shrink"},
    "w₁ = w₂": {"tie": True},
    "25 features": {"features": LETOR_2},
    "own documents vote": {"leave_out": False},
}
SIZES = (25_000, 50_000, 100_000)
Folds = Sequence[tuple[podium.RankingData, ...]]


def narrowed(data: podium.RankingData, features: Sequence[int]) -> podium.RankingData:
    names = None if data.feature_names is None else [data.feature_names[k] for k in features]
    return data.replace_grouped(features=np.ascontiguousarray(data.features[:, list(features)]), feature_names=names)


def run(folds: Folds, features: Sequence[int] | None = None, **settings: Any) -> dict[str, Any]:
    """Test figures, test scores, what each fold chose and how long it took."""
    judged, scores, chosen, seconds, busy = [], [], [], [], []
    for parts in folds:
        train, valid, test = parts if features is None else (narrowed(part, features) for part in parts)
        began, worked = time.perf_counter(), time.process_time()
        ranker = podium.StructRank(metric=MAP, **settings).fit(train, valid=valid)
        seconds.append(time.perf_counter() - began)
        busy.append(time.process_time() - worked)
        scores.append(ranker.predict(test))
        result = podium.evaluate(scores[-1], test, [letor(name) for name in COLUMNS.values()])
        judged.append([result.mean[letor(name)] for name in COLUMNS.values()])
        kept = {"norm": ranker.norm_, "epoch": ranker.best_epoch_, "w1": ranker.w1_, "w2": ranker.w2_}
        chosen.append({**kept, "valid": ranker.best_value_})
    means = [float(value) for value in np.mean(judged, axis=0)]
    spent = {"seconds": seconds, "processor_seconds": busy}
    return {"test": means, "chosen": chosen, **spent, "scores": np.concatenate(scores)}


def together(tests: Sequence[podium.RankingData]) -> podium.RankingData:
    """The test queries of all folds as one data set."""
    parts = [np.concatenate([getattr(test, name) for test in tests]) for name in ("features", "labels", "qid")]
    return podium.RankingData(*parts)


def row(name: str, values: Sequence[float], note: str = "") -> str:
    return f"{name:<38} " + " ".join(f"{value:8.4f}" for value in values) + f"   {note}"


def note(found: dict[str, Any]) -> str:
    norms = ", ".join(f"{fold['norm']:g}" for fold in found["chosen"])
    valid = np.mean([fold["valid"] for fold in found["chosen"]])
    longest = f"at most {max(found['seconds']):.0f} s a fold, {max(found['processor_seconds']):.0f} s of the processor's cores"
    return f"valid {valid:.4f}; norms {norms}; {longest}"


def compared(found: dict[str, dict[str, Any]], tests: Sequence[podium.RankingData]) -> list[dict[str, Any]]:
    """Paired tests over all test queries, of MAP and of NDCG@10."""
    data, scores = together(tests), {name: result["scores"] for name, result in found.items()}
    rows = []
    for metric in (MAP, letor("ndcg@10")):
        whole = podium.compare(scores, data, metric)
        print(whole)
        rows += [
            {"metric": metric, **{name: value for name, value in pair.items() if name != "most_changed"}}
            for pair in whole.to_dict()["pairs"]
        ]
    return rows


def quality(folds: Folds) -> None:
    on = machine()
    print(short_repr(on))
    print(" " * 38, " ".join(f"{column:>8}" for column in COLUMNS))
    for name, figures in PUBLISHED.items():
        print(row(name, figures))
    found: dict[str, dict[str, Any]] = {}
    for topology in TOPOLOGIES:
        found[topology] = run(folds, topology=topology)
        print(row(f"StructRank, {topology}", found[topology]["test"], note(found[topology])), flush=True)
    tests = compared(found, [test for _, _, test in folds])
    ours = {name: without_scores(result) for name, result in found.items()}
    write(
        "structrank.json",
        {"machine": on, "columns": list(COLUMNS), "published": PUBLISHED, "ours": ours, "paired": tests},
    )


def variants(folds: Folds) -> None:
    """Other settings, each with the full network and the independent one, from one start; and whether full gains there."""
    on = machine()
    print(short_repr(on))
    print(" " * 38, " ".join(f"{column:>8}" for column in COLUMNS))
    rows = {}
    for name, settings in VARIANTS.items():
        found = {}
        for topology in TOPOLOGIES[:2]:
            found[topology] = run(folds, topology=topology, **{"starts": 1, "norm": 30.0} | settings)
            print(row(f"{name}, {topology}", found[topology]["test"], note(found[topology])), flush=True)
        paired = compared(found, [test for _, _, test in folds])
        rows[name] = {**{topology: without_scores(result) for topology, result in found.items()}, "paired": paired}
    write("structrank_variants.json", {"machine": on, "columns": list(COLUMNS), "variants": rows})


def without_scores(result: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in result.items() if name != "scores"}


def cost_of(documents: int) -> None:
    """One pass on so many documents; prints JSON."""
    data = podium.synthetic.network(queries=documents // 100, documents=100, features=136, seed=0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ranker = podium.StructRank(starts=1, epochs=1, norm=30.0).fit(data)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        json.dumps(
            {
                "documents": documents,
                "pass_seconds": ranker.log_[0].seconds,
                "peak_mb": peak / 1024,
                "data_mb": before / 1024,
            }
        )
    )


def cost() -> None:
    on = machine()
    print(f"136 features, 20,000 references, full network; {short_repr(on)}")
    print(f"{'documents':>10}{'s a pass':>10}{'peak MB':>9}{'of it the data':>16}")
    rows = []
    for documents in SIZES:
        words = [sys.executable, __file__, "--one", str(documents)]
        rows.append(json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout))
        line = rows[-1]
        print(
            f"{documents:>10,}{line['pass_seconds']:>10.1f}{line['peak_mb']:>9.0f}{line['data_mb']:>16.0f}", flush=True
        )
    write("structrank_cost.json", {"machine": on, "rows": rows})


def write(name: str, report: dict[str, Any]) -> None:
    path = RESULTS / name
    path.write_text(json.dumps(report, indent=2) + "\n")
    print(f"wrote {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variants", action="store_true", help="other settings instead")
    parser.add_argument("--folds", type=lambda text: [int(k) for k in text.split(",")], default=[1, 2, 3, 4, 5])
    parser.add_argument("--cost", action="store_true", help="time and memory on large data instead")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        cost_of(options.one)
    elif options.cost:
        cost()
    else:
        folder = Path(os.environ["PODIUM_DATA"]) / "ohsumed/QueryLevelNorm"
        folds = [podium.read_folds(folder / f"Fold{k}") for k in options.folds]
        (variants if options.variants else quality)(folds)


if __name__ == "__main__":
    main()
