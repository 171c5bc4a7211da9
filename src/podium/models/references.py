"""Reference documents of the Nadaraya–Watson estimator: which they are, and the share of each query in them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data import RankingData
from podium.models.inputs import InputMap
from podium.models.kernel import landmark_rows

Floats = npt.NDArray[np.float64]
ROUNDS = 5  # of k-means
BLOCK = 512  # documents compared with all centers at a time
NOTHING = 1e-12  # of a center's mass; less is left only by rounding


@dataclass(frozen=True)
class Share:
    """The share of one query in the references: their numbers, its part of their mass, and its sum of mass · label."""

    rows: npt.NDArray[np.int64]
    mass: Floats
    labels: Floats


@dataclass(frozen=True)
class References:
    """Documents, or centers of documents, with the mean label and the mass of each.

    `shares` has the share of every training query, by query id. It is empty after training.
    """

    inputs: Floats
    labels: Floats
    mass: Floats
    shares: dict[Hashable, Share]

    @property
    def votes(self) -> tuple[Floats, Floats]:
        """Return (log mass, label) of every reference."""
        return _log(self.mass), self.labels

    def votes_without(self, query: Hashable) -> tuple[Floats, Floats]:
        """Return the same without the documents of one query; with them if no other query has any mass."""
        share = self.shares.get(query)
        if share is None or not len(share.rows):
            return self.votes
        mass, labels = self.mass.copy(), self.labels.copy()
        left = mass[share.rows] - share.mass
        left[left <= NOTHING * mass[share.rows]] = 0.0
        sums = mass[share.rows] * labels[share.rows] - share.labels
        labels[share.rows] = np.where(left > 0, sums / np.where(left > 0, left, 1.0), 0.0)
        mass[share.rows] = left
        return (_log(mass), labels) if mass.any() else self.votes


def choose_references(
    data: RankingData, map: InputMap, *, most: int, choose: str, seed: int, num_threads: int
) -> References:
    """Return all documents if they are few; otherwise a random sample of `most`, or as many centers by k-means.

    The choice depends on the seed and the ids of queries, not on their order.
    """
    labels = document_votes(data)
    weights = np.ones(data.n_documents) if data.document_weights is None else np.array(data.document_weights, float)
    rows = landmark_rows(data, most, seed)
    if choose == "kmeans" and len(rows) < data.n_documents:
        every = landmark_rows(data, data.n_documents, seed)
        inputs = map(data.features[every])
        centers = _centers(inputs, inputs[_places(rows, every)], num_threads)
        of = _nearest(inputs, centers, num_threads)
        return _gathered(data, every, of, centers, labels, weights)
    return _gathered(data, rows, np.arange(len(rows)), map(data.features[rows]), labels, weights)


def document_votes(data: RankingData) -> Floats:
    """Return the vote of each document: its label or, if only pairs distinguish documents, the share of its pairs that it wins."""
    labels = np.array(data.labels, np.float64)
    if data.pairs is None or (labels != labels[0]).any():
        return labels
    pairs, n = data.pairs, data.n_documents
    won = np.bincount(pairs.winner, pairs.weight * pairs.probability, n)
    won += np.bincount(pairs.loser, pairs.weight * (1 - pairs.probability), n)
    compared = np.bincount(pairs.winner, pairs.weight, n) + np.bincount(pairs.loser, pairs.weight, n)
    return np.where(compared > 0, won / np.where(compared > 0, compared, 1.0), 0.5)


def _gathered(
    data: RankingData,
    rows: npt.NDArray[np.int64],
    of: npt.NDArray[np.int64],
    inputs: Floats,
    votes: Floats,
    weights: Floats,
) -> References:
    """Return references of these rows, with row k in reference `of[k]`; references without mass are left out."""
    labels, weights = votes[rows], weights[rows]
    mass, sums = (_sums(of, values, len(inputs)) for values in (weights, weights * labels))
    kept = mass > 0 if (mass > 0).any() else np.ones(len(mass), bool)
    mass = np.where(kept & (mass <= 0), 1.0, mass)
    place = np.cumsum(kept) - 1
    shares: dict[Hashable, Share] = {}
    queries = data.document_queries[rows]
    ids = data.query_ids.tolist()
    order = np.argsort(queries, kind="stable")
    for part in np.split(order, np.flatnonzero(np.diff(queries[order])) + 1):
        part = part[kept[of[part]]]
        if len(part):
            own, inverse = np.unique(place[of[part]], return_inverse=True)
            parts = [_sums(inverse, values[part], len(own)) for values in (weights, weights * labels)]
            shares[ids[queries[part[0]]]] = Share(own, *parts)
    return References(np.ascontiguousarray(inputs[kept]), sums[kept] / mass[kept], mass[kept], shares)


def _sums(of: npt.NDArray[np.int64], values: Floats, count: int) -> Floats:
    return np.asarray(np.bincount(of, values, count), np.float64)


def _places(rows: npt.NDArray[np.int64], among: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the positions of rows among all rows."""
    place = np.empty(len(among), np.int64)
    place[among] = np.arange(len(among))
    return place[rows]


def _nearest(inputs: Floats, centers: Floats, num_threads: int) -> npt.NDArray[np.int64]:
    """Return the nearest center of every row, the first of equally near ones."""
    out = np.empty(len(inputs), np.int64)
    half, across = 0.5 * (centers**2).sum(axis=1), np.ascontiguousarray(centers.T)
    for begin in range(0, len(inputs), BLOCK):
        rows = inputs[begin : begin + BLOCK]
        near = _core.matrix_product(rows, across, num_threads).reshape(len(rows), -1) - half
        out[begin : begin + BLOCK] = near.argmax(axis=1)
    return out


def _centers(inputs: Floats, start: Floats, num_threads: int) -> Floats:
    """Run k-means from initial centers: each center moves to the mean of the rows nearest to it. [Lloyd 1982]"""
    centers = start.copy()
    for _ in range(ROUNDS):
        of = _nearest(inputs, centers, num_threads)
        count = np.bincount(of, minlength=len(centers))
        sums = np.stack([np.bincount(of, column, len(centers)) for column in inputs.T], axis=1)
        centers = np.where(count[:, None] > 0, sums / np.maximum(count, 1)[:, None], centers)
    return np.ascontiguousarray(centers)


def _log(mass: Floats) -> Floats:
    return _core.logarithms(mass)  # −∞ for a mass of 0
