"""Data in and out: one table of formats, and `read` and `write` over it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from podium.data import RankingData, Run
from podium.data.matching import match_columns, select_features
from podium.errors import FormatError, ParameterError, UnknownNameError
from podium.files import Output, check_outputs
from podium.formats.arrow import ARROW, PARQUET
from podium.formats.cache import CACHE, convert_letor
from podium.formats.delimited import CSV, TSV
from podium.formats.folds import fold_files, fold_folders
from podium.formats.format import Format, Progress, Source
from podium.formats.frames import from_frame, to_frame
from podium.formats.letor import LETOR, Widths, read_letor_together
from podium.formats.letor_rows import LetorOptions
from podium.formats.opening import read_head
from podium.formats.scores import SCORES
from podium.formats.sizes import read_sizes, side_files, sizes_to_qid, write_sizes
from podium.formats.trec import QRELS, TREC_RUN
from podium.kinds import KINDS, recognize

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
        path: The path of the file.
        format: The name of its format; by default the ending of its name says it, or else its first bytes.
        options: Options of the format's reader.
        head: The first bytes of the file, if they have been read already.

    Returns:
        The file, ready to be read. A file that holds a model or something else that is not a format is a FormatError.
    """
    known = None if format is None else _known_format(format)
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


def read(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    num_threads: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> RankingData:
    """Read judged queries from a file of any format.

    Args:
        path: The path of the file.
        format: The name of its format; by default the ending of its name says it, or else its first bytes.
        num_threads: Number of threads; by default every core this process may use.
        progress: Called now and then with (bytes done, bytes in all).
        **options: Options of the format's reader.
    """
    return resolve(path, format, options).read_data(num_threads=num_threads, progress=progress)


def read_scores(path: str | os.PathLike[str], *, format: str | None = None) -> Any:
    """Read a ranking from a file: scores in row order (an array), or a TREC run (a Run).

    Args:
        path: the file of scores or the TREC run.
        format: scores or trec-run; by default recognized by the file's name or first lines.
    """
    return read_ranking(resolve(path, format))


def read_ranking(source: Source) -> Any:
    """Return the scores of a file, or the TREC run."""
    if source.format.holds == "data":
        raise FormatError(
            source.path,
            f"is a {source.format.name} file, which holds judged data; a file of scores has one number per line, or is a TREC run",
        )
    return source.read()


def write(
    value: RankingData | Run | Any,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    **options: Any,
) -> None:
    """Write data, a run or an array of scores to a file.

    Args:
        value: What to write.
        path: The path of the file. An existing file of another kind is never replaced.
        format: The name of the format; by default the ending of the file's name says it.
        **options: Options of the format's writer.
    """
    if format is None and isinstance(value, Run):
        format = TREC_RUN.name
    elif format is None and not isinstance(value, RankingData):
        format = SCORES.name
    chosen = find_target_format(path, format)
    holds = "data" if isinstance(value, RankingData) else "run" if isinstance(value, Run) else "scores"
    if chosen.holds != holds:
        raise ParameterError(
            "format", chosen.name, f"holds {chosen.holds}, but {holds} is given", "name another format"
        )
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
    """Convert a file from one format to another.

    LETOR text is converted to the cache block by block: memory does not grow with the features. A file of scores and a TREC run
    can be converted into each other, given the data that was scored.

    Args:
        source: The file to read.
        target: The file to write.
        source_format: The name of its format; by default the ending of its name says it, or else its first bytes.
        target_format: The name of the format to write; by default the ending of the file's name says it.
        num_threads: Number of threads; by default every core this process may use.
        progress: Called now and then with (bytes done, bytes in all).
        read_options: Options of the reader.
        write_options: Options of the writer.
        drop: Parts of the data to leave out, such as those that the target has no place for.
        data: For scores and runs, the data that was scored.
        missing: The score of rows that a run does not have; without it they are refused.
    """
    convert_source(
        resolve(source, source_format, read_options),
        target,
        find_target_format(target, target_format),
        num_threads=num_threads,
        progress=progress,
        write_options=write_options,
        drop=drop,
        data=data,
        missing=missing,
    )


def convert_source(
    source: Source,
    target: str | os.PathLike[str],
    writer: Format,
    *,
    num_threads: int | None = None,
    progress: Progress | None = None,
    write_options: Mapping[str, Any] | None = None,
    drop: Sequence[str] = (),
    data: RankingData | None = None,
    missing: float | None = None,
) -> None:
    """Convert a file whose format is known to the format `writer`; see `convert`."""
    reader, output = source.format, dict(write_options or {})
    writer.check_options(output, reading=False)
    inputs = [source.path, source.options.get("sizes"), *side_files(source.path)]
    check_outputs([Output(target, writer.name)], inputs=inputs)
    if reader is LETOR and writer is CACHE and not drop and source.options.get("scattered", "error") == "error":
        options = LetorOptions(**source.options)
        convert_letor(source.path, target, options, num_threads=num_threads, progress=progress)
        return
    rankings = {reader.holds, writer.holds} == {"run", "scores"}
    if reader.holds != writer.holds and not (rankings and data is not None):
        if rankings:
            raise ParameterError(
                "data",
                rule="is needed to turn scores into a run or back",
                remedy="give the data that was scored as {data}",
            )
        rule = f"holds {writer.holds}, but {os.fspath(source.path)} ({reader.name}) holds {reader.holds}"
        raise ParameterError("format", writer.name, rule)
    value = source.read(num_threads=num_threads, progress=progress)
    if rankings and data is not None:
        value = Run.of_scores(value, data) if writer.holds == "run" else value.scores_for(data, missing=missing)
    writer.write(value.replace(**dict.fromkeys(drop)) if drop else value, target, **output)


def read_folds(
    folder: str | os.PathLike[str], *, num_threads: int | None = None, **options: Any
) -> tuple[RankingData, RankingData, RankingData]:
    """Read the training, validation and test data of one fold; all three get the same features.

    Args:
        folder: The folder of the fold. Its files, of any format, are found by name: train, training, trainingset; vali, valid,
            validation, validationset; test, testset.
        num_threads: Number of threads; by default every core this process may use.
        **options: Options of the format's reader.
    """
    train, valid, test = read_together(fold_files(folder), num_threads=num_threads, **options)
    return train, valid, test


def read_all_folds(
    folder: str | os.PathLike[str], *, num_threads: int | None = None, **options: Any
) -> list[tuple[RankingData, RankingData, RankingData]]:
    """Read every fold of a folder that holds Fold1, Fold2, …; see `read_folds`.

    Args:
        folder: the folder that holds Fold1, Fold2 and so on.
        num_threads: number of threads that parse; by default every core this process may use.
    """
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
    """Read files of one data set, so that all have the same features; see `read_sources`."""
    sources = [resolve(path, format, options) for path in paths]
    return read_sources(sources, num_threads=num_threads, progress=progress, on_widths=on_widths)


def read_sources(
    sources: Sequence[Source],
    *,
    num_threads: int | None = None,
    progress: Progress | None = None,
    on_widths: Widths | None = None,
) -> list[RankingData]:
    """Read files of one data set, so that all have the same features.

    LETOR files count their features from the same index, and narrower ones get the features they lack, since sparse text leaves
    features out; `on_widths` is called with how many each shows. In files of other formats, the features of the first file are
    found by name in the others, and columns that it does not have are left out; without names, all must have as many.
    """
    if all(source.format is LETOR for source in sources):
        return read_letor_together(
            [source.path for source in sources],
            LetorOptions(**sources[0].options),
            num_threads=num_threads,
            progress=progress,
            on_widths=on_widths,
        )
    parts = [source.read_data(num_threads=num_threads, progress=progress) for source in sources]
    first, known_by = parts[0], f"{os.fspath(sources[0].path)} has"
    for k, source in enumerate(sources[1:], 1):
        wanted = first.feature_names, first.n_features
        path = os.fspath(source.path)
        columns = match_columns(parts[k].feature_names, *wanted, data=path, known_by=known_by, stacklevel=4)
        parts[k] = parts[k] if columns is None else select_features(parts[k], columns)
    widths = [part.n_features for part in parts]
    for width, source in zip(widths, sources, strict=True):
        if width < max(widths):
            widest = os.fspath(sources[widths.index(max(widths))].path)
            raise FormatError(source.path, f"has {width} features and {widest} has {max(widths)}; both need the same")
    return parts


__all__ = [
    "FORMATS",
    "Format",
    "Source",
    "convert",
    "convert_source",
    "find_target_format",
    "fold_folders",
    "from_frame",
    "read",
    "read_all_folds",
    "read_folds",
    "read_ranking",
    "read_scores",
    "read_sizes",
    "read_sources",
    "read_together",
    "resolve",
    "sizes_to_qid",
    "to_frame",
    "write",
    "write_sizes",
]
