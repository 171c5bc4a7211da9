"""What charts are made from: systems by name, their scores, and samples of what is too much to draw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data import RankingData, Run
from podium.data.canonical import check_data
from podium.data.conversion import as_numbers
from podium.data.feature_names import default_names
from podium.data.grouping import id_texts
from podium.data.hashing import query_hashes, splitmix64, unit_interval
from podium.errors import DataError, ParameterError, is_integer

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
MOST_ROWS = 4500  # of the frame behind a chart; Altair refuses to show more than 5,000


def named_systems(systems: Any, *, count: int | None = None) -> dict[str, Any]:
    """Return systems by name; one without a name is called by its class."""
    if not isinstance(systems, Mapping):
        name = type(systems).__name__ if hasattr(systems, "predict") else "system"
        systems = {name: systems}
    if not systems or (count is not None and len(systems) != count):
        wanted = "at least one system" if count is None else f"exactly {count} systems"
        rule = f"must be {wanted} by name, not {len(systems)}"
        raise ParameterError("systems", rule=rule, remedy="write 'a': …, 'b': … in braces")
    return {str(name): system for name, system in systems.items()}


def scores_of(system: Any, data: RankingData, num_threads: int | None = None) -> Floats:
    """Return one finite score per document, in the grouped order of the data."""
    check_data("data", data)
    if isinstance(system, Run):
        raise DataError("a run has no score for every row of the data; give one score per row, or a ranker")
    if hasattr(system, "predict"):
        system = system.predict(data)
    elif hasattr(system, "scores"):
        system = system.scores(data, num_threads=num_threads)
    scores = as_numbers("scores", system)
    if scores.shape != (data.n_documents,):
        raise DataError(f"scores have shape {scores.shape} for {data.n_documents} rows of data; give one score per row")
    if not np.isfinite(scores).all():
        row = int(np.argmin(np.isfinite(scores)))
        raise DataError(f"the score of row {row} is {scores[row]}; every score must be a finite number")
    if not len(scores):
        raise DataError("the data has no documents, so that there is nothing to draw")
    return np.asarray(data.from_caller_order(scores), np.float64)


def trained_scorer(ranker: Any) -> Any:
    """Return the scorer of a trained ranker; raise a ParameterError for anything else."""
    scorer = getattr(ranker, "scorer_", None)
    if scorer is None:
        found = "an untrained one" if hasattr(ranker, "fit") else f"a {type(ranker).__name__}"
        raise ParameterError(
            "ranker", rule=f"must be a trained ranker, not {found}", remedy="train it, or load it by podium.load"
        )
    return scorer


def feature_names(ranker: Any, data: RankingData | None = None) -> tuple[str, ...]:
    """Return the names of the features of a ranker's model, in its order."""
    scorer = trained_scorer(ranker)
    own = scorer.feature_names or (None if data is None else data.feature_names)
    count = scorer.model.n_features
    return tuple(own) if own is not None and len(own) == count else default_names(count)


def query_names(data: RankingData) -> list[str]:
    """Return the text of each query's id."""
    return id_texts(data.query_ids)


def sample_documents(data: RankingData, most: int, seed: int) -> Rows:
    """Return the rows of at most so many documents, in order; the choice does not depend on the order of queries."""
    if data.n_documents <= most:
        return np.arange(data.n_documents)
    place = np.arange(data.n_documents) - np.repeat(data.query_offsets[:-1], data.query_sizes)
    keys = np.repeat(query_hashes(data.query_ids, seed), data.query_sizes) + place.astype(np.uint64)
    return np.sort(np.argsort(unit_interval(splitmix64(keys)), kind="stable")[:most])


def evenly_spaced(count: int, most: int) -> Rows:
    """Return the numbers from 0 to count − 1, or so many of them in even steps with both ends."""
    if count <= most:
        return np.arange(count)
    return np.unique(np.rint(np.linspace(0, count - 1, most)).astype(np.int64))


def check_positive(name: str, value: int, most: int | None = None) -> int:
    """Return a whole number of at least 1; raise a ParameterError otherwise."""
    if not is_integer(value) or value < 1 or (most is not None and value > most):
        upper = "" if most is None else f" and at most {most}"
        raise ParameterError(name, value, f"must be a whole number of at least 1{upper}")
    return int(value)


def some_of(shown: int, total: int, what: str) -> str:
    """Return a sentence that says how much is drawn, or nothing if all is."""
    return "" if shown >= total else f"{shown:,} of {total:,} {what}"
