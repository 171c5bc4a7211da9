"""Growing trees: the training documents as bins, the trees so far, and the next tree from a force."""

from __future__ import annotations

import array
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data import RankingData
from podium.data.feature_names import feature_name
from podium.data.hashing import query_hashes, splitmix64, splitmix64_of
from podium.errors import DataError
from podium.exchange import ALONE, Exchange
from podium.memory import MemoryLimit
from podium.models.continuing import as_start, check_start, joined_forest
from podium.models.model import Floats
from podium.models.tree_settings import TreesSpec
from podium.models.trees import MOST_FEATURES, Arrays, TreeModel, joined_trees

BIN_SAMPLE_DOCUMENTS = 100_000  # documents from which the bins are chosen
SHARED_BYTE_DOCUMENTS = 40_000  # from this many documents, two features with few bins share a byte
# From so many documents of all workers on, a tree is grown with histograms that have 64 bits for forces and as many for
# curvatures. With 32 bits for each, the average size of a force is at least 15 units for fewer documents.
WIDE_CELL_DOCUMENTS = 2**26
MOST_PROCESS_DOCUMENTS = 2**31 - 1  # the core numbers the documents of a process with 32 bits
DOCUMENT_BYTES = (
    80  # of a training document, besides its scores: label, force, curvature, cell, hash, leaf and order of rows
)
WIDE_CELL_BYTES = 8  # that a wide cell takes more
TOGETHER_DOCUMENTS = (
    50_000  # up to which several forests are grown at the same time; from there on threads share a tree
)
NO_DEPTH = 2**31 - 1
SAMPLED_QUERIES = 1 << 14  # queries whose documents are sampled at a time, because their hashes take memory
HISTOGRAM_BYTES = 512 << 20
ENUMS: dict[str, Any] = {"growth": _core.Growth, "sampling": _core.Sampling}


@dataclass(frozen=True)
class TrackedScores:
    """Documents whose scores follow the trees as they grow."""

    columns: _core.BinColumns | None  # None: the training documents
    scores: Floats  # [documents · outputs]


