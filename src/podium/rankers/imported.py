"""Rankers whose model another library trained."""

from __future__ import annotations

import os
from typing import Any, NoReturn

import numpy as np

from podium.errors import ParameterError
from podium.export import ReadModel, parse_catboost_model, parse_model, read_model
from podium.forces import Force
from podium.models import Spec
from podium.models.trees import TreeModel
from podium.parameters import setting
from podium.rankers.base import BaseRanker
from podium.rules import Text
from podium.scoring import Scorer
from podium.training import Schedule

Path = str | os.PathLike[str]


class ImportedRanker(BaseRanker):
    """A ranker whose model was trained by another library.

    It predicts, evaluates, explains, saves and exports like any other ranker, but it cannot be fitted. To add trees to it,
    train a ranker of boosted trees with `start_from=`.
    """

    source: str = setting("", Text(), "The format that the model was read from.")

    @classmethod
    def of(cls, read: ReadModel, n_features: int | None = None) -> ImportedRanker:
        """Return the ranker of a model that was read from another library's file."""
        model, names = read.model, read.feature_names
        if n_features is not None:
            model, names = _widened(model, n_features), names if n_features == model.n_features else None
        ranker = cls(source=read.format)
        scorer = Scorer(model, names, categories=read.categories)
        ranker._set_fitted(
            scorer,
            {
                "parameters": ranker._saved_parameters(),
                "data": "",
                "force": "",
                "model": {"name": "trees", "spec": "trees"},
                "training": {"epochs": 0, "best_epoch": 0, "best_value": None},
            },
        )
        ranker._load_extra_state({}, {})
        return ranker

    def fit(self, X: Any, y: Any = None, **_: Any) -> NoReturn:
        """Refuse to train: only the library that made the model knows how it was trained."""
        raise ParameterError(
            "ranker",
            type(self).__name__,
            "holds an imported model and cannot be fitted",
            "podium.LambdaMART().fit(data, start_from=imported) keeps its trees and adds new ones",
        )

    def _force(self) -> Force:
        self.fit(None)

    def _model(self) -> Spec:
        self.fit(None)

    def _schedule(self) -> Schedule:
        self.fit(None)


def from_lightgbm(booster_or_path: Any) -> ImportedRanker:
    """Return the ranker of a LightGBM model: a Booster, a scikit-learn estimator of LightGBM, or the path of a text file.

    For float32 values, its scores are LightGBM's raw scores, to the last bit. LightGBM compares float64 values: for other data, give it
    `X.astype("float32")` to compare with. The trees up to the best iteration are taken.

    Args:
        booster_or_path: the model, or the path of its file.
    """
    if isinstance(booster_or_path, str | os.PathLike):
        return ImportedRanker.of(read_model(booster_or_path, format="lightgbm"))
    booster = getattr(booster_or_path, "booster_", booster_or_path)
    text = _saved(booster, "model_to_string", "a LightGBM Booster")()
    return ImportedRanker.of(parse_model(text.encode(), "the booster", "lightgbm"))


def from_xgboost(booster_or_path: Any) -> ImportedRanker:
    """Return the ranker of an XGBoost model: a Booster, an estimator such as XGBRanker, or the path of a JSON or UBJSON file.

    Its scores are XGBoost's margins, to the last bit. Of an estimator that stopped early, the trees up to the best iteration are
    taken; of a Booster or a file, all trees.

    Args:
        booster_or_path: the model, or the path of its file.
    """
    if isinstance(booster_or_path, str | os.PathLike):
        return ImportedRanker.of(read_model(booster_or_path, format="xgboost"))
    booster = booster_or_path
    if hasattr(booster, "get_booster"):
        booster = booster.get_booster()
        if booster.attr("best_iteration") is not None:
            booster = booster[: booster.best_iteration + 1]
    raw = bytes(_saved(booster, "save_raw", "an XGBoost Booster")("json"))
    return ImportedRanker.of(parse_model(raw, "the booster", "xgboost"))


def from_catboost(model_or_path: Any, *, pool: Any = None) -> ImportedRanker:
    """Return the ranker of a CatBoost model: a model, or the path of a JSON or .cbm file.

    Its scores are CatBoost's raw values, to the last bit. Give the training `pool` with a model that has categorical features:
    CatBoost keeps only hashes of their categories otherwise.

    Args:
        model_or_path: the model, or the path of its file.
        pool: the training data as CatBoost's Pool, needed for a model with categorical features.
    """
    if isinstance(model_or_path, str | os.PathLike):
        return ImportedRanker.of(read_model(model_or_path, format="catboost"))
    _saved(model_or_path, "is_fitted", "a CatBoost model")
    return ImportedRanker.of(parse_catboost_model(model_or_path, pool))


def from_ranklib(path: Path, *, n_features: int | None = None) -> ImportedRanker:
    """Return the ranker of a RankLib file of LambdaMART or MART; its scores are RankLib's, to the last bit.

    The file does not say how many features there are, only which ones are used; give `n_features` if the last ones are not.

    Args:
        path: the file that RankLib wrote.
        n_features: the number of features, if the last ones are not used.
    """
    return ImportedRanker.of(read_model(path, format="ranklib"), n_features)


def _saved(model: Any, method: str, kind: str) -> Any:
    if not hasattr(model, method):
        raise ParameterError("model", model, f"must be {kind}, or the path of a file")
    return getattr(model, method)


def _widened(model: TreeModel, n_features: int) -> TreeModel:
    """Return the same trees for more features than they use."""
    if n_features < model.n_features:
        raise ParameterError(
            "n_features", n_features, f"must be at least {model.n_features}, the features that the trees use"
        )
    arrays = model.arrays()
    if "feature_rules" in arrays:
        arrays["feature_rules"] = np.pad(arrays["feature_rules"], (0, n_features - model.n_features))
    return TreeModel(arrays, n_features, model.n_outputs, sums=model.sums)
