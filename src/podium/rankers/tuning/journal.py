"""The file of a study: Optuna's journal of JSON lines, written by one process at a time.

Optuna's own file backend guards each line by a lock file next to the journal, which a killed process leaves behind; this one
locks the journal itself for as long as the search lasts, so that the system gives the lock up, whatever ends the process. It also
recovers from a line that was cut short, and it can hold a new study back until there is something worth replacing an old one.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from optuna.storages.journal import BaseJournalBackend

from podium.errors import FormatError, OutputError
from podium.files import Output, atomic_write, check_outputs
from podium.kinds import kind_of

DAMAGED = "is not a study of podium tune, or is damaged; remove the file, or give another name"


class Journal(BaseJournalBackend):
    """Every operation on a study, in the order in which they happened.

    Args:
        path: the file, which is resumed from if it exists. None keeps everything in memory.
        fresh: ignore an existing study. The file is replaced when `release` is called, and stays as it is until then.
    """

    def __init__(self, path: Path | None, *, fresh: bool = False) -> None:
        self.path = path
        self._entries: list[dict[str, Any]] = []
        self._file: IO[bytes] | None = None
        if path is not None and path.exists() and not (path.is_file() or path.is_dir()):
            raise OutputError(f"{path}: is a pipe or a device; give the name of a file")
        exists = path is not None and path.is_file() and path.stat().st_size > 0
        self._held = fresh and exists
        if path is not None and (fresh or not exists):
            check_outputs([Output(path, "study")])
        elif path is not None:
            self._resume(path)

    def _resume(self, path: Path) -> None:
        """Read the entries of an existing file; an entry that was cut short, as by a full disk, is dropped."""
        if kind_of(path) != "study":
            raise FormatError(path, DAMAGED)
        self._file = _open_locked(path)
        try:
            raw = self._file.read()
            whole = raw[: raw.rfind(b"\n") + 1]
            self._entries = [_entry(path, number, line) for number, line in enumerate(whole.splitlines(), 1)]
            if len(whole) < len(raw):
                self._file.truncate(len(whole))
            self._file.seek(0, os.SEEK_END)
        except BaseException:
            self.close()
            raise

    def restart(self) -> None:
        """Forget what the file holds, so that the next entry replaces it."""
        self.close()
        self._entries = []

    def read_logs(self, log_number_from: int) -> Sequence[dict[str, Any]]:
        """Return the entries from a number on."""
        return self._entries[log_number_from:]

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Add entries, and return when the disk has them. Values of single rounds may still be on their way to it."""
        lines = [json.dumps(entry, ensure_ascii=False).encode() + b"\n" for entry in logs]
        self._entries += map(json.loads, lines)
        if self._file is not None:
            self._file.write(b"".join(lines))
            if not all("intermediate_value" in entry for entry in logs):
                os.fsync(self._file.fileno())
        elif not self._held:
            self.release()

    def release(self) -> None:
        """Write everything that was held back."""
        self._held = False
        if self.path is not None and self._file is None:
            with atomic_write(self.path, "study") as file:
                file.writelines(json.dumps(entry, ensure_ascii=False).encode() + b"\n" for entry in self._entries)
            self._file = _open_locked(self.path)
            self._file.seek(0, os.SEEK_END)

    def close(self) -> None:
        """Close the file, which gives up the lock on it."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _open_locked(path: Path) -> IO[bytes]:
    """Open a file that only this process may write to, as long as it is open. A file system without locks goes without."""
    try:
        file = path.open("r+b", buffering=0)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from None
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise OutputError(
            f"{path}: another search is writing to it; wait until it ends, or give another name"
        ) from None
    except OSError:
        pass
    return file


def _entry(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        entry = None
    if not isinstance(entry, dict):
        raise FormatError(path, DAMAGED, line=number)
    return entry
