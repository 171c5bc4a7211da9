"""The examples of the README and of the first pages run in an empty folder and print what the pages show."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import forked
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import examples  # noqa: E402


def run(words: list[str]) -> str:
    code, printed, told = forked.run(Path.cwd(), *words)
    assert code == 0, told
    return printed


@pytest.mark.parametrize("page", examples.PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_outputs_are_what_the_examples_print(page: Path) -> None:
    text = page.read_text()
    assert "```text\n" in text
    with warnings.catch_warnings():
        if page.name == "README.md":  # a first example shall not be told that it could be better
            warnings.simplefilter("error")
        assert examples.with_outputs(text, run) == text


def test_an_output_that_is_out_of_date_is_replaced() -> None:
    page = "Look:\n\n```python\nn = 2\nprint(n + 1)\n```\n\n```text\n4\n```\n\n```python\nprint(n)\n```\n"
    assert examples.with_outputs(page) == page.replace("\n4\n", "\n3\n")
    commands = "```sh\npip install .\npodium score a b   # a comment\npodium \\\n  laws c\n```\n\n```text\n```\n"
    assert examples.with_outputs(commands, lambda words: f"{words}\n") == commands.replace(
        "text\n", "text\n['score', 'a', 'b']\n['laws', 'c']\n"
    )
