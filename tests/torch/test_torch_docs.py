"""The examples of the page on PyTorch run."""

from __future__ import annotations

import re
from pathlib import Path


def test_examples_run() -> None:
    page = Path(__file__).parents[2] / "docs" / "torch.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    assert len(blocks) == 2
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)
