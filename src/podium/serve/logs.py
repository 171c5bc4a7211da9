"""Structured logs: one JSON object per line on standard error. Bodies, addresses and keys are never part of them."""

from __future__ import annotations

import contextlib
import logging
import os
import traceback
from datetime import UTC, datetime

import msgspec

STANDARD_ERROR = 2


def write_log(level: str, event: str, **fields: object) -> None:
    """Write one line. A line is written at once, so that lines of several workers never mix."""
    time = datetime.now(UTC).isoformat(timespec="milliseconds")
    line = msgspec.json.encode({"time": time, "level": level, "event": event, "worker": os.getpid(), **fields})
    with contextlib.suppress(OSError):  # if nobody reads the log any more, requests are still answered
        os.write(STANDARD_ERROR, line + b"\n")


def describe_error(error: BaseException) -> dict[str, object]:
    """Return the type of an error and where it was raised. Its message may quote a request, so it is left out."""
    frames = traceback.extract_tb(error.__traceback__)
    return {"type": type(error).__name__, "at": [f"{frame.filename}:{frame.lineno}" for frame in frames[-5:]]}


class JsonHandler(logging.Handler):
    """Writes the records of uvicorn and other libraries in the same form."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        fields: dict[str, object] = (
            {} if not record.exc_info or not record.exc_info[1] else describe_error(record.exc_info[1])
        )
        write_log(record.levelname.lower(), "server", message=record.getMessage().strip(), **fields)


LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"json": {"class": "podium.serve.logs.JsonHandler"}},
    "loggers": {
        name: {"handlers": ["json"], "level": "INFO", "propagate": False} for name in ("uvicorn", "uvicorn.error")
    },
}
