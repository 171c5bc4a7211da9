"""Runs a command in a process of its own, forked from one that has imported everything, so that it starts quickly."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import tempfile
import warnings
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

from interrupting import Lines, sends

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    [
        "podium.cli.app",
        "podium.rankers.pairs",
        "podium.rankers.svm",
        "podium.rankers.trees",
        "podium.rankers.tuning.study",
    ]
)
HANGS = 1800  # seconds; a command that takes longer hangs, even on a busy machine


@dataclass(frozen=True)
class Stop:
    """Send the process a signal at the n-th line of some of Podium's modules; 0 counts the lines into the file `lines`."""

    parts: tuple[str, ...]
    line: int = 0
    number: signal.Signals = signal.SIGINT


def start(folder: Path, *words: object) -> BaseProcess:
    """Start `podium WORDS…` in this folder; its output goes to the file `printed`."""
    return _start(folder, words, Path("printed"), Path("printed"))


def run(folder: Path, *words: object, stop: Stop | None = None) -> tuple[int, str, str]:
    """Return exit code, stdout and stderr of `podium WORDS…` in this folder; an unexpected warning is an error."""
    with tempfile.TemporaryDirectory() as name:
        out, err = Path(name) / "out", Path(name) / "err"
        process = _start(folder, words, out, err, strict=True, stop=stop)
        process.join(HANGS)
        assert process.exitcode is not None, f"podium {words} hangs"
        return process.exitcode, out.read_text(), err.read_text()


def count_lines(folder: Path, *words: object, parts: tuple[str, ...]) -> int:
    """Return how many lines of these modules `podium WORDS…` runs; the command must succeed."""
    code, out, err = run(folder, *words, stop=Stop(parts))
    assert code == 0, out + err
    counted = folder / "lines"
    lines = int(counted.read_text())
    counted.unlink()
    return lines


def _start(
    folder: Path, words: tuple[object, ...], out: Path, err: Path, *, strict: bool = False, stop: Stop | None = None
) -> BaseProcess:
    process = CONTEXT.Process(target=_run, args=(folder, [str(word) for word in words], out, err, strict, stop))
    process.start()
    return process


def _run(folder: Path, words: list[str], out: Path, err: Path, strict: bool, stop: Stop | None) -> None:
    from podium.cli import main

    os.chdir(folder)
    for number, path in ((1, out), (2, err)):
        with path.open("ab") as file:
            os.dup2(file.fileno(), number)
    if strict:
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="the best (epoch|round) on the validation data")
    sys.argv = ["podium", *words]
    with contextlib.nullcontext() if stop is None else _stopping(stop):
        main()


@contextlib.contextmanager
def _stopping(stop: Stop):
    with Lines(*stop.parts, at=stop.line, act=sends(stop.number)) as lines:
        try:
            yield
        finally:
            if stop.line == 0:
                Path("lines").write_text(str(lines.count))
