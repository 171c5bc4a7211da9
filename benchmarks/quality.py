"""How well boosted trees rank: Podium at its defaults against LightGBM, XGBoost and CatBoost at theirs.

    PODIUM_DATA=… python benchmarks/quality.py [--systems podium lightgbm …] [--sets ohsumed …]
    python benchmarks/quality.py --aside
    PODIUM_DATA=… python benchmarks/quality.py --develop [--set num_leaves=7 --set learning_rate=0.03 …]

Every system trains up to 1,000 trees on the training queries, stops 50 rounds after the best NDCG@10 on the validation
queries, and is judged once on the test queries: textbook NDCG@10, queries without a relevant document left out, and MAP. Peers
keep every other default. Podium keeps its own patience too, and CatBoost, whose steps are small, grows all its
trees and is cut back to the best: stopped after 50 rounds it has a lower NDCG@10 on OHSUMED and yandex (on OHSUMED a higher
MAP). A figure is the mean over the folds (or seeds) of the set; intervals and paired tests take all test queries together.

Two times are measured: seconds on the clock, and the processor time divided by the number of threads. On an idle machine the first is
at least the second. CatBoost and XGBoost take hours here, so they may run beside other work: for them the second is shown, which
can only flatter them.

Scores are kept in `build/quality` by version, so that running Podium alone is quick: `--systems podium` runs Podium
and compares it with whatever is kept. Large tasks of slow losses run only with `--slow`, and `--tasks 1` runs only the first task.

`--aside` runs tasks of all synthetic families that were kept aside while the defaults were chosen, and writes results/aside.json.

`--develop` is for choosing defaults. It uses no test queries of the current fold: each system is cross-validated inside the training queries
(of each OHSUMED fold, training and validation queries together), validation cut out of what a fold trains on. `--set`
gives Podium other parameters and is refused elsewhere. Every query of OHSUMED is in four of the five folds there, so that
intervals are too narrow and the folds together have seen every query. It writes no results.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

import podium
from machine import machine, short_repr, version_of
from quality_sets import ASIDE, POOLS, TEST, Task, Tasks, bare, develop, pooled

METRICS = {"NDCG@10": "ndcg(empty='skip')@10", "MAP": "map"}
TREES, PATIENCE = 1000, 50
KEPT = Path(__file__).parents[1] / "build" / "quality"
OTHER_LOSSES = ("QueryRMSE", "QuerySoftMax", "PairLogit", "YetiRankPairwise")  # of CatBoost, besides YetiRank
SLOW = {("mslr-120000", f"catboost {loss}") for loss in ("PairLogit", "YetiRankPairwise")} | {
    ("mslr-720000", f"catboost {loss}") for loss in OTHER_LOSSES
}


@dataclass(frozen=True)
class Outcome:
    """The result of a system on one task."""

    scores: np.ndarray
    trees: int
    seconds: float
    processor_seconds: float  # divided by the number of threads


# the systems: scores of the test documents, and how many trees they come from ----------------------------------------------


def run_podium(task: Task, threads: int, **settings: object) -> tuple[np.ndarray, int]:
    settings = {"n_estimators": TREES, "num_threads": threads} | settings
    ranker = podium.LambdaMART(**settings).fit(task.train, valid=task.valid)
    return ranker.predict(task.test), ranker.best_epoch_


def run_lightgbm(task: Task, threads: int, objective: str = "lambdarank") -> tuple[np.ndarray, int]:
    import lightgbm

    train, valid = (
        lightgbm.Dataset(part.features, part.labels, group=part.query_sizes) for part in (task.train, task.valid)
    )
    booster = lightgbm.train(
        {"objective": objective, "metric": "ndcg", "eval_at": [10], "num_threads": threads, "verbosity": -1},
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


def run_catboost(task: Task, threads: int, loss: str = "YetiRank") -> tuple[np.ndarray, int]:
    import catboost

    train, valid = (
        catboost.Pool(part.features, part.labels, group_id=part.document_queries) for part in (task.train, task.valid)
    )
    ranker = catboost.CatBoost(
        {
            "loss_function": loss,
            "eval_metric": "NDCG:top=10",
            "iterations": TREES,
            "thread_count": threads,
            "verbose": False,
            "allow_writing_files": False,
        }
    )
    ranker.fit(train, eval_set=valid, use_best_model=True)
    return ranker.predict(task.test.features), ranker.tree_count_


System = Callable[..., tuple[np.ndarray, int]]
OWN: dict[str, System] = {
    "podium": run_podium,
    "podium fast": partial(run_podium, effort="fast"),
    "podium best": partial(run_podium, effort="best"),
}
PEERS: dict[str, System] = {
    "lightgbm": run_lightgbm,
    "lightgbm xendcg": partial(run_lightgbm, objective="rank_xendcg"),
    "xgboost": run_xgboost,
    "catboost": run_catboost,
    **{f"catboost {loss}": partial(run_catboost, loss=loss) for loss in OTHER_LOSSES},
}


# running them --------------------------------------------------------------------------------------------------------


def timed(run: System, task: Task, threads: int, **settings: object) -> Outcome:
    began, used = time.perf_counter(), time.process_time()
    scores, trees = run(task, threads, **settings)
    used = (time.process_time() - used) / threads
    return Outcome(np.asarray(scores, np.float64), int(trees), time.perf_counter() - began, used)


def kept_outcome(system: str, task: Task, name: str, options: argparse.Namespace, *, run: bool) -> Outcome | None:
    """Return the saved result, or run the system now if that is allowed; None otherwise."""
    path = KEPT / f"{name}-{system.replace(' ', '-')}-{version_of(system.partition(' ')[0])}.npz"
    own = system in OWN
    if path.exists() and not (run and (own or options.fresh)):
        kept = np.load(path)
        numbers = float(kept["seconds"]), float(kept["processor_seconds"])
        return Outcome(kept["scores"], int(kept["trees"]), *numbers)
    if not run:
        return None
    settings = options.settings if own else {}
    outcome = timed((OWN | PEERS)[system], task, options.threads, **settings)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **vars(outcome))
    print(f"{name} {system}: {outcome.trees} trees, {outcome.seconds:.1f} s", file=sys.stderr)
    return outcome


def run_set(name: str, tasks: Tasks, options: argparse.Namespace) -> dict | None:
    """Every system on every task; a system is compared on the tasks that it has."""
    prefix = f"develop-{options.folds}-{name}" if options.develop else name
    tests, outcomes = [], {system: [] for system in (*OWN, *PEERS)}
    for number, task in enumerate(itertools.islice(tasks(), options.tasks)):
        tests.append(bare(task.test))
        for system, found in outcomes.items():
            run = system in options.systems and (options.slow or (name, system) not in SLOW)
            found.append(kept_outcome(system, task, f"{prefix}-{number}", options, run=run))
    whole = {system: found for system, found in outcomes.items() if any(one is not None for one in found)}
    return judged(name, tests, whole) if whole else None


def judged(name: str, tests: list[podium.RankingData], outcomes: dict[str, list[Outcome | None]]) -> dict:
    """Means, intervals, and Podium against each peer on the tasks that both have."""
    rows, pairs = {}, {system: {} for system in OWN if system in outcomes}
    for system, found in outcomes.items():
        has = [k for k, one in enumerate(found) if one is not None]
        parts = [podium.evaluate(found[k].scores, tests[k], METRICS.values()) for k in has]
        whole = podium.evaluate(joined(found, has), pooled([tests[k] for k in has]), METRICS.values())
        rows[system] = {
            "tasks": len(has),
            "mean": {show: float(np.mean([part.mean[m] for part in parts])) for show, m in METRICS.items()},
            "interval": {show: list(whole.interval[m]) for show, m in METRICS.items()},
            "trees": [found[k].trees for k in has],
            "seconds": float(np.mean([found[k].seconds for k in has])),
            "processor_seconds": float(np.mean([found[k].processor_seconds for k in has])),
        }
    for own in pairs:
        for peer in PEERS:
            both = [k for k in range(len(tests)) if peer in outcomes and outcomes[own][k] and outcomes[peer][k]]
            if both:
                scores = {system: joined(outcomes[system], both) for system in (own, peer)}
                data = pooled([tests[k] for k in both])
                pairs[own][peer] = {show: compared(scores, data, m) for show, m in METRICS.items()}
    queries = sum(test.n_queries for test in tests)
    return {"set": name, "tasks": len(tests), "queries": queries, "systems": rows, "against": pairs}


def joined(found: list[Outcome | None], chosen: list[int]) -> np.ndarray:
    return np.concatenate([found[k].scores for k in chosen])


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
    print(f"\n{found['set']}: {found['queries']:,} queries judged, {found['tasks']} tasks")
    heads = "".join(f"{show:>9}{'95 % interval':>19}" for show in METRICS)
    print(f"{'':<26}{heads}{'tasks':>7}{'trees':>7}{'seconds':>9}{'processor':>11}")
    for system, row in found["systems"].items():
        cells = "".join(f"{row['mean'][show]:>9.4f}{interval(row['interval'][show], '.4f'):>19}" for show in METRICS)
        times = f"{row['seconds']:>9.2f}{row['processor_seconds']:>11.2f}"
        print(f"{system:<26}{cells}{row['tasks']:>7}{np.median(row['trees']):>7.0f}{times}")
    for own, peers in found["against"].items():
        for peer, by_metric in peers.items():
            for show, pair in by_metric.items():
                p = ", ".join(f"{test} p {value:.4f}" for test, value in pair["p"].items())
                print(
                    f"{own + ' − ' + peer:<36} {show:<8}{pair['difference']:>+8.4f} {interval(pair['interval'], '+.4f')}  "
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
    parser.add_argument("--systems", nargs="+", choices=[*OWN, *PEERS], default=[*OWN, *PEERS])
    parser.add_argument(
        "--sets", nargs="+", choices=list(dict.fromkeys([*TEST, *ASIDE, *POOLS])), help="by default all"
    )
    parser.add_argument("--peers-only", action="store_true", help="do not run Podium")
    parser.add_argument("--fresh", action="store_true", help="run the peers again, whatever is kept")
    parser.add_argument("--slow", action="store_true", help="losses that take hours on large tasks too")
    parser.add_argument("--merge", action="store_true", help="keep the other sets of the file of results")
    parser.add_argument("--tasks", type=int, help="at most so many tasks of each set")
    parser.add_argument("--aside", action="store_true", help="the tasks that were kept aside")
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
    known = list(POOLS if options.develop else ASIDE if options.aside else TEST)
    options.sets = options.sets or known
    if "podium" in options.systems and options.sets == known and not (options.develop or options.peers_only):
        name = "aside" if options.aside else "quality"
        options.out = options.out or Path(__file__).parent / "results" / f"{name}.json"
    if options.peers_only:
        options.systems = [system for system in options.systems if system not in OWN]
    return options


def main() -> None:
    options = parsed()
    where = machine(*{system.partition(" ")[0] for system in PEERS})
    print(short_repr(where))
    sets = develop(options.folds, options.repeats) if options.develop else TEST | ASIDE
    found = []
    for name in options.sets:
        result = run_set(name, sets[name], options)
        if result:
            found.append(result)
            show(result)
    if not options.out:
        return
    if options.merge and options.out.exists():
        new = {one["set"]: one for one in found}
        known = {one["set"]: one for one in json.loads(options.out.read_text())["sets"]} | new
        found = [known[name] for name in TEST | ASIDE if name in known]
    report = {"trees": TREES, "patience": PATIENCE, "metrics": METRICS, "machine": where, "sets": found}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(report, indent=2) + "\n")
    print(f"\nwrote {options.out}")


if __name__ == "__main__":
    main()
