"""Write files completely or not at all, and never over a file that is also read or that holds something else."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from podium.errors import OutputError
from podium.kinds import KINDS, kind_of

PathLike = str | os.PathLike[str]
PART = re.compile(r"\..*\.[0-9a-f]{12}\.part", re.DOTALL)
STREAMS = (1, 2)  # the descriptors of standard output and standard error


@dataclass(frozen=True)
class Output:
    """A file that is going to be written.

    Attributes:
        path: Its path.
        kind: What it will hold, a key of `podium.kinds.KINDS`.
        option: The option that names it, such as "--out", for messages; "" if there is none.
        continued: Whether an existing file is continued rather than replaced.
    """

    path: PathLike
    kind: str
    option: str = ""
    continued: bool = False

    def __str__(self) -> str:
        return f"{self.option} {os.fspath(self.path)}".strip()


def check_outputs(
    outputs: Sequence[Output], *, inputs: Iterable[PathLike | None] = (), make_folders: bool = False
) -> list[Path]:
    """Check, before any work is done, that files can be written and that nothing is lost by it.

    These are refused with an OutputError: a file that is also read (under any name, since links are followed), an existing file of
    another kind, a folder, a path that two outputs share, and a folder that is missing or cannot be written to. Pipes and devices
    are written into.

    Args:
        outputs: The files to be written.
        inputs: The files that the same command reads; None stands for one that was not given.
        make_folders: Whether missing folders will be created.

    Returns:
        The files that exist already and will be replaced by others of the same kind.
    """
    read = {_identity(path) for path in inputs if path is not None}
    taken: dict[object, Output] = {}
    replaced = []
    for output in outputs:
        target, status = _locate(output.path, str(output))
        identity = _identity(target)
        if status is not None and _own_stream(status) is not None:
            raise OutputError(f"{output}: is where this command prints its messages; give the name of a file")
        if identity in read:
            raise OutputError(f"{output}: is read and would be written over; give another name")
        if identity in taken and (status is None or _can_replace(status)):
            raise OutputError(f"{output}: is the same file as {taken[identity]}; give each output a name of its own")
        taken[identity] = output
        _check_kind(target, status, output.kind, str(output))
        _check_folder(target, status, str(output), make_folders)
        if status is not None and _can_replace(status) and status.st_size and not output.continued:
            replaced.append(Path(output.path))
    return replaced


@contextlib.contextmanager
def atomic_write(path: PathLike, kind: str) -> Iterator[IO[bytes]]:
    """Open a binary file (readable and seekable too) that takes the name `path` only if the block ends without an error.

    Links are followed, the permissions of an existing file are kept, and a device or pipe is written into.

    Args:
        path: The path of the file.
        kind: What it will hold, a key of `podium.kinds.KINDS`; an existing file of another kind is an OutputError.
    """
    shown = os.fspath(path)
    target, status = _locate(path, shown)
    _check_kind(target, status, kind, shown)
    if status is not None and not _can_replace(status):
        with tempfile.TemporaryFile() as file:
            yield file
            _copy_into(file, Path(path), status)
        return
    descriptor, temporary = _open_temporary(target)
    try:
        with os.fdopen(descriptor, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if status is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(status.st_mode))
            if temporary is None:
                temporary = _temporary_name(target)
                _link(file.fileno(), temporary)
            os.replace(temporary, target)  # noqa: PTH105 (before the file is closed, which releases its lock)
            temporary = None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def check_folder(folder: Path) -> None:
    """Raise an OutputError unless a directory can be made here, or is there and empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OutputError(f"{folder}: exists and is not an empty directory; give the name of a new one")


def make_folder(folder: Path) -> None:
    """Create a folder, and those above it, unless they exist."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be created: {error.strerror}") from None


def remove(path: PathLike, kind: str) -> None:
    """Delete a file of this kind, if there is one; a file of another kind is an OutputError."""
    target, status = _locate(path, os.fspath(path))
    if status is not None:
        _check_kind(target, status, kind, os.fspath(path))
        Path(path).unlink(missing_ok=True)


def _locate(path: PathLike, shown: str) -> tuple[Path, os.stat_result | None]:
    """Return the path behind any links, and the status of what is there."""
    try:
        status = Path(path).stat()
    except FileNotFoundError:
        status = None
    except (OSError, ValueError) as error:  # a loop of links, or a name that is too long or has a NUL
        raise OutputError(f"{shown}: cannot be written: {getattr(error, 'strerror', None) or error}") from None
    is_link = Path(path).is_symlink() and (status is None or _can_replace(status))
    return Path(os.path.realpath(path)) if is_link else Path(path), status


def _identity(path: PathLike) -> object:
    """Return a value that is the same for all paths of one file, whether it exists already or not."""
    try:
        status = Path(path).stat()
        return status.st_dev, status.st_ino
    except (OSError, ValueError):
        return os.path.realpath(path)


def _own_stream(status: os.stat_result) -> int | None:
    """Return the descriptor of this process's standard output or error, if this is the file behind it; /dev/null never counts."""
    if stat.S_ISCHR(status.st_mode) and os.path.samestat(status, Path(os.devnull).stat()):
        return None
    for number in STREAMS:
        with contextlib.suppress(OSError):
            if os.path.samestat(status, os.fstat(number)):
                return number
    return None


