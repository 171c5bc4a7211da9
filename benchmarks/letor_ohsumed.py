"""Rankers on OHSUMED (LETOR 3.0) next to the results that others published for the same five folds.

Run: PODIUM_DATA=… python benchmarks/letor_ohsumed.py [--all]

Each fold trains on its training queries, chooses by MAP on its validation queries (C of RankSVM out of powers of ten, target and
sharpness of AdaRank, the epoch of the others), and is judged once on its test queries; a figure is the mean of the five folds, by the official LETOR
scorer's definitions. The set's features are scaled to [0, 1] inside each query, which RankSVM leaves as they are. `--all`
runs other natural settings too, to show how much hangs on the choice: a fold has 21 validation queries.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import podium

COLUMNS = {"NDCG@1": "ndcg@1", "NDCG@3": "ndcg@3", "NDCG@5": "ndcg@5", "NDCG@10": "ndcg@10"}
COLUMNS |= {"MeanNDCG": "mean_ndcg", "MAP": "map"}
PUBLISHED = {  # five-fold test means by the official scorer
    "svm_rank": (0.5519, 0.4931, 0.4750, 0.4525, 0.5350, 0.4464),
    "ListNet, published": (0.5134, 0.4664, 0.4530, 0.4435, 0.5288, 0.4443),
    "AdaRank, published": (0.5552, 0.4866, 0.4705, 0.4507, 0.5350, 0.4464),
}
MAP = "map(convention='letor')"
DECADES = tuple(10.0**k for k in range(-1, 5))
SHARPNESS = (1, 2, 3, 5, 10)
TARGETS = (MAP, "ndcg(convention='letor')@10", "mean_ndcg(convention='letor')")


def adarank(target: str, sharpness: float, **others: Any) -> podium.AdaRank:
    return podium.AdaRank(metric=MAP, target=target, sharpness=float(sharpness), n_estimators=150, **others)


# One ranker, or several of which the one with the best validation value is kept.
Make = Callable[[], podium.Ranker | list[podium.Ranker]]
CHOSEN: dict[str, Make] = {
    "RankSVM": lambda: podium.RankSVM(C=DECADES, metric=MAP),
    "ListNet": lambda: podium.ListNet(metric=MAP),
    "RankNet": lambda: podium.RankNet(metric=MAP),
    "LambdaRank": lambda: podium.LambdaRank(metric=MAP, target="ndcg"),
    "AdaRank": lambda: [adarank(target, c) for target in TARGETS for c in SHARPNESS],
}
OTHERS: dict[str, Make] = {
    "RankSVM, standardized": lambda: podium.RankSVM(C=DECADES, metric=MAP, standardize=True),
    "RankSVM, queries alike": lambda: podium.RankSVM(C=DECADES, metric=MAP, query_norm=True),
    "RankSVM, squared": lambda: podium.RankSVM(C=DECADES, metric=MAP, loss="squared_hinge"),
    "ListNet, not standardized": lambda: podium.ListNet(metric=MAP, standardize=False),
    "ListNet, L-BFGS": lambda: podium.ListNet(metric=MAP, optimizer="lbfgs"),
    "RankNet, linear": lambda: podium.RankNet(metric=MAP, hidden=()),
    "ListMLE": lambda: podium.ListMLE(metric=MAP),
    "AdaRank, sharpness 1": lambda: adarank(MAP, 1),
    "AdaRank, stumps": lambda: [adarank("map(ties='average')", c, weak="stumps") for c in SHARPNESS],
    "AdaRank, features or stumps": lambda: [
        *(adarank(target, c) for target in TARGETS for c in SHARPNESS),
        *(adarank("map(ties='average')", c, weak="stumps") for c in SHARPNESS),
    ],
    "OrdinalRegression": lambda: podium.OrdinalRegression(metric=MAP),
}


def letor(name: str) -> str:
    base, _, cutoff = name.partition("@")
    return f"{base}(convention='letor'){f'@{cutoff}' if cutoff else ''}"


def run(make: Make, folds: list[tuple[podium.RankingData, ...]]) -> dict:
    """The test means, what each fold chose, and the seconds it all took."""
    began, chosen, judged = time.perf_counter(), [], []
    for train, valid, test in folds:
        made = make()
        tried = [ranker.fit(train, valid=valid) for ranker in (made if isinstance(made, list) else [made])]
        ranker = max(tried, key=lambda each: each.best_value_)
        chosen.append(getattr(ranker, "C_", getattr(ranker, "sharpness", ranker.best_epoch_)))
        result = podium.evaluate(ranker.predict(test), test, [letor(name) for name in COLUMNS.values()])
        judged.append([result.mean[letor(name)] for name in COLUMNS.values()])
    test_means = [float(value) for value in np.mean(judged, axis=0)]
    return {"test": test_means, "chosen": chosen, "seconds": time.perf_counter() - began}


def row(name: str, values: tuple[float, ...] | list[float], note: str = "") -> str:
    return f"{name:<28} " + " ".join(f"{value:8.4f}" for value in values) + f"   {note}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="other natural settings too")
    options = parser.parse_args()
    folder = Path(os.environ["PODIUM_DATA"]) / "ohsumed/QueryLevelNorm"
    warnings.simplefilter("ignore", ConvergenceWarning)  # 21 validation queries often choose an early round
    folds = [podium.read_folds(folder / f"Fold{k}") for k in range(1, 6)]
    print(" " * 28, " ".join(f"{column:>8}" for column in COLUMNS))
    for name, figures in PUBLISHED.items():
        print(row(name, figures))
    found = {}
    for name, make in (CHOSEN | (OTHERS if options.all else {})).items():
        found[name] = run(make, folds)
        chosen = ", ".join(f"{value:g}" for value in found[name]["chosen"])
        print(row(name, found[name]["test"], f"chose {chosen}; {found[name]['seconds']:.1f} s"), flush=True)
    if options.all:
        return
    path = Path(__file__).parent / "results" / "letor_ohsumed.json"
    path.write_text(json.dumps({"columns": list(COLUMNS), "published": PUBLISHED, "ours": found}, indent=2) + "\n")
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
