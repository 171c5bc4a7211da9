"""How Ctrl-C and SIGTERM stop a command."""

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


class Stopped(Exception):  # noqa: N818  (it is not an error)
    """A command was stopped. The sentence says what it left behind.

    The exit code is 130 after Ctrl-C and 143 after SIGTERM, unless another one is given.
    """

    def __init__(self, sentence: str, code: int | None = None) -> None:
        super().__init__(sentence)
        self.code = code


class Stoppable:
    """A context in which SIGTERM raises KeyboardInterrupt, as Ctrl-C does.

    An exception that a signal raises is lost if Python ignores exceptions at that moment, for example in a finalizer. The context
    can therefore be used as a callback of training, and raises KeyboardInterrupt again at the end of an epoch. A signal that
    was ignored when the process started stays ignored.

    Attributes:
        code: the exit code for the signal that was received.
        asked: whether a signal was received.
    """

    def __enter__(self) -> Stoppable:
        self.code, self.asked = 128 + signal.SIGINT, False
        self._before = _install(self._stop)
        return self

    def _stop(self, number: int, frame: FrameType | None) -> NoReturn:
        self.code, self.asked = 128 + number, True
        raise KeyboardInterrupt

    def __call__(self, row: object) -> None:
        """Raise KeyboardInterrupt if a signal was received."""
        if self.asked:
            raise KeyboardInterrupt

    def finish(self) -> None:
        """Ignore signals until the process ends, so that a model that is being written is finished and reported."""
        for number in self._before:
            signal.signal(number, signal.SIG_IGN)

    def __exit__(self, *raised: object) -> None:
        for number, handler in self._before.items():
            if signal.getsignal(number) == self._stop:
                signal.signal(number, handler)


def _install(handler: Any) -> dict[signal.Signals, Any]:
    """Set a handler for every signal that is not ignored, and return the previous handlers."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread can set handlers
        return {}
    before = {number: signal.getsignal(number) for number in SIGNALS}
    kept = {number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    for number in kept:
        signal.signal(number, handler)
    return kept


@contextlib.contextmanager
def exit_on_signals() -> Iterator[None]:
    """A context in which a signal ends the process at once, with a message instead of a traceback. It is used for imports."""
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