def _can_replace(status: os.stat_result) -> bool:
    """Return whether a new file can replace this one; otherwise it is written into."""
    return stat.S_ISREG(status.st_mode) and _own_stream(status) is None


def _check_kind(target: Path, status: os.stat_result | None, kind: str, shown: str) -> None:
    if status is None:
        return
    if stat.S_ISDIR(status.st_mode):
        raise OutputError(f"{shown}: is a directory; give the path of a file")
    if not _can_replace(status) or not status.st_size:
        return
    try:
        found = kind_of(target)
    except OSError as error:
        raise OutputError(f"{shown}: exists and cannot be read: {error.strerror}; give another name") from None
    if found != kind:
        noun = KINDS[kind].noun
        there = f"is not {noun}" if found is None else f"is {KINDS[found].noun}, not {noun}"
        raise OutputError(f"{shown}: exists and {there}; it would be lost: give another name, or remove the file first")


def _check_folder(target: Path, status: os.stat_result | None, shown: str, make_folders: bool) -> None:
    """Check that a file can be created in the folder of `target`, or a folder in the nearest one that exists."""
    if status is not None and not _can_replace(status):
        return
    folder = target.parent
    while make_folders and not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir():
        raise OutputError(f"{shown}: there is no folder {folder}; create it first")
    if not os.access(folder, os.W_OK):
        raise OutputError(f"{shown}: the folder {folder} cannot be written to")


def _temporary_name(target: Path) -> Path:
    return target.parent / f".{target.name[:100]}.{secrets.token_hex(6)}.part"


def _open_temporary(target: Path) -> tuple[int, Path | None]:
    """Open a file in the folder of `target`, without a name if the system can, so that a killed process leaves nothing behind.

    The file is locked while it is open, which tells `sweep` that its writer is alive.
    """
    folder = target.parent
    sweep(folder)
    try:
        if hasattr(os, "O_TMPFILE"):
            with contextlib.suppress(OSError):
                descriptor = os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666)
                _lock(descriptor)
                return descriptor, None
        while True:
            name = _temporary_name(target)
            descriptor = os.open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
            if _lock(descriptor) and os.fstat(descriptor).st_nlink:
                return descriptor, name
            os.close(descriptor)  # another process deleted it between its creation and its lock
    except FileNotFoundError:
        if Path(folder).is_dir():  # one that holds no files of users, such as /proc
            raise OutputError(f"{target}: no file can be created in {folder}") from None
        raise OutputError(f"{target}: there is no folder {folder}; create it first") from None
    except OSError as error:
        raise OutputError(f"{target}: cannot be written: {error.strerror}") from None


def _lock(descriptor: int) -> bool:
    """Lock an open file, if the file system has locks; return False if another process holds the lock."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def sweep(folder: Path) -> None:
    """Delete the temporary files that killed writers left in a folder, but none that a writer still uses."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if PART.fullmatch(entry.name):
                _remove_orphan(Path(entry.path))


def _remove_orphan(path: Path) -> None:
    """Delete a temporary file if nobody holds its lock, which the system releases when a process ends."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(descriptor), path.lstat()):
                path.unlink()
        finally:
            os.close(descriptor)


def _link(descriptor: int, name: Path) -> None:
    """Give a nameless file a name."""
    descriptors = os.open("/proc/self/fd", os.O_RDONLY)  # with src_dir_fd Python follows the link in /proc
    try:
        os.link(str(descriptor), name, src_dir_fd=descriptors, follow_symlinks=True)
    finally:
        os.close(descriptors)


def _copy_into(file: IO[bytes], path: Path, status: os.stat_result) -> None:
    """Write a file's content into a device, a pipe or this process's own output."""
    file.seek(0)
    number = _own_stream(status)
    try:
        if number is None:
            device: IO[bytes] = path.open("wb")
        else:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()  # so that earlier output comes first
            device = os.fdopen(os.dup(number), "wb")
        with device:
            shutil.copyfileobj(file, device)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from None


def distinct_names(files: Sequence[Path], taken: Collection[str] = ()) -> list[str]:
    """Return for each file its stem, its name or its path: the shortest that no other file has."""
    ways = [[file.name.split(".")[0] for file in files], [file.name for file in files], [str(file) for file in files]]
    return [
        next((way[k] for way in ways if way.count(way[k]) == 1 and way[k] not in taken), str(file))
        for k, file in enumerate(files)
    ]
