"""Models from files of any kind: Podium's own, and those of other libraries, which are read as `podium import` reads them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from podium.formats.opening import read_head
from podium.kinds import FOREIGN_MODELS, recognize
from podium.scoring import Scorer, load_scorer

if TYPE_CHECKING:
    from podium.rankers.base import BaseRanker


def is_foreign_model(path: str | os.PathLike[str]) -> bool:
    """Return whether a file holds the model of another library or engine; a pipe, which is read only once, does not."""
    if Path(path).suffix == ".podium" or Path(path).is_fifo():
        return False
    return recognize(path, read_head(path)) in FOREIGN_MODELS


def open_ranker(path: str | os.PathLike[str]) -> BaseRanker:
    """Return the ranker of a model's file."""
    from podium.rankers import ImportedRanker, load

    if not is_foreign_model(path):
        return load(path)
    from podium.export import read_model

    return ImportedRanker.of(read_model(path))


def open_scorer(path: str | os.PathLike[str]) -> Scorer:
    """Return what computes the scores of a model's file; no training code is imported."""
    if not is_foreign_model(path):
        return load_scorer(path)
    from podium.export import read_model

    read = read_model(path)
    return Scorer(read.model, read.feature_names, categories=read.categories)
