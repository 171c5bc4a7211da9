"""Runs the examples of the pages and writes what they print below them.

    python docs/examples.py                # `make docs` does it

A page is run from top to bottom in an empty folder: Python blocks share their names, and the lines of `sh` blocks that
begin with `podium` are run as commands. A `text` block that follows directly holds what the block before it printed on
standard output, so only examples whose output is the same each time have one.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGES = (
    ROOT / "README.md",
    *(ROOT / "docs" / f"{name}.md" for name in ("index", "ship", "export", "format")),
    *ROOT.glob("docs/start/*.md"),
)
BLOCK = re.compile(
    r"^```(?P<kind>python|sh)\n(?P<code>.*?)^```\n(?P<shown>\n```text\n.*?^```\n)?", re.DOTALL | re.MULTILINE
)
Run = Callable[[list[str]], str]
"""Runs a podium command in the current folder and returns what it prints on standard output."""


def as_process(words: list[str]) -> str:
    """Run a podium command as a process of its own."""
    program = "from podium.cli import main; main()"
    environment = {**os.environ, "COLUMNS": "80"}
    command = [sys.executable, "-c", program, *words]
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout


def with_outputs(text: str, run: Run = as_process) -> str:
    """Return the page with the output of each example that shows one."""
    names: dict[str, Any] = {}

    def filled(block: re.Match[str]) -> str:
        printed = run_python(block["code"], names) if block["kind"] == "python" else run_commands(block["code"], run)
        source = f"```{block['kind']}\n{block['code']}```\n"
        return f"{source}\n```text\n{printed}```\n" if block["shown"] else source

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return BLOCK.sub(filled, text)


def run_python(code: str, names: dict[str, Any]) -> str:
    """Run a block of Python and return what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    return trimmed(printed.getvalue())


def run_commands(code: str, run: Run) -> str:
    """Run the podium commands of a block and return what they print."""
    commands = [shlex.split(line, comments=True) for line in code.replace("\\\n", " ").splitlines()]
    return trimmed("".join(run(words[1:]) for words in commands if words[:1] == ["podium"]))


def trimmed(printed: str) -> str:
    """Return the text without blanks at the ends of its lines."""
    return "".join(f"{line.rstrip()}\n" for line in printed.splitlines())


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(with_outputs(page.read_text()))
