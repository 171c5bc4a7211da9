"""Writes the golden models: small files of every kind of model, and next to each its scores on fixed rows.

    python tests/golden/make_models.py

Run it once for a new format or a new kind of model, and only add files: those that are there must load and score the
same forever, so a file that exists is left alone. NAME-2.podium is a file of format 2.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

import podium
from podium.artifact import FORMAT

FOLDER = Path(__file__).parent / "models"
FOREIGN = Path(__file__).parent / "foreign"
RANKERS = {
    "linear": podium.ListNet(epochs=3, learning_rate=0.1),
    "net": podium.LambdaRank(hidden=(5, 3), activation="sigmoid", epochs=3, learning_rate=0.1),
    "kernel": podium.KernelRankNet(epochs=4, landmarks=6, width=2.5),
    "ranksvm": podium.RankSVM(C=0.3),
    "ranksvm-poly": podium.RankSVM(kernel="poly", degree=3, loss="squared_hinge", landmarks=7, standardize=False),
    "structrank": podium.StructRank(epochs=3, starts=2, norm=(2.0, 6.0)),
    "structrank-kmeans": podium.StructRank(epochs=2, starts=1, norm=6.0, references=7, choose="kmeans", tie=True),
    "ordinal": podium.OrdinalRegression(epochs=3, learning_rate=0.1),
    "trees": podium.LambdaMART(
        n_estimators=12, num_leaves=6, learning_rate=0.3, l2=0.1, min_documents=1, column_sampling=0.6, categorical=(0,)
    ),
    "mart": podium.MART(n_estimators=6, num_leaves=4, learning_rate=0.5, min_documents=2, row_sampling=0.8),
    "rankboost": podium.RankBoost(n_estimators=15),
    "adarank": podium.AdaRank(n_estimators=8, sharpness=3.0),
    "net-output": podium.RankNet(hidden=(3,), output="tanh", epochs=3, learning_rate=0.1),
    "prank": podium.PRank(epochs=3),
    "quadratic-prank": podium.QuadraticPRank(epochs=3),
    "kernel-prank": podium.QuadraticPRank(epochs=3, form="kernel", supports=5),
    "oap-bpm": podium.OAPBPM(epochs=3, perceptrons=7),
    "rankprop": podium.RankProp(hidden=(3,), epochs=6, phase_epochs=2, learning_rate=0.1),
    "trees-symmetric": podium.LambdaMART(
        n_estimators=6, num_leaves=8, growth="symmetric", learning_rate=0.3, min_documents=1, forests=1
    ),
    "trees-monotone": podium.MART(n_estimators=5, num_leaves=4, forests=2, min_documents=1, monotone={"clicks": 1}),
    "ordinal-net": podium.OrdinalRegression(hidden=(3,), epochs=3, learning_rate=0.1),
    "kernel-linear": podium.Ranker(force="hinge", model="kernel(linear)", schedule="adam(epochs=3)"),
    "quadratic": podium.Ranker(force="ranknet", model="quadratic", schedule="adam(epochs=3, rate=0.05)"),
    "multiclass": podium.Ranker(
        force="multiclass", model="net(4, activation='relu')", schedule="adam(epochs=3, rate=0.1)"
    ),
}

# Models of other libraries, whose trees follow other rules: float32 sums, missing zeros and categories without fractions.
IMPORTS = {
    "lightgbm-zero.txt": podium.from_lightgbm,
    "lightgbm-categories.txt": podium.from_lightgbm,
    "xgboost-categories.ubj": podium.from_xgboost,
    "xgboost-classes.json": podium.from_xgboost,
    "catboost-lossguide.json": podium.from_catboost,
    "ranklib-lambdamart.txt": podium.from_ranklib,
}


def training_data() -> podium.RankingData:
    """Three queries of four documents with three named features; one value is missing."""
    X = np.array([[(7 * i * i + 3 * i * j + j) % 11 / 8 for j in range(3)] for i in range(12)], np.float32)
    X[4, 1] = np.nan
    y = [0, 2, 1, 0, 2, 0, 0, 1, 1, 2, 0, 1]
    return podium.RankingData(X, y, np.repeat(["a", "b", "c"], 4), feature_names=["bm25", "length", "clicks"])


def rows() -> list[list[float | None]]:
    """Return documents to score: ordinary ones, some with missing values, and one far from the training data."""
    X: list[list[float | None]] = [[(5 * i + 2 * j * j) % 7 / 4 - 0.5 for j in range(3)] for i in range(8)]
    X[1][0] = X[3][1] = X[3][2] = None
    X[6] = [100.0, -100.0, 3e4]
    return X


def write(name: str, make: Callable[[], podium.rankers.BaseRanker], rows: list[list[float | None]]) -> None:
    """Write a model and its scores, unless the file exists."""
    path = FOLDER / f"{name}-{FORMAT}.podium"
    if path.exists():
        return
    make().save(path)
    scores = podium.load_scorer(path).scores(np.array(rows, np.float32))  # None becomes NaN
    path.with_suffix(".json").write_text(json.dumps({"rows": rows, "scores": scores.tolist()}, indent=1) + "\n")
    print(f"{path.name}: {path.stat().st_size} bytes")


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    data = training_data()
    for name, ranker in RANKERS.items():
        write(name, functools.partial(ranker.fit, data), rows())
    for name, read in IMPORTS.items():
        hard = json.loads((FOREIGN / f"{name}.scores").read_text())["rows"]
        write(f"imported-{Path(name).stem}", functools.partial(read, FOREIGN / name), hard)


if __name__ == "__main__":
    main()
