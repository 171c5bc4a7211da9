"""The pages on metrics and evaluation: examples run and print what is shown, and tables are made from the definitions."""

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


def test_tables_are_made_from_the_definitions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    import reference

    text = (DOCS / "metrics.md").read_text()
    assert reference.metrics_page(text) == text
    assert all(f"| `{name}" in text for name in METRICS)
