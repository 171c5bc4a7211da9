"""Synthetic ranking tasks whose true order is a known function. [RankNet, §5; LambdaRank, §6.3.1]

A task is a *generator*: a function of the features, with the cut points that turn its values into levels. `generator_seed`
determines the generator and `seed` the documents, so data sets of one task share the first and differ in the second:

    train = synthetic.network(queries=800, seed=0)
    test = synthetic.network(queries=100, seed=1, generator_seed=0)

Cut points (and the polynomial's means and variances) belong to the generator: they come from a reference sample of 100,000 documents
of its own. So a label is the same function of the features in every data set of a task. The levels are equally frequent, up to
sampling noise; `bins="width"` makes them equally wide instead, `levels=(0.6, 0.3, 0.1)` sets the share of each, and `levels=None`
keeps the values themselves as labels.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from podium.data.conversion import as_number
from podium.data.hashing import check_seed
from podium.data.ranking_data import RankingData
from podium.errors import ParameterError, UnknownNameError, is_integer

__all__ = ["network", "polynomial"]

Vector = npt.NDArray[np.float64]
Function = Callable[[npt.NDArray[np.float32]], Vector]
Levels = int | tuple[float, ...] | None

REFERENCE_DOCUMENTS = 100_000
BLOCK_DOCUMENTS = 20_000  # computed at a time
CACHED = 16  # generators to remember: data sets of one task are usually made one after the other
FUNCTION, REFERENCE, DOCUMENTS, BIASES = range(4)  # independent random streams of one seed
ACTIVATIONS: dict[str, Callable[[Vector], Vector]] = {
    "tanh": np.tanh,
    "sigmoid": lambda z: 0.5 + 0.5 * np.tanh(0.5 * z),
}
BINS = ("frequency", "width")


def network(
    queries: int = 1000,
    documents: int = 50,
    features: int = 50,
    hidden: int = 10,
    levels: int | Sequence[float] | None = 6,
    *,
    bins: str = "frequency",
    activation: str = "tanh",
    bias: bool = False,
    seed: int = 0,
    generator_seed: int | None = None,
) -> RankingData:
    """Return data whose labels are levels of v·a(W x + b), with W, v, b and x uniform in [-1, 1]. [RankNet, §5]

    Args:
        queries: Number of queries.
        documents: Number of documents per query.
        features: Number of features.
        hidden: Number of hidden units of the network.
        levels: Number of levels, for labels 0 to levels − 1; or the share of each label, from 0 up; or None, for the values
            themselves as labels.
        bins: "frequency" for levels that are equally frequent, "width" for levels that are equally wide.
        activation: The activation a, "tanh" or "sigmoid".
        bias: Whether the hidden units have biases b; otherwise b = 0.
        seed: Seed of the documents.
        generator_seed: Seed of the network; by default the same as `seed`.
    """
    _check_counts(queries=queries, documents=documents, features=features, hidden=hidden)
    cut = _checked_levels(levels, bins)
    if activation not in ACTIVATIONS:
        raise UnknownNameError("activation", activation, ACTIVATIONS)
    task = check_seed(seed if generator_seed is None else generator_seed)
    value, cuts = _network(features, hidden, cut, bins, activation, bool(bias), task)
    return _draw(value, cuts, queries, documents, features, seed)


@functools.lru_cache(maxsize=CACHED)
def _network(
    features: int, hidden: int, levels: Levels, bins: str, activation: str, bias: bool, task: int
) -> tuple[Function, Vector | None]:
    stream = _stream(task, FUNCTION)
    inner = stream.uniform(-1, 1, (features, hidden))
    outer = stream.uniform(-1, 1, hidden)
    shift = _stream(task, BIASES).uniform(-1, 1, hidden) if bias else np.zeros(hidden)
    squash = ACTIVATIONS[activation]

    def value(x: npt.NDArray[np.float32]) -> Vector:
        return np.asarray(squash(x.astype(np.float64) @ inner + shift) @ outer)

    return value, _cuts(value, features, levels, bins, task)


def polynomial(
    queries: int = 1000,
    documents: int = 50,
    features: int = 50,
    levels: int | Sequence[float] | None = 6,
    *,
    bins: str = "frequency",
    weights: tuple[float, float, float] = (1.0, 1.0, 1.0),
    seed: int = 0,
    generator_seed: int | None = None,
) -> RankingData:
    """Return data whose labels are levels of the mean of a linear, a quadratic and a cubic term.

    The terms are w·x, Σ x_i x_Q(i) and Σ x_i x_Q(i) x_Q'(i), each scaled to mean 0 and variance 1. Q and Q' are random permutations
    of the features; w and x are uniform in [-1, 1]. [RankNet, §5]

    Args:
        queries: Number of queries.
        documents: Number of documents per query.
        features: Number of features.
        levels: Number of levels, for labels 0 to levels − 1; or the share of each label, from 0 up; or None, for the values
            themselves as labels.
        bins: "frequency" for levels that are equally frequent, "width" for levels that are equally wide.
        weights: Factors of the linear, quadratic and cubic terms.
        seed: Seed of the documents.
        generator_seed: Seed of the polynomial; by default the same as `seed`.
    """
    _check_counts(queries=queries, documents=documents, features=features)
    cut = _checked_levels(levels, bins)
    given = tuple(as_number(weight) for weight in weights)
    if len(given) != 3 or not all(weight is not None and math.isfinite(weight) for weight in given):
        raise ParameterError(
            "weights", weights, "must be three numbers: the factors of the linear, quadratic and cubic term"
        )
    task = check_seed(seed if generator_seed is None else generator_seed)
    value, cuts = _polynomial(features, cut, bins, given, task)
    return _draw(value, cuts, queries, documents, features, seed)


@functools.lru_cache(maxsize=CACHED)
def _polynomial(
    features: int, levels: Levels, bins: str, weights: tuple[float, ...], task: int
) -> tuple[Function, Vector | None]:
    stream = _stream(task, FUNCTION)
    w = stream.uniform(-1, 1, features)
    first, second = stream.permutation(features), stream.permutation(features)

    def terms(x32: npt.NDArray[np.float32]) -> Vector:
        x = x32.astype(np.float64)
        square = x * x[:, first]
        return np.stack([x @ w, square.sum(axis=1), (square * x[:, second]).sum(axis=1)], axis=1)

    reference = np.concatenate([terms(block) for block in _reference(features, task)])
    mean, deviation = reference.mean(axis=0), reference.std(axis=0)

    def value(x: npt.NDArray[np.float32]) -> Vector:
        return np.asarray((np.array(weights) * (terms(x) - mean) / deviation).mean(axis=1))

    return value, _cuts(value, features, levels, bins, task)


def _draw(value: Function, cuts: Vector | None, queries: int, documents: int, features: int, seed: int) -> RankingData:
    rows = queries * documents
    x = np.empty((rows, features), np.float32)
    labels = np.empty(rows)
    start = 0
    for block in _uniform(_stream(seed, DOCUMENTS), rows, features):
        stop = start + len(block)
        x[start:stop] = block
        values = value(block)
        labels[start:stop] = values if cuts is None else np.searchsorted(cuts, values, side="right")
        start = stop
    return RankingData.of_parts(
        check=False,
        features=x,
        labels=labels,
        query_offsets=np.arange(queries + 1, dtype=np.int64) * documents,
        query_ids=np.arange(queries, dtype=np.int64),
    )


def _cuts(value: Function, features: int, levels: Levels, bins: str, seed: int) -> Vector | None:
    """Return the values that separate the levels, from the reference sample; None if there are no levels."""
    if levels is None:
        return None
    values = np.concatenate([value(block) for block in _reference(features, seed)])
    if bins == "width":
        assert isinstance(levels, int)
        return np.linspace(values.min(), values.max(), levels + 1)[1:-1]
    below = np.arange(1, levels) / levels if isinstance(levels, int) else np.cumsum(levels)[:-1].clip(max=1)
    return np.asarray(np.quantile(values, below))


def _reference(features: int, seed: int) -> Iterator[npt.NDArray[np.float32]]:
    return _uniform(_stream(seed, REFERENCE), REFERENCE_DOCUMENTS, features)


def _uniform(stream: np.random.Generator, rows: int, features: int) -> Iterator[npt.NDArray[np.float32]]:
    """Yield rows uniform in [-1, 1], in blocks; the numbers do not depend on the size of a block."""
    for start in range(0, rows, BLOCK_DOCUMENTS):
        yield stream.uniform(-1, 1, (min(BLOCK_DOCUMENTS, rows - start), features)).astype(np.float32)


def _stream(seed: int, purpose: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(check_seed(seed), spawn_key=(purpose,))))


def _checked_levels(levels: int | Sequence[float] | None, bins: str) -> Levels:
    if bins not in BINS:
        raise UnknownNameError("bins", bins, BINS)
    if levels is None:
        return None
    if isinstance(levels, int | np.integer) and is_integer(levels) and levels >= 2:
        return int(levels)
    given = levels if isinstance(levels, Sequence) else ()
    shares = tuple(number for share in given if (number := as_number(share)) is not None and number > 0)
    if not 2 <= len(shares) == len(given) or abs(sum(shares) - 1) > 1e-6:
        raise ParameterError(
            "levels",
            levels,
            "must be a whole number of at least 2, the shares of at least 2 levels, which add up to 1, or None",
        )
    if bins == "width":
        raise ParameterError(
            "levels", levels, "sets the share of each level, which {bins='width'} does too", "leave one out"
        )
    return shares


def _check_counts(**counts: int) -> None:
    for name, count in counts.items():
        if not is_integer(count) or count < 1:
            raise ParameterError(name, count, "must be a whole number of at least 1")
