"""Draws the charts of the page docs/plots.md by running its examples.

    python docs/gallery.py                 # `make docs` does it

A picture that follows a block of Python is the block's `chart`. The examples read OHSUMED from the folder PODIUM_DATA; without it,
the stored pictures stay as they are.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from podium import plots

DOCS = Path(__file__).parent
PAGE = DOCS / "plots.md"
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(\n!\[[^\]]*\]\((?P<picture>[^)]*)\))?", re.DOTALL | re.MULTILINE)


def charts(text: str) -> Iterator[tuple[str, Any]]:
    """Run the examples of the page in the current folder, and yield the path of each picture with its chart."""
    names: dict[str, Any] = {}
    for block in BLOCK.finditer(text):
        exec(block["code"], names)
        if block["picture"]:
            yield block["picture"], names["chart"]


if __name__ == "__main__":
    data = os.environ.get("PODIUM_DATA")
    if not data or not (Path(data) / "ohsumed").is_dir():
        print(
            "docs/gallery.py: the stored charts are kept; set PODIUM_DATA to the folder that holds ohsumed to draw them again"
        )
        raise SystemExit
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Path("OHSUMED").symlink_to((Path(data) / "ohsumed").resolve())
        for picture, chart in charts(PAGE.read_text()):
            (DOCS / picture).parent.mkdir(exist_ok=True)
            plots.save(chart, DOCS / picture)
