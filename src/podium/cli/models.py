"""Saved models among the arguments of a command: a ranking may be given as the model that makes it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.artefact import is_artefact, load_artefact
from podium.cli.console import read_ranking, refuse_swapped
from podium.data import RankingData
from podium.errors import DataError, ParameterError
from podium.scoring import Scorer


def is_model(path: Path) -> bool:
    """Whether a file is a model, perhaps a damaged one."""
    return path.suffix == ".podium" or is_artefact(path)


def refuse_model(data: Path) -> None:
    """Says so where a model stands in the place of judged data."""
    if is_artefact(data):
        raise ParameterError(f"{data} is a model where judged data is needed; the other way round?")


def load_scorer(path: Path, data: Path) -> Scorer:
    """The model of a file, ready to score."""
    refuse_model(data)
    artefact = load_artefact(path)
    return Scorer.of(artefact.header, artefact.arrays, path)


def scores_of(scorer: Scorer, model: Path, judged: RankingData, data: Path, threads: int | None) -> npt.NDArray[Any]:
    """One score a row, in the rows' order; what does not fit names both files."""
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
            refuse_model(data)
            if path not in self.scorers:
                refuse_swapped(path, data)

    @property
    def n_features(self) -> int | None:
        """How many features the models need; None where there are none."""
        return max((scorer.model.n_features for scorer in self.scorers.values()), default=None)

    def read(self, path: Path, judged: RankingData, threads: int | None) -> Any:
        """Scores for every row of the data, or a run."""
        if path in self.scorers:
            return scores_of(self.scorers[path], path, judged, self.data, threads)
        return read_ranking(path, judged, self.data)
