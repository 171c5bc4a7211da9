"""A file that cannot be imported is named for what it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from export_models import ranker

import podium
from podium.errors import FormatError
from podium.export import parse_model, read_model

FOLDER = Path(__file__).parents[1] / "golden" / "foreign"
RANKLIB_KINDS = [
    "RankNet",
    "RankBoost",
    "AdaRank",
    "Coordinate Ascent",
    "LambdaRank",
    "ListNet",
    "Random Forests",
    "Linear Regression",
]


@pytest.mark.parametrize("kind", RANKLIB_KINDS)
def test_other_rankers_of_ranklib_are_named(kind):
    with pytest.raises(FormatError, match=f"it is a model of '{kind}'; LambdaMART and MART can be imported"):
        parse_model(f"## {kind}\n## Restart = 2\n1:0.5 2:0.25\n".encode(), "a.txt")


@pytest.mark.parametrize(
    ("format", "words"),
    [
        ("solr", "is a model for Solr, which cannot be imported; formats: lightgbm, xgboost, catboost, ranklib"),
        ("opensearch", "is a model for Elasticsearch or OpenSearch, which cannot be imported"),
        ("vespa", "is a model for Vespa, which cannot be imported"),
        ("xgboost-dump", "is a dump of XGBoost, which cannot be imported; a dump has lost the base score"),
    ],
)
def test_models_that_can_only_be_written_are_named(format, words, tmp_path):
    ranker("plain").export(tmp_path / "a", format=format)
    with pytest.raises(FormatError, match=words):
        read_model(tmp_path / "a")


def test_a_podium_model_needs_no_import(tmp_path):
    ranker("plain").save(tmp_path / "a.podium")
    with pytest.raises(FormatError, match="is a Podium model, which cannot be imported; it needs no import"):
        read_model(tmp_path / "a.podium")


@pytest.mark.parametrize(
    ("name", "format", "words"),
    [
        ("lightgbm-nan.txt", "xgboost", "is a LightGBM model, not an XGBoost model"),
        ("xgboost-ndcg.ubj", "lightgbm", "is an XGBoost model, not a LightGBM model"),
        ("xgboost-ndcg.json", "catboost", "is an XGBoost model, not a CatBoost model"),
        ("catboost-symmetric.json", "ranklib", "is a CatBoost model, not a RankLib model"),
        ("ranklib-lambdamart.txt", "lightgbm", "is a RankLib model, not a LightGBM model"),
    ],
)
def test_a_model_of_another_library_than_asked_for_is_named(name, format, words):
    with pytest.raises(FormatError, match=words):
        read_model(FOLDER / name, format=format)


def test_the_older_binary_format_of_xgboost_is_explained():
    with pytest.raises(FormatError, match=r"neither JSON nor UBJSON.*save it as JSON"):
        parse_model(b"binf" + bytes(100), "a.model", "xgboost")


@pytest.mark.parametrize(
    "name", ["lightgbm-nan.txt", "xgboost-ndcg.json", "catboost-symmetric.json", "ranklib-lambdamart.txt"]
)
def test_a_byte_order_mark_does_no_harm(name):
    assert parse_model(b"\xef\xbb\xbf" + (FOLDER / name).read_bytes(), name).format == name.partition("-")[0]


class CatBoostModel:
    """What Podium asks of a model of CatBoost."""

    def __init__(self, *, texts: list[int], embeddings: list[int]) -> None:
        self.texts, self.embeddings = texts, embeddings

    def is_fitted(self) -> bool:
        return True

    def get_text_feature_indices(self) -> list[int]:
        return self.texts

    def get_embedding_feature_indices(self) -> list[int]:
        return self.embeddings

    def save_model(self, path: str, **_: Any) -> None:
        raise RuntimeError("catboost/libs/model/model_exporter.cpp:152: only in cbm format")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (CatBoostModel(texts=[2], embeddings=[]), "it has text features, which Podium's trees cannot hold"),
        (CatBoostModel(texts=[], embeddings=[1]), "it has embedding features, which Podium's trees cannot hold"),
        (CatBoostModel(texts=[], embeddings=[]), "CatBoost cannot save it as JSON: .*only in cbm format"),
    ],
)
def test_catboost_models_that_have_no_json_are_refused(model, words):
    with pytest.raises(FormatError, match=f"the model: cannot be imported: {words}"):
        podium.from_catboost(model)