class TreeBooster:
    """Trees that are fitted to a force by growing: `grow(force, curvature)`."""

    def __init__(
        self,
        spec: TreesSpec,
        data: RankingData,
        *,
        base: Floats,
        seed: int,
        num_threads: int,
        start: TreeModel | None = None,
        memory: MemoryLimit | None = None,
        exchange: Exchange = ALONE,
    ) -> None:
        (self.n_documents,) = exchange.total(data.n_documents)  # of all workers
        if data.n_documents > MOST_PROCESS_DOCUMENTS:
            raise DataError(
                f"trees take at most {MOST_PROCESS_DOCUMENTS:,} documents per process; found {data.n_documents:,}: train on a sample of "
                "the queries, or with more workers on a cluster"
            )
        if data.n_features > MOST_FEATURES:
            raise DataError(
                f"trees take at most {MOST_FEATURES:,} features; found {data.n_features:,}: leave features out, or train a linear model"
            )
        spec = spec.resolve(data)
        self.histogram_bytes = HISTOGRAM_BYTES
        if memory is not None:
            scores = 8 * len(base) * (1 if spec.forests == 1 else 1 + (spec.forests or 1))
            wide = WIDE_CELL_BYTES if self.n_documents >= WIDE_CELL_DOCUMENTS else 0
            left = memory.for_histograms(data.n_documents, DOCUMENT_BYTES + wide + scores)
            self.histogram_bytes = min(HISTOGRAM_BYTES, -int(exchange.largest(-left)))
        self.spec, self.seed, self.n_outputs, self.n_features = spec, seed, len(base), data.n_features
        self.exchange, self.memory = exchange, memory
        start = None if start is None else as_start(start)
        self.trees_before = (
            0 if start is None else start.n_trees
        )  # random draws continue where those of the other model ended
        self.base, self.start = base if start is None else start.arrays()["base"], start
        keys = query_hashes(data.query_ids, 0)
        features = np.ascontiguousarray(data.features)
        categorical = np.zeros(data.n_features, np.uint8)
        categorical[list(spec.categorical)] = 1
        sample = bin_sample(data, keys, BIN_SAMPLE_DOCUMENTS, n_documents=self.n_documents)
        tables, rows = [features], [sample]
        if not exchange.is_alone:
            tables = exchange.gather(features[sample])
            rows = [np.arange(len(table)) for table in tables]
        bins = _core.make_bins(tables, rows, spec.max_bins, categorical, num_threads)
        self.categories = {feature: bins.cuts(feature) for feature in spec.categorical}
        _warn_of_numbers(data, spec)
        if start is not None:
            check_start(start, self.n_features, self.n_outputs, self.categories, data.feature_names)
        offsets, share = np.ascontiguousarray(data.query_offsets), self.n_documents >= SHARED_BYTE_DOCUMENTS
        folder = "" if memory is None else memory.folder
        self.booster = _core.Booster(bins, offsets, keys, share, WIDE_CELL_DOCUMENTS, folder, num_threads)
        self.booster.append(features)
        if self.grows_together:
            self.histogram_bytes //= max(1, min(self.forests, num_threads))
        if not exchange.is_alone:
            self.booster.join(exchange)
        self.monotone = [dict(spec.monotone).get(f, 0) for f in range(data.n_features)] if spec.monotone else []
        self.settings: tuple[float, _core.BoostSettings] | None = None  # with the learning rate they were made for
        self.trees: list[_core.BoostedTree] = []
        self.weights = array.array("d")
        self.train = self._watch(data, None, num_threads)
        alone = self.forests == 1
        self.own = (
            [self.train] if alone else [TrackedScores(None, self.train.scores.copy()) for _ in range(self.forests)]
        )

    def watch(self, data: RankingData, num_threads: int) -> TrackedScores:
        """Keep the scores of other documents up to date as the trees grow."""
        columns = self.booster.make_columns(data.n_documents)
        self.booster.bin(np.ascontiguousarray(data.features), 0, columns)
        return self._watch(data, columns, num_threads)

    def _watch(self, data: RankingData, columns: _core.BinColumns | None, num_threads: int) -> TrackedScores:
        scores = np.tile(self.base, data.n_documents)
        if self.start is not None:
            scores = self.start.scores(data.features, num_threads=num_threads).reshape(-1)
        return TrackedScores(columns, np.ascontiguousarray(scores, np.float64))

    @property
    def forests(self) -> int:
        """Number of forests that are grown side by side."""
        assert self.spec.forests is not None
        return self.spec.forests

    @property
    def n_steps(self) -> int:
        """Number of steps so far. A step grows one tree per output, and a round is one step of every forest."""
        return len(self.trees) // self.n_outputs

    def grow(self, force: Floats, curvature: Floats, learning_rate: float) -> None:
        """Grow the trees of the next step, one per output. Scores are not changed."""
        forces = np.ascontiguousarray(force.reshape(-1, self.n_outputs).T)
        curvatures = np.ascontiguousarray(curvature.reshape(-1, self.n_outputs).T)
        for output in range(self.n_outputs):
            draw = _draw(self.seed, self.trees_before + len(self.trees))
            try:
                tree = self.booster.grow(forces[output], curvatures[output], self._settings_at(learning_rate), draw)
            except _core.ForceRangeError:
                raise self._range_error(learning_rate) from None
            self._append(tree)

    @property
    def grows_together(self) -> bool:
        """Whether the trees of a round can be grown at the same time, from a force that the core computes.

        Each then has a sample of its own in memory.
        """
        alone = self.exchange.is_alone and self.memory is None
        return alone and self.n_outputs == 1 and self.n_documents <= TOGETHER_DOCUMENTS

    def grow_together(self, force: _core.PreparedForce, rounds: Sequence[int], learning_rate: float) -> None:
        """Grow the next tree of every forest from the force on the forest's own scores; the trees are those of `grow`.

        Args:
            force: a force on the training documents that has a curvature and no parameters of its own.
            rounds: of each forest, what the force's random draws are a function of.
            learning_rate: the factor of the values of leaves.
        """
        number = self.trees_before + len(self.trees)
        for own in self.own:
            if not _core.all_finite(own.scores):
                row = int(np.flatnonzero(~np.isfinite(own.scores))[0])
                raise DataError(f"the score of document {row} is {own.scores[row]}; forces need finite scores")
        try:
            trees = self.booster.grow_forests(
                force,
                [own.scores for own in self.own],
                seed=self.seed,
                rounds=list(rounds),
                settings=self._settings_at(learning_rate),
                draws=[_draw(self.seed, number + forest) for forest in range(self.forests)],
            )
        except _core.ForceRangeError:
            raise self._range_error(learning_rate) from None
        for tree in trees:
            self._append(tree)

    def _append(self, tree: _core.BoostedTree) -> None:
        self.trees.append(tree)
        self.weights.append(1.0 / self.forests)

    def _range_error(self, learning_rate: float) -> DataError:
        """Return the error for forces or curvatures that the core refuses."""
        return DataError(
            f"the force of round {self.n_steps // self.forests + 1} has a value that trees cannot take: forces and curvatures must "
            f"be numbers of at most {_core.LARGEST_FORCE:g} in size, and curvatures not negative; scale the labels or the force, or "
            f"try a smaller learning_rate than {learning_rate:g}"
        )

    def _settings_at(self, learning_rate: float) -> _core.BoostSettings:
        if self.settings is None or self.settings[0] != learning_rate:
            self.settings = learning_rate, self._settings(learning_rate)
        return self.settings[1]

    def _settings(self, learning_rate: float) -> _core.BoostSettings:
        """Return the settings of trees as the core takes them: under the same names, with enums in place of words."""
        spec = self.spec  # resolved: only the depth can be None
        given: dict[str, Any] = {name: getattr(spec, name) for name, p in spec.parameters().items() if p.core}
        given |= {name: kind[getattr(spec, name)] for name, kind in ENUMS.items()}
        given |= {"max_depth": NO_DEPTH if spec.max_depth is None else spec.max_depth, "monotone": self.monotone}
        return _core.BoostSettings(learning_rate=learning_rate, histogram_bytes=self.histogram_bytes, **given)

    def add(self, watched: TrackedScores, steps: Sequence[int], scales: Sequence[float]) -> None:
        """Add `scale` times the trees of these steps to the scores."""
        for number, scale in zip(steps, scales, strict=True):
            for output in range(self.n_outputs):
                tree = self.trees[number * self.n_outputs + output]
                self.booster.add(
                    tree, watched.columns, scale=scale, scores=watched.scores, output=output, outputs=self.n_outputs
                )

    def add_step(self, watched: TrackedScores | None) -> None:
        """Add the last tree of each forest to the forest's own scores, and their mean to all others; there is one output."""
        self.booster.add_step(
            self.trees[-self.forests :],
            share=1 / self.forests,
            own=[own.scores for own in self.own if own is not self.train],
            scores=self.train.scores,
            columns=None if watched is None else watched.columns,
            column_scores=None if watched is None else watched.scores,
        )

    def arrays_of(self, tree: int) -> Arrays:
        """Return a tree as forests store it, without its weight."""
        arrays = self.booster.tree_arrays([self.trees[tree]])
        return {name: np.asarray(value) for name, value in arrays.items() if name not in ("nodes", "leaves")}

    def recall(self, arrays: Arrays, weights: Floats) -> None:
        """Restore the trees of a forest that was grown on these bins."""
        forest = TreeModel(arrays, self.n_features, self.n_outputs)
        self.trees = [self.booster.recall_tree(**forest.tree(t)) for t in range(forest.n_trees)]
        self.weights = array.array("d", weights.tolist())
        if len(self.weights) != len(self.trees):
            raise ValueError(f"{len(self.weights)} weights for {len(self.trees)} trees")

    def recall_step(self, trees: Sequence[Arrays]) -> None:
        """Append the trees of a step that was grown elsewhere, one per output."""
        for arrays in trees:
            self._append(self.booster.recall_tree(**arrays))

    def grown(self, weights: Sequence[float]) -> Arrays:
        """Return the forest of the first trees, one per weight and multiplied by it, without the trees that training started from."""
        arrays = {
            name: np.asarray(value) for name, value in self.booster.tree_arrays(self.trees[: len(weights)]).items()
        }
        nodes, leaves = arrays.pop("nodes"), arrays.pop("leaves")
        arrays["value"] = arrays["value"] * np.repeat(np.asarray(weights, np.float64), leaves)
        return joined_trees(arrays, nodes, leaves, self.base, self.categories)

    def finished(self, weights: Sequence[float]) -> TreeModel:
        """Return the trained forest, including the one that training started from."""
        grown = TreeModel(self.grown(weights), self.n_features, self.n_outputs)
        return grown if self.start is None else joined_forest(self.start, grown)


