"""The client scores a frame as `ranker.predict` does: columns are found by name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from running import NAMES, Running, X, serving

import podium
from podium.errors import DataError, ParameterError
from podium.serve import ServiceError

FRAME = pd.DataFrame(X[:20], columns=list(NAMES))
SHUFFLED = FRAME[["price", "length", "bm25", "clicks", "age"]]
COLORS = pd.DataFrame({"color": ["blue", "pink", None, "red", "teal", "green"], "size": [0.5, 0.1, 0.2, np.nan, 1, 2]})


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "arrow"]
)
def test_columns_are_found_by_name(service: Running, models, make):
    ranker = podium.load(models / "shop.podium")
    with service.client() as client:
        found = client.score("shop", make(SHUFFLED))
        ranking = client.rank("shop", make(SHUFFLED), 3, ids=[f"d{row}" for row in range(20)])
        in_queries = client.score("shop", make(SHUFFLED), sizes=[15, 5])
    assert found.tolist() == in_queries.tolist() == ranker.predict(FRAME).tolist()
    best = np.argsort(-ranker.predict(FRAME), kind="stable")[:3]
    assert ranking.positions.tolist() == best.tolist()
    assert ranking.ids == [f"d{row}" for row in best]


def test_missing_values_and_other_columns(service: Running, models):
    frame = SHUFFLED.assign(title="text").astype({"price": "float64"})
    frame.loc[3, "price"] = np.nan
    with service.client() as client, pytest.warns(UserWarning, match="left out: title") as caught:
        found = client.score("shop", frame)
    assert caught[0].filename == __file__
    assert found.tolist() == podium.load(models / "shop.podium").predict(frame.drop(columns="title")).tolist()


@pytest.mark.parametrize("kind", ["object", "category"])
@pytest.mark.parametrize("name", ["colors", "codes"])
def test_categories_known_and_unknown(models, tmp_path, kind: str, name: str):
    rng = np.random.default_rng(1)
    train = pd.DataFrame(
        {"size": rng.normal(size=60), "color": pd.Categorical(rng.choice(["red", "green", "blue"], 60))}
    )
    labels, queries = rng.integers(0, 3, 60), np.repeat(np.arange(6), 10)
    path = models / "colors.podium"
    if name == "codes":  # codes are compared as numbers
        path = tmp_path / "codes.podium"
        podium.MART(categorical=(), n_estimators=5, min_documents=1).fit(train, labels, qid=queries).save(path)
    frame = COLORS.fillna({"size": 0.3}).astype({"color": kind})
    with serving(tmp_path, path) as running, running.client() as client:
        found = client.score(name, frame)
        (version,) = client.models()[0]["versions"]
    assert found.tolist() == podium.load(path).predict(frame).tolist()
    assert sorted(version["categories"]["color"]) == ["blue", "green", "red"]


def test_a_model_without_names_takes_the_columns_in_their_order(service: Running, models):
    ranker = podium.load(models / "linear.podium")
    numbered = pd.DataFrame(X[:20], columns=[f"f{column}" for column in range(5)])
    with service.client() as client:
        assert client.score("linear", FRAME).tolist() == ranker.predict(FRAME).tolist()
        assert client.score("linear", numbered[numbered.columns[::-1]]).tolist() == ranker.predict(numbered).tolist()
        with pytest.raises(DataError, match="the frame has 4 features, the model was trained on 5"):
            client.score("linear", FRAME.drop(columns="age"))


def test_frames_that_do_not_fit_are_refused(service: Running):
    with service.client() as client:
        with pytest.raises(DataError, match=r"the frame has no feature 'age', which the model was trained on"):
            client.score("shop", FRAME.drop(columns="age"))
        with pytest.raises(DataError, match=r"feature 'age' of row 2 is infinite"):
            client.rank("shop", FRAME.assign(age=[0, 0, np.inf, *[0] * 17]))
        with pytest.raises(DataError, match="'age' is categorical here and a number"):
            client.score("shop", FRAME.assign(age="old"))
        with pytest.raises(ServiceError, match="no model of this name"):
            client.score("ship", FRAME)
        with pytest.raises(ServiceError) as caught:
            client.score("shop", FRAME, version="none")
        assert caught.value.code == "unknown_version"


def test_versions_with_different_features(models, tmp_path):
    words = (f"shop@1={models / 'shop.podium'}", f"shop@2={models / 'colors.podium'}", "--canary", "shop@2=0.5")
    with serving(tmp_path, *words) as running, running.client() as client:
        with pytest.raises(ParameterError, match="version must be given for a frame"):
            client.score("shop", FRAME)
        wanted = podium.load(models / "shop.podium").predict(FRAME)
        assert client.score("shop", SHUFFLED, version="1").tolist() == wanted.tolist()
