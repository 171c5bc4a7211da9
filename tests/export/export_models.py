"""Small models of every kind that can be exported, made once for each process."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import podium
from podium.models.trees import TreeModel
from podium.scoring import Scorer

SETTINGS: dict[str, Any] = {
    "plain": lambda: podium.LambdaMART(n_estimators=25, num_leaves=9, min_documents=3),
    "missing": lambda: podium.LambdaMART(n_estimators=25, num_leaves=9, min_documents=3),
    "symmetric": lambda: podium.LambdaMART(n_estimators=20, num_leaves=16, min_documents=3, growth="symmetric"),
    "stumps": lambda: podium.RankBoost(n_estimators=12),
    "base": lambda: podium.MART(n_estimators=15, num_leaves=7, min_documents=3),
    "categories": lambda: podium.LambdaMART(n_estimators=25, num_leaves=9, min_documents=3, categorical=(5,)),
    "classes": lambda: podium.Ranker(force="multiclass", model="trees(num_leaves=5)", schedule="boosting(rounds=6)"),
    "linear": lambda: podium.RankSVM(),
    "raw linear": lambda: podium.RankSVM(standardize=False),
    "net": lambda: podium.RankNet(hidden=(5,), epochs=3),
    "deep net": lambda: podium.LambdaRank(hidden=(6, 4), activation="sigmoid", epochs=2),
    "net with an output": lambda: podium.RankNet(hidden=(4,), output="tanh", epochs=3),
    "relu net": lambda: podium.LambdaRank(hidden=(6,), activation="relu", epochs=2),
}
TREES = ["plain", "missing", "symmetric", "stumps", "base"]
DENSE = ["linear", "raw linear", "net", "deep net", "net with an output", "relu net"]


@cache
def training_data(kind: str) -> podium.RankingData:
    data = podium.synthetic.polynomial(queries=40, documents=12, features=6, seed=5)
    X = data.features * np.array([1, 100, 1e-4, 1, 1, 1], np.float32)
    rng = np.random.default_rng(1)
    X[:, 5] = rng.integers(0, 8, len(X))
    labels = data.labels + (X[:, 5] == 3)
    if kind in ("missing", "categories", "net", "linear"):
        X[rng.random(X.shape) < 0.15] = np.nan
    return podium.RankingData(
        X, labels, data.document_queries, feature_names=["title", "body", "age", "price", "clicks", "color"]
    )


@cache
def ranker(kind: str) -> Any:
    return SETTINGS[kind]().fit(training_data(kind))


def with_thresholds(values: list[float], **arrays: Any) -> Scorer:
    """A forest of stumps, one per threshold, over two features."""
    from podium.models.trees import forest_of

    trees = []
    for k, value in enumerate(values):
        trees.append(
            {
                "feature": np.array([k % 2], np.int32),
                "threshold": np.array([value], np.float32),
                "left": np.array([-1], np.int32),
                "right": np.array([-2], np.int32),
                "missing_left": np.array([k % 3 == 0], np.uint8),
                "set": np.array([-1], np.int32),
                "gain": np.ones(1),
                "value": np.array([0.1 * (k + 1), -0.7 / (k + 1)]),
                "documents": np.array([3, 4], np.int64),
                "sets": np.empty(0, np.uint64),
            }
        )
    return Scorer(TreeModel(forest_of(trees, np.array([arrays.get("base", 0.25)]), {}), 2, 1))
