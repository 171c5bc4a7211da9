"""The pages on metrics and evaluation: their examples run and print what they say, their table is the table."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from podium.metrics import METRICS

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("page", ["metrics.md", "evaluation.md"])
def test_examples(page: str) -> None:
    text = (DOCS / page).read_text().replace("```", "")
    example = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    assert example.examples
    report: list[str] = []
    assert doctest.DocTestRunner().run(example, out=report.append).failed == 0, "".join(report)


def test_table_of_metrics() -> None:
    expected = ["| metric | definition | formula | parameters | source |", "|---|---|---|---|---|"]
    for definition in METRICS.values():
        name = definition.name + ("@k" if definition.takes_cutoff else "")
        parameters = ", ".join(f"`{parameter.name}`" for parameter in definition.parameters)
        cells = (f"`{name}`", definition.summary, definition.formula.replace("|", r"\|"), parameters, definition.source)
        expected.append(f"| {' | '.join(cells)} |")
    text = (DOCS / "metrics.md").read_text()
    found = text.split("<!-- metrics table: begin -->")[1].split("<!-- metrics table: end -->")[0]
    assert found.strip().splitlines() == expected
