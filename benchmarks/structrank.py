"""StructRank on OHSUMED (LETOR 3.0): full, independent and random networks beside each other and beside others' rows.

Run: PODIUM_DATA=… python benchmarks/structrank.py [--variants] [--folds 1,2]
     python benchmarks/structrank.py --cost

Each fold trains on its training queries; start, norm and epoch are chosen by MAP on its validation queries, and it is
judged once on its test queries, by the official LETOR scorer's definitions. A figure is the mean of the five folds; the
paired tests are over the 106 test queries. `--variants` runs other settings too: the paper's plain sum of terms, w₁ and w₂
tied, the 25 features of LETOR 2.0 that the paper had, a query's own documents left in, and projected steps. `--cost` trains on
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
from machine import machine, shown

RESULTS = Path(__file__).parent / "results"
TOPOLOGIES = ("full", "independent", "random")
# Of LETOR 3.0's 45 features those that LETOR 2.0 had: ten of the title, ten of the abstract, five of both together.
LETOR_2 = [*range(10), *range(15, 25), *range(40, 45)]
VARIANTS: dict[str, dict[str, Any]] = {
    "the paper's plain sum": {"scale": "sum"},
    "w₁ = w₂": {"tie": True},
    "25 features": {"features": LETOR_2},
    "own documents vote": {"leave_out": False},
    "projected steps": {"step": "project"},
}
SIZES = (25_000, 50_000, 100_000)
Folds = Sequence[tuple[podium.RankingData, ...]]


def narrowed(data: podium.RankingData, features: Sequence[int]) -> podium.RankingData:
    names = None if data.feature_names is None else [data.feature_names[k] for k in features]
    return data.replace(features=np.ascontiguousarray(data.features[:, list(features)]), feature_names=names)


def run(folds: Folds, features: Sequence[int] | None = None, **settings: Any) -> dict[str, Any]:
    """Test figures, test scores, what each fold chose and how long it took."""
    judged, scores, chosen, seconds = [], [], [], []
    for parts in folds:
        train, valid, test = parts if features is None else (narrowed(part, features) for part in parts)
        began = time.perf_counter()
        ranker = podium.StructRank(metric=MAP, **settings).fit(train, valid=valid)
        seconds.append(time.perf_counter() - began)
        scores.append(ranker.predict(test))
        result = podium.evaluate(scores[-1], test, [letor(name) for name in COLUMNS.values()])
        judged.append([result.mean[letor(name)] for name in COLUMNS.values()])
        kept = {"norm": ranker.norm_, "epoch": ranker.best_epoch_, "w1": ranker.w1_, "w2": ranker.w2_}
        chosen.append({**kept, "valid": ranker.best_value_})
    means = [float(value) for value in np.mean(judged, axis=0)]
    return {"test": means, "chosen": chosen, "seconds": seconds, "scores": np.concatenate(scores)}


def together(tests: Sequence[podium.RankingData]) -> podium.RankingData:
    """The test queries of all folds as one data set."""
    parts = [np.concatenate([getattr(test, name) for test in tests]) for name in ("features", "labels", "qid")]
    return podium.RankingData(*parts)


def row(name: str, values: Sequence[float], note: str = "") -> str:
    return f"{name:<38} " + " ".join(f"{value:8.4f}" for value in values) + f"   {note}"


def note(found: dict[str, Any]) -> str:
    norms = ", ".join(f"{fold['norm']:g}" for fold in found["chosen"])
    valid = np.mean([fold["valid"] for fold in found["chosen"]])
    return f"valid {valid:.4f}; norms {norms}; at most {max(found['seconds']):.0f} s a fold"


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


def quality(options: argparse.Namespace) -> None:
    folder = Path(os.environ["PODIUM_DATA"]) / "ohsumed/QueryLevelNorm"
    folds = [podium.read_folds(folder / f"Fold{k}") for k in options.folds]
    on = machine()
    print(shown(on))
    print(" " * 38, " ".join(f"{column:>8}" for column in COLUMNS))
    for name, figures in PUBLISHED.items():
        print(row(name, figures))
    found: dict[str, dict[str, Any]] = {}
    for topology in TOPOLOGIES:
        found[topology] = run(folds, topology=topology)
        print(row(f"StructRank, {topology}", found[topology]["test"], note(found[topology])), flush=True)
    tests = compared(found, [test for _, _, test in folds])
    others = {}
    for name, settings in VARIANTS.items() if options.variants else ():
        for topology in TOPOLOGIES[:2]:
            key = f"{name}, {topology}"
            others[key] = run(folds, topology=topology, **settings)
            print(row(key, others[key]["test"], note(others[key])), flush=True)
    plain = {name: {k: v for k, v in r.items() if k != "scores"} for name, r in (found | others).items()}
    report = {"machine": on, "columns": list(COLUMNS), "published": PUBLISHED, "ours": plain, "paired": tests}
    write("structrank.json", report)


def cost_of(documents: int) -> None:
    """One pass on so many documents; prints JSON."""
    data = podium.synthetic.network(queries=documents // 100, documents=100, features=136, seed=0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ranker = podium.StructRank(starts=1, epochs=2, norm=40.0).fit(data)
    passes = [ranker.log_[0].seconds, ranker.log_[1].seconds - ranker.log_[0].seconds]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        json.dumps(
            {"documents": documents, "pass_seconds": min(passes), "peak_mb": peak / 1024, "data_mb": before / 1024}
        )
    )


def cost() -> None:
    on = machine()
    print(f"136 features, 10,000 references, full network; {shown(on)}")
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
    parser.add_argument("--variants", action="store_true", help="other settings too")
    parser.add_argument("--folds", type=lambda text: [int(k) for k in text.split(",")], default=[1, 2, 3, 4, 5])
    parser.add_argument("--cost", action="store_true", help="time and memory on large data instead")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        cost_of(options.one)
    elif options.cost:
        cost()
    else:
        quality(options)


if __name__ == "__main__":
    main()
