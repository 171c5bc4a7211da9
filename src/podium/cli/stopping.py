"""Stopping a command that has something to keep: Ctrl-C, and SIGTERM in the same way."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any, NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopped(Exception):  # noqa: N818  (it is no error of the program)
    """A command was stopped; the sentence says what it left. Exit code 130 after Ctrl-C, 143 after SIGTERM."""

    def __init__(self, sentence: str, code: int = 128 + signal.SIGINT) -> None:
        super().__init__(sentence)
        self.code = code


class Stoppable:
    """While it lasts, SIGTERM raises KeyboardInterrupt as Ctrl-C does.

    `code` is the exit code for the signal that came; after `finish` signals go unheard until the process ends, so that
    nothing cuts short the writing of a model or denies that it was written.
    """

    def __enter__(self) -> Stoppable:
        self.code = 128 + signal.SIGINT
        self._before: dict[signal.Signals, Any] = {}
        if threading.current_thread() is threading.main_thread():  # elsewhere Python sets no handlers
            self._before = {number: signal.getsignal(number) for number in SIGNALS}
            signal.signal(signal.SIGTERM, self._terminate)
        return self

    def _terminate(self, number: int, frame: FrameType | None) -> NoReturn:
        self.code = 128 + number
        raise KeyboardInterrupt

    def finish(self) -> None:
        """From here on no signal is heard."""
        for number in self._before:
            signal.signal(number, signal.SIG_IGN)
        self._before = {}

    def __exit__(self, *raised: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
