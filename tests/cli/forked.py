"""A command as a process of its own, forked from one that has everything imported: starting costs next to nothing."""

from __future__ import annotations

import multiprocessing
import os
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    ["podium.cli.app", "podium.rankers.pairs", "podium.rankers.svm", "podium.rankers.search"]
)


def start(folder: Path, *words: object) -> BaseProcess:
    """The process of `podium WORDS…` in this folder; what it prints goes to the file `printed`."""
    process = CONTEXT.Process(target=_run, args=(folder, [str(word) for word in words]))
    process.start()
    return process


def _run(folder: Path, words: list[str]) -> None:
    from podium.cli import main

    os.chdir(folder)
    with Path("printed").open("ab") as printed:
        os.dup2(printed.fileno(), 1)
        os.dup2(printed.fileno(), 2)
    sys.argv = ["podium", *words]
    main()
