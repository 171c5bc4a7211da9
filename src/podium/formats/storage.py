"""Where a directory of shards lies: on this machine, or in a file system that pyarrow reaches, such as an object store."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podium.errors import FormatError, MissingExtraError

URI = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):/{1,3}(?P<rest>[^/].*)")  # pathlib makes one slash of two
BLOCK_BYTES = 8 << 20
HIDDEN = (".", "_")  # how files begin that other programs leave, such as _SUCCESS of Spark


def as_uri(location: str | os.PathLike[str]) -> str | None:
    """Return a location as a URI such as `s3://bucket/folder`, or None if it is a path."""
    found = URI.fullmatch(os.fspath(location))
    if found is None:
        return None
    slashes = "///" if found["scheme"].lower() == "file" else "//"
    return f"{found['scheme'].lower()}:{slashes}{found['rest']}"


@dataclass(frozen=True)
class Storage:
    """A directory of shards.

    Attributes:
        place: The path or the URI, as messages show it.
        root: The directory inside the file system.
        filesystem: The file system of pyarrow, or None for a path on this machine.
    """

    place: str
    root: str
    filesystem: Any = None

    @classmethod
    def of(cls, location: str | os.PathLike[str], filesystem: Any = None) -> Storage:
        """Return the directory of a path or a URI, or of a path in a file system of pyarrow."""
        uri = as_uri(location)
        if filesystem is not None:
            return cls(os.fspath(location), os.fspath(location), filesystem)
        if uri is None:  # workers may have another current folder
            return cls(os.fspath(location), os.fspath(Path(location).absolute()))
        try:
            from pyarrow.fs import FileSystem
        except ImportError:
            raise MissingExtraError(
                f"reading {uri} needs pyarrow, which is not installed: pip install 'podium[frames]'"
            ) from None
        try:
            found, root = FileSystem.from_uri(uri)
        except (OSError, ValueError) as error:
            raise FormatError(uri, f"cannot be opened: {error}; check the address and the credentials") from None
        return cls(uri, root, found)

    @property
    def is_remote(self) -> bool:
        """Whether files must be copied to this machine to be mapped."""
        return self.filesystem is not None

    def shown(self, name: str) -> str:
        """Return a file of the directory as messages name it."""
        return f"{self.place.rstrip('/')}/{name}"

    def names(self) -> list[str]:
        """Return the names of the files in order, without what other programs leave there."""
        if self.filesystem is None:
            found = [entry.name for entry in Path(self.root).iterdir()]
        else:
            from pyarrow.fs import FileSelector

            found = [info.base_name for info in self.filesystem.get_file_info(FileSelector(self.root))]
        return sorted(name for name in found if not name.startswith(HIDDEN))

    def has(self, name: str) -> bool:
        """Return whether there is a file of this name."""
        if self.filesystem is None:
            return (Path(self.root) / name).is_file()
        return bool(self.filesystem.get_file_info(f"{self.root}/{name}").is_file)

    def size(self, name: str) -> int:
        """Return the number of bytes of a file; FileNotFoundError if it is missing."""
        if self.filesystem is None:
            return (Path(self.root) / name).stat().st_size
        info = self.filesystem.get_file_info(f"{self.root}/{name}")
        if not info.is_file:
            raise FileNotFoundError(name)
        return int(info.size)

    def blocks(self, name: str) -> Iterator[bytes]:
        """Yield the bytes of a file, a few MiB at a time."""
        opened: Any = (
            (Path(self.root) / name).open("rb")
            if self.filesystem is None
            else self.filesystem.open_input_stream(f"{self.root}/{name}")
        )
        with opened as file:
            while block := file.read(BLOCK_BYTES):
                yield block

    def checksum(self, name: str, copy: Path | None = None) -> str:
        """Return the SHA-256 of a file; `copy` is written while it is read."""
        digest = hashlib.sha256()
        if copy is None:
            for block in self.blocks(name):
                digest.update(block)
        else:
            with copy.open("wb") as file:
                for block in self.blocks(name):
                    digest.update(block)
                    file.write(block)
        return digest.hexdigest()