def _warn_of_numbers(data: RankingData, spec: TreesSpec) -> None:
    """Warn of a feature that is to be categorical, but takes many values that are not whole numbers."""
    for feature in spec.categorical:
        values = np.unique(data.features[:, feature])
        values = values[np.isfinite(values)]
        if len(values) > spec.max_bins and (values != np.rint(values)).any():
            warnings.warn(
                f"feature {feature_name(feature, data.feature_names)!r} is categorical and has {len(values):,} values, which are not "
                "whole numbers; codes of categories are, so leave it out of categorical if it is a quantity",
                stacklevel=2,
            )


def _draw(seed: int, tree: int) -> int:
    return splitmix64_of(splitmix64_of(seed) ^ tree)


def bin_sample(
    data: RankingData, keys: npt.NDArray[np.uint64], wanted: int, *, n_documents: int | None = None
) -> npt.NDArray[np.int64]:
    """Sample documents by a hash of the query and the place in it, so that the order of queries does not change the bins.

    Any part of the queries can be sampled on its own, given the number of all documents.
    """
    n_documents = data.n_documents if n_documents is None else n_documents
    if n_documents <= wanted:
        return np.arange(data.n_documents, dtype=np.int64)
    limit = np.uint64(math.floor(wanted / n_documents * 2.0**64))
    found = [np.empty(0, np.int64)]
    for first in range(0, data.n_queries, SAMPLED_QUERIES):
        part = slice(first, first + SAMPLED_QUERIES)
        sizes, begins = data.query_sizes[part], data.query_offsets[:-1][part]
        rows = np.arange(begins[0], begins[0] + sizes.sum())
        place = rows - np.repeat(begins, sizes)
        drawn = splitmix64(np.repeat(splitmix64(keys[part]), sizes) ^ place.astype(np.uint64))
        found.append(rows[drawn < limit])
    return np.concatenate(found)
