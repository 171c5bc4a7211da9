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
    """While it lasts, SIGTERM raises KeyboardInterrupt as Ctrl-C does; as a callback of training it raises it once more.

    An exception that a signal raises is lost where Python ignores exceptions, in a finalizer say; the callback sees to it
    that the stop is heard at the end of the epoch. `code` is the exit code for the signal that came; after `finish` signals go unheard until the process ends, so that
    nothing cuts short the writing of a model or denies that it was written.
    """

    def __enter__(self) -> Stoppable:
        self.code, self.asked = 128 + signal.SIGINT, False
        self._before: dict[signal.Signals, Any] = {}
        if threading.current_thread() is threading.main_thread():  # elsewhere Python sets no handlers
            self._before = {number: signal.getsignal(number) for number in SIGNALS}
            signal.signal(signal.SIGTERM, self._stop)
            if self._before[signal.SIGINT] is signal.default_int_handler:  # and not where Ctrl-C is to be ignored
                signal.signal(signal.SIGINT, self._stop)
        return self

    def _stop(self, number: int, frame: FrameType | None) -> NoReturn:
        self.code, self.asked = 128 + number, True
        raise KeyboardInterrupt

    def __call__(self, row: object) -> None:
        """Stops at the end of an epoch, if asked to."""
        if self.asked:
            raise KeyboardInterrupt

    def finish(self) -> None:
        """From here on no signal is heard."""
        for number in self._before:
            signal.signal(number, signal.SIG_IGN)
        self._before = {}

    def __exit__(self, *raised: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
