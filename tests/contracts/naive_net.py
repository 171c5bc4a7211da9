"""A net of dense layers in plain NumPy, which the core's kernels must equal."""

from __future__ import annotations

import itertools

import numpy as np


def inputs(features: np.ndarray, map) -> np.ndarray:
    """(x − center) · scale, and the filling where x is missing."""
    x = features.astype(np.float64)
    return np.where(np.isnan(x), map.filled, (x - map.center) * map.scale)


def layers(vector: np.ndarray, widths: tuple[int, ...]) -> list[tuple[np.ndarray, np.ndarray]]:
    """(weights, bias) of each layer, from the vector W_1, b_1, W_2, …."""
    out, at = [], 0
    for rows, columns in itertools.pairwise(widths):
        weights = vector[at : at + rows * columns].reshape(rows, columns)
        out.append((weights, vector[at + rows * columns : at + (rows + 1) * columns]))
        at += (rows + 1) * columns
    assert at == len(vector)
    return out


def activate(name: str, x: np.ndarray) -> np.ndarray:
    if name == "identity":
        return x
    if name == "relu":
        return np.maximum(x, 0)
    return np.tanh(x) if name == "tanh" else 1 / (1 + np.exp(-x))


def slope(name: str, value: np.ndarray) -> np.ndarray:
    if name == "identity":
        return np.ones_like(value)
    if name == "relu":
        return (value > 0).astype(float)
    return 1 - value**2 if name == "tanh" else value * (1 - value)


def both(activation: str | tuple[str, str]) -> tuple[str, str]:
    """The activation of the hidden layers and the transfer of the output, which is the identity if only one is given."""
    return (activation, "identity") if isinstance(activation, str) else activation


def forward(vector, widths, activation, x) -> list[np.ndarray]:
    """Return the outputs of each layer, the inputs first."""
    values = [x]
    net = layers(vector, widths)
    hidden, output = both(activation)
    for k, (weights, bias) in enumerate(net):
        out = values[-1] @ weights + bias
        values.append(activate(output if k + 1 == len(net) else hidden, out))
    return values


def backward(vector, widths, activation, x, force) -> np.ndarray:
    """Σ_i λ_i · ∂s_i/∂parameter."""
    values, net = forward(vector, widths, activation, x), layers(vector, widths)
    hidden, output = both(activation)
    push, parts = force.reshape(len(x), -1) * slope(output, values[-1]), []
    for k in reversed(range(len(net))):
        parts = [(values[k].T @ push).reshape(-1), push.sum(axis=0), *parts]
        if k:
            push = (push @ net[k][0].T) * slope(hidden, values[k])
    return np.concatenate(parts)
