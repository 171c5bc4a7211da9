"""Functions that learn from one document at a time: linear perceptrons, and quadratic functions stored whole or by supports.

Each of them also learns the thresholds between the levels. It is represented by vectors, one per candidate among which
validation data chooses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data.hashing import splitmix64
from podium.models.inputs import InputMap
from podium.models.kernel import Kernel, KernelModel
from podium.models.model import Model
from podium.models.net import Net
from podium.models.quadratic import QuadraticModel

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Arrays = dict[str, npt.NDArray[Any]]
Counts = tuple[int, int, int]  # numbers of documents used, mistakes, and levels between prediction and label


@dataclass(frozen=True)
class Learned:
    """A function, the thresholds that cut its values into levels, and the settings that were chosen for it."""

    model: Model
    thresholds: Floats
    chosen: dict[str, Any]


class Learner(Protocol):
    """A function that learns one document at a time."""

    piece: int  # documents between two checks for an interrupt
    perceptrons: int  # number of perceptrons that use each document
    map: InputMap

    def run(self, documents: _core.OnlineDocuments, rows: Rows, *, seed: int, round: int, num_threads: int) -> Counts:
        """Make one pass over these rows in this order."""

    def candidates(self) -> list[Floats]:
        """Return the candidates among which validation data chooses, as vectors; without validation data the last is used."""

    def learned(self, vector: Floats) -> Learned:
        """Return the model of a candidate; raise ValueError if it does not belong to this learner."""

    def state(self) -> Arrays:
        """Return what is needed to resume."""

    def resume(self, state: Arrays) -> None:
        """Resume from a state; raise KeyError or ValueError if it does not belong to this learner."""

    def state_of(self, model: Any, thresholds: Floats) -> Arrays:
        """Return the state that corresponds to a trained model and its thresholds."""


class LinearPerceptrons:
    """s = w·x̂, the mean of perceptrons; a single one that uses every document is PRank."""

    piece = 51_200

    def __init__(self, map: InputMap, thresholds: int, shares: tuple[float, ...], counts: tuple[int, ...]) -> None:
        self.map, self.width, self.n_thresholds = map, len(map.center), thresholds
        self.shares, self.counts, self.most = shares, counts, max(counts)
        self.perceptrons = len(shares) * self.most
        self.core = _core.Perceptrons(self.width, thresholds, [s for s in shares for _ in range(self.most)])

    def run(self, documents: _core.OnlineDocuments, rows: Rows, *, seed: int, round: int, num_threads: int) -> Counts:
        """Make one pass, in which every perceptron uses a document with the probability of its share."""
        return self.core.run(documents, rows, seed=seed, round=round, num_threads=num_threads)

    def candidates(self) -> list[Floats]:
        """Return vectors of (share, count, thresholds, weights), averaged over the first `count` perceptrons of a share."""
        shape = len(self.shares), self.most
        weights = self.core.weights().reshape(*shape, self.width)
        thresholds = self.core.thresholds().reshape(*shape, self.n_thresholds)
        return [
            np.concatenate(
                [[share, count], *(np.add.reduce(part[at, :count], axis=0) / count for part in (thresholds, weights))]
            )
            for at, share in reversed(list(enumerate(self.shares)))
            for count in sorted(self.counts)
        ]

    def learned(self, vector: Floats) -> Learned:
        """Return a linear model."""
        if vector.shape != (2 + self.n_thresholds + self.width,):
            raise ValueError("the perceptron has another size")
        parameters = np.append(vector[2 + self.n_thresholds :], 0.0)
        chosen = {"share": float(vector[0]), "perceptrons": int(vector[1])}
        model = Net((self.width, 1), "tanh", self.map, parameters)
        return Learned(model, vector[2 : 2 + self.n_thresholds].copy(), chosen)

    def state(self) -> Arrays:
        """Return weights and thresholds of every perceptron."""
        return {"weights": self.core.weights(), "thresholds": self.core.thresholds()}

    def resume(self, state: Arrays) -> None:
        """Restore every perceptron."""
        self.core.set(_floats(state["weights"]), _floats(state["thresholds"]))

    def state_of(self, model: Net, thresholds: Floats) -> Arrays:
        """Return every perceptron at the mean, with thresholds rounded to whole numbers so that they stay in order."""
        return {
            "weights": np.tile(model.vector[:-1], self.perceptrons),
            "thresholds": np.tile(np.rint(thresholds), self.perceptrons),
        }


class WholeQuadratic:
    """s = x̂ᵀ A x̂ + w·x̂ + c, stored whole: d² numbers for any number of documents."""

    piece = 6_400
    perceptrons = 1

    def __init__(self, map: InputMap, thresholds: int) -> None:
        self.map, self.n_thresholds = map, thresholds
        self.core = _core.QuadraticLearner(len(map.center), thresholds)

    def run(self, documents: _core.OnlineDocuments, rows: Rows, *, seed: int, round: int, num_threads: int) -> Counts:
        """Make one pass, without random draws."""
        return self.core.run(documents, rows, num_threads=num_threads)

    def candidates(self) -> list[Floats]:
        """Return the thresholds, then A, w and c."""
        return [np.concatenate([self.core.thresholds(), self.core.function()])]

    def learned(self, vector: Floats) -> Learned:
        """Return a quadratic model."""
        width = len(self.map.center)
        if vector.shape != (self.n_thresholds + width * width + width + 1,):
            raise ValueError("the quadratic function has another size")
        cut = self.n_thresholds
        return Learned(QuadraticModel(self.map, vector[cut:].copy()), vector[:cut].copy(), {})

    def state(self) -> Arrays:
        """Return the function and the thresholds."""
        return {"function": self.core.function(), "thresholds": self.core.thresholds()}

    def resume(self, state: Arrays) -> None:
        """Restore function and thresholds."""
        self.core.set(_floats(state["function"]), _floats(state["thresholds"]))

    def state_of(self, model: QuadraticModel, thresholds: Floats) -> Arrays:
        """Return the state of a quadratic model."""
        return {"function": model.vector, "thresholds": thresholds}


class SupportQuadratic:
    """s = Σ_s α_s (1 + x̂·x̂_s)² over at most `budget` support documents."""

    piece = 6_400
    perceptrons = 1

    def __init__(self, map: InputMap, thresholds: int, budget: int) -> None:
        self.map, self.n_thresholds, self.budget = map, thresholds, budget
        self.core = _core.SupportLearner(len(map.center), budget, thresholds)

    def run(self, documents: _core.OnlineDocuments, rows: Rows, *, seed: int, round: int, num_threads: int) -> Counts:
        """Make one pass, without random draws."""
        return self.core.run(documents, rows, num_threads=num_threads)

    def candidates(self) -> list[Floats]:
        """Return the thresholds, then α and the inputs of every support."""
        return [np.concatenate([self.core.thresholds(), self.core.alpha(), self.core.inputs()])]

    def learned(self, vector: Floats) -> Learned:
        """Return a kernel expansion over the supports, or over one with weight 0 if there are none."""
        width, rest = len(self.map.center), vector[self.n_thresholds :]
        count, odd = divmod(len(rest), width + 1)
        if len(vector) < self.n_thresholds or odd:
            raise ValueError("the support documents have another size")
        supports = rest[count:].reshape(count, width) if count else np.zeros((1, width))
        alpha = rest[:count].reshape(-1, 1) if count else np.zeros((1, 1))
        model = KernelModel(Kernel("poly", 1.0, 2, 1.0), self.map, supports.copy(), alpha.copy(), np.zeros(1))
        return Learned(model, vector[: self.n_thresholds].copy(), {"supports": count})

    def state(self) -> Arrays:
        """Return the supports and the thresholds."""
        core = self.core
        return {
            "inputs": core.inputs(),
            "alpha": core.alpha(),
            "keys": core.keys(),
            "thresholds": core.thresholds(),
        }

    def resume(self, state: Arrays) -> None:
        """Restore supports and thresholds."""
        self.core = _core.SupportLearner(len(self.map.center), self.budget, self.n_thresholds)
        keys = np.ascontiguousarray(state["keys"], np.uint64)
        self.core.set(_floats(state["inputs"]), _floats(state["alpha"]), keys, _floats(state["thresholds"]))

    def state_of(self, model: KernelModel, thresholds: Floats) -> Arrays:
        """Return the landmarks with a weight as supports, with new keys."""
        weighs = model.alpha[:, 0] != 0  # the placeholder for an empty set has none
        keys = splitmix64(np.arange(np.count_nonzero(weighs), dtype=np.uint64))
        return {
            "inputs": model.landmarks[weighs].reshape(-1),
            "alpha": model.alpha[weighs, 0],
            "keys": keys,
            "thresholds": thresholds,
        }


def _floats(values: npt.NDArray[Any]) -> Floats:
    return np.ascontiguousarray(values, np.float64)
