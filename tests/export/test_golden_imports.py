"""Saved models of other libraries score as their own runtimes do, to the last bit; no other library is needed here."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import podium
from podium.errors import FormatError, MissingExtraError, ParameterError
from podium.export import EXPORTS, parse_model, read_model

FOLDER = Path(__file__).parents[1] / "golden" / "foreign"
FILES = sorted(path.name for path in FOLDER.iterdir() if path.suffix not in (".scores", ".cbm"))
CATBOOST_NAMES = ["red", "green", "blue", "white", "black", "gray", "pink"]


def wanted(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The rows, and the scores that the other library gave them."""
    held = json.loads((FOLDER / f"{name}.scores").read_text())
    rows = np.array([[np.nan if value is None else value for value in row] for row in held["rows"]], np.float32)
    return rows, np.array(held["scores"])


@pytest.mark.parametrize("name", FILES)
def test_scores_have_the_bits_of_the_other_library(name):
    read = read_model(FOLDER / name)
    rows, scores = wanted(name)
    if name == "catboost-names.json":
        known = (read.categories or {})[3]
        texts = [
            CATBOOST_NAMES[int(code)] if 0 <= code < 7 else "strange" for code in np.nan_to_num(rows[:, 3], nan=50)
        ]
        rows[:, 3] = [known.index(text) if text in known else 99 for text in texts]
    assert read.model.scores(rows).tobytes() == scores.tobytes()
    assert read.format == name.partition("-")[0]


def test_there_is_a_file_of_every_format_that_can_be_imported():
    found = {name.partition("-")[0] for name in FILES}
    assert found == {name for name, row in EXPORTS.items() if row.read is not None}


def test_a_catboost_binary_is_read_by_catboost():
    rows, scores = wanted("catboost-symmetric.cbm")
    if importlib.util.find_spec("catboost") is None:
        with pytest.raises(MissingExtraError, match="save_model"):
            read_model(FOLDER / "catboost-symmetric.cbm")
    else:
        read = read_model(FOLDER / "catboost-symmetric.cbm")
        assert read.model.scores(rows).tobytes() == scores.tobytes()


@pytest.mark.parametrize("name", FILES)
def test_an_imported_ranker_is_saved_loaded_and_explained_like_any_other(name, tmp_path):
    data = podium.synthetic.polynomial(queries=6, documents=8, features=4, seed=1)
    data = data.replace(features=np.c_[data.features[:, :3], np.arange(48) % 2])
    source = name.partition("-")[0]
    ranker = getattr(podium, f"from_{source}")(FOLDER / name, **({"n_features": 4} if source == "ranklib" else {}))
    ranker.save(tmp_path / "a.podium")
    loaded = podium.load(tmp_path / "a.podium")
    assert loaded.predict(data).tobytes() == ranker.predict(data).tobytes()
    assert podium.load_scorer(tmp_path / "a.podium").scores(data.features).shape == (48,)
    assert loaded.source == source
    assert podium.evaluate(loaded.predict(data), data, "ndcg@5").mean["ndcg@5"] > 0
    parts = ranker.attributions(data)
    assert np.allclose(parts.sum(axis=-1), ranker.model_.scores(data.features), atol=1e-5)
    assert ranker.leaves(data).shape == (48, ranker.n_trees_)
    with pytest.raises(ParameterError, match="start_from"):
        loaded.fit(data)


@pytest.mark.parametrize("name", ["lightgbm-nan.txt", "xgboost-ndcg.json", "catboost-symmetric.json"])
def test_training_continues_from_an_imported_model(name):
    data = podium.synthetic.polynomial(queries=20, documents=10, features=4, seed=1)
    imported = podium.ImportedRanker.of(read_model(FOLDER / name))
    ranker = podium.LambdaMART(n_estimators=3, forests=1, min_documents=2).fit(data, start_from=imported)
    before, after = imported.model_.scores(data.features), ranker.model_
    assert after.n_trees == imported.n_trees_ + 3
    assert after.sums == "float64"
    first = podium.models.trees.TreeModel
    kept = after.leaves(data.features)[:, : imported.n_trees_]
    assert (kept == imported.model_.leaves(data.features)).all()
    assert isinstance(after, first)
    assert np.abs(after.scores(data.features) - before).max() > 0


def test_training_does_not_continue_from_a_model_with_rules_for_features():
    data = podium.synthetic.polynomial(queries=20, documents=10, features=4, seed=1)
    imported = podium.from_lightgbm(FOLDER / "lightgbm-zero.txt")
    with pytest.raises(podium.DataError, match="zeros that count as missing"):
        podium.LambdaMART(n_estimators=3).fit(data, start_from=imported)


def test_categories_are_matched_by_name():
    pandas = pytest.importorskip("pandas")
    read = read_model(FOLDER / "catboost-names.json")
    ranker = podium.ImportedRanker.of(read)
    rows, scores = wanted("catboost-names.json")
    texts = [CATBOOST_NAMES[int(code)] if 0 <= code < 7 else "strange" for code in np.nan_to_num(rows[:, 3], nan=50)]
    frame = pandas.DataFrame({f"f{k}": rows[:, k] for k in range(3)} | {"f3": pandas.Categorical(texts)})
    assert ranker.predict(frame).tobytes() == scores.tobytes()


def test_ranklib_files_do_not_say_how_many_features_there_are():
    assert podium.from_ranklib(FOLDER / "ranklib-lambdamart.txt", n_features=9).n_features_in_ == 9
    with pytest.raises(ParameterError, match="n_features=2 must be at least"):
        podium.from_ranklib(FOLDER / "ranklib-lambdamart.txt", n_features=2)


def test_a_file_of_another_kind_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text("1 qid:1 1:0.5\n")
    with pytest.raises(FormatError, match="is not a model that can be imported; formats: lightgbm"):
        read_model(tmp_path / "a.txt")
    with pytest.raises(FormatError, match="there is no such file"):
        podium.from_xgboost(tmp_path / "b.json")
    with pytest.raises(ParameterError, match="must be a LightGBM Booster"):
        podium.from_lightgbm(3)
    with pytest.raises(ParameterError, match="unknown format 'lightbgm'"):
        parse_model(b"", "x", "lightbgm")
