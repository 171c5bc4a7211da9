"""PRank, its kin and RankProp: the order of RankNet's Table 4 examined on other data, and what an epoch costs.

    PODIUM_DATA=… python benchmarks/classics.py --quality [--sets yandex …]
    python benchmarks/classics.py --seeds 5 --sets unlabeled
    python benchmarks/classics.py [--documents 25000 50000 100000]

`--quality`: six systems, as in the paper: linear perceptrons, quadratic ones, and nets of one layer (RankProp, RankNet) and
of two layers with 10 hidden units (RankNet). Each trains for up to 100 epochs at Podium's defaults, keeps the epoch that is
best in NDCG@15 on validation queries, and is judged once on the test queries. The paper's data is not public; the sets here
are yandex (four fifths of its training queries to train on), OHSUMED (five folds) and `unlabeled`, made to be like the
paper's: 50 documents per query, of which an earlier ranker's first five carry a rating of 1 to 5 and all others are
called 0 whatever they are, and of which a fifth is trained on. Three such tasks of 600 training, 200 validation and 400 test
queries. Three more rows are perceptrons whose inputs are not divided by √features; the paper says nothing of any division. A
figure is the mean over the folds or tasks; intervals and paired tests take all test queries together. Every system has one
seed, 0: intervals and tests are about other queries, not about other orders of the documents.

`--seeds`: how much that matters to a single perceptron, linear and quadratic: the mean of each of so many seeds.

Without it: seconds per epoch (the least of several) and the memory that training adds to the documents' own, on documents with
136 features, each system in a process of its own.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import podium
from machine import machine, short_repr
from mslr_like import FEATURES, mslr_like
from quality_sets import Task, bare, ohsumed, pooled, yandex

METRIC = "ndcg(empty='skip')@15"
RESULTS = Path(__file__).parent / "results"
PAPER = {
    "Quad PRank": 0.327,
    "PRank": 0.412,
    "OAP-BPM": 0.454,
    "RankProp": 0.460,
    "RankNet, linear": 0.477,
    "RankNet, two layers": 0.488,
}
MAKE: dict[str, Callable[..., podium.rankers.BaseRanker]] = {
    "Quad PRank": podium.QuadraticPRank,
    "PRank": podium.PRank,
    "OAP-BPM": podium.OAPBPM,
    "RankProp": lambda **given: podium.RankProp(hidden=(), **given),
    "RankNet, linear": lambda **given: podium.RankNet(hidden=(), **given),
    "RankNet, two layers": lambda **given: podium.RankNet(hidden=(10,), **given),
}
# Not in the paper's order: perceptrons whose inputs are not divided by √features, of which the paper says nothing.
UNDIVIDED: dict[str, Callable[..., podium.rankers.BaseRanker]] = {
    "Quad PRank, width 1": lambda **given: podium.QuadraticPRank(width=1.0, **given),
    "PRank, width 1": lambda **given: podium.PRank(width=1.0, **given),
    "OAP-BPM, width 1": lambda **given: podium.OAPBPM(width=1.0, **given),
}
KERNEL = "Quad PRank, kernel"
EPOCHS = {"Quad PRank": 8, KERNEL: 4}  # whose epochs are long
COSTS = MAKE | {KERNEL: lambda **given: podium.QuadraticPRank(form="kernel", **given)}


# the order of the systems --------------------------------------------------------------------------------------------


def rated(queries: int, seed: int, task_seed: int) -> podium.RankingData:
    """Fifty documents per query, of which the first five of an earlier, poor ranker are rated 1 to 5; all others are 0."""
    data = podium.synthetic.network(queries=queries, levels=5, seed=seed, generator_seed=task_seed)
    noise = np.random.default_rng(seed).normal(size=data.n_documents)
    earlier = (data.labels + 2 * noise).reshape(queries, 50)
    first = np.argsort(-earlier, axis=1)[:, :5]
    labels = np.zeros((queries, 50))
    np.put_along_axis(labels, first, np.take_along_axis(data.labels.reshape(queries, 50), first, axis=1) + 1, axis=1)
    return data.replace_grouped(labels=labels.reshape(-1))


def unlabeled() -> Iterator[Task]:
    for seed in (1, 2, 3):
        train, valid, test = (rated(n, 10 * seed + k, seed) for k, n in enumerate((600, 200, 400)))
        yield Task(podium.sample_unlabeled(train, 0.2), valid, test)


SETS = {"yandex": yandex, "ohsumed": ohsumed, "unlabeled": unlabeled}


def examined(name: str, threads: int) -> dict:
    """Every system on every task of a set."""
    every = MAKE | UNDIVIDED
    tests, scores, rows = [], {system: [] for system in every}, {system: [] for system in every}
    seconds = dict.fromkeys(every, 0.0)
    for task in SETS[name]():
        tests.append(bare(task.test))
        for system, make in every.items():
            began = time.perf_counter()
            ranker = make(metric=METRIC, num_threads=threads).fit(task.train, valid=task.valid)
            seconds[system] += time.perf_counter() - began
            scores[system].append(ranker.predict(task.test))
            rows[system].append(podium.evaluate(scores[system][-1], task.test, METRIC).mean[METRIC])
    data = pooled(tests)
    whole = {system: np.concatenate(each) for system, each in scores.items()}
    systems = {}
    for system, each in whole.items():
        ends = podium.evaluate(each, data, METRIC).interval[METRIC]
        systems[system] = {"mean": float(np.mean(rows[system])), "interval": list(ends), "seconds": seconds[system]}
    steps = [compared(whole, data, *pair) for pair in itertools.pairwise(MAKE)]
    return {"set": name, "tasks": len(tests), "queries": data.n_queries, "systems": systems, "steps": steps}


def compared(scores: dict[str, np.ndarray], data: podium.RankingData, lower: str, upper: str) -> dict:
    """Return whether the system that ranks higher in the paper does so here."""
    (pair,) = podium.compare({upper: scores[upper], lower: scores[lower]}, data, METRIC).pairs
    low, high = pair.interval
    holds = "holds" if low > 0 else "reversed" if high < 0 else "level"
    return {
        "lower": lower,
        "upper": upper,
        "difference": pair.difference,
        "interval": [low, high],
        "p": pair.p_values,
        "wins": pair.wins,
        "losses": pair.losses,
        "holds": holds,
    }


def show_quality(found: dict) -> None:
    print(f"\n{found['set']}: {found['queries']:,} queries judged, runs of each system: {found['tasks']}")
    print(f"{'':<21}{'NDCG@15':>9}{'95 % interval':>20}{'paper':>8}{'seconds':>9}")
    for system, row in found["systems"].items():
        ends = f"[{row['interval'][0]:.4f}, {row['interval'][1]:.4f}]"
        paper = f"{PAPER[system]:.3f}" if system in PAPER else "–"
        print(f"{system:<21}{row['mean']:>9.4f}{ends:>20}{paper:>8}{row['seconds']:>9.1f}")
    for step in found["steps"]:
        p = ", ".join(f"{test} p {value:.4f}" for test, value in step["p"].items())
        print(
            f"{step['upper']} − {step['lower']}: {step['difference']:+.4f} [{step['interval'][0]:+.4f}, "
            f"{step['interval'][1]:+.4f}]  {step['wins']}:{step['losses']}  {p}: {step['holds']}"
        )


def show_seeds(name: str, count: int, threads: int) -> None:
    """Test NDCG@15 of PRank and its quadratic form, one seed after the other."""
    tasks = list(SETS[name]())
    print(f"\n{f'{name}, by seed':<21}" + "".join(f"{seed:>9}" for seed in range(count)))
    for system in ("Quad PRank", "PRank"):
        rankers = [
            [MAKE[system](metric=METRIC, seed=seed, num_threads=threads).fit(t.train, valid=t.valid) for t in tasks]
            for seed in range(count)
        ]
        means = [
            np.mean(
                [
                    podium.evaluate(r.predict(t.test), t.test, METRIC).mean[METRIC]
                    for r, t in zip(each, tasks, strict=True)
                ]
            )
            for each in rankers
        ]
        print(f"{system:<21}" + "".join(f"{mean:>9.4f}" for mean in means), flush=True)


# what an epoch costs -------------------------------------------------------------------------------------------------


def keep_documents(folder: Path, most: int) -> None:
    """MSLR-like documents in files, so that making them does not count towards a system's memory."""
    data = mslr_like(most // 100, seed=0)
    queries = int(np.searchsorted(data.query_offsets, most, side="right")) - 1
    data = data.select(np.arange(queries))
    for name in ("features", "labels", "query_offsets"):
        getattr(data, name).tofile(folder / name)


def first_documents(folder: Path, count: int) -> podium.RankingData:
    """Whole queries with up to `count` documents."""
    offsets = np.fromfile(folder / "query_offsets", np.int64)
    queries = int(np.searchsorted(offsets, count, side="right")) - 1
    rows = int(offsets[queries])
    features = np.fromfile(folder / "features", np.float32, rows * FEATURES).reshape(rows, FEATURES)
    return podium.RankingData.of_parts(
        features=features,
        labels=np.fromfile(folder / "labels", np.float64, rows),
        query_offsets=offsets[: queries + 1],
        query_ids=np.arange(queries),
    )


def memory_mib(kind: str) -> float:
    """Memory this process holds (VmRSS), or the most it ever held (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(kind))


def cost_of_one(system: str, options: argparse.Namespace) -> dict:
    """The least seconds of an epoch after the first, which others' work disturbs least, and the most memory ever held."""
    data = first_documents(options.folder, options.documents[0])
    held = memory_mib("VmRSS")
    ends: list[float] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker = COSTS[system](epochs=options.epochs, num_threads=options.threads)
        ranker.fit(data, callbacks=lambda _: ends.append(time.perf_counter()))
    peak = memory_mib("VmHWM")
    return {
        "documents": data.n_documents,
        "epoch_seconds": min(after - before for before, after in itertools.pairwise(ends)),
        "peak_mib": peak,
        "training_mib": peak - held,
        "features_mib": data.features.nbytes / 2**20,
    }


def costs(options: argparse.Namespace) -> dict:
    """Each system and size in a process of its own, so that peaks do not mix."""
    found: dict[str, list[dict]] = {}
    with tempfile.TemporaryDirectory() as folder:
        keep_documents(Path(folder), max(options.documents))
        for system in COSTS:
            found[system] = [child(system, documents, folder, options) for documents in options.documents]
            sizes, seconds = ([row[key] for row in found[system]] for key in ("documents", "epoch_seconds"))
            slope = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0]) if len(sizes) > 1 else 1.0
            cells = "".join(f"{row['epoch_seconds']:>9.3f} s{row['training_mib']:>6.0f} MiB" for row in found[system])
            print(f"{system:<21}{cells}{slope:>8.2f}", flush=True)
    return found


