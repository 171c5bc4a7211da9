"""Writes small models of other libraries, and beside them the scores that their own runtimes give on fixed rows.

    python tests/golden/make_foreign.py

It needs the extra `peers`. A file that exists is left alone: what an older version of a library wrote must stay readable.
The RankLib file has no runtime here; its scores were computed by RankLib's own classes, run by hand.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import catboost
import lightgbm
import numpy as np
import pandas
import xgboost

FOLDER = Path(__file__).parent / "foreign"
RNG = np.random.default_rng(7)
DOCUMENTS, FEATURES = 400, 4
X = np.round(RNG.normal(size=(DOCUMENTS, FEATURES)) * 8).astype(np.float32) / 8
X[RNG.random(X.shape) < 0.1] = np.nan
CODES = X.copy()
CODES[:, 3] = RNG.integers(0, 7, DOCUMENTS)
LABELS = RNG.integers(0, 3, DOCUMENTS) + (X[:, 0] > 0) + (CODES[:, 3] == 2)
GROUPS = [20] * (DOCUMENTS // 20)
QUERIES = np.repeat(np.arange(len(GROUPS)), 20)

ROWS = np.array(
    [
        [0.0, -0.0, 0.125, 2.0],
        [np.nan, np.nan, np.nan, np.nan],
        [1e-36, -1e-36, 1e-45, 0.0],
        [3.4e38, -3.4e38, 0.0625, 6.0],
        [-0.0625, 0.1875, np.nan, 3.0],
        [0.1875, np.nan, -1.5, 5.0],
        [2.0, 0.0, 0.75, 1.0],
        [-2.0, 1.0, -0.25, 4.0],
        [0.5, -0.375, 1.25, 90.0],
    ],
    np.float32,
)


def write(name: str, raw: bytes | str, scores: Any) -> None:
    """Write a model and the scores of its runtime, unless it is there already."""
    path = FOLDER / name
    if path.exists():
        return
    path.write_bytes(raw if isinstance(raw, bytes) else raw.encode())
    rows = [[None if np.isnan(value) else float(value) for value in row] for row in ROWS]
    text = json.dumps({"rows": rows, "scores": np.asarray(scores, np.float64).tolist()}, indent=1)
    (FOLDER / f"{name}.scores").write_text(text + "\n")


def make_lightgbm() -> None:
    kinds: dict[str, tuple[dict[str, Any], Any]] = {
        "nan": ({}, X),
        "zero": ({"zero_as_missing": True}, X),
        "none": ({"use_missing": False}, X),
        "dart": ({"boosting": "dart", "drop_rate": 0.5}, X),
        "categories": ({}, CODES),
        "classes": ({"objective": "multiclass", "num_class": 5}, X),
    }
    for name, (settings, features) in kinds.items():
        data = lightgbm.Dataset(
            features, LABELS, group=GROUPS, categorical_feature=[3] if features is CODES else [], free_raw_data=False
        )
        asked = {
            "objective": "lambdarank",
            "num_leaves": 5,
            "min_data_in_leaf": 5,
            "verbose": -1,
            "seed": 1,
            **settings,
        }
        booster = lightgbm.train(asked, data, 5)
        write(f"lightgbm-{name}.txt", booster.model_to_string(), booster.predict(ROWS, raw_score=True))


def make_xgboost() -> None:
    kinds: dict[str, tuple[dict[str, Any], Any]] = {
        "ndcg": ({}, X),
        "dart": ({"booster": "dart", "rate_drop": 0.5}, X),
        "categories": ({"max_cat_to_onehot": 1}, CODES),
        "logistic": ({"objective": "binary:logistic"}, X),
        "classes": ({"objective": "multi:softprob", "num_class": 5, "num_parallel_tree": 2, "subsample": 0.5}, X),
        "vectors": ({"objective": "multi:softprob", "num_class": 5, "multi_strategy": "multi_output_tree"}, X),
    }
    for name, (settings, features) in kinds.items():
        asked = {"objective": "rank:ndcg", "max_depth": 3, "seed": 1, **settings}
        types = ["q", "q", "q", "c" if features is CODES else "q"]
        labels = LABELS > 1 if name == "logistic" else LABELS
        data = xgboost.DMatrix(features, labels, feature_types=types, enable_categorical=True)
        if asked["objective"].startswith("rank"):
            data.set_info(qid=QUERIES)
        booster = xgboost.train(asked, data, 5)
        scores = booster.predict(
            xgboost.DMatrix(ROWS, feature_types=types, enable_categorical=True), output_margin=True
        )
        for ending in ("json", "ubj"):
            write(f"xgboost-{name}.{ending}", bytes(booster.save_raw(ending)), scores)


def make_catboost() -> None:
    names = np.array(["red", "green", "blue", "white", "black", "gray", "pink"])
    numbered = pandas.DataFrame(CODES).astype({3: int})
    named = numbered.assign(**{"3": names[numbered[3]]}).drop(columns=3)
    named.columns = [f"f{k}" for k in range(4)]
    kinds: dict[str, tuple[dict[str, Any], Any, Any]] = {
        "symmetric": ({}, X, None),
        "max": ({"nan_mode": "Max"}, X, None),
        "bias": ({"loss_function": "RMSE"}, X, None),
        "lossguide": ({"grow_policy": "Lossguide", "max_leaves": 5}, X, None),
        "classes": ({"loss_function": "MultiClass"}, X, None),
        "codes": ({"one_hot_max_size": 10}, numbered, [3]),
        "names": ({"one_hot_max_size": 10, "grow_policy": "Depthwise"}, named, ["f3"]),
    }
    for name, (settings, features, categorical) in kinds.items():
        asked = {"iterations": 5, "depth": 3, "loss_function": "QueryRMSE", "random_seed": 1, "verbose": False}
        pool = catboost.Pool(features, LABELS, group_id=QUERIES, cat_features=categorical)
        model = catboost.CatBoost({**asked, "allow_writing_files": False, **settings}).fit(pool)
        path = FOLDER / "model.tmp"
        rows: Any = ROWS
        if categorical:
            filled = pandas.DataFrame(np.nan_to_num(ROWS, nan=50.0)).astype({3: int})
            filled.loc[:, [0, 1, 2]] = ROWS[:, :3]
            rows = filled
            if name == "names":
                rows = filled.assign(**{"3": [names[k] if k < 7 else "strange" for k in filled[3]]}).drop(columns=3)
                rows.columns = named.columns
        model.save_model(str(path), format="json", pool=pool)
        write(f"catboost-{name}.json", path.read_bytes(), model.predict(rows, prediction_type="RawFormulaVal"))
        if name == "symmetric":
            model.save_model(str(path))
            write(f"catboost-{name}.cbm", path.read_bytes(), model.predict(rows, prediction_type="RawFormulaVal"))
        path.unlink()


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    make_lightgbm()
    make_xgboost()
    make_catboost()
