"""Nets of dense layers, and the linear model as the net without a hidden layer."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data import RankingData
from podium.data.hashing import counter_uniform
from podium.errors import DataError, ParameterError, is_integer, short_repr, unknown_name
from podium.models.inputs import InputMap, saved
from podium.models.model import CoreInputs, CoreModel, Features, Floats, GradientSpec

ACTIVATIONS = ("tanh", "sigmoid", "relu")
STARTS = ("uniform", "zero_first")
MOST_UNITS = 100_000


class Net(CoreModel):
    """s = W_L a(… a(W_1 x̂ + b_1) …) + b_L, x̂ the standardized features, a the activation."""

    def __init__(self, widths: tuple[int, ...], activation: str, map: InputMap, vector: Floats) -> None:
        self.widths, self.activation, self.map = widths, activation, map
        self.n_features, self.n_outputs = widths[0], widths[-1]
        self.net = _core.Net(list(widths), _core.Activation[activation])
        self.vector = vector

    @property
    def vector(self) -> Floats:
        """W_1 [inputs × outputs], b_1, W_2, …."""
        return self._vector

    @vector.setter
    def vector(self, values: Floats) -> None:
        if values.shape != (self.net.size,):
            raise DataError(f"{values.shape} parameters for a net of {self.widths} layers, which has {self.net.size}")
        self._vector = np.ascontiguousarray(values, np.float64)

    @property
    def is_linear(self) -> bool:
        """Whether there is no hidden layer."""
        return len(self.widths) == 2

    def prepare(self, features: Features, *, num_threads: int = 1) -> CoreInputs:
        """The rows with the map that standardizes them on their way into the net."""
        return CoreInputs(np.ascontiguousarray(features), self.map)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Weights and bias of every layer, and the map of inputs."""
        out: dict[str, npt.NDArray[Any]] = dict(self.map.arrays)
        at = 0
        for layer, (inputs, outputs) in enumerate(itertools.pairwise(self.widths), start=1):
            out[f"layer{layer}.weights"] = self.vector[at : at + inputs * outputs].reshape(inputs, outputs)
            at += inputs * outputs
            out[f"layer{layer}.bias"] = self.vector[at : at + outputs]
            at += outputs
        return out

    def settings(self) -> dict[str, Any]:
        """Widths of the layers and the activation."""
        return {"widths": list(self.widths), "activation": self.activation}

    @classmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Net:
        """The net of saved settings and arrays."""
        widths = tuple(int(width) for width in settings["widths"])
        if len(widths) < 2 or min(widths[1:]) < 1 or settings["activation"] not in ACTIVATIONS:
            raise DataError(f"no net has the layers {widths} and the activation {settings['activation']!r}")
        parts: list[Floats] = []
        for layer, (inputs, outputs) in enumerate(itertools.pairwise(widths), start=1):
            parts.append(saved(arrays, f"layer{layer}.weights", inputs, outputs).reshape(-1))
            parts.append(saved(arrays, f"layer{layer}.bias", outputs))
        map = InputMap.from_arrays(arrays, widths[0])
        return cls(widths, settings["activation"], map, np.concatenate(parts))


@dataclass(frozen=True)
class NetSpec(GradientSpec):
    """A net with these hidden layers."""

    hidden: tuple[int, ...] = (10,)
    activation: str = "tanh"
    standardize: bool = True
    init: str = "uniform"

    name = "net"

    def __post_init__(self) -> None:
        given = self.hidden if isinstance(self.hidden, Sequence | np.ndarray) else (self.hidden,)
        if not all(is_integer(width) and 1 <= width <= MOST_UNITS for width in given):
            raise ParameterError(
                f"hidden={short_repr(self.hidden)} must be whole numbers from 1 to {MOST_UNITS}, one a layer; write net(10) or "
                "net(128, 64)"
            )
        object.__setattr__(self, "hidden", tuple(int(width) for width in given))
        if not self.hidden and self.name == "net":
            raise ParameterError("hidden=() has no layer; a net needs at least one: write linear for none")
        if self.activation not in ACTIVATIONS:
            raise unknown_name("activation", self.activation, ACTIVATIONS)
        if self.init not in STARTS:
            raise unknown_name("init", self.init, STARTS)
        if not isinstance(self.standardize, bool):
            raise ParameterError(f"standardize={short_repr(self.standardize)} must be True or False")

    def __str__(self) -> str:
        words = [str(width) for width in self.hidden]
        for key, default in (("activation", "tanh"), ("standardize", True), ("init", "uniform")):
            if getattr(self, key) != default:
                words.append(f"{key}={getattr(self, key)!r}")
        return f"net({', '.join(words)})"

    def start(self, data: RankingData, *, n_outputs: int, seed: int, restart: int = 0, num_threads: int = 1) -> Net:
        """Weights uniform in ±1/√inputs and bias 0; `zero_first`: first layer 0, second uniform in ±0.1. [RankNet §5.1]"""
        widths = (data.n_features, *self.hidden, n_outputs)
        parts: list[Floats] = []
        for layer, (inputs, outputs) in enumerate(itertools.pairwise(widths)):
            drawn = 2 * counter_uniform(seed, 1000 * restart + layer, inputs * outputs) - 1
            bound = 1 / math.sqrt(max(inputs, 1))
            if self.init == "zero_first":
                bound = 0.0 if layer == 0 else 0.1
            if not self.hidden and restart == 0:
                bound = 0.0  # a linear model needs nothing to break its symmetry
            parts += [bound * drawn, np.zeros(outputs)]
        return Net(
            widths,
            self.activation,
            InputMap.of(data, standardize=self.standardize, num_threads=num_threads),
            np.concatenate(parts) + 0.0,
        )


@dataclass(frozen=True)
class LinearSpec(NetSpec):
    """s = w · x̂ + b."""

    hidden: tuple[int, ...] = ()

    name = "linear"

    def __str__(self) -> str:
        return "linear" if self.standardize else "linear(standardize=False)"
