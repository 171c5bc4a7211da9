"""`podium votes`: scores with standard errors from a file of votes."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.posteriors import bradley_terry, read_votes

VOTES = "qid\ta\tb\ta_wins\tb_wins\ncats\td1\td2\t3\t1\ncats\td2\td3\t2\t2\ndogs\td1\td9\t4\t1\n"


def test_scores_of_a_file(cli, tmp_path: Path) -> None:
    path = tmp_path / "votes.tsv"
    path.write_text(VOTES)
    result = bradley_terry(read_votes(path))
    assert cli("votes", path, "--json").json == result.to_dict()
    lines = cli("votes", path).out.splitlines()
    assert lines[0].startswith("13 votes of ")
    assert lines[3].split() == ["cats", "d1", f"{result.scores[0]:+.4f}", f"{result.standard_errors[0]:.4f}"]
    assert len(lines) == 3 + 5 + 1


def test_votes_that_determine_no_scores(cli, refused, tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("a,b,outcome\nx,y,a\n")
    assert "the votes are certain that {x} ranks above {y}" in refused("votes", path)
    shown = cli("votes", path, "--undetermined", "nan").out
    assert "x              –                –" in shown
    assert "log likelihood" not in shown
    scores = cli("votes", path, "--prior", "0.5", "--json").json["documents"]
    assert scores[0]["score"] == pytest.approx(1.0986122886681098 / 2)  # ln 3 apart


def test_advice_names_the_options_of_the_command(refused, tmp_path):
    (tmp_path / "v.csv").write_text("qid,a,b,outcome,when\n1,x,y,a,now\n")
    assert refused("votes", "v.csv").endswith("rename it, or leave it out with --ignore when")
    certain = refused("votes", "v.csv", "--ignore", "when")
    assert certain.endswith("a prior of 0.5 adds half a vote to each side; or give --undetermined nan to have NaN")


def test_scores_are_written_as_a_table(cli, tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("qid,a,b,outcome\n1,x,y,a\n1,x,y,b\n1,x,y,a\n2,x,z,a\n2,x,z,b\n")
    assert "wrote s.csv: 4 documents" in cli("votes", "v.csv", "--out", "s.csv").out
    rows = (tmp_path / "s.csv").read_text().splitlines()
    assert rows[0] == "query,document,score,standard_error"
    query, document, score, _ = rows[1].split(",")
    assert (query, document) == ("1", "x")
    assert float(score) == pytest.approx(0.6931471805599453 / 2)  # two votes to one: ln 2 apart
