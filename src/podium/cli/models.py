"""Saved models among the arguments of a command: a ranking may be given as the model that makes it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.artifact import is_artifact
from podium.cli.console import note, read_data, read_ranking, refuse_swapped
from podium.data import RankingData
from podium.errors import DataError, ParameterError
from podium.scoring import Scorer, load_scorer, match_features


def is_model(path: Path) -> bool:
    """Whether a file is a model, perhaps a damaged one."""
    return path.suffix == ".podium" or is_artifact(path)


def load_model(path: Path, data: Path) -> Scorer:
    """Return the model of a file, ready to score."""
    _refuse_model_behind(data)
    return load_scorer(path)


def _refuse_model_behind(data: Path) -> None:
    if is_artifact(data):
        raise ParameterError(f"{data} is a model where judged data is needed; the other way round?")


@dataclass(frozen=True)
class Rows:
    """The documents to score, and the file they were read from."""

    data: RankingData
    path: Path

    @classmethod
    def read(cls, path: Path, format_name: str | None, options: list[str] | None, threads: int | None) -> Rows:
        """Read the data of a command's argument."""
        return cls(read_data(path, format_name, options, threads), path)

    def matched(self, scorer: Scorer) -> RankingData:
        """Return the data with the features of a model; a line on stderr says what had to be filled in for that."""
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            data = match_features(self.data, scorer.model.n_features, scorer.feature_names, scorer.categories)
        for warning in told:
            note(str(warning.message).replace("the data has", f"{self.path} has", 1))
        return data


def scores_of(scorer: Scorer, model: Path, rows: Rows, threads: int | None) -> npt.NDArray[Any]:
    """Return one score per row, in the rows' order; an error about data that does not fit names both files."""
    try:
        return np.asarray(scorer.scores(rows.matched(scorer), num_threads=threads))
    except DataError as error:
        raise DataError(f"{model} cannot score {rows.path}: {error}") from None


class Rankings:
    """Files of scores, runs and models, loaded before the data they rank is read."""

    def __init__(self, paths: Iterable[Path], data: Path) -> None:
        self.paths, self.data = list(paths), data
        self.scorers = {path: load_model(path, data) for path in self.paths if is_model(path)}
        for path in self.paths:
            _refuse_model_behind(data)
            if path not in self.scorers:
                refuse_swapped(path, data)

    def read(self, path: Path, rows: Rows, threads: int | None) -> Any:
        """Scores for every row of the data, or a run."""
        if path in self.scorers:
            return scores_of(self.scorers[path], path, rows, threads)
        return read_ranking(path, rows.data, self.data)
