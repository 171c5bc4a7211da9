"""A force as a field: λ as a function of the scores of a query, everything else held fixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.errors import DataError, short_repr
from podium.forces.force import Force
from podium.forces.force_data import Floats, ForceData, ForceOutcome
from podium.metrics import Metric

HIGHEST = 4  # labels of random lists go from 0 to this


@dataclass(frozen=True)
class Point:
    """A query of documents with labels, at some scores: [documents], or [documents × outputs] for some forces."""

    scores: Floats
    labels: Floats
    key: int  # the key of the random numbers of a force that draws

    def at(self, scores: Floats) -> Point:
        """The same query at other scores."""
        return replace(self, scores=scores.reshape(self.scores.shape))

    def part(self, documents: Sequence[int]) -> Point:
        """The query of some of the documents alone."""
        return replace(self, scores=self.scores[list(documents)], labels=self.labels[list(documents)])


class Field:
    """λ of any number of points at once; the thresholds of `ordinal` stand still, and draws are those of one round."""

    def __init__(self, force: Force, *, seed: int = 0, highest: int = HIGHEST) -> None:
        # Lists this short are over before Numba has compiled anything.
        custom = None if force.custom is None else replace(force.custom, compile=False)
        self.force, self.seed, self._acting = force, seed, replace(force, custom=custom)
        levels = np.arange(highest + 1, dtype=np.float64)
        example = RankingData(np.zeros((len(levels), 1)), levels, np.zeros(len(levels), np.int64))
        self.outputs = force.n_outputs(example)
        thresholds = force.n_parameters(example) if force.definition.has_thresholds else 0
        self._parameters = np.linspace(-1.5, 1.5, thresholds)  # other forces keep the values in their names
        # The number of levels follows from the labels, so one query has them all.
        by_level = force.definition.labels == "levels"
        self._anchor = Point(self.shaped(np.zeros(len(levels))), levels, 0) if by_level else None

    def shaped(self, scores: npt.ArrayLike) -> Floats:
        """Scores as the force takes them; one given for each document is the first of its outputs."""
        column = np.asarray(scores, np.float64)
        if self.outputs == 1 or column.ndim == 2:
            return column
        return np.column_stack([column, np.zeros((len(column), self.outputs - 1))])

    def forces(self, points: Sequence[Point]) -> list[Floats]:
        """Return λ of each point, in the shape of its scores."""
        sizes = np.array([len(point.labels) for point in points])
        return np.split(self._outcome(points, sizes, cost=False).force[: sizes.sum()], np.cumsum(sizes)[:-1])

    def forces_at(self, points: Sequence[Point], scores: Sequence[Floats]) -> list[Floats]:
        """Return λ at many scores of each point's query: [places × documents (× outputs)] for each."""
        places = [len(held) for held in scores]
        sizes = np.repeat([len(point.labels) for point in points], places)
        flat = np.concatenate(
            [held.reshape(-1, *point.scores.shape[1:]) for point, held in zip(points, scores, strict=True)]
        )
        labels = np.concatenate([np.tile(point.labels, count) for point, count in zip(points, places, strict=True)])
        keys = np.repeat([point.key for point in points], places)
        force = self._act(flat, labels, sizes, keys, cost=False).force[: len(flat)]
        ends = np.cumsum([count * len(point.labels) for point, count in zip(points, places, strict=True)])[:-1]
        return [part.reshape(held.shape) for part, held in zip(np.split(force, ends), scores, strict=True)]

    def costs(self, points: Sequence[Point]) -> Floats:
        """Return C of each point, for a force that has a cost."""
        cost = self._outcome(points, np.array([len(point.labels) for point in points]), cost=True).cost
        assert cost is not None
        return cost[: len(points)]

    def _outcome(self, points: Sequence[Point], sizes: npt.NDArray[np.int64], cost: bool) -> ForceOutcome:
        scores = np.concatenate([point.scores for point in points])
        labels = np.concatenate([point.labels for point in points])
        return self._act(scores, labels, sizes, np.array([point.key for point in points]), cost)

    def _act(
        self, scores: Floats, labels: Floats, sizes: npt.NDArray[np.int64], keys: npt.NDArray[np.int64], cost: bool
    ) -> ForceOutcome:
        if self._anchor is not None:
            scores, labels = (
                np.concatenate([scores, self._anchor.scores]),
                np.concatenate([labels, self._anchor.labels]),
            )
            sizes, keys = np.append(sizes, len(self._anchor.labels)), np.append(keys, self._anchor.key)
        data = RankingData(np.zeros((len(labels), 1), np.float32), labels, np.repeat(np.arange(len(sizes)), sizes))
        held = ForceData(data, query_keys=keys.astype(np.uint64))
        return self._acting.compute(scores, held, cost=cost, parameters=self._parameters, seed=self.seed, num_threads=1)

    def ranked_by(self, point: Point) -> Floats:
        """Return the numbers by which documents are ranked: the scores, or the expected gains of several outputs."""
        if self.outputs == 1:
            return point.scores
        odds = np.exp(point.scores - point.scores.max(axis=1, keepdims=True))
        return np.asarray((odds / odds.sum(axis=1, keepdims=True)) @ (2.0 ** np.arange(self.outputs) - 1))

    def values(self, metric: Metric, points: Sequence[Point]) -> Floats:
        """Return the metric of each point."""
        offsets = np.cumsum([0, *(len(point.labels) for point in points)])
        labels = np.concatenate([point.labels for point in points])
        return metric.per_query(np.concatenate([self.ranked_by(p) for p in points]), labels, offsets, num_threads=1)


class Sample:
    """The points that laws are tested at, with λ at each."""

    def __init__(self, field: Field, points: Sequence[Point]) -> None:
        self.field, self.points, self.forces = field, list(points), field.forces(points)
        # The typical size of a force: values far below it are rounding.
        self.unit = float(np.median([np.abs(force).max() for force in self.forces]))


def random_points(field: Field, count: int, rng: np.random.Generator, first_key: int = 0) -> list[Point]:
    """Return lists of 2 to 6 documents with at least two different labels from 0 to 4, at scores of three sizes."""
    out = []
    for key in range(first_key, first_key + count):
        n = int(rng.integers(2, 7))
        labels = rng.integers(0, HIGHEST + 1, n).astype(np.float64)
        if labels.min() == labels.max():
            labels[0] = (labels[0] + 1) % (HIGHEST + 1)
        shape = n if field.outputs == 1 else (n, field.outputs)
        out.append(Point(rng.normal(size=shape) * rng.choice([0.3, 1.0, 3.0]), labels, key))
    return out


def given_point(field: Field, scores: npt.ArrayLike, labels: npt.ArrayLike, key: int) -> Point:
    """Return a point that the caller gave, after checking it."""
    held, levels = field.shaped(scores), np.asarray(labels, np.float64)
    if levels.ndim != 1 or len(levels) == 0 or len(held) != len(levels):
        raise DataError(
            f"a point is (scores, labels) of one query, one of each per document; found {short_repr(scores)} and {short_repr(labels)}"
        )
    if not (np.isfinite(held).all() and np.isfinite(levels).all()):
        raise DataError(
            f"the scores and labels of a point must be finite; found {short_repr(scores)} and {short_repr(labels)}"
        )
    return Point(held, levels, key)
