"""Whether any network of StructRank's family gains over independent preferences, on OHSUMED and on yandex.

Run: PODIUM_DATA=… python benchmarks/structrank_family.py [--settings ohsumed-nw,ohsumed-linear,…] [--members "full;winner"]

A setting is a set, a model and a schedule; a member of the family is a network. In a setting every member is trained alike: the
validation queries choose the epoch or round and, for linear models, one of two rates; that model is judged once on the test
queries. Members are compared with `independent`, the sigmoid of each preference alone (RankNet with a learned steepness), query
by query, by Wilcoxon's test with Holm's correction for the number of members. Members that have run are kept in
benchmarks/results/structrank_family.json, so that the same command resumes a run that was stopped, and prints the table at the end.
`python benchmarks/tables.py` writes the table into docs/structrank.md.

ohsumed-nw      OHSUMED's five folds, StructRank with its own estimator and schedule, from one start and with norm 30
ohsumed-linear  OHSUMED's five folds, a linear model by Adam
yandex-linear   yandex, four fifths of the training file to train on and a fifth to choose by; a linear model as above
yandex-trees    the same queries; boosted trees, at most 100 rounds
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import podium
import quality_sets
from letor_ohsumed import MAP
from machine import machine, short_repr
from podium.evaluation.paired_tests import holm, paired_differences, wilcoxon
from podium.papers.compact import pack_values, unpack_values
from structrank_tables import family_table

RESULTS = Path(__file__).parent / "results" / "structrank_family.json"
BASE = "independent"
MEMBERS: dict[str, dict[str, Any]] = {
    BASE: {"topology": "independent"},
    "full": {"topology": "full"},
    "random": {"topology": "random"},
    "shared": {"topology": "shared"},
    "winner": {"topology": "winner"},
    "independent, gaussian": {"topology": "independent", "function": "gaussian"},
    "full, gaussian": {"topology": "full", "function": "gaussian"},
    "full, gaussian, ρ = 0.5": {"topology": "full", "function": "gaussian", "learn": False},
    "shared, gaussian": {"topology": "shared", "function": "gaussian"},
    "independent, two functions": {"topology": "independent", "components": 2},
    "full, two functions": {"topology": "full", "components": 2},
    "full, two gaussians": {"topology": "full", "function": "gaussian", "components": 2},
    "independent, learned noise": {"topology": "independent", "noise_features": ...},
}
RATES = (0.0002, 0.002)  # of linear models


def own(network: dict[str, Any], metric: str) -> list[Any]:
    return [podium.StructRank(**network, starts=1, norm=30.0, metric=metric, num_threads=1)]


def linear(network: dict[str, Any], metric: str) -> list[podium.Ranker]:
    schedules = [f"adam(rate={rate}, epochs=60, early_stopping_rounds=15)" for rate in RATES]
    return [ranker(network, metric, "linear", schedule) for schedule in schedules]


def trees(network: dict[str, Any], metric: str) -> list[podium.Ranker]:
    schedule = "boosting(rounds=100, rate=0.1, early_stopping_rounds=30)"
    return [ranker(network, metric, "trees(num_leaves=15)", schedule)]


def ranker(network: dict[str, Any], metric: str, model: str, schedule: str) -> podium.Ranker:
    force = podium.forces.Force.of(podium.forces.FORCES["structrank"], **network)
    return podium.Ranker(force=force, model=model, schedule=schedule, metric=metric, num_threads=1)


@dataclass(frozen=True)
class Setting:
    """What all members share. `metrics` are what they are judged by; the first one chooses on validation."""

    tasks: quality_sets.Tasks
    make: Callable[[dict[str, Any], str], list[Any]]
    metrics: tuple[str, ...]
    noise_features: tuple[int, ...]  # that the scale of a document's noise is learned from


LETOR = (MAP, "ndcg(convention='letor')@10")
BM25 = (10, 25)  # OHSUMED's scores of title and abstract
SETTINGS = {
    "ohsumed-nw": Setting(quality_sets.ohsumed, own, LETOR, BM25),
    "ohsumed-linear": Setting(quality_sets.ohsumed, linear, LETOR, BM25),
    "yandex-linear": Setting(quality_sets.yandex, linear, ("ndcg@10", "map"), (0, 1)),
    "yandex-trees": Setting(quality_sets.yandex, trees, ("ndcg@10", "map"), (0, 1)),
}


def judged(setting: Setting, member: str) -> dict[str, Any]:
    """Values by test query, the means of the folds' means, and what was learned."""
    network = {name: setting.noise_features if value is ... else value for name, value in MEMBERS[member].items()}
    by_query: dict[str, list[float]] = {metric: [] for metric in setting.metrics}
    means: dict[str, list[float]] = {metric: [] for metric in setting.metrics}
    valid, learned = [], []
    began = time.process_time()
    for task in setting.tasks():
        tried = [each.fit(task.train, valid=task.valid) for each in setting.make(network, setting.metrics[0])]
        trained = max(tried, key=lambda each: each.best_value_)
        result = podium.evaluate(trained.predict(task.test), task.test, list(setting.metrics))
        for metric in setting.metrics:
            by_query[metric] += result.per_query[metric].tolist()
            means[metric].append(result.mean[metric])
        valid.append(trained.best_value_)
        learned.append(trained.learned_)
    return {
        "network": network,
        "test": {metric: float(np.mean(each)) for metric, each in means.items()},
        "valid": float(np.mean(valid)),
        "learned": learned,
        "processor_seconds": round(time.process_time() - began, 1),
        "by_query": {metric: pack_values(values) for metric, values in by_query.items()},
    }


