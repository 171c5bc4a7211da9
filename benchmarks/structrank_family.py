"""Whether any network of StructRank's family gains over independent preferences, on OHSUMED and on yandex.

Run: PODIUM_DATA=… python benchmarks/structrank_family.py [--settings ohsumed-nw,ohsumed-linear,…] [--members full,…]

A setting is a set, a model and a schedule; a member is a network. Each member is trained alike in a setting: the epoch or round
is chosen on the validation queries, and the model is judged once on the test queries. Members are compared with `independent`,
the sigmoid of each preference alone (RankNet with a learned steepness), query by query: Wilcoxon's test, corrected by Holm for
the number of members. Members that have run are kept in benchmarks/results/structrank_family.json, so that a run that was
stopped goes on; `python benchmarks/tables.py` writes the table of docs/structrank.md.

ohsumed-nw      OHSUMED's five folds, StructRank's own estimator and feasible steps, one start, norm 30; MAP of LETOR's scorer
ohsumed-linear  OHSUMED's five folds, a linear model by Adam; MAP of LETOR's scorer
yandex-linear   yandex, 1,500 training and 500 validation queries, all test queries; a linear model by Adam; NDCG@10
yandex-trees    the same queries; boosted trees, at most 150 rounds; NDCG@10
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import podium
from letor_ohsumed import MAP
from machine import machine, short_repr
from podium.evaluation.paired_tests import holm, paired_differences, wilcoxon

RESULTS = Path(__file__).parent / "results" / "structrank_family.json"
BASE = "independent"
OHSUMED_NOISE, YANDEX_NOISE = (
    (4, 19),
    (0, 1),
)  # features that noise is learned from: on OHSUMED, the lengths of the fields
MEMBERS: dict[str, str] = {
    BASE: "independent",
    "full": "full",
    "random": "random",
    "shared": "shared",
    "winner": "winner",
    "full, two functions": "full, components=2",
    "independent, gaussian": "independent, function='gaussian'",
    "full, gaussian": "full, function='gaussian'",
    "shared, gaussian": "shared, function='gaussian'",
    "full, two gaussians": "full, function='gaussian', components=2",
    "independent, learned noise": "independent, noise_features={noise}",
}
Parts = tuple[podium.RankingData, ...]


def ohsumed() -> Iterator[Parts]:
    for fold in range(1, 6):
        yield podium.read_folds(Path(os.environ["PODIUM_DATA"]) / f"ohsumed/QueryLevelNorm/Fold{fold}")


def yandex() -> Iterator[Parts]:
    folder = Path(os.environ["PODIUM_DATA"]) / "yandex"
    train, test = (podium.read(folder / f"{part}.txt") for part in ("train", "test"))
    order = np.random.default_rng(0).permutation(train.n_queries)
    yield train.select(np.sort(order[:1500])), train.select(np.sort(order[1500:2000])), test


def own(force: str, metric: str) -> podium.Ranker:
    """StructRank's own model and schedule, from one start."""
    schedule = "feasible(starts=1, norm=30)"
    return podium.Ranker(force=force, model="nadaraya-watson", schedule=schedule, metric=metric)


def linear(force: str, metric: str) -> podium.Ranker:
    return podium.Ranker(
        force=force, model="linear", schedule="adam(rate=0.002, epochs=60, early_stopping_rounds=15)", metric=metric
    )


def trees(force: str, metric: str) -> podium.Ranker:
    schedule = "boosting(rounds=150, rate=0.1, early_stopping_rounds=50)"
    return podium.Ranker(force=force, model="trees(num_leaves=15)", schedule=schedule, metric=metric)


SETTINGS: dict[str, tuple[Callable[[], Iterator[Parts]], Callable[[str, str], podium.Ranker], str, tuple[int, ...]]] = {
    "ohsumed-nw": (ohsumed, own, MAP, OHSUMED_NOISE),
    "ohsumed-linear": (ohsumed, linear, MAP, OHSUMED_NOISE),
    "yandex-linear": (yandex, linear, "ndcg@10", YANDEX_NOISE),
    "yandex-trees": (yandex, trees, "ndcg@10", YANDEX_NOISE),
}


def judged(setting: str, member: str) -> dict[str, Any]:
    """Values by test query, the mean of the folds' means, and what was learned."""
    parts, make, metric, noise = SETTINGS[setting]
    force = f"structrank({MEMBERS[member].format(noise=noise)})"
    by_query, means, valids, learned = [], [], [], []
    began = time.process_time()
    for train, valid, test in parts():
        ranker = make(force, metric).fit(train, valid=valid)
        result = podium.evaluate(ranker.predict(test), test, metric)
        by_query += result.per_query[str(podium.metric(metric))].tolist()
        means.append(result.mean[str(podium.metric(metric))])
        valids.append(ranker.best_value_)
        learned.append(ranker.learned_)
    return {
        "force": force,
        "test": float(np.mean(means)),
        "valid": float(np.mean(valids)),
        "by_query": [round(value, 6) for value in by_query],
        "learned": learned,
        "processor_seconds": round(time.process_time() - began, 1),
    }


def compared(members: dict[str, Any]) -> dict[str, Any]:
    """Each member beside the independent one: mean difference, 95 % interval, wins, losses, and p after Holm."""
    base = np.array(members[BASE]["by_query"])
    rows: dict[str, Any] = {}
    for name, found in members.items():
        if name != BASE:
            difference = paired_differences(np.array(found["by_query"]), base)
            half = 1.96 * difference.std(ddof=1) / np.sqrt(len(difference))
            p = wilcoxon(difference, n_randomizations=10_000, seed=0)
            mean = float(difference.mean())
            rows[name] = {"difference": mean, "interval": [mean - half, mean + half], "p": p}
            rows[name] |= {"wins": int((difference > 0).sum()), "losses": int((difference < 0).sum())}
    for name, corrected in zip(rows, holm([row["p"] for row in rows.values()]), strict=True):
        rows[name]["holm"] = corrected
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--settings", default=",".join(SETTINGS))
    parser.add_argument("--members", default=";".join(MEMBERS), help="separated by semicolons")
    parser.add_argument("--again", action="store_true", help="run members that are in the results too")
    options = parser.parse_args()
    on = machine()
    print(short_repr(on))
    kept = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {"settings": {}}
    for setting in options.settings.split(","):
        members = kept["settings"].setdefault(setting, {"metric": SETTINGS[setting][2], "members": {}})["members"]
        for member in options.members.split(";"):
            if member in members and not options.again:
                continue
            members[member] = found = judged(setting, member)
            RESULTS.write_text(json.dumps({**kept, "machine": on}, indent=1) + "\n")
            print(
                f"{setting:<16}{member:<28}{found['test']:.4f} valid {found['valid']:.4f} {found['processor_seconds']:.0f} s",
                flush=True,
            )
        if BASE in members:
            kept["settings"][setting]["paired"] = compared(members)
    RESULTS.write_text(json.dumps({**kept, "machine": on}, indent=1) + "\n")


if __name__ == "__main__":
    main()
