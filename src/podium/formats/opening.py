"""Open data files, gzip or plain, with a clear message for each that cannot be read."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from podium.errors import FormatError
from podium.files import atomic_write
from podium.kinds import GZIP_MAGIC, HEAD_BYTES, start_of


@contextlib.contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a text file for reading decompressed bytes; a file that is missing, empty or binary is a FormatError."""
    with open_file(path) as file, gunzipping(path):
        magic = file.read(2)
        file.seek(0)
        stream = io.BufferedReader(gzip.GzipFile(fileobj=file)) if magic == GZIP_MAGIC else file
        head = stream.read(HEAD_BYTES)
        stream.seek(0)
        if not head.strip():
            raise FormatError(path, "the file is empty")
        if b"\0" in head:
            raise FormatError(path, "the file is binary, not text; check the path and the format")
        yield stream


def is_plain_file(stream: IO[bytes]) -> bool:
    """Return whether a stream that `reading` gives is the file itself, rather than decompressed."""
    return isinstance(stream, io.BufferedReader) and isinstance(stream.raw, io.FileIO)


def open_file(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a file for reading its bytes as they are; a FormatError says why it cannot be read."""
    try:
        mode = Path(path).stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise FormatError(path, "is a pipe or a device, which cannot be read twice; write it to a file first")
        return Path(path).open("rb")
    except FileNotFoundError:
        raise FormatError(path, "there is no such file; check the path") from None
    except IsADirectoryError:
        raise FormatError(
            path, "is a directory; give the path of a file (podium.read_folds reads a folder of folds)"
        ) from None
    except OSError as error:
        raise FormatError(path, f"cannot be read: {error.strerror or error}") from None


def read_head(path: str | os.PathLike[str]) -> bytes:
    """Return the first decompressed bytes of a file, by which it can be recognized."""
    with open_file(path) as file, gunzipping(path):
        return start_of(file)


@contextlib.contextmanager
def gunzipping(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn the errors of a damaged gzip stream into a FormatError."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError(path, f"the gzip stream is damaged or cut short ({error}); download the file again") from None


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return all decompressed bytes of a text file, without a byte order mark."""
    with reading(path) as stream:
        return stream.read().removeprefix(b"\xef\xbb\xbf")


@contextlib.contextmanager
def writing(path: str | os.PathLike[str], kind: str) -> Iterator[IO[bytes]]:
    """Open a file to write bytes to, as `atomic_write` does; they are compressed if the name ends in `.gz`."""
    with atomic_write(path, kind) as file:
        if os.fspath(path).endswith(".gz"):
            with gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=6, mtime=0) as stream:
                yield stream  # type: ignore[misc]  # GzipFile has what IO[bytes] promises, but does not say so
        else:
            yield file


def decode(path: str | os.PathLike[str], line: bytes, number: int) -> str:
    """Return a line as text; a FormatError names the byte that is not UTF-8."""
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise FormatError(
            path,
            f"byte 0x{line[error.start]:02x} is not UTF-8; save the file as UTF-8",
            line=number,
            column=error.start + 1,
        ) from None


def text_lines(path: str | os.PathLike[str], stream: IO[bytes]) -> Iterator[str]:
    """Yield the lines of a stream as text, with their line ends and without a byte order mark."""
    for number, line in enumerate(stream, 1):
        yield decode(path, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line, number)
