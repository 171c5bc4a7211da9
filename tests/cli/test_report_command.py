"""podium report: one page from models and data, messages, and refusals that leave nothing behind."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import podium

pytest.importorskip("altair")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Write test data, two models, one of them with its log, and scores."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 200).astype(float)
    features = labels[:, None] * [1, 0.5] + rng.normal(0, 1, (200, 2))
    data = podium.RankingData(features, labels, np.repeat(np.arange(20), 10))
    train, test = data.select(np.arange(10)), data.select(np.arange(10, 20))
    podium.write(train, tmp_path / "train.txt")
    podium.write(test, tmp_path / "test.txt")
    podium.RankNet(epochs=2, num_threads=1).fit(train).save(tmp_path / "net.podium")
    podium.write(test.labels, tmp_path / "perfect.scores")
    return tmp_path


def test_a_report_on_a_trained_model(cli, files):
    cli("train", "train.txt", "--ranker", "lambdamart", "--n-estimators", 3, "--out", "model.podium", "--threads", 1)
    done = cli("report", "model.podium", "test.txt", "--out", "page.html")
    page = (files / "page.html").read_text()
    assert "model: ndcg@10 " in done.out
    assert re.search(r"^wrote page.html: [0-9.]+ MB in [0-9]+\.[0-9] s$", done.out, re.MULTILINE)
    assert "podium report model.podium test.txt --out page.html" in page
    assert "The metric during training: model." in page
    again = cli("report", "model.podium", "test.txt", "--out", "page.html")
    assert "page.html exists and will be replaced" in again.err
    assert (files / "page.html").read_text() == page


def test_several_models_have_names_and_json_tells_everything(cli, files):
    done = cli("report", "net.podium", "best=perfect.scores", "test.txt", "-m", "map", "--json", "--out", "two.html")
    told = done.json
    assert told["file"] == "two.html"
    assert told["bytes"] == (files / "two.html").stat().st_size
    assert told["seconds"] > 0
    assert told["models"] == {"net": "net.podium", "best": "perfect.scores"}
    assert told["metrics"]["best"] == {"map": 1.0}
    (comparison,) = told["comparisons"]
    assert [comparison["pairs"][0][name] for name in ("first", "second", "wins")] == ["net", "best", 0]


def test_what_cannot_be_reported_is_refused_in_one_sentence(refused, files):
    assert refused("report", "test.txt", "test.txt") == (
        "test.txt: is judged data (LETOR text), not a model; name the models first and the data last"
    )
    assert "is read and would be written over" in refused("report", "net.podium", "test.txt", "--out", "test.txt")
    assert "is the name of two models" in refused("report", "a=net.podium", "a=net.podium", "test.txt")
    assert "no such file" in refused("report", "none.podium", "test.txt")
    assert "ndcg@10" in refused("report", "net.podium", "test.txt", "-m", "ndcg10")
    (files / "short.scores").write_text("1\n2\n")
    assert "has scores of shape (2,), but the data has 100 documents" in refused("report", "short.scores", "test.txt")
