"""Training on data with categorical features: trees split by category, and models that take numbers refuse codes."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import podium
from podium.models.trees import categories_of
from podium.rankers import RANKERS

BRANDS = ("acme", "globex", "hooli", "initech")
SETTINGS: dict[str, Any] = {"n_estimators": 4, "num_leaves": 4, "min_documents": 2, "num_threads": 1}
TREES = {"lambdamart": podium.LambdaMART, "mart": podium.MART, "rankboost": podium.RankBoost}


def frame(brands: tuple[str, ...] = BRANDS, *, queries: int = 12, seed: int = 0) -> pd.DataFrame:
    """Every other brand is good, so that no threshold between codes separates the good from the bad ones."""
    rng = np.random.default_rng(seed)
    chosen = rng.choice(brands, queries * 10)
    good = np.isin(chosen, BRANDS[::2])
    return pd.DataFrame(
        {
            "brand": pd.Categorical(chosen, categories=sorted(brands)),
            "price": rng.normal(size=len(chosen)),
            "label": good + (rng.random(len(chosen)) < 0.3),
            "qid": np.repeat(np.arange(queries), 10),
        }
    )


DATA = podium.from_frame(frame())


@pytest.mark.parametrize("name", TREES)
def test_trees_split_the_categorical_features_of_the_data_by_category(name: str, tmp_path: Path) -> None:
    kind = TREES[name]
    settings = {key: value for key, value in SETTINGS.items() if key in kind.parameters()}
    ranker = kind(**settings).fit(DATA)
    assert ranker.model_.category_features.tolist() == [0]
    assert 0 in ranker.model_.used_features
    assert "categorical=(0,)" in ranker.resolved_["model"]
    assert ranker.resolve(DATA)["model"] == ranker.resolved_["model"]
    ranker.save(tmp_path / "a.podium")
    header = podium.artifact.load_artifact(tmp_path / "a.podium").header
    assert "categorical=(0,)" in header["model"]["spec"]
    np.testing.assert_array_equal(podium.load(tmp_path / "a.podium").predict(DATA), ranker.predict(DATA))
    numbers = kind(**settings).fit(DATA.replace(categorical_features=None))
    assert numbers.model_.category_features.tolist() == []


def test_the_default_is_the_same_as_naming_the_features() -> None:
    ranker = podium.LambdaMART(**SETTINGS).fit(DATA)
    assert ranker.resolved_["categorical"] == (0,)
    assert ranker.fitted_parameters_["categorical"] is None
    named = podium.LambdaMART(**SETTINGS, categorical=["brand"]).fit(DATA.replace(categorical_features=None))
    for name, array in ranker.model_.arrays().items():
        np.testing.assert_array_equal(array, named.model_.arrays()[name])
    none = podium.LambdaMART(**SETTINGS, categorical=[]).fit(DATA)
    assert none.resolved_["categorical"] == ()
    assert none.model_.category_features.tolist() == []
    assert podium.LambdaMART(**SETTINGS).fit(frame()[["brand", "price"]], frame()["label"], qid=frame()["qid"]).model_.category_features.tolist() == [0]  # fmt: skip


def test_symmetric_trees_refuse_categories_unless_their_codes_shall_be_numbers() -> None:
    symmetric = {**SETTINGS, "growth": "symmetric"}
    with pytest.raises(
        podium.ParameterError, match=r"takes no categorical features, and the data has brand; .* categorical=\(\)"
    ):
        podium.LambdaMART(**symmetric).fit(DATA)
    assert podium.LambdaMART(**symmetric, categorical=()).fit(DATA).model_.category_features.tolist() == []


def test_a_category_is_monotone_only_if_its_code_is_a_number() -> None:
    with pytest.raises(podium.ParameterError, match="monotone='brand' is a categorical feature, which has no order"):
        podium.LambdaMART(**SETTINGS, monotone={"brand": 1}).fit(DATA)
    ranker = podium.LambdaMART(**SETTINGS, monotone={"brand": 1}, categorical=()).fit(DATA)
    codes = np.column_stack([np.arange(4), np.zeros(4)]).astype(np.float32)
    assert (np.diff(ranker.model_.scores(codes)) >= 0).all()


def test_a_stump_of_rankboost_is_the_best_of_all_sets_of_categories() -> None:
    """All pairs weigh the same in the first round: r of a set is the mean of h(winner) − h(loser) over them."""
    data = DATA.replace(features=DATA.features[:, :1], feature_names=["brand"], categorical_features={"brand": BRANDS})
    ranker = podium.RankBoost(n_estimators=1, num_threads=1).fit(data)
    pairs = [
        (data.features[i, 0], data.features[j, 0])
        for i, j in itertools.permutations(range(len(data)), 2)
        if data.document_queries[i] == data.document_queries[j] and data.labels[i] > data.labels[j]
    ]
    sets = [chosen for size in range(1, 4) for chosen in itertools.combinations(range(4), size)]
    best = max(abs(np.mean([float(w in chosen) - float(l in chosen) for w, l in pairs])) for chosen in sets)
    values = ranker.model_.arrays()["value"]
    assert np.abs(values).max() == pytest.approx(np.arctanh(best), rel=1e-6)


@pytest.mark.parametrize("name", [name for name in RANKERS if name not in TREES])
def test_models_that_take_numbers_refuse_categories(name: str) -> None:
    settings = {"epochs": 1} if "epochs" in RANKERS[name].parameters() else {}
    with pytest.raises(
        podium.DataError, match="takes numbers, and the codes of the categorical feature 'brand' are not quantities"
    ):
        RANKERS[name](**settings).fit(DATA)


def test_the_refusal_says_what_to_do() -> None:
    two = podium.RankingData(
        np.zeros((2, 2)), [0, 1], [1, 1], feature_names=["a", "b"], categorical_features=["a", "b"]
    )
    with pytest.raises(podium.DataError) as caught:
        podium.RankSVM().fit(two)
    assert str(caught.value) == (
        "the model linear takes numbers, and the codes of the categorical features 'a', 'b' are not quantities; train boosted "
        "trees, which split by category; or leave them out with ignore=['a', 'b']; or make plain numbers of the codes with "
        "data.replace(categorical_features=None)"
    )
    podium.RankSVM().fit(DATA.replace(categorical_features=None))
    with pytest.raises(podium.DataError, match="the model linear takes numbers"):
        podium.PRank().partial_fit(DATA)


def test_stumps_of_adarank_refuse_categories_unless_their_codes_shall_be_numbers() -> None:
    with pytest.raises(podium.DataError, match="a threshold stump takes numbers"):
        podium.AdaRank(weak="stumps").fit(DATA)
    model = "trees(num_leaves=2, categorical=())"
    ranker = podium.Ranker(force="finite_difference(ndcg@10)", model=model, schedule="reweighting(rounds=2)").fit(DATA)
    assert ranker.model_.category_features.tolist() == []


# ---- continuing


def test_training_continues_with_the_codes_and_categories_of_the_model() -> None:
    """The new data has a category more, which sorts first and shifts every code, and lacks another one."""
    first = podium.LambdaMART(**SETTINGS).fit(DATA)
    later = podium.from_frame(frame(("aaa", "acme", "globex", "initech"), seed=1))
    more = podium.LambdaMART(**SETTINGS).fit(later, start_from=first)
    assert more.scorer_.categories == {0: (*BRANDS, "aaa")}
    assert categories_of(more.model_)[0].tolist() == [0, 1, 2, 3, 4]
    rows = np.array([[code, price] for code in (0, 1, 2, 3, 4, 9, np.nan) for price in (-1, 0, 1)], np.float32)
    before = first.model_.n_trees
    np.testing.assert_array_equal(more.model_.leaves(rows)[:, :before], first.model_.leaves(rows))
    alone = podium.models.trees.TreeModel(  # the trees that were added, over the categories that they were grown with
        podium.models.trees.forest_of(
            [more.model_.tree(t) for t in range(before)], first.model_.arrays()["base"], categories_of(more.model_)
        ), 2, 1,
    )  # fmt: skip
    np.testing.assert_array_equal(alone.scores(rows), first.model_.scores(rows))
    new = more.model_.leaves(rows)[:, before:]
    np.testing.assert_array_equal(new[6:9], new[15:18])  # hooli is not in the new data: it goes where unknown ones go
    assert (new[12:15] != new[18:21]).any()  # aaa is


def test_training_does_not_continue_from_numbers_with_categories() -> None:
    numbers = podium.LambdaMART(**SETTINGS, categorical=()).fit(DATA)
    with pytest.raises(podium.DataError, match=r"'brand' is categorical now, .* go on with numbers: categorical=\(\)"):
        podium.LambdaMART(**SETTINGS).fit(DATA, start_from=numbers)
    podium.LambdaMART(**SETTINGS, categorical=()).fit(DATA, start_from=numbers)


def test_a_checkpoint_knows_which_features_were_categories(tmp_path: Path) -> None:
    podium.LambdaMART(**SETTINGS).fit(DATA, checkpoint=tmp_path / "c")
    more = {**SETTINGS, "n_estimators": 6}
    with pytest.raises(podium.ParameterError, match="another model"):
        podium.LambdaMART(**more, categorical=()).fit(DATA, checkpoint=tmp_path / "c")
    resumed = podium.LambdaMART(**more).fit(DATA, checkpoint=tmp_path / "c")
    whole = podium.LambdaMART(**more).fit(DATA)
    np.testing.assert_array_equal(resumed.predict(DATA), whole.predict(DATA))


def test_cross_validation_keeps_categories() -> None:
    found = podium.cross_validate(podium.LambdaMART(**SETTINGS), DATA, folds=3)
    assert all("categorical=(0,)" in ranker.resolved_["model"] for ranker in (fold.ranker for fold in found.folds))


@pytest.mark.parametrize("categorical", [None, ()])
def test_a_category_that_only_the_validation_data_has_is_missing(categorical: Any) -> None:
    valid = podium.from_frame(frame((*BRANDS, "zeta"), seed=3))
    ranker = podium.LambdaMART(**SETTINGS, categorical=categorical).fit(DATA, valid=valid)
    result = podium.evaluate(ranker.predict(valid), valid, ranker.metric)
    assert ranker.best_value_ == pytest.approx(result.mean[ranker.metric], rel=1e-12)
    gone = valid.features[:, 0] == 4
    features = valid.features.copy()
    features[gone, 0] = np.nan
    blank = podium.RankingData(features, valid.labels, valid.qid, feature_names=["brand", "price"], categorical_features={"brand": BRANDS})  # fmt: skip
    np.testing.assert_array_equal(ranker.predict(blank), ranker.predict(valid))
