"""The command line as a user meets it: a process, its two outputs and its exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Cli:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *words: object, code: int = 0) -> Outcome:
        command = [sys.executable, "-W", "error", "-c", "from podium.cli import main; main()", *map(str, words)]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return Outcome(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)
