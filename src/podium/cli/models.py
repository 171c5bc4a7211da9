"""Saved models among the arguments of a command: a ranking may be given as the model that makes it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.artifact import is_artifact, load_artifact
from podium.cli.console import note_filled, read_data, read_options, read_ranking, refuse_swapped
from podium.data import RankingData
from podium.errors import DataError, ParameterError
from podium.formats import find_format
from podium.scoring import Scorer


def is_model(path: Path) -> bool:
    """Whether a file is a model, perhaps a damaged one."""
    return path.suffix == ".podium" or is_artifact(path)


def load_scorer(path: Path, data: Path) -> Scorer:
    """The model of a file, ready to score."""
    _refuse_model_behind(data)
    artifact = load_artifact(path)
    return Scorer.of(artifact.header, artifact.arrays, path)


def _refuse_model_behind(data: Path) -> None:
    if is_artifact(data):
        raise ParameterError(f"{data} is a model where judged data is needed; the other way round?")


@dataclass(frozen=True)
class Rows:
    """The documents to score, and what they were read from."""

    data: RankingData
    path: Path
    is_sparse: bool
    absent: str

    @classmethod
    def read(cls, path: Path, format_name: str | None, options: list[str] | None, threads: int | None) -> Rows:
        """The data of a command's argument."""
        data = read_data(path, format_name, options, threads)
        is_sparse = find_format(path, format_name, reading=True).name == "letor"
        return cls(data, path, is_sparse, read_options(path, format_name, options).get("absent", "zero"))

    def of_width(self, wanted: int) -> RankingData:
        """The data with the features of a model. Sparse text may lack the last ones, and a line on stderr says so."""
        found = self.data.n_features
        if not self.is_sparse or found >= wanted:
            return self.data
        note_filled(self.path, found, "the model", wanted, self.absent)
        rest = np.full((self.data.n_documents, wanted - found), 0.0 if self.absent == "zero" else np.nan, np.float32)
        return self.data.replace_grouped(features=np.concatenate([self.data.features, rest], axis=1))


def scores_of(scorer: Scorer, model: Path, rows: Rows, threads: int | None) -> npt.NDArray[Any]:
    """One score a row, in the rows' order; what does not fit names both files."""
    judged, data = rows.of_width(scorer.model.n_features), rows.path
    try:
        return np.asarray(scorer.scores(judged, num_threads=threads))
    except DataError as error:
        raise DataError(f"{model} cannot score {data}: {error}") from None


class Rankings:
    """Files of scores, runs and models, loaded before the data they rank is read."""

    def __init__(self, paths: Iterable[Path], data: Path) -> None:
        self.paths, self.data = list(paths), data
        self.scorers = {path: load_scorer(path, data) for path in self.paths if is_model(path)}
        for path in self.paths:
            _refuse_model_behind(data)
            if path not in self.scorers:
                refuse_swapped(path, data)

    def read(self, path: Path, rows: Rows, threads: int | None) -> Any:
        """Scores for every row of the data, or a run."""
        if path in self.scorers:
            return scores_of(self.scorers[path], path, rows, threads)
        return read_ranking(path, rows.data, self.data)
