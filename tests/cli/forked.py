"""A command as a process of its own, forked from one that has everything imported: starting costs next to nothing."""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import warnings
from multiprocessing.process import BaseProcess
from pathlib import Path

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    ["podium.cli.app", "podium.rankers.pairs", "podium.rankers.svm", "podium.rankers.search"]
)


def start(folder: Path, *words: object) -> BaseProcess:
    """The process of `podium WORDS…` in this folder; what it prints goes to the file `printed`."""
    return _start(folder, words, Path("printed"), Path("printed"))


def run(folder: Path, *words: object) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of `podium WORDS…` in this folder; a warning that the command does not show is an error."""
    with tempfile.TemporaryDirectory() as name:
        out, err = Path(name) / "out", Path(name) / "err"
        process = _start(folder, words, out, err, strict=True)
        process.join(120)
        assert process.exitcode is not None, f"podium {words} takes too long"
        return process.exitcode, out.read_text(), err.read_text()


def _start(folder: Path, words: tuple[object, ...], out: Path, err: Path, *, strict: bool = False) -> BaseProcess:
    process = CONTEXT.Process(target=_run, args=(folder, [str(word) for word in words], out, err, strict))
    process.start()
    return process


def _run(folder: Path, words: list[str], out: Path, err: Path, strict: bool) -> None:
    from podium.cli import main

    os.chdir(folder)
    for number, path in ((1, out), (2, err)):
        with path.open("ab") as file:
            os.dup2(file.fileno(), number)
    if strict:
        warnings.simplefilter("error")
    sys.argv = ["podium", *words]
    main()
