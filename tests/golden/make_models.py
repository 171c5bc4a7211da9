"""Writes the golden models: one small file of each kind, and beside it the scores it gives on a fixed input.

    python tests/golden/make_models.py

Run it once for a new format or a new kind of model, and only add files: those that are there must load and score the
same for ever. A file that exists is left alone.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import podium

FOLDER = Path(__file__).parent / "models"
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
    "multiclass": podium.Ranker(
        force="multiclass", model="net(4, activation='relu')", schedule="adam(epochs=3, rate=0.1)"
    ),
}


def training_data() -> podium.RankingData:
    """Three queries of four documents with three named features; one value is missing."""
    X = np.array([[(7 * i * i + 3 * i * j + j) % 11 / 8 for j in range(3)] for i in range(12)], np.float32)
    X[4, 1] = np.nan
    y = [0, 2, 1, 0, 2, 0, 0, 1, 1, 2, 0, 1]
    return podium.RankingData(X, y, np.repeat(["a", "b", "c"], 4), feature_names=["bm25", "length", "clicks"])


def rows() -> np.ndarray:
    """Return documents to score: ordinary ones, with missing values, and far from the training data."""
    X = np.array([[(5 * i + 2 * j * j) % 7 / 4 - 0.5 for j in range(3)] for i in range(8)], np.float32)
    X[1, 0] = X[3, 1] = X[3, 2] = np.nan
    X[6] = [100.0, -100.0, 3e4]
    return X


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    data = training_data()
    for name, ranker in RANKERS.items():
        path = FOLDER / f"{name}-1.podium"
        if path.exists():
            continue
        ranker.fit(data).save(path)
        kept = {"rows": [[None if np.isnan(x) else float(x) for x in row] for row in rows()]}
        kept["scores"] = ranker.scorer_.scores(rows()).tolist()
        path.with_suffix(".json").write_text(json.dumps(kept, indent=1) + "\n")
        print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
