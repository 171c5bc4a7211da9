"""Every command that the page of the source documents names runs, in a folder with the files that it needs."""

from __future__ import annotations

import shlex
from pathlib import Path

import forked
import numpy as np
import pytest

import podium
from podium.papers.sections import SECTIONS

VOTES = "qid\ta\tb\ta_wins\tb_wins\ncats\td1\td2\t3\t1\ncats\td2\td3\t2\t2\n"


@pytest.mark.parametrize("letter", SECTIONS)
def test_commands_run(letter: str, tmp_path: Path) -> None:
    data = podium.synthetic.network(queries=30, documents=8, features=5, levels=5)
    data = data.replace(features=data.features + 1)  # counts, of which logs can be taken
    for name, part in zip(("train", "vali", "test"), podium.split(data, (0.5, 0.3, 0.2)), strict=True):
        podium.write(part, tmp_path / f"{name}.txt")
    train = podium.read(tmp_path / "train.txt")
    for number, name in enumerate(("baseline", "other")):
        podium.write(np.random.default_rng(number).normal(size=len(train)), tmp_path / f"{name}.scores")
    (tmp_path / "votes.tsv").write_text(VOTES)
    commands = [place.text for topic in SECTIONS[letter] for place in topic.places if place.kind == "command"]
    assert commands
    for text in commands:
        name, *words = shlex.split(text)
        assert name == "podium"
        code, out, err = forked.run(tmp_path, *words)
        assert code == 0, f"{text}\n{out}{err}"
