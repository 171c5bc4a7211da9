"""Interrupts at chosen points of a program instead of chosen moments: at the n-th line of Podium's own Python code.

Python handles a signal between two lines, so interrupts at many lines represent interrupts at any moment, and they come at the
same points on every machine, however busy it is.
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
    """Act like Ctrl-C."""
    raise KeyboardInterrupt


def sends(number: signal.Signals) -> Callable[[], None]:
    """Return a function that sends this process a signal, which takes effect at once."""
    return lambda: signal.raise_signal(number)


class Lines:
    """Context that counts the lines that run in some of Podium's modules, and acts at the n-th of them.

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
