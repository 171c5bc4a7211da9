"""Files are told apart by their content: DATA may stand anywhere, and models of other libraries are models."""

from __future__ import annotations

from pathlib import Path

import pytest

import podium


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Judged data, a model, the same model as LightGBM writes it, another model, and a file of scores."""
    data = podium.synthetic.polynomial(queries=12, documents=6, features=3, seed=1)
    podium.write(data, tmp_path / "test.txt")
    ranker = podium.LambdaMART(n_estimators=5, num_threads=1).fit(data)
    ranker.save(tmp_path / "m.podium")
    ranker.export(tmp_path / "lgb.txt", format="lightgbm")
    podium.RankSVM(num_threads=1).fit(data).save(tmp_path / "svm.podium")
    podium.write(ranker.predict(data), tmp_path / "m.scores")
    return tmp_path


@pytest.mark.parametrize(
    "words", [("lgb.txt", "test.txt"), ("test.txt", "lgb.txt"), ("test.txt", "m.podium"), ("test.txt", "m.scores")]
)
def test_evaluate_takes_models_of_others_and_any_order(cli, folder, words):
    wanted = cli("evaluate", "m.podium", "test.txt", "--json").json["metrics"]
    assert cli("evaluate", *words, "--json").json["metrics"] == wanted


@pytest.mark.parametrize(
    "words",
    [
        ("test.txt", "m.podium", "svm.podium"),
        ("m.podium", "svm.podium", "test.txt"),
        ("m.podium", "test.txt", "svm.podium"),
        ("m.scores", "test.txt", "svm.podium"),
    ],
    ids=" ".join,
)
def test_compare_keeps_the_order_of_the_rankings(cli, folder, words):
    found = cli("compare", *words, "--json")
    wanted = podium.compare(
        {"m": podium.load(folder / "m.podium"), "svm": podium.load(folder / "svm.podium")},
        podium.read(folder / "test.txt"),
        "ndcg@10",
    )
    assert list(found.json["rankings"]) == ["m", "svm"]
    assert found.json["pairs"][0]["difference"] == wanted.pairs[0].difference


def test_score_and_explain_take_models_of_others(cli, folder):
    wanted = cli("score", "m.podium", "test.txt").out
    assert cli("score", "test.txt", "lgb.txt").out == wanted
    assert "f0" in cli("explain", "lgb.txt").out


def test_report_takes_the_data_first(cli, folder):
    found = cli("report", "test.txt", "m.podium", "svm.podium", "--json").json
    assert list(found["models"]) == ["m", "svm"]
    assert found["data"] == "test.txt"


@pytest.mark.parametrize(
    "words",
    [
        ("importance", "lgb.txt"),
        ("tree", "lgb.txt"),
        ("scores", "test.txt", "lgb.txt"),
        ("beeswarm", "test.txt", "lgb.txt"),
        ("metric-at-k", "m.podium", "test.txt", "lgb.txt"),
        ("query-differences", "m.podium", "svm.podium", "test.txt"),
        ("calibration", "test.txt", "m.scores"),
    ],
    ids=" ".join,
)
def test_plots_take_models_of_others_and_any_order(cli, folder, words):
    cli("plot", *words, "--out", "chart.svg")
    assert (folder / "chart.svg").read_text().startswith("<svg")


def test_serve_says_how_to_import(refused, folder):
    assert refused("serve", "lgb.txt") == (
        "lgb.txt: is a LightGBM model, which is not a Podium model; podium import turns it into one"
    )


def test_two_files_of_data_are_not_exchanged(refused, folder):
    (folder / "other.txt").write_text((folder / "test.txt").read_text())
    assert "m.podium: is a Podium model, but data or scores are needed here" in refused(
        "compare", "m.podium", "test.txt", "other.txt"
    )


def test_a_net_is_told_the_options_of_importance(refused, folder):
    podium.RankNet(epochs=1, num_threads=1).fit(podium.read(folder / "test.txt")).save(folder / "net.podium")
    assert "give --kind permutation and judged data" in refused("plot", "importance", "net.podium")