def compared(members: dict[str, Any], metric: str) -> dict[str, Any]:
    """Each member beside the independent one: mean difference, 95 % interval, wins, losses, and p after Holm."""
    base = np.array(unpack_values(members[BASE]["by_query"][metric]))
    rows: dict[str, Any] = {}
    for name, found in members.items():
        if name != BASE:
            difference = paired_differences(np.array(unpack_values(found["by_query"][metric])), base)
            mean, half = float(difference.mean()), 1.96 * float(difference.std(ddof=1)) / len(difference) ** 0.5
            rows[name] = {
                "difference": mean,
                "interval": [mean - half, mean + half],
                "wins": int((difference > 0).sum()),
                "losses": int((difference < 0).sum()),
                "p": wilcoxon(difference, n_randomizations=10_000, seed=0),
            }
    for name, corrected in zip(rows, holm([row["p"] for row in rows.values()]), strict=True):
        rows[name]["holm"] = corrected
    return rows


def main() -> None:
    # With few validation queries an early epoch may well be the best one.
    warnings.simplefilter("ignore", ConvergenceWarning)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--settings", default=",".join(SETTINGS), help="separated by commas")
    parser.add_argument("--members", default=";".join(MEMBERS), help="separated by semicolons")
    parser.add_argument("--again", action="store_true", help="also run members that are in the results")
    options = parser.parse_args()
    on = machine()
    print(short_repr(on))
    kept = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {"settings": {}}
    for name in options.settings.split(","):
        setting = SETTINGS[name]
        held = kept["settings"].setdefault(name, {"metrics": setting.metrics, "members": {}})
        for member in options.members.split(";"):
            if member in held["members"] and not options.again:
                continue
            held["members"][member] = found = judged(setting, member)
            held["members"] = {each: held["members"][each] for each in MEMBERS if each in held["members"]}
            if BASE in held["members"]:
                held["paired"] = {metric: compared(held["members"], metric) for metric in setting.metrics}
            RESULTS.write_text(json.dumps({**kept, "machine": on}, indent=1) + "\n")
            values = "  ".join(f"{metric} {value:.4f}" for metric, value in found["test"].items())
            print(f"{name}: {member}: {values}", flush=True)
    print(family_table())


if __name__ == "__main__":
    main()
