"""`podium laws`: text, JSON, a plot, and a custom function."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

MINE = """
import numpy as np


def lifts(scores, labels):
    up = (labels[:, None] > labels[None, :]) / (1 + np.exp(scores[:, None] - scores[None, :]))
    return up.sum(axis=1), np.ones(len(scores))


def chases(scores, labels):
    pull = labels[:, None] * scores[None, :] - labels[None, :] * scores[:, None]
    return pull.sum(axis=1), np.ones(len(scores))


def fails(scores, labels):
    raise ArithmeticError("my own words")
"""


@pytest.fixture
def mine(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)


def test_text(cli):
    said = cli("laws", "ranknet", "--draws", 20).out
    assert said.count("holds ") == 6
    assert "BROKEN" not in said
    assert "α = 0" in said
    said = cli("laws", "squared", "--draws", 20, "--seed", 3).out
    assert "BROKEN  momentum" in said
    assert "For example labels" in said


def test_custom_functions_of_the_current_folder(cli, mine):
    said = " ".join(cli("laws", "mine:lifts", "--draws", 20).out.split())
    assert "BROKEN momentum" in said
    assert "they add up to" in said
    said = " ".join(cli("laws", "mine:chases", "--draws", 20).out.split())
    assert "holds momentum" in said
    assert "BROKEN conservative" in said
    assert "∂λ_1/∂s_2 =" in said
    assert "there is no module 'yours'" in cli("laws", "yours:lifts", code=2).err
    assert "did you mean mine:lifts?" in cli("laws", "mine:lift", code=2).err


def test_the_users_own_exception_is_shown(cli, mine):
    said = cli("laws", "mine:fails", code=1).err
    assert "in fails" in said
    assert "ArithmeticError: my own words" in said
    assert "In the force of mine:fails, on a query with" in said
    assert len(said.splitlines()) <= 5  # and none of Podium's


def test_json(cli):
    held = cli("laws", "lambdarank(ndcg@10)", "--json", "--draws", 30, "--at", "0.5,0.2,-1:0,2,1").json
    assert held["force"] == "lambdarank(ndcg@10)"
    assert held["metric"] == "ndcg@10"
    assert held["lists"] == 31
    assert "conservative" in held["broken"]
    assert held["laws"]["momentum"]["holds"] is True
    assert len(held["laws"]["conservative"]["counterexample"]["labels"]) >= 3
    assert cli("laws", "ranknet", "-m", "map", "--json", "--draws", 5).json["metric"] == "map"


def test_plot(cli, tmp_path):
    assert "wrote it.svg" in cli("laws", "ranknet", "--draws", 5, "--plot", "it.svg", "--beside", "hinge").out
    root = ElementTree.parse(tmp_path / "it.svg").getroot()
    texts = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"ranknet", "hinge", "The field of ranknet"} <= texts


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ranknt"], "Did you mean 'ranknet'"),
        (["ranknet", "--at", "1,2"], "must have the form SCORES:LABELS"),
        (["ranknet", "--at", "1,2:0"], "one of each per document"),
        (["ranknet", "--draws", "0"], "--draws 0"),
        (["mine"], "mine names a module, not a function in it; write it as in mine:function"),
        (["broken:push"], "ZeroDivisionError"),
        (["ranknet", "--beside", "hinge"], "--plot FILE.svg"),
        (["ranknet", "--draws", "5", "--plot", "nowhere/it.svg"], "there is no folder"),
        (["multiclass", "--draws", "5", "--plot", "it.svg"], "several scores per document"),
    ],
)
def test_refusals(cli, mine, words, message):
    (cli.folder / "broken.py").write_text("1 / 0")
    assert message in cli("laws", *words, code=1 if "broken:push" in words else 2).err
