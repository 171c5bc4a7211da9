"""podium export and podium import: what they write, print and refuse."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import podium

FOREIGN = Path(__file__).parents[1] / "golden" / "foreign"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    data = podium.synthetic.polynomial(queries=20, documents=10, features=4, seed=3)
    podium.write(data, folder / "judged.txt")
    podium.LambdaMART(n_estimators=8, num_leaves=5, min_documents=3, forests=1).fit(data).save(folder / "trees.podium")
    podium.RankSVM(standardize=False).fit(data).save(folder / "linear.podium")
    return folder


def test_export_and_import_give_the_same_scores(cli, folder):
    for name in ("lightgbm", "xgboost"):
        done = cli("export", folder / "trees.podium", "--to", name, "--out", f"{name}.model", "--allow", "tiny-as-zero")
        assert "wrote" in done.err + done.out
        assert "largest difference" in done.err + done.out
        cli("import", f"{name}.model", "--out", f"{name}.podium")
        assert cli("score", f"{name}.podium", folder / "judged.txt").out == (
            cli("score", folder / "trees.podium", folder / "judged.txt").out
        )


def test_reports_as_json(cli, folder, tmp_path):
    made = cli(
        "export", folder / "trees.podium", "--to", "elasticsearch", "--out", "a.json", "--data", folder / "judged.txt",
        "--name", "mine", "--json",
    ).json  # fmt: skip
    assert made["format"] == "elasticsearch"
    assert made["passed"] is True
    assert made["pairs"] == 20 * 10 * 9 // 2
    assert made["changed_orders"] == 0
    assert made["bytes"] == (tmp_path / "a.json").stat().st_size
    assert json.loads((tmp_path / "a.json").read_text())["model"]["name"] == "mine"
    made = cli("import", FOREIGN / "lightgbm-nan.txt", "--out", "a.podium", "--json").json
    (note,) = made.pop("notes")
    assert made == {"file": "a.podium", "source": "lightgbm", "trees": 5, "features": 4, "outputs": 1}
    assert note.startswith("scores are the same for float32 values; lightgbm compares float64 values")


def test_import_says_where_scores_can_differ(cli):
    """Only LightGBM compares float64 values."""
    said = cli("import", FOREIGN / "lightgbm-nan.txt", "--out", "a.podium")
    assert "note: scores are the same for float32 values" in said.out + said.err
    for name in ("ranklib-lambdamart.txt", next(FOREIGN.glob("xgboost*.json")), next(FOREIGN.glob("catboost*.json"))):
        said = cli("import", FOREIGN / name, "--out", "b.podium")
        assert "float32" not in said.out + said.err


def test_definitions_of_features_come_from_a_file(cli, folder, tmp_path):
    (tmp_path / "features.json").write_text(json.dumps(["bm25(title)", "b", "c", "d"]))
    cli(
        "export", folder / "trees.podium", "--to", "vespa", "--out", "a.json", "--features", "features.json"
    )  # fmt: skip
    assert json.loads((tmp_path / "a.json").read_text())["feature_names"][:2] == ["bm25(title)", "attribute(b)"]


def test_imported_models_go_through_the_other_commands(cli, folder):
    cli("import", FOREIGN / "ranklib-lambdamart.txt", "--out", "a.podium", "--features", 4)
    judged = folder / "judged.txt"
    assert 0 < cli("evaluate", "a.podium", judged, "--metric", "ndcg@5", "--json").json["metrics"]["ndcg@5"]["mean"] < 1
    assert cli("compare", judged, "a.podium", folder / "trees.podium", "--metric", "ndcg@5").out
    assert cli("explain", "a.podium", judged).out


def test_what_cannot_be_done_is_said_in_one_sentence(refused, folder, tmp_path):
    trees = folder / "trees.podium"
    assert "--to ranklib takes a missing value as 0" in refused("export", trees, "--to", "ranklib", "--out", "a.xml")
    assert "give --allow missing-as-zero" in refused("export", trees, "--to", "ranklib", "--out", "a.xml")
    assert "Did you mean 'lightgbm'" in refused("export", trees, "--to", "lightbgm", "--out", "a.txt")
    assert "unknown change 'all'" in refused("export", trees, "--to", "solr", "--out", "a.json", "--allow", "all")
    said = refused("export", folder / "linear.podium", "--to", "xgboost", "--out", "a.json")
    assert "holds trees, and the model is of the kind linear; use --to elasticsearch" in said
    assert "is not a model that can be imported" in refused("import", folder / "judged.txt", "--out", "a.podium")
    said = refused("import", FOREIGN / "ranklib-lambdamart.txt", "--out", "a.podium", "--features", 2)
    assert "--features 2 must be at least" in said
    shutil.copy(trees, tmp_path / "mine.podium")
    assert "Podium model" in refused("export", trees, "--to", "lightgbm", "--out", "mine.podium")
    (tmp_path / "bad.json").write_text("{")
    assert "is not JSON" in refused("export", trees, "--to", "solr", "--out", "a.json", "--features", "bad.json")
