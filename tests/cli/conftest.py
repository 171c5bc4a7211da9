"""Runs the command line as a user does: a process with two output streams and an exit code."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import forked
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
        done = Outcome(*forked.run(self.folder, *words))
        assert done.code == code, done.out + done.err
        return done


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Run a command that must fail, in this process, and return the one sentence that it prints."""
    from podium.cli import main

    def run(*words: object) -> str:
        monkeypatch.setattr(sys, "argv", ["podium", *map(str, words)])
        monkeypatch.chdir(tmp_path)
        before = sorted(tmp_path.rglob("*"))
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as stop:
            main()
        assert stop.value.code == 2, out.getvalue() + err.getvalue()
        assert err.getvalue().startswith("podium: ")
        assert err.getvalue().count("\n") == 1
        assert not out.getvalue()
        assert sorted(tmp_path.rglob("*")) == before
        return err.getvalue().removeprefix("podium: ").removesuffix("\n")

    return run
