"""The table of formats, and which of them a file has."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from podium.data import RankingData
from podium.errors import FormatError, OutputError, ParameterError, UnknownNameError
from podium.formats.arrow import ARROW, PARQUET
from podium.formats.cache import CACHE
from podium.formats.columns import ROLE_RULES
from podium.formats.delimited import CSV, TSV
from podium.formats.format import Format, Source
from podium.formats.letor import LETOR
from podium.formats.letor_rows import LETOR_RULES
from podium.formats.opening import read_head
from podium.formats.scores import SCORES
from podium.formats.storage import as_uri
from podium.formats.trec import QRELS, TREC_RUN
from podium.kinds import KINDS, recognize
from podium.rules import Choice

FORMATS: dict[str, Format] = {
    format.name: format
    for format in (
        LETOR,
        CACHE,
        CSV,
        TSV,
        PARQUET,
        ARROW,
        QRELS,
        TREC_RUN,
        SCORES,
    )
}


def _read_folder(path: str | os.PathLike[str], **how: Any) -> RankingData:
    from podium.formats.on_disk import read_folder  # which looks up the formats of the files here

    return read_folder(path, **how)


def _write_folder(value: Any, path: str | os.PathLike[str]) -> None:
    raise OutputError(f"{os.fspath(path)}: is a directory; podium.write_shards writes one")


SHARDS = Format(
    name="shards",
    holds="data",
    description="a directory of data files, whose rows follow each other in the order of the files' names",
    read=_read_folder,
    write=_write_folder,
    read_options={**LETOR_RULES, **ROLE_RULES, "format": Choice(*FORMATS)},
)


def named_format(path: str | os.PathLike[str]) -> Format | None:
    """Return the format that the ending of a file's name says, or None."""
    return next((format for format in FORMATS.values() if KINDS[format.name].fits_name(path)), None)


def find_target_format(path: str | os.PathLike[str], format: str | None) -> Format:
    """Return the format to write a file in: the one that is named, or else the one that the file's ending says."""
    if format is not None:
        return _known_format(format)
    found = named_format(path) or (LETOR if Path(path).name.lower().removesuffix(".gz").endswith(".txt") else None)
    if found is None:
        endings = ", ".join(suffix for known in FORMATS.values() for suffix in known.suffixes)
        raise ParameterError(
            "format",
            rule=f"is needed, because the ending of {os.fspath(path)!r} does not say the format",
            remedy=f"name the format, or use one of the endings {endings}, .txt",
        )
    return found


def _known_format(name: str) -> Format:
    if name not in FORMATS:
        raise UnknownNameError("format", name, FORMATS)
    return FORMATS[name]


def resolve(
    path: str | os.PathLike[str],
    format: str | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    head: bytes | None = None,
) -> Source:
    """Find out what a file is, by looking at it once.

    Args:
        path: The path of the file, or of a directory of such files; or the URI of a directory of shards.
        format: The name of its format; by default the ending of its name says it, or else its first bytes.
        options: Options of the format's reader.
        head: The first bytes of the file, if they have been read already.

    Returns:
        The file, ready to be read. A file that holds a model or something else that is not a format is a FormatError.
    """
    known = None if format is None else _known_format(format)
    if as_uri(path) is not None or Path(path).is_dir():
        named_by = {} if known is None else {"format": known.name}
        return Source(path, SHARDS, {**named_by, **(options or {})})
    start = read_head(path) if head is None else head
    kind, named = recognize(path, start), named_format(path)
    if known is None and kind is not None and kind not in FORMATS and not (named and KINDS[kind].fits_name(path)):
        raise FormatError(
            path, f"is {KINDS[kind].noun}, but data or scores are needed here; check the order of the files"
        )
    found = known or named or (None if kind is None else FORMATS[kind])
    if found is None:
        raise _unknown_content(path, start)
    return Source(path, found, options or {})


def _unknown_content(path: str | os.PathLike[str], head: bytes) -> FormatError:
    if not head.strip():
        return FormatError(path, "the file is empty")
    shown = head[:40].decode(errors="backslashreplace").splitlines()[0]
    return FormatError(
        path,
        f"begins with {shown!r}, which no known format does",
        line=1,
        column=1,
        remedy=f"give {{format=…}}, one of {', '.join(FORMATS)}",
    )
