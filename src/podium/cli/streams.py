"""Standard output and standard error that never end the work: a training goes on if nobody listens any more."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import IO, Any, TextIO


def open_streams() -> None:
    """Replace standard output and error by streams that survive a reader who leaves, and open what is closed.

    A closed stream is opened on /dev/null: otherwise the next file that the command opens would get its number, and
    messages would be printed into it.
    """
    for number in (0, 1, 2):
        _open_if_closed(number)
    sys.stdout = _surviving(sys.stdout, 1)
    sys.stderr = _surviving(sys.stderr, 2)


def _open_if_closed(number: int) -> None:
    try:
        os.fstat(number)
    except OSError:
        descriptor = os.open(os.devnull, os.O_RDWR)
        if descriptor != number:
            os.dup2(descriptor, number)
            os.close(descriptor)


def _surviving(stream: TextIO | None, number: int) -> TextIO:
    """Return a stream on the same descriptor; a stream that is something else, as in tests, stays what it is."""
    if stream is not None:
        buffer = getattr(stream, "buffer", None)
        raw = getattr(buffer, "raw", buffer)  # under `python -u` there is no buffer
        if not isinstance(raw, io.FileIO) or isinstance(raw, _Descriptor) or raw.fileno() != number:
            return stream
        with contextlib.suppress(OSError):
            stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Descriptor(number)),
        encoding=getattr(stream, "encoding", None) or "utf-8",
        errors="replace",  # a terminal that lacks a sign shows a question mark
        line_buffering=number == 2 or os.isatty(number) or getattr(stream, "write_through", False),
    )


def silence(stream: IO[Any]) -> None:
    """Let a stream lead to /dev/null."""
    descriptor = os.open(os.devnull, os.O_WRONLY)
    os.dup2(descriptor, stream.fileno())
    os.close(descriptor)


class _Descriptor(io.FileIO):
    """A descriptor to write to until its reader leaves; from then on it leads to /dev/null.

    Nothing that goes wrong with standard error is worth the work of the command, so that every failure counts as a reader
    who left; of standard output only a closed pipe does, and a full disk, say, is an error.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number, "w", closefd=False)

    def write(self, data: Any) -> int:
        """Write, or pretend to if nobody reads."""
        try:
            return super().write(data)
        except OSError as error:
            if self.fileno() != 2 and not isinstance(error, BrokenPipeError):
                error.filename = "standard output"
                raise
        silence(self)
        return len(memoryview(data).cast("B"))
