"""Interrupts at chosen points of a program instead of chosen moments: at the n-th line of Podium's own Python code.

A signal is heard between two lines of Python, so an interrupt at each of many lines stands for one at any moment, and it
comes at the same point on every machine, however busy that machine is.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import podium

PACKAGE = Path(podium.__file__).parent


def raises_interrupt() -> None:
    """Acts as Ctrl-C does where Python listens to it."""
    raise KeyboardInterrupt


def sends(number: signal.Signals) -> Callable[[], None]:
    """Sends this process a signal, which it hears at once: SIGKILL ends it, for others their handler is called."""
    return lambda: signal.raise_signal(number)


class Lines:
    """While it lasts, counts the lines of some of Podium's subpackages and modules that run, and acts at the n-th.

    Args:
        parts: subpackages ("training") and modules ("files.py") whose lines are counted.
        at: the number of the line, from 1, before which `act` is called. 0 counts only.
        act: what to do there; an exception that it raises comes out of that line.
    """

    def __init__(self, *parts: str, at: int = 0, act: Callable[[], None] = raises_interrupt) -> None:
        self.roots = tuple(str(PACKAGE / part) for part in parts)
        self.at, self.act, self.count = at, act, 0
        self._counted: dict[str, bool] = {}

    def __enter__(self) -> Lines:
        self._before = sys.gettrace()
        sys.settrace(self._call)
        return self

    def __exit__(self, *raised: object) -> None:
        sys.settrace(self._before)

    def _call(self, frame: FrameType, event: str, arg: Any) -> Any:
        name = frame.f_code.co_filename
        if name not in self._counted:
            self._counted[name] = name.startswith(self.roots)
        return self._line if self._counted[name] else None

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self.count += 1
            if self.count == self.at:
                self.act()
        return self._line

    @property
    def acted(self) -> bool:
        """Whether the line was reached."""
        return 0 < self.at <= self.count
