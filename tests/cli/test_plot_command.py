"""`podium plot`: every chart is written, its data is printed as JSON, and refusals name options."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import forked
import pytest

import podium


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make data and two models with their logs."""
    folder = tmp_path_factory.mktemp("made")
    data = podium.synthetic.network(queries=12, documents=8, features=4, seed=2)
    for name, part in zip(("train", "vali", "test"), podium.split(data, (0.5, 0.25, 0.25)), strict=True):
        podium.write(part, folder / f"{name}.txt")
    options = ["train.txt", "--valid", "vali.txt", "--threads", 1]
    for words in (
        ["lambdamart", "--n-estimators", 3, "--out", "trees.podium"],
        ["ranknet", "--epochs", 2, "--out", "net.podium"],
    ):
        code, out, err = forked.run(folder, "train", *options, "--ranker", *words)
        assert code == 0, out + err
    return folder


@pytest.fixture
def files(made, tmp_path):
    """Return a copy of these files in a folder of its own."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


CHARTS = {
    "learning-curve": ["trees.podium", "other=net.podium"],
    "importance": ["trees.podium", "--kind", "split"],
    "metric-at-k": ["test.txt", "trees.podium", "net.podium", "-k", 3],
    "query-differences": ["test.txt", "trees.podium", "net.podium"],
    "scores": ["net.podium", "test.txt", "--within-query"],
    "calibration": ["net.podium", "test.txt"],
    "waterfall": ["trees.podium", "test.txt", "--query", "QUERY", "--document", 1],
    "why": ["trees.podium", "test.txt", "--query", "QUERY", "--above", 1, "--below", 2],
    "beeswarm": ["trees.podium", "test.txt"],
    "dependence": ["net.podium", "test.txt", "--feature", "f1"],
    "tree": ["trees.podium", "--number", 2],
    "force-gap": ["ranknet", "hinge"],
    "force-field": ["lambdarank(ndcg@10)"],
}


def test_every_chart_is_written_and_its_data_printed(files, monkeypatch, capsys):
    from podium.cli.app import app, plots

    assert {command.name for command in plots.registered_commands} == set(CHARTS)
    monkeypatch.chdir(files)
    query = podium.read("test.txt").query_ids[0]
    for name, words in CHARTS.items():
        given = [str(query if word == "QUERY" else word) for word in words]
        app(["plot", name, *given, "--json"], standalone_mode=False)  # one process for all, which has imported Altair
        told = json.loads(capsys.readouterr().out)
        assert told["out"] == f"{name}.svg"
        assert told["data"], name
        texts = [each.text for each in ElementTree.parse(f"{name}.svg").iter("{http://www.w3.org/2000/svg}text")]
        assert told["title"] in texts


def test_curves_have_the_values_of_the_logs(cli, files):
    rows = cli("plot", "learning-curve", "trees.podium", "other=net.podium.log.jsonl", "--json").json["data"]
    for name, log in (("trees", "trees.podium.log.jsonl"), ("other", "net.podium.log.jsonl")):
        lines = [json.loads(line) for line in (files / log).read_text().splitlines()[1:]]
        mine = [row for row in rows if row["run"] == name]
        assert [row["value"] for row in mine if row["data"] == "valid"] == [line["valid"] for line in lines]
    assert "by round" in cli("plot", "learning-curve", "trees.podium").out


def test_other_formats_and_themes(cli, files):
    said = cli("plot", "tree", "trees.podium", "--out", "tree.png", "--theme", "dark").out
    assert said.splitlines()[-1] == "wrote tree.png"
    assert (files / "tree.png").read_bytes().startswith(b"\x89PNG")
    cli("plot", "importance", "net.podium", "test.txt", "--kind", "permutation", "--repeats", 1, "--out", "i.html")
    assert "vegaEmbed" in (files / "i.html").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tree", "net.podium"], "must be made of trees"),
        (["tree", "trees.podium", "--number", 0], "--number 0 must be a whole number from 1 to"),
        (["tree", "trees.podium", "--out", "tree.pdf"], "--out tree.pdf must end in .svg, .png or .html"),
        (["tree", "trees.podium", "--theme", "blue"], "unknown theme 'blue'"),
        (["importance", "trees.podium", "--kind", "permutation"], "--kind permutation needs judged data"),
        (["importance", "trees.podium", "test.txt"], "--kind gain takes no data"),
        (["importance", "net.podium"], "needs a model of trees"),
        (["query-differences", "test.txt", "trees.podium"], "two"),
        (["query-differences", "test.txt", "trees.podium", "net.podium", "x=net.podium"], "must name two files"),
        (["metric-at-k", "test.txt", "trees.podium", "--metric", "ndcg@5"], "--metric ndcg@5 has a cutoff"),
        (["learning-curve", "test.txt"], "is not a training log"),
        (
            ["dependence", "net.podium", "test.txt", "--feature", "price"],
            "--feature price is not one of the 4 features",
        ),
        (["waterfall", "trees.podium", "test.txt", "--document", 1], "--query is needed"),
        (["calibration", "net.podium", "test.txt", "--sigma", 0], "--sigma 0.0 must be a number above 0"),
        (["force-gap", "rank"], "unknown force"),
    ],
)
def test_refusals(refused, files, words, message):
    assert message in refused("plot", *words)


@pytest.mark.parametrize("words", [["plot", "force-gap", "ranknet"], ["laws", "ranknet", "--plot", "it.svg"]])
def test_without_the_extra_a_sentence_says_what_to_install(tmp_path, words):
    program = f"import sys; sys.modules['altair'] = None; sys.argv = ['podium', *{words!r}]; from podium.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "podium: altair is not installed; pip install 'podium[plots]'\n")
    assert list(tmp_path.iterdir()) == []


def test_the_calibration_of_a_model_has_the_sigma_of_its_force(cli, files):
    cli(
        "train", "train.txt", "--force", "ranknet(sigma=3)", "--model", "linear", "--epochs", 1, "--out", "steep.podium"
    )
    own = cli("plot", "calibration", "steep.podium", "test.txt", "--json").json["data"]
    assert own == cli("plot", "calibration", "steep.podium", "test.txt", "--sigma", 3, "--json").json["data"]
    assert own != cli("plot", "calibration", "steep.podium", "test.txt", "--sigma", 1, "--json").json["data"]
