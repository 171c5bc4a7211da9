"""Models of LightGBM, XGBoost and CatBoost score as their own runtimes do, on rows that Hypothesis makes."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from foreign_rows import rows_of
from hypothesis import given, settings
from hypothesis import strategies as st

import podium

RNG = np.random.default_rng(3)
FEATURES = 6
X = RNG.normal(size=(800, FEATURES)).astype(np.float32)
X[RNG.random(X.shape) < 0.1] = np.nan
X[RNG.random(X.shape) < 0.1] = 0
CODES = X.copy()
CODES[:, 5] = RNG.integers(0, 30, len(X))
LABELS = np.clip(RNG.integers(0, 3, len(X)) + (X[:, 0] > 0) + (CODES[:, 5] % 5 == 2), 0, 4)
QUERIES = np.repeat(np.arange(40), 20)

LIGHTGBM: dict[str, dict[str, Any]] = {
    "lambdarank": {},
    "zeros are missing": {"zero_as_missing": True},
    "nothing is missing": {"use_missing": False},
    "dart": {"boosting": "dart", "drop_rate": 0.3},
    "categories": {"categorical": True},
    "categories and zeros": {"categorical": True, "zero_as_missing": True, "cat_smooth": 0.1, "min_data_per_group": 1},
    "classes": {"objective": "multiclass", "num_class": 5},
    "regression": {"objective": "regression"},
}
XGBOOST: dict[str, dict[str, Any]] = {
    "ndcg": {},
    "pairwise": {"objective": "rank:pairwise", "base_score": 0.3},
    "map": {"objective": "rank:map"},
    "exact": {"tree_method": "exact"},
    "dart": {"booster": "dart", "rate_drop": 0.3},
    "categories": {"categorical": True, "max_cat_to_onehot": 1},
    "one hot": {"categorical": True, "max_cat_to_onehot": 100},
    "logistic": {"objective": "binary:logistic"},
    "poisson": {"objective": "count:poisson"},
    "classes": {"objective": "multi:softprob", "num_class": 5, "num_parallel_tree": 2, "subsample": 0.5},
    "vectors": {"objective": "multi:softprob", "num_class": 5, "multi_strategy": "multi_output_tree"},
}
CATBOOST: dict[str, dict[str, Any]] = {
    "symmetric": {},
    "deep": {"depth": 9, "iterations": 5},
    "missing is largest": {"nan_mode": "Max"},
    "bias": {"loss_function": "RMSE"},
    "depthwise": {"grow_policy": "Depthwise"},
    "lossguide": {"grow_policy": "Lossguide", "max_leaves": 12},
    "classes": {"loss_function": "MultiClass"},
}


@cache
def lightgbm_case(kind: str) -> tuple[Any, Any]:
    lightgbm = pytest.importorskip("lightgbm")
    asked = {"objective": "lambdarank", "verbose": -1, "min_data_in_leaf": 5, "num_threads": 1, **LIGHTGBM[kind]}
    categorical = asked.pop("categorical", False)
    data = lightgbm.Dataset(
        CODES if categorical else X, LABELS, group=[20] * 40, categorical_feature=[5] if categorical else []
    )
    booster = lightgbm.train(asked, data, 20)
    return podium.from_lightgbm(booster).model_, lambda rows: booster.predict(rows, raw_score=True)


@cache
def xgboost_case(kind: str) -> tuple[Any, Any]:
    xgboost = pytest.importorskip("xgboost")
    asked = {"objective": "rank:ndcg", "max_depth": 5, "nthread": 1, **XGBOOST[kind]}
    categorical = asked.pop("categorical", False)
    types = ["q"] * 5 + ["c" if categorical else "q"]
    labels = LABELS > 2 if kind in ("logistic", "map") else LABELS
    data = xgboost.DMatrix(CODES if categorical else X, labels, feature_types=types, enable_categorical=True)
    if asked["objective"].startswith("rank"):
        data.set_info(qid=QUERIES)
    booster = xgboost.train(asked, data, 20)

    def predict(rows: np.ndarray) -> np.ndarray:
        matrix = xgboost.DMatrix(rows, feature_types=types, enable_categorical=True)
        return booster.predict(matrix, output_margin=True).astype(np.float64)

    return podium.from_xgboost(booster).model_, predict


@cache
def catboost_case(kind: str) -> tuple[Any, Any]:
    catboost = pytest.importorskip("catboost")
    asked = {"iterations": 20, "depth": 5, "loss_function": "YetiRank", "verbose": False, "thread_count": 1}
    pool = catboost.Pool(X, LABELS, group_id=QUERIES)
    model = catboost.CatBoost({**asked, "allow_writing_files": False, **CATBOOST[kind]}).fit(pool)
    return podium.from_catboost(model).model_, lambda rows: model.predict(
        rows, prediction_type="RawFormulaVal", thread_count=1
    )


CASES = {
    "lightgbm": (lightgbm_case, LIGHTGBM),
    "xgboost": (xgboost_case, XGBOOST),
    "catboost": (catboost_case, CATBOOST),
}
ALL = [(library, kind) for library, (_, kinds) in CASES.items() for kind in kinds]


@pytest.mark.parametrize(("library", "kind"), ALL)
@given(data=st.data())
@settings(max_examples=25)
def test_scores_have_the_bits_of_the_other_library(library, kind, data):
    model, predict = CASES[library][0](kind)
    rows = data.draw(rows_of(model))
    assert model.scores(rows).tobytes() == predict(rows).tobytes()


@pytest.mark.parametrize(("library", "kind"), ALL)
def test_training_rows_have_the_bits_of_the_other_library(library, kind):
    model, predict = CASES[library][0](kind)
    for rows in (X, CODES):
        assert model.scores(rows, num_threads=2).tobytes() == predict(rows).tobytes()


def test_a_random_forest_is_an_average():
    lightgbm = pytest.importorskip("lightgbm")
    asked = {"objective": "lambdarank", "boosting": "rf", "bagging_fraction": 0.5, "bagging_freq": 1, "verbose": -1}
    booster = lightgbm.train(asked, lightgbm.Dataset(X, LABELS, group=[20] * 40), 21)
    assert np.allclose(podium.from_lightgbm(booster).model_.scores(X), booster.predict(X), rtol=1e-14, atol=1e-15)


def test_linear_leaves_are_refused():
    lightgbm = pytest.importorskip("lightgbm")
    asked = {"objective": "regression", "linear_tree": True, "verbose": -1}
    booster = lightgbm.train(asked, lightgbm.Dataset(np.nan_to_num(X), LABELS, params={"linear_tree": True}), 3)
    with pytest.raises(podium.FormatError, match="train with linear_tree=false"):
        podium.from_lightgbm(booster)


def test_more_categories_than_trees_take_are_refused():
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    codes = np.arange(4000) % 900
    asked = {"objective": "regression", "verbose": -1, "min_data_in_leaf": 1, "max_cat_threshold": 900, "max_bin": 1000}
    asked |= {"min_data_per_group": 1, "cat_smooth": 0.1, "cat_l2": 0.1, "num_leaves": 60}
    data = lightgbm.Dataset(codes[:, None].astype(float), rng.normal(size=900)[codes], categorical_feature=[0])
    with pytest.raises(podium.FormatError, match=r"name [0-9]+ categories, and Podium's trees take at most 255"):
        podium.from_lightgbm(lightgbm.train(asked, data, 20))


def test_statistics_of_categories_are_refused():
    catboost, pandas = pytest.importorskip("catboost"), pytest.importorskip("pandas")
    frame = pandas.DataFrame(CODES).astype({5: int})
    pool = catboost.Pool(frame, LABELS, group_id=QUERIES, cat_features=[5])
    asked = {
        "iterations": 9,
        "loss_function": "RMSE",
        "verbose": False,
        "allow_writing_files": False,
        "one_hot_max_size": 2,
    }
    model = catboost.CatBoost(asked).fit(pool)
    with pytest.raises(podium.FormatError, match="one_hot_max_size"):
        podium.from_catboost(model, pool=pool)
    one_hot = catboost.CatBoost(asked | {"one_hot_max_size": 50}).fit(pool)
    with pytest.raises(podium.FormatError, match="pool=train_pool"):
        podium.from_catboost(one_hot)
    imported = podium.from_catboost(one_hot, pool=pool)
    assert (imported.predict(CODES) == one_hot.predict(frame)).all()


def test_linear_boosters_are_refused():
    xgboost = pytest.importorskip("xgboost")
    booster = xgboost.train({"booster": "gblinear"}, xgboost.DMatrix(np.nan_to_num(X), LABELS), 2)
    with pytest.raises(podium.FormatError, match="only trees"):
        podium.from_xgboost(booster)


@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
def test_estimators_and_early_stopping():
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    first = lightgbm.LGBMRanker(n_estimators=30, verbose=-1).fit(
        X, LABELS, group=[20] * 40, eval_set=[(CODES, LABELS)], eval_group=[[20] * 40],
        callbacks=[lightgbm.early_stopping(3, verbose=False)],
    )  # fmt: skip
    assert (podium.from_lightgbm(first).predict(X) == first.predict(X)).all()
    second = xgboost.XGBRanker(n_estimators=60, early_stopping_rounds=2, learning_rate=0.9).fit(
        X, LABELS, qid=QUERIES, eval_set=[(CODES, LABELS)], eval_qid=[QUERIES], verbose=False
    )
    assert second.best_iteration < 59
    assert (podium.from_xgboost(second).predict(X) == second.predict(X)).all()


def test_names_of_frames_are_kept():
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    pandas = pytest.importorskip("pandas")
    colors = np.array(["red", "green", "blue", "white"])
    frame = pandas.DataFrame(
        {"a": X[:, 0], "color": pandas.Categorical(colors[CODES[:, 5].astype(int) % 4]), "b": X[:, 1]}
    )
    labels = LABELS + (frame["color"] == "blue")
    first = lightgbm.train({"objective": "regression", "verbose": -1}, lightgbm.Dataset(frame, labels), 10)
    second = xgboost.train({"max_cat_to_onehot": 1}, xgboost.DMatrix(frame, labels, enable_categorical=True), 10)
    other = frame.assign(
        color=pandas.Categorical(frame["color"].astype(str), categories=["white", "blue", "green", "red"])
    )
    for given_frame in (frame, other):
        assert (podium.from_lightgbm(first).predict(given_frame) == first.predict(frame)).all()
        margins = second.predict(xgboost.DMatrix(frame, enable_categorical=True), output_margin=True)
        assert (podium.from_xgboost(second).predict(given_frame) == margins).all()
    with pytest.raises(ValueError, match="the frame has no feature 'a'"):
        podium.from_lightgbm(first).predict(frame.rename(columns={"a": "c"}))


@pytest.mark.parametrize("library", CASES)
@pytest.mark.parametrize("name", ["ohsumed", "yandex"])
def test_models_of_real_data(library, name, data_dir):
    train, test = real_data(data_dir, name)
    rows = np.ascontiguousarray(test.features)
    sizes, labels = train.query_sizes, train.labels
    if library == "lightgbm":
        lightgbm = pytest.importorskip("lightgbm")
        data = lightgbm.Dataset(train.features, labels, group=sizes)
        booster = lightgbm.train({"objective": "lambdarank", "verbose": -1, "num_threads": 2}, data, 100)
        imported, wanted = podium.from_lightgbm(booster), booster.predict(rows, raw_score=True)
    elif library == "xgboost":
        xgboost = pytest.importorskip("xgboost")
        data = xgboost.DMatrix(train.features, labels, qid=np.repeat(np.arange(len(sizes)), sizes))
        booster = xgboost.train({"objective": "rank:ndcg", "nthread": 2}, data, 100)
        imported, wanted = podium.from_xgboost(booster), booster.predict(xgboost.DMatrix(rows), output_margin=True)
    else:
        catboost = pytest.importorskip("catboost")
        pool = catboost.Pool(train.features, labels, group_id=np.repeat(np.arange(len(sizes)), sizes))
        asked = {"iterations": 100, "loss_function": "YetiRank", "verbose": False, "allow_writing_files": False}
        model = catboost.CatBoost({**asked, "thread_count": 2}).fit(pool)
        imported, wanted = (
            podium.from_catboost(model),
            model.predict(rows, prediction_type="RawFormulaVal", thread_count=1),
        )
    assert imported.predict(rows).tobytes() == np.asarray(wanted, np.float64).tobytes()


@cache
def real_data(folder: Any, name: str) -> tuple[Any, Any]:
    if name == "ohsumed":
        train, _, test = podium.read_folds(next(folder.glob("ohsumed/**/QueryLevelNorm/Fold1")))
        return train, test
    train, test = (podium.read(folder / "yandex" / f"{part}.txt") for part in ("train", "test"))
    return train, test.replace_grouped(features=np.ascontiguousarray(test.features[:, : train.n_features]))


def test_scores_are_those_of_lightgbm_for_float32_values():
    """LightGBM compares decimals as float64: a threshold on 46.62 exactly sends it left there, and its float32 may lie above."""
    lightgbm = pytest.importorskip("lightgbm")
    values = np.round(np.arange(4000) / 100, 2)
    rng = np.random.default_rng(0)
    data = lightgbm.Dataset(values[:, None], rng.normal(size=4000), params={"min_data_in_leaf": 1, "max_bin": 255})
    booster = lightgbm.train({"verbose": -1, "num_leaves": 200, "min_data_in_leaf": 1, "num_threads": 1}, data, 20)
    imported = podium.from_lightgbm(booster)
    rows = np.round(rng.integers(0, 4000, 20_000) / 100, 2)[:, None]
    edges = np.array(
        [
            [float(text)]
            for line in booster.model_to_string().splitlines()
            if line.startswith("threshold=")
            for text in line[10:].split()
        ]
    )
    rows = np.concatenate([rows, edges])
    single = rows.astype(np.float32)
    assert imported.predict(rows).tolist() == booster.predict(single, raw_score=True).tolist()
    assert (imported.predict(rows) != booster.predict(rows, raw_score=True)).any()
