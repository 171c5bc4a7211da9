"""API keys: read from the environment or a file, held as digests, compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from podium.errors import DataError, ParameterError

VARIABLE = "PODIUM_API_KEYS"
SHORTEST_KEY = 16  # characters


@dataclass(frozen=True)
class ApiKeys:
    """The digests of the keys that are accepted; no digests means that no key is needed."""

    digests: tuple[bytes, ...] = ()

    @classmethod
    def of(cls, keys: Iterable[str], source: str) -> ApiKeys:
        """Return keys given as text. `source` is where they come from; errors name it and never show a key."""
        given = [key.strip() for key in keys]
        for number, key in enumerate(given, 1):
            if len(key) < SHORTEST_KEY or not key.isascii() or not key.isprintable() or " " in key:
                raise DataError(
                    f"{source}: key {number} must have at least {SHORTEST_KEY} printable ASCII characters and no blanks; "
                    "openssl rand -hex 32 makes a good one"
                )
        return cls(tuple(_digest(key.encode()) for key in given))

    @classmethod
    def read(cls, path: Path | None) -> ApiKeys:
        """Return the keys of a file, one per line, or else those of the environment variable, separated by commas."""
        if path is not None:
            lines = (line.strip() for line in path.read_text().splitlines())
            keys = [line for line in lines if line and not line.startswith("#")]
            if not keys:
                raise ParameterError("api_keys", str(path), "holds no key", "write one key per line")
            return cls.of(keys, str(path))
        words = os.environ.get(VARIABLE, "").split(",")
        return cls.of([word for word in words if word.strip()], VARIABLE)

    def accept(self, key: bytes | None) -> bool:
        """Return whether a key is one of these. The time does not depend on which, or on how much of it agrees."""
        if not self.digests:
            return True
        given = _digest(key or b"")
        matches = [hmac.compare_digest(given, digest) for digest in self.digests]
        return key is not None and any(matches)


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()


def key_of(headers: Mapping[bytes, bytes]) -> bytes | None:
    """Return the key of a request: `Authorization: Bearer KEY` or `X-API-Key: KEY`."""
    bearer = headers.get(b"authorization", b"")
    if bearer[:7].lower() == b"bearer ":
        return bearer[7:].strip()
    return headers.get(b"x-api-key")
