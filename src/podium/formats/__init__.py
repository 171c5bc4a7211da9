"""Data in and out: one table of formats, and `read` and `write` over it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from podium.data import RankingData, Run
from podium.data.matching import match_columns, select_features
from podium.errors import FormatError, ParameterError
from podium.files import Output, check_outputs
from podium.formats.cache import CACHE, convert_letor
from podium.formats.folds import fold_files, fold_folders
from podium.formats.format import Format, Progress, Source
from podium.formats.frames import from_frame, to_frame
from podium.formats.letor import LETOR, Widths, read_letor_together
from podium.formats.letor_rows import LetorOptions
from podium.formats.on_disk import read_on_disk, read_on_disk_together
from podium.formats.resolving import FORMATS, SHARDS, find_target_format, resolve
from podium.formats.scores import SCORES
from podium.formats.shards import write_shards
from podium.formats.sizes import read_sizes, side_files, sizes_to_qid, write_sizes
from podium.formats.trec import TREC_RUN


def read(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    num_threads: int | None = None,
    progress: Progress | None = None,
    on_disk: bool = False,
    **options: Any,
) -> RankingData:
    """Read judged queries from a file of any format, or from a directory of files.

    The features of a directory are mapped, not read: they take no memory of their own. So are those of a file with `on_disk`.

    Args:
        path: The path of the file, or of a directory of data files such as `podium data shard` writes.
        format: The name of its format; by default the ending of its name says it, or else its first bytes.
        num_threads: Number of threads; by default every core this process may use.
        progress: Called now and then with (bytes done, bytes in all).
        on_disk: Whether to keep the features in a temporary file, for data that is larger than memory.
        **options: Options of the format's reader.
    """
    source = resolve(path, format, options)
    if on_disk:
        return read_on_disk([source], num_threads=num_threads, progress=progress)[0]
    return source.read_data(num_threads=num_threads, progress=progress)


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
    """Read files of one data set, so that all have the same features. If one is a directory, the features of all are mapped.

    LETOR files count their features from the same index, and narrower ones get the features they lack, since sparse text leaves
    features out; `on_widths` is called with how many each shows. In files of other formats, the features of the first file are
    found by name in the others, and columns that it does not have are left out; without names, all must have as many.
    """
    if any(source.format is SHARDS for source in sources):
        return read_on_disk(sources, num_threads=num_threads, progress=progress, on_widths=on_widths)
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
    "SHARDS",
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
    "read_on_disk",
    "read_on_disk_together",
    "read_ranking",
    "read_scores",
    "read_sizes",
    "read_sources",
    "read_together",
    "resolve",
    "sizes_to_qid",
    "to_frame",
    "write",
    "write_shards",
    "write_sizes",
]
