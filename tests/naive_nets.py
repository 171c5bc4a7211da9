"""Slow, obvious training of a net in NumPy: the twin that fast training must equal. float64, one query after the other."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np

import podium

# Each activation and its slope, the slope as a function of what the activation gave.
ACTIVATIONS = {
    "tanh": (np.tanh, lambda out: 1 - out * out),
    "sigmoid": (lambda z: 1 / (1 + np.exp(-z)), lambda out: out * (1 - out)),
    "relu": (lambda z: np.maximum(z, 0), lambda out: (out > 0).astype(float)),
}


@dataclass
class NaiveNet:
    """s = W_L(… a(W_1 x + b_1) …) + b_L; one weight matrix [inputs × outputs] and one bias a layer. No layer between: linear."""

    weights: list[np.ndarray]
    biases: list[np.ndarray]
    activation: str = "tanh"

    @classmethod
    def random(cls, shape: tuple[int, ...], activation: str = "tanh", seed: int = 0) -> NaiveNet:
        rng = np.random.default_rng(seed)
        weights = [rng.uniform(-1, 1, (n, m)) / np.sqrt(n) for n, m in itertools.pairwise(shape)]
        return cls(weights, [rng.uniform(-0.1, 0.1, m) for m in shape[1:]], activation)

    @property
    def parameters(self) -> list[np.ndarray]:
        """First layer first, the weights of a layer before its biases."""
        return [part for layer in zip(self.weights, self.biases, strict=True) for part in layer]

    def outputs(self, x: np.ndarray) -> list[np.ndarray]:
        """What every layer gives, the features first and the scores [documents × outputs] last."""
        function = ACTIVATIONS[self.activation][0]
        given = [np.asarray(x, np.float64)]
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            z = given[-1] @ weight + bias
            given.append(z if layer == len(self.weights) - 1 else function(z))
        return given

    def scores(self, x: np.ndarray) -> np.ndarray:
        """[documents], or [documents × outputs] where there are several."""
        last = self.outputs(x)[-1]
        return last[:, 0] if last.shape[1] == 1 else last

    def backward(self, x: np.ndarray, slope: np.ndarray) -> list[np.ndarray]:
        """Σ over documents of ∂C/∂s · ∂s/∂parameter, in the order of `parameters`."""
        given, bend = self.outputs(x), ACTIVATIONS[self.activation][1]
        slope = slope.reshape(len(x), -1)
        found: list[np.ndarray] = []
        for layer in reversed(range(len(self.weights))):
            found = [given[layer].T @ slope, slope.sum(axis=0), *found]
            if layer:
                slope = (slope @ self.weights[layer].T) * bend(given[layer])
        return found


def query_gradient(net: NaiveNet, force: str, data: podium.RankingData, query: int, round: int = 0) -> list[np.ndarray]:
    """∂C/∂parameters of one query, factored: forces are summed per document, then one backward pass. [LambdaRank, §5]"""
    part = data.select([query])
    lifted, _ = podium.force(force)(net.scores(part.features), part, round=round)
    return net.backward(part.features, -lifted)


def pair_gradients(net: NaiveNet, sigma: float, data: podium.RankingData, query: int) -> list[list[np.ndarray]]:
    """RankNet's ∂C/∂parameters of each pair of a query: two forward and two backward passes a pair."""
    begin, end = data.query_offsets[query : query + 2]
    found = []
    for i in range(begin, end):
        for j in range(begin, end):
            if data.labels[i] > data.labels[j]:
                two = data.features[[i, j]]
                above, below = net.scores(two)
                pull = sigma / (1 + np.exp(sigma * (above - below)))
                found.append(net.backward(two, np.array([-pull, pull])))
    return found


@dataclass
class Sgd:
    """θ ← θ − rate · gradient."""

    rate: float

    def update(self, parameters: list[np.ndarray], gradient: list[np.ndarray]) -> None:
        for parameter, slope in zip(parameters, gradient, strict=True):
            parameter -= self.rate * slope


@dataclass
class Adam:
    """θ ← θ − rate · m̂ / (√v̂ + ε), m̂ and v̂ the running means of gradient and its square, freed of their start at 0."""

    rate: float
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    steps: int = 0
    means: list[np.ndarray] = field(default_factory=list)
    squares: list[np.ndarray] = field(default_factory=list)

    def update(self, parameters: list[np.ndarray], gradient: list[np.ndarray]) -> None:
        if not self.means:
            self.means = [np.zeros_like(part) for part in parameters]
            self.squares = [np.zeros_like(part) for part in parameters]
        self.steps += 1
        first, second = self.betas
        for parameter, slope, mean, square in zip(parameters, gradient, self.means, self.squares, strict=True):
            mean += (1 - first) * (slope - mean)
            square += (1 - second) * (slope * slope - square)
            unbiased = mean / (1 - first**self.steps), square / (1 - second**self.steps)
            parameter -= self.rate * unbiased[0] / (np.sqrt(unbiased[1]) + self.epsilon)


def train_epoch(
    net: NaiveNet,
    force: str,
    data: podium.RankingData,
    optimiser: Sgd | Adam,
    *,
    batch: int = 1,
    queries: list[int] | None = None,
    round: int = 0,
) -> None:
    """One update for each `batch` queries, in the order given or that of the data; the gradient is summed over them."""
    order = list(range(data.n_queries)) if queries is None else queries
    for first in range(0, len(order), batch):
        gradients = [query_gradient(net, force, data, query, round) for query in order[first : first + batch]]
        optimiser.update(net.parameters, [sum(parts) for parts in zip(*gradients, strict=True)])
