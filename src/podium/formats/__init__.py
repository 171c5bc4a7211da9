"""Data in and out: one table of formats, and `read` and `write` over it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from podium.data import RankingData, Run
from podium.errors import FormatError, ParameterError, UnknownNameError
from podium.files import Output, check_outputs
from podium.formats.arrow import ARROW, PARQUET
from podium.formats.cache import CACHE, convert_letor
from podium.formats.delimited import CSV, TSV
from podium.formats.folds import fold_files, fold_folders
from podium.formats.format import Format, Progress
from podium.formats.frames import from_frame, to_frame
from podium.formats.letor import LETOR, Widths, read_letor_together
from podium.formats.letor_rows import LetorOptions
from podium.formats.opening import read_head
from podium.formats.scores import SCORES
from podium.formats.sizes import read_sizes, sizes_to_qid, write_sizes
from podium.formats.trec import QRELS, TREC_RUN

FORMATS: dict[str, Format] = {
    format.name: format for format in (LETOR, CACHE, CSV, TSV, PARQUET, ARROW, QRELS, TREC_RUN, SCORES)
}


def guess_format(path: str | os.PathLike[str], *, reading: bool) -> Format:
    """The format that the file's name says, or when reading, that its first bytes look like."""
    name = Path(path).name.lower().removesuffix(".gz")
    for format in FORMATS.values():
        if name.endswith(format.suffixes):
            return format
    if not reading:
        if name.endswith(".txt"):
            return LETOR
        endings = ", ".join(suffix for format in FORMATS.values() for suffix in format.suffixes)
        raise ParameterError(
            f"{os.fspath(path)}: the name does not say the format",
            remedy=f"give {{format=…}} or one of the endings {endings}, .txt",
        )
    head = read_head(path)
    for format in FORMATS.values():
        if format.looks_like(head):
            return format
    if not head.strip():
        raise FormatError(path, "the file is empty")
    shown = head[:40].decode(errors="backslashreplace").splitlines()[0]
    raise FormatError(
        path,
        f"begins with {shown!r}, which is no format known here; give format=… of {', '.join(FORMATS)}",
        line=1,
        column=1,
    )


def find_format(path: str | os.PathLike[str], format: str | None, *, reading: bool) -> Format:
    """The format named, or the one the file speaks for."""
    if format is None:
        return guess_format(path, reading=reading)
    if format not in FORMATS:
        raise UnknownNameError("format", format, FORMATS)
    return FORMATS[format]


