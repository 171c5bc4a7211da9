"""Scores from trees: Podium's scorer against the peers' own and against compilers of forests, one forest for all.

    python benchmarks/scoring.py [--rounds 5] [--trees 500] [--leaves 63] [--out FILE]

LightGBM trains a forest on MSLR-like queries. Podium imports it, lleaves and tl2cgen compile it, and onnxruntime runs Podium's
export of it. XGBoost trains a forest of the same size, and CatBoost one of symmetric trees; Podium imports both. All score the same documents, from 1 to 100,000 per call, on one thread and on two. The clock is around the call in Python:
float32 arrays in and one array out, with all that the call checks. Rounds are interleaved, and the median counts. Scores are
compared first, so that nobody is fast and wrong. Systems that are not installed are left out.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import podium
from machine import machine, short_repr
from mslr_like import mslr_like

SIZES = (1, 10, 100, 1_000, 100_000)
THREADS = (1, 2)
SECONDS_PER_CELL = 0.25  # of calls in each round
OUT = Path(__file__).parent / "results" / "scoring.json"
PEERS = ("lightgbm", "lleaves", "onnxruntime", "xgboost", "tl2cgen", "catboost")
Predict = Callable[[np.ndarray, int], np.ndarray]


class Systems:
    """The scorers of one forest, by name, and the seconds that each took to be ready."""

    def __init__(self) -> None:
        self.predict: dict[str, Predict] = {}
        self.seconds_to_load: dict[str, float] = {}

    @contextmanager
    def adding(self, name: str) -> Iterator[None]:
        """Time how long a system takes to be ready, and leave it out if it is not installed."""
        began = time.perf_counter()
        try:
            yield
            self.seconds_to_load[name] = time.perf_counter() - began
            print(f"{name} is ready after {self.seconds_to_load[name]:.2f} s", flush=True)
        except ImportError as error:
            print(f"{name} is left out: {error}", flush=True)


def forests(options: argparse.Namespace, folder: Path) -> dict[str, Systems]:
    """Return the scorers of LightGBM's forest, XGBoost's, and CatBoost's symmetric one."""
    data = mslr_like(options.queries, seed=0)
    return {
        "leafwise": leafwise(data, options, folder),
        "xgboost": xgboost_forest(data, options, folder),
        "symmetric": symmetric(data, options, folder),
    }


def leafwise(data: podium.RankingData, options: argparse.Namespace, folder: Path) -> Systems:
    import lightgbm

    given = {"objective": "lambdarank", "num_leaves": options.leaves, "verbosity": -1, "num_threads": 2}
    booster = lightgbm.train(given, lightgbm.Dataset(data.features, data.labels, group=data.query_sizes), options.trees)
    booster.save_model(folder / "forest.txt")
    ranker = podium.from_lightgbm(folder / "forest.txt")
    ranker.save(folder / "forest.podium")
    systems = Systems()
    with systems.adding("podium"):
        scorer = podium.load_scorer(folder / "forest.podium")
        systems.predict["podium"] = lambda rows, threads: scorer.scores(rows, num_threads=threads)
    with systems.adding("lightgbm"):
        again = lightgbm.Booster(model_file=folder / "forest.txt")
        systems.predict["lightgbm"] = lambda rows, threads: again.predict(rows, num_threads=threads)
    with systems.adding("lleaves"):
        compiled = lleaves_model(folder)
        systems.predict["lleaves"] = lambda rows, threads: compiled.predict(rows, n_jobs=threads)
    with systems.adding("onnxruntime"):
        systems.predict["onnxruntime"] = onnx_predict(ranker, folder)
    with systems.adding("tl2cgen"):
        systems.predict["tl2cgen"] = tl2cgen_predict(folder)
    return systems


def lleaves_model(folder: Path) -> Any:
    import lleaves
    import llvmlite.binding

    if not hasattr(llvmlite.binding, "PassManagerBuilder"):
        raise ImportError(
            "lleaves needs llvmlite 0.44, which Numba's newest version does not take; install it into a folder by "
            "pip install --no-deps --target FOLDER llvmlite==0.44, and run with PYTHONPATH=FOLDER"
        )
    compiled = lleaves.Model(model_file=str(folder / "forest.txt"))
    compiled.compile()
    return compiled


def onnx_predict(ranker: podium.Ranker, folder: Path) -> Predict:
    import onnxruntime

    ranker.export(folder / "forest.onnx", format="onnx")
    sessions = {}
    for threads in THREADS:
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = threads
        sessions[threads] = onnxruntime.InferenceSession(
            str(folder / "forest.onnx"), settings, providers=["CPUExecutionProvider"]
        )
    name = sessions[1].get_inputs()[0].name
    return lambda rows, threads: sessions[threads].run(None, {name: rows})[0].reshape(-1)


def tl2cgen_predict(folder: Path) -> Predict:
    import tl2cgen
    import treelite

    forest = treelite.frontend.load_lightgbm_model(folder / "forest.txt")
    library = folder / "forest.so"
    tl2cgen.export_lib(forest, toolchain="gcc", libpath=library, params={"parallel_comp": 16}, nthread=2)
    predictors = {threads: tl2cgen.Predictor(library, nthread=threads) for threads in THREADS}
    return lambda rows, threads: predictors[threads].predict(tl2cgen.DMatrix(rows)).reshape(-1)


