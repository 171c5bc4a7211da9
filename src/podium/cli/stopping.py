"""Stopping a command: Ctrl-C, and SIGTERM in the same way."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any, NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM)
NOTHING_WRITTEN = "interrupted; no output was written"


class Stopped(Exception):  # noqa: N818  (it is no error of the program)
    """A command was stopped; the sentence says what it left.

    The exit code is 130 after Ctrl-C and 143 after SIGTERM, unless another one is given.
    """

    def __init__(self, sentence: str, code: int | None = None) -> None:
        super().__init__(sentence)
        self.code = code


class Stoppable:
    """While it lasts, SIGTERM raises KeyboardInterrupt as Ctrl-C does; as a callback of training it raises it once more.

    An exception that a signal raises is lost where Python ignores exceptions, for example in a finalizer; the callback
    sees to it that the stop is heard at the end of the epoch. A signal that the process was started to ignore stays
    ignored.

    Attributes:
        code: exit code for the signal that came.
        asked: whether a signal came.
    """

    def __enter__(self) -> Stoppable:
        self.code, self.asked = 128 + signal.SIGINT, False
        self._before = _install(self._stop)
        return self

    def _stop(self, number: int, frame: FrameType | None) -> NoReturn:
        self.code, self.asked = 128 + number, True
        raise KeyboardInterrupt

    def __call__(self, row: object) -> None:
        """Stop at the end of an epoch, if a signal came."""
        if self.asked:
            raise KeyboardInterrupt

    def finish(self) -> None:
        """Ignore signals until the process ends, so that nothing cuts short the writing of a model or denies it."""
        for number in self._before:
            signal.signal(number, signal.SIG_IGN)

    def __exit__(self, *raised: object) -> None:
        for number, handler in self._before.items():
            if signal.getsignal(number) == self._stop:
                signal.signal(number, handler)


def _install(handler: Any) -> dict[signal.Signals, Any]:
    """Set a handler for every signal that is not ignored, and return those of before."""
    if threading.current_thread() is not threading.main_thread():  # elsewhere Python sets no handlers
        return {}
    before = {number: signal.getsignal(number) for number in SIGNALS}
    kept = {number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    for number in kept:
        signal.signal(number, handler)
    return kept


@contextlib.contextmanager
def exit_on_signals() -> Iterator[None]:
    """End the process at once if a signal comes, with a sentence and without a traceback: for imports, which own nothing."""
    before = _install(_exit)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _exit(number: int, frame: FrameType | None) -> NoReturn:
    with contextlib.suppress(OSError):
        os.write(2, f"podium: {NOTHING_WRITTEN}\n".encode())
    os._exit(128 + number)
