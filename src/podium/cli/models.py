"""Models as arguments of commands: a ranking may be given as the model that produces it."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.cli.console import note, read_data
from podium.data import RankingData, Run
from podium.data.matching import PLACE, ModelFeatures
from podium.errors import DataError, FormatError, ParameterError
from podium.files import distinct_names
from podium.formats import Source, read_ranking, resolve
from podium.formats.columns import LISTS
from podium.formats.opening import read_head
from podium.kinds import FOREIGN_MODELS, recognize
from podium.rankers.opening import open_scorer
from podium.scoring import Scorer, match_features

MODEL_KINDS = FOREIGN_MODELS | {"model"}
MODEL_HELP = "A model written by podium train, or by another library (podium import --help lists which)."


@dataclass(frozen=True)
class Rows:
    """Documents to score, and the file from which they were read."""

    data: RankingData
    path: Path

    @classmethod
    def read(cls, source: Source, threads: int | None, scorers: Sequence[Scorer] = ()) -> Rows:
        """Read the data of a command's argument. The columns of a table are converted as the models' training data was."""
        with _notes("the table has", f"{source.path} has"):
            return cls(read_data(_read_like_training(source, scorers), threads), Path(source.path))

    def matched(self, scorer: Scorer) -> RankingData:
        """Return the data with the features of a model. A note says if features had to be added."""
        with _notes("the data has", f"{self.path} has"):
            return match_features(self.data, scorer.model.n_features, scorer.feature_names, scorer.categories)


@contextlib.contextmanager
def _notes(beginning: str, shown: str) -> Iterator[None]:
    """Print warnings as notes, with another beginning for those that begin so."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            for text in dict.fromkeys(str(warning.message) for warning in told):
                note(shown + text.removeprefix(beginning) if text.startswith(beginning) else text)


def _read_like_training(source: Source, scorers: Sequence[Scorer]) -> Source:
    """Return a table with options to read the columns that the models know as features: dates, and text as categories.

    Nothing is changed if a model has no names, if one takes as a number what is a category to another, or if --read says what
    to read.
    """
    if not scorers or "features" not in source.format.read_options or not source.options.keys().isdisjoint(LISTS):
        return source
    is_coded: dict[str, bool] = {}
    for scorer in scorers:
        for column, name in enumerate(scorer.feature_names or [""]):
            coded = (scorer.categories or {}).get(column) is not None
            if not name or PLACE.fullmatch(name) or is_coded.setdefault(name, coded) != coded:
                return source
    categorical = [name for name, coded in is_coded.items() if coded]
    return source.with_options({"features": ModelFeatures(is_coded), "categorical_features": categorical})


def scores_of(scorer: Scorer, model: Path, rows: Rows, threads: int | None) -> npt.NDArray[Any]:
    """Return one score per row, in the rows' order. An error about features that do not match names both files."""
    try:
        return np.asarray(scorer.scores(rows.matched(scorer), num_threads=threads))
    except DataError as error:
        raise DataError(f"{model} cannot score {rows.path}: {error}") from None


class Rankings:
    """Files of scores, runs and models. Each is opened only once, before the data is read."""

    def __init__(self, paths: Iterable[Path], data: Source) -> None:
        self.paths, self.data = list(paths), data
        self.rankings = {path: self._resolve(path) for path in self.paths}

    @property
    def scorers(self) -> list[Scorer]:
        """The models among the files."""
        return [ranking for ranking in self.rankings.values() if isinstance(ranking, Scorer)]

    def _resolve(self, path: Path) -> Scorer | Source:
        """Return the model of a file, or the file itself if it holds scores or a run. A damaged model counts as a model."""
        head = None if path.suffix == ".podium" else read_head(path)
        if head is None or recognize(path, head) in MODEL_KINDS:
            return open_scorer(path)
        return resolve(path, head=head)

    def read(self, path: Path, rows: Rows, threads: int | None) -> Any:
        """Return one score per row of the data, or a run."""
        ranking = self.rankings[path]
        if isinstance(ranking, Scorer):
            return scores_of(ranking, path, rows, threads)
        scores = read_ranking(ranking)
        if not isinstance(scores, Run) and len(scores) != rows.data.n_documents:
            raise FormatError(
                path,
                f"has {len(scores)} scores, but {rows.path} has {rows.data.n_documents} documents; there must be one score per "
                "document, in the same order",
            )
        return scores


def read_systems(files: dict[str, Path], source: Source, threads: int | None) -> tuple[dict[str, Any], RankingData]:
    """Return what each file makes of the data, by name, and the data."""
    given = Rankings(files.values(), source)
    rows = Rows.read(source, threads, given.scorers)
    return {name: given.read(path, rows, threads) for name, path in files.items()}, rows.data


def named_files(words: Sequence[str], parameter: str, *, least: int = 1) -> dict[str, Path]:
    """Return files by name from words of the form [NAME=]FILE. A file without a name of its own is called by its stem.

    Args:
        words: the words.
        parameter: the argument that they were given as, for messages.
        least: the smallest number of files.
    """
    files: dict[str, Path] = {}
    named: dict[str, Path] = {}
    order: list[tuple[str, Path]] = []
    for word in words:
        name, equals, path = word.partition("=")
        file = Path(path if equals else word)
        if equals and name in named:
            raise _same_name(parameter, name, named[name], file)
        if equals:
            named[name] = file
        order.append((name if equals else "", file))
    shown = distinct_names([file for name, file in order if not name], set(named))
    for name, file in order:
        key = name or shown.pop(0)
        if key in files:
            raise _same_name(parameter, key, files[key], file)
        files[key] = file
    if len(files) < least:
        raise ParameterError(parameter, rule=f"must name at least two files, and there is {len(files)}")
    return files


def _same_name(parameter: str, name: str, first: Path, second: Path) -> ParameterError:
    return ParameterError(
        parameter, name, f"is the name of two {parameter}", f"give each a name, as in first={first} second={second}"
    )