def xgboost_forest(data: podium.RankingData, options: argparse.Namespace, folder: Path) -> Systems:
    systems = Systems()
    try:
        import xgboost
    except ImportError as error:
        print(f"XGBoost's forest is left out: {error}")
        return systems
    bins = xgboost.DMatrix(data.features, data.labels)
    bins.set_group(data.query_sizes)
    given = {"objective": "rank:ndcg", "max_leaves": options.leaves, "max_depth": 0, "grow_policy": "lossguide"}
    booster = xgboost.train({**given, "tree_method": "hist", "nthread": 2}, bins, options.trees)
    booster.save_model(folder / "forest.ubj")
    podium.from_xgboost(folder / "forest.ubj").save(folder / "xgboost.podium")
    with systems.adding("podium"):
        scorer = podium.load_scorer(folder / "xgboost.podium")
        systems.predict["podium"] = lambda rows, threads: scorer.scores(rows, num_threads=threads)
    with systems.adding("xgboost"):
        boosters = {threads: xgboost.Booster(model_file=folder / "forest.ubj") for threads in THREADS}
        for threads, again in boosters.items():
            again.set_param({"nthread": threads})
        systems.predict["xgboost"] = lambda rows, threads: boosters[threads].inplace_predict(rows)
    return systems


def symmetric(data: podium.RankingData, options: argparse.Namespace, folder: Path) -> Systems:
    systems = Systems()
    try:
        import catboost
    except ImportError as error:
        print(f"symmetric trees are left out: {error}")
        return systems
    groups = np.repeat(np.arange(data.n_queries), data.query_sizes)
    given = {"loss_function": "YetiRank", "iterations": options.trees, "depth": 6, "allow_writing_files": False}
    model = catboost.CatBoost({**given, "verbose": False})
    model.fit(catboost.Pool(data.features, data.labels, group_id=groups))
    model.save_model(str(folder / "symmetric.cbm"))
    podium.from_catboost(folder / "symmetric.cbm").save(folder / "symmetric.podium")
    with systems.adding("podium"):
        scorer = podium.load_scorer(folder / "symmetric.podium")
        systems.predict["podium"] = lambda rows, threads: scorer.scores(rows, num_threads=threads)
    with systems.adding("catboost"):
        again = catboost.CatBoost().load_model(str(folder / "symmetric.cbm"))
        systems.predict["catboost"] = lambda rows, threads: again.predict(rows, thread_count=threads)
    return systems


def check_scores(systems: Systems, rows: np.ndarray) -> None:
    """Stop if a system gives other scores than Podium for the same forest."""
    wanted = systems.predict["podium"](rows, 1)
    for name, predict in systems.predict.items():
        np.testing.assert_allclose(predict(rows, 1), wanted, rtol=1e-3, atol=1e-4, err_msg=name)


def measure(systems: Systems, rows: np.ndarray, rounds: int) -> list[dict]:
    """Return the median seconds of a call for every number of documents, number of threads and system."""
    found = []
    for documents in SIZES:
        batches = [np.ascontiguousarray(rows[k * documents : (k + 1) * documents]) for k in range(200)]
        batches = [batch for batch in batches if len(batch) == documents]
        for threads in THREADS:
            times: dict[str, list[float]] = {name: [] for name in systems.predict}
            for round_number in range(rounds + 1):
                for name, predict in systems.predict.items():
                    seconds = seconds_per_call(predict, batches, threads)
                    if round_number > 0:  # what the first calls set up is not counted
                        times[name].append(seconds)
            medians = {name: statistics.median(each) for name, each in times.items()}
            found.append({"documents": documents, "threads": threads, "seconds": medians})
            told = ", ".join(f"{name} {1e3 * value:.3f} ms" for name, value in medians.items())
            print(f"{documents:>7,} documents, {threads} threads: {told}", flush=True)
    return found


def seconds_per_call(predict: Predict, batches: list[np.ndarray], threads: int) -> float:
    began, calls = time.perf_counter(), 0
    while True:
        predict(batches[calls % len(batches)], threads)
        calls += 1
        passed = time.perf_counter() - began
        if passed > SECONDS_PER_CELL:
            return passed / calls


def seconds_to_first_score(folder: Path, rounds: int) -> float:
    """Return the seconds from the start of Python to the first score of a saved forest, which LightGBM trained."""
    program = (
        "import sys, numpy, podium\n"
        "scorer = podium.load_scorer(sys.argv[1])\n"
        "scorer.scores(numpy.zeros((1, scorer.model.n_features), numpy.float32))"
    )
    times = []
    for _ in range(rounds + 1):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", program, folder / "forest.podium"], check=True)
        times.append(time.perf_counter() - began)
    return statistics.median(times[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--leaves", type=int, default=63)
    parser.add_argument("--queries", type=int, default=1000, help="to train on")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    where = machine(*PEERS)
    print(short_repr(where))
    rows = np.ascontiguousarray(mslr_like(900, seed=1).features[: max(SIZES)])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scorers = forests(options, folder)
        found: dict[str, object] = {"first_score": seconds_to_first_score(folder, options.rounds)}
        for key, systems in scorers.items():
            if systems.predict:
                check_scores(systems, rows[:1000])
                found[key] = {"load": systems.seconds_to_load, "found": measure(systems, rows, options.rounds)}
    asked = {name: getattr(options, name) for name in ("rounds", "trees", "leaves")} | {"machine": where}
    options.out.write_text(json.dumps(asked | found, indent=2) + "\n")
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