def child(system: str, documents: int, folder: str, options: argparse.Namespace) -> dict:
    call = [sys.executable, __file__, "--one", system, "--documents", str(documents), "--folder", folder]
    call += [
        "--threads",
        str(options.threads),
        "--epochs",
        str(min(options.epochs, EPOCHS.get(system, options.epochs))),
    ]
    return json.loads(subprocess.run(call, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quality", action="store_true")
    parser.add_argument("--seeds", type=int, metavar="N")
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--documents", nargs="+", type=int, default=[25_000, 50_000, 100_000])
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(cost_of_one(options.one, options)))
        return
    where = machine()
    print(short_repr(where))
    if options.seeds:
        for name in options.sets:
            show_seeds(name, options.seeds, options.threads)
        return
    result: dict = {"machine": where, "threads": options.threads}
    if options.quality:
        result |= {"paper": PAPER, "sets": []}
        for name in options.sets:
            result["sets"].append(examined(name, options.threads))
            show_quality(result["sets"][-1])
        whole = options.sets == list(SETS)
    else:
        print(
            "seconds per epoch, and memory that training adds to the documents' own; slope of log seconds by log documents"
        )
        print(f"{'documents':<21}" + "".join(f"{n:>21,}" for n in options.documents) + f"{'slope':>8}")
        result |= {"epochs": options.epochs, "systems": costs(options)}
        whole = True
    if whole:
        path = RESULTS / ("classics_quality.json" if options.quality else "classics_cost.json")
        path.write_text(json.dumps(result, indent=2) + "\n")
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