def read(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    num_threads: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> RankingData:
    """Judged queries from a file of any format; `options` are those of the format's own reader."""
    chosen = find_format(path, format, reading=True)
    if chosen.holds != "data":
        raise FormatError(
            path,
            f"this is a {chosen.name} file, which holds scores and no judgments; judged data is needed here (podium.read_scores reads scores)",
        )
    chosen.check_options(options, reading=True)
    data: RankingData = chosen.read(path, num_threads=num_threads, progress=progress, **options)
    return data


def read_scores(path: str | os.PathLike[str], *, format: str | None = None) -> Any:
    """A ranking from a file: scores in row order (an array), or a TREC run (a Run)."""
    chosen = find_format(path, format, reading=True)
    if chosen.holds == "data":
        raise FormatError(
            path,
            f"this is a {chosen.name} file, which holds judged data; a file of scores has one number a line, or is a TREC run",
        )
    return chosen.read(path)


def write(
    value: RankingData | Run | Any,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    **options: Any,
) -> None:
    """Data, a run or an array of scores to a file, in the format its name says or `format` names."""
    if format is None and isinstance(value, Run):
        format = TREC_RUN.name
    elif format is None and not isinstance(value, RankingData):
        format = SCORES.name
    chosen = find_format(path, format, reading=False)
    holds = "data" if isinstance(value, RankingData) else "run" if isinstance(value, Run) else "scores"
    if chosen.holds != holds:
        raise ParameterError("format", chosen.name, f"of {os.fspath(path)} holds {chosen.holds}, but {holds} is given")
    chosen.check_options(options, reading=False)
    chosen.write(value, path, **options)


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    source_format: str | None = None,
    target_format: str | None = None,
    num_threads: int | None = None,
    progress: Progress | None = None,
    read_options: dict[str, Any] | None = None,
    write_options: dict[str, Any] | None = None,
    drop: Sequence[str] = (),
    data: RankingData | None = None,
    missing: float | None = None,
) -> None:
    """One format to another, without the parts named in `drop` (which the target may have no place for). LETOR text to the cache streams: memory does not grow with the features.

    A file of scores and a TREC run become each other with `data`, the data that was scored; `missing` is the score of rows that
    a run does not have, which are refused otherwise.
    """
    options, output = dict(read_options or {}), dict(write_options or {})
    reader, writer = find_format(source, source_format, reading=True), find_format(target, target_format, reading=False)
    reader.check_options(options, reading=True)
    writer.check_options(output, reading=False)
    check_outputs([Output(target, writer.name)], inputs=[source])
    if reader is LETOR and writer is CACHE and not drop and options.get("scattered", "error") == "error":
        convert_letor(source, target, LetorOptions(**options), num_threads=num_threads, progress=progress)
        return
    rankings = {reader.holds, writer.holds} == {"run", "scores"}
    if reader.holds != writer.holds and not (rankings and data is not None):
        if rankings:
            raise ParameterError(
                "data",
                rule="is needed to turn scores into a run or back",
                remedy="give the data that was scored as {data}",
            )
        rule = f"holds {writer.holds}, but {os.fspath(source)} ({reader.name}) holds {reader.holds}"
        raise ParameterError("format", writer.name, rule)
    value = reader.read(source, num_threads=num_threads, progress=progress, **options)
    if rankings and data is not None:
        value = Run.of_scores(value, data) if writer.holds == "run" else value.scores_for(data, missing=missing)
    writer.write(value.replace(**dict.fromkeys(drop)) if drop else value, target, **output)


def read_folds(
    folder: str | os.PathLike[str], *, num_threads: int | None = None, **options: Any
) -> tuple[RankingData, RankingData, RankingData]:
    """(train, validation, test) of a fold's folder, all with the same features.

    Files are found by name: train/training(set), vali/valid/validation(set), test(set), any format.
    """
    train, valid, test = read_together(fold_files(folder), num_threads=num_threads, **options)
    return train, valid, test


def read_all_folds(
    folder: str | os.PathLike[str], *, num_threads: int | None = None, **options: Any
) -> list[tuple[RankingData, RankingData, RankingData]]:
    """`read_folds` of Fold1, Fold2, … inside a folder."""
    return [read_folds(fold, num_threads=num_threads, **options) for fold in fold_folders(folder)]


def read_together(
    paths: Sequence[str | os.PathLike[str]],
    *,
    format: str | None = None,
    num_threads: int | None = None,
    progress: Progress | None = None,
    on_widths: Widths | None = None,
    **options: Any,
) -> list[RankingData]:
    """Files of one data set, all with the same features: LETOR files agree on the first and on the last one.

    Sparse text leaves features out, so that a narrower LETOR file gets the features it lacks; `on_widths` is told how many
    each has of its own. Files of other formats must have the same number.
    """
    if all(find_format(path, format, reading=True) is LETOR for path in paths):
        LETOR.check_options(options, reading=True)
        return read_letor_together(
            paths, LetorOptions(**options), num_threads=num_threads, progress=progress, on_widths=on_widths
        )
    parts = [read(path, format=format, num_threads=num_threads, progress=progress, **options) for path in paths]
    widths = [part.n_features for part in parts]
    for width, path in zip(widths, paths, strict=True):
        if width < max(widths):
            widest = os.fspath(paths[widths.index(max(widths))])
            raise FormatError(path, f"has {width} features where {widest} has {max(widths)}; both need the same")
    return parts


__all__ = [
    "FORMATS",
    "Format",
    "convert",
    "find_format",
    "fold_folders",
    "from_frame",
    "guess_format",
    "read",
    "read_all_folds",
    "read_folds",
    "read_scores",
    "read_sizes",
    "read_together",
    "sizes_to_qid",
    "to_frame",
    "write",
    "write_sizes",
]
