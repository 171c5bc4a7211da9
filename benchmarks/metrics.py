"""nDCG@10 of 1,000,000 documents in 10,000 queries: from arrays to one number per query, against three peers.

Run: python benchmarks/metrics.py [--rounds 9] [--threads 2]

Each peer gets its input in the form it wants (ranx: its Run and Qrels; pytrec_eval: dictionaries; scikit-learn: a
matrix) before the clock starts, so their conversions are left out; Podium's checks of its arrays are inside. All use
linear gain, as the peers do; scores have no ties, so that scikit-learn's averaging over ties (its default) and its faster
ignore_ties agree. Rounds are interleaved and the median is reported.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from podium.metrics import metric

QUERIES, DOCUMENTS = 10_000, 100
Contender = Callable[[], object]


def make_input() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    n = QUERIES * DOCUMENTS
    return rng.permutation(n) / n, rng.integers(0, 5, n).astype(np.float64), np.arange(0, n + 1, DOCUMENTS)


def podium_contender(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, threads: int) -> Contender:
    ndcg = metric("ndcg(gain='linear')@10")
    return lambda: ndcg.per_query(scores, labels, offsets, num_threads=threads)


def ranx_contender(scores: np.ndarray, labels: np.ndarray, threads: int) -> Contender:
    import numba
    from ranx import Qrels, Run, evaluate

    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
    names = [f"d{i}" for i in range(DOCUMENTS)]
    by_query = {
        f"q{q:05d}": dict(zip(names, row, strict=True)) for q, row in enumerate(scores.reshape(QUERIES, -1).tolist())
    }
    judged = {
        f"q{q:05d}": dict(zip(names, row, strict=True))
        for q, row in enumerate(labels.astype(int).reshape(QUERIES, -1).tolist())
    }
    run, qrels = Run(by_query), Qrels(judged)
    return lambda: evaluate(qrels, run, "ndcg@10", return_mean=False)


def pytrec_eval_contender(scores: np.ndarray, labels: np.ndarray) -> Contender:
    import pytrec_eval

    names = [f"d{i}" for i in range(DOCUMENTS)]
    run = {str(q): dict(zip(names, row, strict=True)) for q, row in enumerate(scores.reshape(QUERIES, -1).tolist())}
    judged = {
        str(q): dict(zip(names, row, strict=True))
        for q, row in enumerate(labels.astype(int).reshape(QUERIES, -1).tolist())
    }
    evaluator = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut.10"})

    def values() -> object:
        found = evaluator.evaluate(run)
        return [found[str(q)]["ndcg_cut_10"] for q in range(QUERIES)]

    return values


def sklearn_contender(scores: np.ndarray, labels: np.ndarray, *, ignore_ties: bool) -> Contender:
    from sklearn.metrics import ndcg_score

    true, given = labels.reshape(QUERIES, -1), scores.reshape(QUERIES, -1)
    return lambda: ndcg_score(true, given, k=10, ignore_ties=ignore_ties)


def medians(contenders: dict[str, Contender], rounds: int) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(taken) for name, taken in times.items()}


def agree(contenders: dict[str, Contender]) -> None:
    """Every contender gives the same numbers (scikit-learn only their mean)."""
    ours = np.asarray(contenders["podium"]())
    for name, run in contenders.items():
        theirs = np.asarray(run())
        expected = ours.mean() if theirs.ndim == 0 else ours
        if not np.allclose(theirs, expected, rtol=0, atol=1e-9):
            raise SystemExit(f"{name} disagrees: {np.abs(theirs - expected).max()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "metrics.json")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    scores, labels, offsets = make_input()
    contenders = {
        "podium": podium_contender(scores, labels, offsets, options.threads),
        "ranx": ranx_contender(scores, labels, options.threads),
        "pytrec_eval": pytrec_eval_contender(scores, labels),
        "scikit-learn": sklearn_contender(scores, labels, ignore_ties=False),
        "scikit-learn, ignore_ties": sklearn_contender(scores, labels, ignore_ties=True),
    }
    agree(contenders)
    found = medians(contenders, options.rounds)
    print(
        f"nDCG@10, {QUERIES * DOCUMENTS:,} documents in {QUERIES:,} queries, {options.threads} threads, median of {options.rounds}"
    )
    print(f"{'':<28}{'seconds':>10}{'× podium':>10}")
    for name, seconds in found.items():
        print(f"{name:<28}{seconds:>10.4f}{seconds / found['podium']:>10.1f}")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    report = {
        "task": "ndcg@10, 1,000,000 documents in 10,000 queries, conversions of peers left out",
        "threads": options.threads,
        "rounds": options.rounds,
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "seconds": found,
        "ratio": {name: seconds / found["podium"] for name, seconds in found.items()},
    }
    options.out.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
