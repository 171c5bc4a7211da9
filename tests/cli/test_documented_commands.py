"""The commands that the pages show run as they stand, and the table of rankers is the program's own."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import forked
import pytest

import podium

DOCS = Path(__file__).parents[2] / "docs"


PAGES = ["classics.md", "explaining.md", "structrank.md", "training.md", "trees.md", "tuning.md"]


@pytest.mark.parametrize("page", PAGES)
def test_commands_run(page, tmp_path):
    data = podium.synthetic.network(queries=20, documents=8, features=5, levels=5)
    for name, part in zip(("train", "vali", "test"), podium.split(data, (0.5, 0.3, 0.2)), strict=True):
        podium.write(part, tmp_path / f"{name}.txt")
    blocks = re.findall(r"```sh\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    commands = [line for block in blocks for line in block.splitlines()]
    assert commands
    for line in commands:
        name, *words = shlex.split(line, comments=True)
        assert name == "podium"
        process = forked.start(tmp_path, *words)
        process.join(forked.HANGS)
        assert process.exitcode == 0, f"{line}\n{(tmp_path / 'printed').read_text()}"
