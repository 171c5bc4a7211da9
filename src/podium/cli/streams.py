"""Standard output and standard error that never end the work: training continues after their reader is gone."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import IO, Any, TextIO


def open_streams() -> None:
    """Replace standard output and error by streams that survive the end of their reader, and open closed ones.

    A closed stream is opened on /dev/null. Otherwise the next file that the command opens would get its descriptor, and
    messages would be written to that file.
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
    """Return a stream on the same descriptor. A stream of another kind, as in tests, is returned as it is."""
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
        errors="replace",  # a character that the terminal lacks becomes a question mark
        line_buffering=number == 2 or os.isatty(number) or getattr(stream, "write_through", False),
    )


def silence(stream: IO[Any]) -> None:
    """Redirect a stream to /dev/null."""
    descriptor = os.open(os.devnull, os.O_WRONLY)
    os.dup2(descriptor, stream.fileno())
    os.close(descriptor)


class _Descriptor(io.FileIO):
    """A descriptor that is redirected to /dev/null when its reader is gone.

    No failure of standard error should end the command, so every failure counts as the end of the reader. For standard output
    only a closed pipe does; a full disk, for example, is an error.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number, "w", closefd=False)

    def write(self, data: Any) -> int:
        """Write, or discard the data if the reader is gone."""
        try:
            return super().write(data)
        except OSError as error:
            if self.fileno() != 2 and not isinstance(error, BrokenPipeError):
                error.filename = "standard output"
                raise
        silence(self)
        return len(memoryview(data).cast("B"))
