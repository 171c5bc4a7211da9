"""The one way files are written: without a name, then linked into place, so that none is ever half there."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from podium.errors import OutputError


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file (readable and seekable too) that takes the name `path` only when the block ends without an error.

    A link is followed; an existing file gives the new one its permissions; a device or pipe is written into.
    """
    target = Path(path).resolve() if Path(path).is_symlink() else Path(path)
    mode = target.stat().st_mode if target.exists() else None
    if mode is not None and stat.S_ISDIR(mode):
        raise OutputError(f"{target}: is a directory; give the path of a file")
    regular = mode is None or stat.S_ISREG(mode)
    descriptor, temporary = _open_temporary(target, target.parent if regular else Path(tempfile.gettempdir()))
    try:
        with os.fdopen(descriptor, "w+b") as file:
            yield file
            file.flush()
            if not regular:
                _copy_into(file, target)
                return
            os.fsync(file.fileno())
            if mode is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            if temporary is None:
                temporary = _temporary_name(target, target.parent)
                _link(file.fileno(), temporary)
        temporary.replace(target)
        temporary = None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _temporary_name(target: Path, folder: Path) -> Path:
    return folder / f".{target.name[:100]}.{secrets.token_hex(6)}.part"


def _open_temporary(target: Path, folder: Path) -> tuple[int, Path | None]:
    """An open file in the folder: nameless where the system can, so that nothing stays behind a kill."""
    try:
        if hasattr(os, "O_TMPFILE"):
            with contextlib.suppress(OSError):
                return os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666), None
        name = _temporary_name(target, folder)
        return os.open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666), name
    except FileNotFoundError:
        raise OutputError(f"{target}: there is no folder {folder}; create it first") from None
    except OSError as error:
        raise OutputError(f"{target}: cannot be written: {error.strerror}") from None


def _link(descriptor: int, name: Path) -> None:
    """Gives a nameless file a name."""
    descriptors = os.open("/proc/self/fd", os.O_RDONLY)  # a folder given makes Python follow the link it holds
    try:
        os.link(str(descriptor), name, src_dir_fd=descriptors, follow_symlinks=True)
    finally:
        os.close(descriptors)


def _copy_into(file: IO[bytes], target: Path) -> None:
    file.seek(0)
    with target.open("wb") as device:
        shutil.copyfileobj(file, device)
