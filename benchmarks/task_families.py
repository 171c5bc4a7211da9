"""Families of synthetic ranking tasks that differ in kind, for choosing the defaults of boosted trees and for judging them.

A family fixes what its tasks are like: how features are distributed, how many there are, how relevance follows from them, how noisy
labels are. A `task_seed` draws one task of the family, and `seed` draws queries of that task.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mslr_like import mslr_like
from podium import RankingData

Array = npt.NDArray[np.float64]
Rule = Callable[[Array], Array]  # from the values of the features to relevance
GRADED = (0.52, 0.32, 0.13, 0.02, 0.01)


@dataclass(frozen=True)
class Family:
    """What the tasks of a family have in common."""

    rule: Callable[[np.random.Generator, int], Rule]
    features: int
    documents: float  # per query, on average
    shares: tuple[float, ...]  # of the labels 0, 1, …
    noise: float  # standard deviation of the noise on labels, in units of the signal's
    query_share: float = 0.3  # of a feature's variance: what the documents of a query have in common
    sparse: float = 0.0  # share of values that are seen as 0
    scaled: bool = False  # whether features are scaled to [0, 1] inside each query

    def draw(self, queries: int, *, seed: int, task_seed: int) -> RankingData:
        """Draw queries of one task."""
        rule = self.rule(np.random.default_rng([task_seed, 0]), self.features)
        rng = np.random.default_rng([task_seed, seed, 1])
        sizes = np.clip(np.rint(self.documents * rng.gamma(6.0, 1 / 6.0, queries)), 2, None).astype(np.int64)
        offsets = np.append(0, np.cumsum(sizes)).astype(np.int64)
        shared = np.repeat(rng.standard_normal((queries, self.features)), sizes, axis=0)
        own = rng.standard_normal((int(offsets[-1]), self.features))
        values = np.sqrt(self.query_share) * shared + np.sqrt(1 - self.query_share) * own
        signal = rule(values)
        target = signal + self.noise * float(signal.std()) * rng.standard_normal(len(signal))
        cuts = np.quantile(target, np.cumsum(self.shares)[:-1])
        return RankingData.of_parts(
            features=self._seen(values, offsets, rng).astype(np.float32),
            labels=np.searchsorted(cuts, target, side="right").astype(np.float64),
            query_offsets=offsets,
            query_ids=np.arange(1, queries + 1, dtype=np.int64),
        )

    def _seen(self, values: Array, offsets: npt.NDArray[np.int64], rng: np.random.Generator) -> Array:
        """Return the features as a ranker sees them."""
        seen = np.where(rng.random(values.shape) < self.sparse, 0.0, values) if self.sparse else values
        if not self.scaled:
            return seen
        sizes = np.diff(offsets)
        low = np.repeat(np.minimum.reduceat(seen, offsets[:-1]), sizes, axis=0)
        high = np.repeat(np.maximum.reduceat(seen, offsets[:-1]), sizes, axis=0)
        return np.asarray((seen - low) / np.maximum(high - low, 1e-9))


def additive(rng: np.random.Generator, features: int) -> Rule:
    """A sum of smooth steps of a third of the features."""
    used = rng.permutation(features)[: features // 3]
    weight, place, steep = rng.normal(size=len(used)), rng.normal(size=len(used)), rng.uniform(0.5, 4, len(used))
    return lambda x: np.asarray(np.tanh(steep * (x[:, used] - place)) @ weight)


def products(rng: np.random.Generator, features: int) -> Rule:
    """Saturating terms, and nearly as many products of two features."""
    terms = rng.permutation(features)[: min(30, features // 2)]
    first, second = (rng.permutation(features)[: min(25, features // 2)] for _ in range(2))
    weight, strength = rng.normal(size=len(terms)), rng.normal(size=len(first))
    return lambda x: np.asarray(
        np.tanh(x[:, terms]) @ weight + (np.tanh(x[:, first]) * np.tanh(x[:, second])) @ strength
    )


def deep(rng: np.random.Generator, features: int) -> Rule:
    """The sum of ten random trees of depth five."""
    used = rng.permutation(features)[:20]
    trees = [(rng.choice(used, 31), rng.normal(size=31) * 0.7, rng.normal(size=32)) for _ in range(10)]

    def rule(x: Array) -> Array:
        total = np.zeros(len(x))
        for feature, threshold, value in trees:
            node = np.zeros(len(x), np.int64)
            for _ in range(5):
                node = 2 * node + 1 + (x[np.arange(len(x)), feature[node]] > threshold[node])
            total += value[node - 31]
        return total

    return rule


def nearly_linear(rng: np.random.Generator, features: int) -> Rule:
    """A linear function with a few products."""
    weight = rng.normal(size=features) * np.exp(-np.arange(features) / 8)
    first, second = rng.integers(0, features, 5), rng.integers(0, features, 5)
    return lambda x: np.asarray(x @ weight + 0.5 * (x[:, first] * x[:, second]).sum(axis=1))


def few_of_many(rng: np.random.Generator, features: int) -> Rule:
    """Steps and products of eight features; all others are irrelevant."""
    used = rng.permutation(features)[:8]
    weight, place = rng.normal(size=8), rng.normal(size=8) * 0.5
    return lambda x: np.asarray(
        np.tanh(2 * (x[:, used] - place)) @ weight + 1.5 * x[:, used[0]] * x[:, used[1]] + x[:, used[2]] * x[:, used[3]]
    )


FAMILIES: dict[str, Family] = {
    "additive": Family(additive, features=40, documents=30, shares=GRADED, noise=0.5),
    "products": Family(products, features=136, documents=120, shares=GRADED, noise=0.6),
    "deep": Family(deep, features=60, documents=40, shares=GRADED, noise=0.4),
    "noisy": Family(nearly_linear, features=45, documents=100, shares=(0.7, 0.16, 0.14), noise=2.0, scaled=True),
    "rare": Family(products, features=50, documents=60, shares=(0.975, 0.025), noise=0.6),
    "wide": Family(few_of_many, features=300, documents=15, shares=GRADED, noise=0.7, sparse=0.6),
}


def draw(family: str, documents: int, *, seed: int, task_seed: int) -> RankingData:
    """Draw about so many documents of a task; `mslr` is the data of the other benchmarks."""
    if family == "mslr":
        return mslr_like(max(2, round(documents / 120)), seed=seed, task_seed=task_seed)
    spec = FAMILIES[family]
    return spec.draw(max(2, round(documents / spec.documents)), seed=seed, task_seed=task_seed)
