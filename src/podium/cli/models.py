"""Models as arguments of commands: a ranking may be given as the model that produces it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.cli.console import note, read_data
from podium.data import RankingData, Run
from podium.errors import DataError, FormatError
from podium.formats import Source, read_ranking, resolve
from podium.formats.opening import read_head
from podium.kinds import recognize
from podium.scoring import Scorer, load_scorer, match_features


@dataclass(frozen=True)
class Rows:
    """Documents to score, and the file from which they were read."""

    data: RankingData
    path: Path

    @classmethod
    def read(cls, source: Source, threads: int | None) -> Rows:
        """Read the data of a command's argument."""
        return cls(read_data(source, threads), Path(source.path))

    def matched(self, scorer: Scorer) -> RankingData:
        """Return the data with the features of a model. A note says if features had to be added."""
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            data = match_features(self.data, scorer.model.n_features, scorer.feature_names, scorer.categories)
        for warning in told:
            note(str(warning.message).replace("the data has", f"{self.path} has", 1))
        return data


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

    def _resolve(self, path: Path) -> Scorer | Source:
        """Return the model of a file, or the file itself if it holds scores or a run. A damaged model counts as a model."""
        head = None if path.suffix == ".podium" else read_head(path)
        if head is None or recognize(path, head) == "model":
            return load_scorer(path)
        source = resolve(path, head=head)
        if source.format.holds == "data" and self.data.format.holds != "data":
            raise FormatError(path, f"holds judged data, and {self.data.path} holds scores; exchange the two arguments")
        return source

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
