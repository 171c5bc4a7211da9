"""How well boosted trees rank: Podium at its defaults against LightGBM, XGBoost and CatBoost at theirs.

    PODIUM_DATA=… python benchmarks/quality.py [--systems podium lightgbm …] [--sets ohsumed …]
    PODIUM_DATA=… python benchmarks/quality.py --develop [--set num_leaves=7 --set learning_rate=0.03 …]

Every system trains up to 1,000 trees on the training queries, stops 50 rounds after the best NDCG@10 on the validation
queries, and is judged once on the test queries: textbook NDCG@10, queries without a relevant document left out, and MAP. Peers
keep every other default. Podium keeps its own patience too, 300 rounds, and CatBoost, whose steps are small, grows all its
trees and is cut back to the best: stopped after 50 rounds it has a lower NDCG@10 on OHSUMED and yandex (on OHSUMED a higher
MAP). A figure is the mean over the folds (or seeds) of the set; intervals and paired tests take all test queries together.

Peers' scores are kept in `build/quality` by version, so that running Podium alone is quick: `--systems podium` runs Podium
and compares it with whatever is kept. On the MSLR-like data XGBoost and CatBoost, which takes hours, run only with `--slow`.

`--develop` is for choosing defaults. It uses no test queries of the current fold: each system is cross-validated inside the training queries
(of each OHSUMED fold, training and validation queries together), validation cut out of what a fold trains on. `--set`
gives Podium other parameters and is refused elsewhere. Every query of OHSUMED is in four of the five folds there, so that
intervals are too narrow and the folds together have seen every query. It writes no results.
"""

from __future__ import annotations

import argparse
import ast
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import podium
from machine import machine, short_repr, version_of
from quality_sets import TEST, Task, Tasks, bare, develop, pooled

METRICS = {"NDCG@10": "ndcg(empty='skip')@10", "MAP": "map"}
TREES, PATIENCE = 1000, 50
KEPT = Path(__file__).parents[1] / "build" / "quality"
SLOW = {("mslr-like", "catboost"), ("mslr-like", "xgboost")}


@dataclass(frozen=True)
class Outcome:
    """The result of a system on one task."""

    scores: np.ndarray
    trees: int
    seconds: float


# the systems: scores of the test documents, and how many trees they come from ----------------------------------------------


def run_podium(task: Task, threads: int, **settings: object) -> tuple[np.ndarray, int]:
    settings = {"n_estimators": TREES, "num_threads": threads} | settings
    ranker = podium.LambdaMART(**settings).fit(task.train, valid=task.valid)
    return ranker.predict(task.test), ranker.best_epoch_


def run_lightgbm(task: Task, threads: int) -> tuple[np.ndarray, int]:
    import lightgbm

    train, valid = (
        lightgbm.Dataset(part.features, part.labels, group=part.query_sizes) for part in (task.train, task.valid)
    )
    booster = lightgbm.train(
        {"objective": "lambdarank", "metric": "ndcg", "eval_at": [10], "num_threads": threads, "verbosity": -1},
        train,
        TREES,
        valid_sets=[valid.set_reference(train)],
        callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)],
    )
    return booster.predict(task.test.features), booster.best_iteration


def run_xgboost(task: Task, threads: int) -> tuple[np.ndarray, int]:
    import xgboost

    train, valid, test = (
        xgboost.DMatrix(part.features, part.labels, qid=part.document_queries)
        for part in (task.train, task.valid, task.test)
    )
    booster = xgboost.train(
        {"objective": "rank:ndcg", "eval_metric": "ndcg@10", "nthread": threads},
        train,
        TREES,
        evals=[(valid, "valid")],
        early_stopping_rounds=PATIENCE,
        verbose_eval=False,
    )
    trees = booster.best_iteration + 1
    return booster.predict(test, iteration_range=(0, trees)), trees


def run_catboost(task: Task, threads: int) -> tuple[np.ndarray, int]:
    import catboost

    train, valid = (
        catboost.Pool(part.features, part.labels, group_id=part.document_queries) for part in (task.train, task.valid)
    )
    ranker = catboost.CatBoost(
        {
            "loss_function": "YetiRank",
            "eval_metric": "NDCG:top=10",
            "iterations": TREES,
            "thread_count": threads,
            "verbose": False,
            "allow_writing_files": False,
        }
    )
    ranker.fit(train, eval_set=valid, use_best_model=True)
    return ranker.predict(task.test.features), ranker.tree_count_


PEERS: dict[str, Callable[[Task, int], tuple[np.ndarray, int]]] = {
    "lightgbm": run_lightgbm,
    "xgboost": run_xgboost,
    "catboost": run_catboost,
}


# running them --------------------------------------------------------------------------------------------------------


def timed(run: Callable[..., tuple[np.ndarray, int]], *given: object, **settings: object) -> Outcome:
    began = time.perf_counter()
    scores, trees = run(*given, **settings)
    return Outcome(np.asarray(scores, np.float64), int(trees), time.perf_counter() - began)


def peer_outcome(system: str, task: Task, name: str, options: argparse.Namespace, *, run: bool) -> Outcome | None:
    """Return the saved result, or run the peer now if that is allowed; None otherwise."""
    path = KEPT / f"{name}-{system}-{version_of(system)}.npz"
    if path.exists() and not (options.fresh and run):
        kept = np.load(path)
        return Outcome(kept["scores"], int(kept["trees"]), float(kept["seconds"]))
    if not run:
        return None
    outcome = timed(PEERS[system], task, options.threads)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, scores=outcome.scores, trees=outcome.trees, seconds=outcome.seconds)
    return outcome


