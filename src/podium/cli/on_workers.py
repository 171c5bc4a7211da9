"""Scoring the files of a directory, one after the other in this process or several at a time on a cluster."""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from podium.cli.models import Rows, scores_of
from podium.cluster import Engine, Ray, connect, engine, run_tasks
from podium.data import RankingData, Run
from podium.errors import DataError, ParameterError
from podium.formats import SHARDS, Source
from podium.formats.joining import join_judgments
from podium.formats.shards import FolderFile, folder_files, folder_sources
from podium.memory import scratch_folder
from podium.scoring import Scorer

EngineName = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="ENGINE",
        help="Where the work runs: local, or ray(workers=4) for a Ray cluster. The result is the same.",
    ),
]


def find_engine(name: str) -> Engine:
    """Return the engine that --engine names."""
    return engine(name)


@dataclass(frozen=True)
class Scoring:
    """How files are scored.

    Attributes:
        scorer: The model.
        model: Its path, for messages.
        as_run: Whether scores are needed as a TREC run.
        judged: Whether judgments are needed too.
        threads: Number of threads of each worker.
    """

    scorer: Scorer
    model: Path
    as_run: bool = False
    judged: bool = False
    threads: int | None = None


@dataclass(frozen=True)
class ScoredFile:
    """The scores of a file, in its row order.

    Attributes:
        scores: One score per row.
        run: The same as a TREC run, if that is needed.
        judged: The data without features, if judgments are needed.
        notes: What is to be printed.
    """

    scores: npt.NDArray[Any]
    run: Run | None = None
    judged: RankingData | None = None
    notes: str = ""


def scored_files(runs_on: Engine, folder: Source, how: Scoring) -> Iterator[tuple[str, ScoredFile]]:
    """Yield every file of a directory with its scores, in the order of the data; a file alone is a directory of one."""
    if folder.format is not SHARDS:
        yield Path(folder.path).name, _scored(how, folder)
    elif isinstance(runs_on, Ray):
        yield from _on_cluster(runs_on, folder_files(folder), how)
    else:
        with tempfile.TemporaryDirectory(dir=scratch_folder(), prefix="podium-") as copies:
            for source in folder_sources(folder, how.threads, Path(copies)):
                yield Path(source.path).name, _scored(how, source)


def _on_cluster(runs_on: Ray, files: Sequence[FolderFile], how: Scoring) -> Iterator[tuple[str, ScoredFile]]:
    with connect(runs_on) as ray:
        jobs = [(file,) for file in files]
        results = run_tasks(ray, runs_on, score_file, how, jobs, describe=lambda k: f"file {files[k].name}")
        for file, scored in zip(files, results, strict=True):
            sys.stderr.write(scored.notes)
            yield file.name, scored


def score_file(how: Scoring, file: FolderFile) -> ScoredFile:
    """Score one file in a worker, after it was compared with the manifest."""
    notes = io.StringIO()
    with tempfile.TemporaryDirectory(dir=scratch_folder(), prefix="podium-") as copies:
        with contextlib.redirect_stderr(notes):
            scored = _scored(how, file.open(Path(copies)))
        return ScoredFile(scored.scores, scored.run, scored.judged, notes.getvalue())


def _scored(how: Scoring, source: Source) -> ScoredFile:
    given = source if how.judged else without_labels(source)
    rows = Rows.read(given, how.threads, [how.scorer])
    scores = scores_of(how.scorer, how.model, rows, how.threads)
    judged = None
    if how.judged:
        parts = {name: getattr(rows.data, name) for name in RankingData.PARTS}
        nothing = np.empty((rows.data.n_documents, 0), np.float32)
        kept = {**parts, "features": nothing, "feature_names": None, "categorical_features": None, "pairs": None}
        judged = RankingData.of_parts(check=False, **kept)
    return ScoredFile(scores, run_of(scores, rows, how.model) if how.as_run else None, judged)


def without_labels(source: Source) -> Source:
    """Return data to be scored, which needs no labels."""
    has_option = "labels" in source.format.read_options
    return source.with_options({"labels": "ignore", **source.options}) if has_option else source


def run_of(scores: npt.NDArray[Any], rows: Rows, model: Path) -> Run:
    """Return scores as a TREC run."""
    if rows.data.document_ids is None:
        raise DataError(
            f"{rows.path} has no document ids, which a TREC run needs; give data with document ids (LETOR text has them in "
            "comments such as #docid = GX000), or write scores"
        )
    tag = model.stem if model.stem.split() == [model.stem] else "podium"
    return Run.of_scores(scores, rows.data, tag=tag).by_rank()


def score_judged(runs_on: Ray, folder: Source, how: Scoring) -> tuple[npt.NDArray[Any], RankingData]:
    """Return the scores of all files of a directory, and their judgments without features."""
    if folder.format is not SHARDS:
        raise ParameterError(
            "engine", str(runs_on), f"needs a directory of shards, and {folder.path} is one file", "leave it out"
        )
    names, scores, parts = [], [], []
    for name, scored in scored_files(runs_on, folder, how):
        assert scored.judged is not None
        names.append(f"{folder.path}/{name}")
        scores.append(scored.scores)
        parts.append(scored.judged)
    return np.concatenate(scores), join_judgments(parts, names)