def run_set(name: str, tasks: Tasks, options: argparse.Namespace) -> dict | None:
    """Every system on every task; a system that lacks a task is left out."""
    prefix = f"develop-{options.folds}-{name}" if options.develop else name
    tests, outcomes = [], {system: [] for system in ("podium", *PEERS)}
    for number, task in enumerate(tasks()):
        tests.append(bare(task.test))
        if "podium" in options.systems:
            outcomes["podium"].append(timed(run_podium, task, options.threads, **options.settings))
        for system in PEERS:
            run = system in options.systems and (options.slow or (name, system) not in SLOW)
            outcomes[system].append(peer_outcome(system, task, f"{prefix}-{number}", options, run=run))
    whole = {system: found for system, found in outcomes.items() if len(found) == len(tests) and None not in found}
    return judged(name, tests, whole) if whole else None


def judged(name: str, tests: list[podium.RankingData], outcomes: dict[str, list[Outcome]]) -> dict:
    """Means, intervals, and Podium against each peer."""
    data, rows = pooled(tests), {}
    scores = {system: np.concatenate([each.scores for each in found]) for system, found in outcomes.items()}
    for system, found in outcomes.items():
        result = podium.evaluate(scores[system], data, METRICS.values())
        parts = [podium.evaluate(each.scores, test, METRICS.values()) for each, test in zip(found, tests, strict=True)]
        rows[system] = {
            "mean": {show: float(np.mean([part.mean[m] for part in parts])) for show, m in METRICS.items()},
            "interval": {show: list(result.interval[m]) for show, m in METRICS.items()},
            "trees": [each.trees for each in found],
            "seconds": sum(each.seconds for each in found),
        }
    pairs = {}
    for peer in [system for system in scores if system != "podium" and "podium" in scores]:
        both = {"podium": scores["podium"], peer: scores[peer]}
        pairs[peer] = {show: compared(both, data, m) for show, m in METRICS.items()}
    return {"set": name, "tasks": len(tests), "queries": data.n_queries, "systems": rows, "podium against": pairs}


def compared(scores: dict[str, np.ndarray], data: podium.RankingData, metric: str) -> dict:
    (pair,) = podium.compare(scores, data, metric).pairs
    return {
        "difference": pair.difference,
        "interval": list(pair.interval),
        "p": pair.p_values,
        "wins": pair.wins,
        "losses": pair.losses,
        "ties": pair.ties,
    }


# showing it ----------------------------------------------------------------------------------------------------------


def show(found: dict) -> None:
    print(f"\n{found['set']}: {found['queries']:,} queries judged, {found['tasks']} runs")
    print(f"{'':<12}" + "".join(f"{show:>9}{'95 % interval':>19}" for show in METRICS) + f"{'trees':>8}{'seconds':>10}")
    for system, row in found["systems"].items():
        cells = "".join(f"{row['mean'][show]:>9.4f}{interval(row['interval'][show], '.4f'):>19}" for show in METRICS)
        print(f"{system:<12}{cells}{np.median(row['trees']):>8.0f}{row['seconds']:>10.1f}")
    for peer, by_metric in found["podium against"].items():
        for show, pair in by_metric.items():
            p = ", ".join(f"{test} p {value:.4f}" for test, value in pair["p"].items())
            print(
                f"podium − {peer:<9} {show:<8}{pair['difference']:>+8.4f} {interval(pair['interval'], '+.4f')}  "
                f"{pair['wins']}:{pair['losses']}  {p}"
            )


def interval(ends: list[float], form: str) -> str:
    return f"[{ends[0]:{form}}, {ends[1]:{form}}]"


def setting(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} must read name=value, such as num_leaves=7")
    try:
        return name, ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return name, value


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", nargs="+", choices=["podium", *PEERS], default=["podium", *PEERS])
    parser.add_argument("--sets", nargs="+", choices=list(TEST), default=list(TEST))
    parser.add_argument("--peers-only", action="store_true", help="do not run Podium")
    parser.add_argument("--fresh", action="store_true", help="run the peers again, whatever is kept")
    parser.add_argument("--slow", action="store_true", help="XGBoost and CatBoost on the MSLR-like data too")
    parser.add_argument("--develop", action="store_true", help="cross-validate inside the training queries")
    parser.add_argument("--folds", type=int, default=5, help="of --develop")
    parser.add_argument("--repeats", type=int, default=1, help="of --develop: other folds each time")
    parser.add_argument("--set", dest="settings", metavar="NAME=VALUE", type=setting, action="append", default=[])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--out", type=Path, help="where results go; by default those of all sets to results/quality.json"
    )
    options = parser.parse_args()
    if options.settings and not options.develop:
        parser.error("--set is for --develop: parameters are not chosen on test queries")
    options.settings = dict(options.settings)
    if "podium" in options.systems and set(options.sets) == set(TEST) and not (options.develop or options.peers_only):
        options.out = options.out or Path(__file__).parent / "results" / "quality.json"
    if options.peers_only:
        options.systems = [system for system in options.systems if system != "podium"]
    return options


def main() -> None:
    options = parsed()
    where = machine(*PEERS)
    print(short_repr(where))
    sets = develop(options.folds, options.repeats) if options.develop else TEST
    found = []
    for name in options.sets:
        result = run_set(name, sets[name], options)
        if result:
            found.append(result)
            show(result)
    if not options.out:
        return
    report = {"trees": TREES, "patience": PATIENCE, "metrics": METRICS, "machine": where, "sets": found}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(report, indent=2) + "\n")
    print(f"\nwrote {options.out}")


if __name__ == "__main__":
    main()
