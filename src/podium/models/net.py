"""Nets of dense layers, and the linear model as the net without a hidden layer."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data import RankingData
from podium.data.hashing import counter_uniform
from podium.errors import DataError, ParameterError
from podium.models.inputs import InputMap, InputSettings, saved
from podium.models.model import (
    CoreInputs,
    CoreModel,
    Features,
    FeatureWeights,
    Floats,
    GradientSpec,
    PerceptronForm,
    WeakRankerForm,
)
from podium.parameters import setting
from podium.rules import Choice, Integer, Tuple

ACTIVATIONS = ("tanh", "sigmoid", "relu")
TRANSFERS = ("identity", "tanh", "sigmoid")
STARTS = ("uniform", "zero_first")
MOST_UNITS = 100_000


class Net(CoreModel):
    """s = g(W_L a(… a(W_1 x̂ + b_1) …) + b_L), with the standardized features x̂, the activation a and the transfer function g."""

    def __init__(
        self, widths: tuple[int, ...], activation: str, map: InputMap, vector: Floats, output: str = "identity"
    ) -> None:
        self.widths, self.activation, self.map, self.output = widths, activation, map, output
        self.n_features, self.n_outputs = widths[0], widths[-1]
        self.net = _core.DenseNet(list(widths), _core.Activation[activation], _core.Activation[output])
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
        """Whether there is neither a hidden layer nor a transfer function."""
        return len(self.widths) == 2 and self.output == "identity"

    @property
    def feature_weights(self) -> FeatureWeights | None:
        """The weights, if there is no hidden layer and one output."""
        if not self.is_linear or self.n_outputs > 1:
            return None
        weights = self.vector[: self.n_features].copy()
        return FeatureWeights(weights * self.map.scale, weights)

    def prepare(self, features: Features, *, num_threads: int = 1) -> CoreInputs:
        """Return the rows with the map that standardizes them inside the net."""
        return CoreInputs(np.ascontiguousarray(features), self.map)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return weights and bias of every layer, and the map of inputs."""
        out: dict[str, npt.NDArray[Any]] = dict(self.map.arrays)
        at = 0
        for layer, (inputs, outputs) in enumerate(itertools.pairwise(self.widths), start=1):
            out[f"layer{layer}.weights"] = self.vector[at : at + inputs * outputs].reshape(inputs, outputs)
            at += inputs * outputs
            out[f"layer{layer}.bias"] = self.vector[at : at + outputs]
            at += outputs
        return out

    def settings(self) -> dict[str, Any]:
        """Return the widths of the layers and the activation, and the transfer function of the output if there is one."""
        transfer = {} if self.output == "identity" else {"output": self.output}
        return {"widths": list(self.widths), "activation": self.activation, **transfer}

    @classmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Net:
        """Return the net of saved settings and arrays."""
        widths = tuple(int(width) for width in settings["widths"])
        if len(widths) < 2 or min(widths[1:]) < 1 or settings["activation"] not in ACTIVATIONS:
            raise DataError(f"no net has the layers {widths} and the activation {settings['activation']!r}")
        output = settings.get("output", "identity")
        if output not in TRANSFERS:
            raise DataError(f"no net has the output transfer {output!r}")
        parts: list[Floats] = []
        for layer, (inputs, outputs) in enumerate(itertools.pairwise(widths), start=1):
            parts.append(saved(arrays, f"layer{layer}.weights", inputs, outputs).reshape(-1))
            parts.append(saved(arrays, f"layer{layer}.bias", outputs))
        map = InputMap.from_arrays(arrays, widths[0])
        return cls(widths, settings["activation"], map, np.concatenate(parts), output)


@dataclass(kw_only=True, eq=False, repr=False)
class NetSettings(InputSettings):
    """The settings of a net of dense layers."""

    hidden: tuple[int, ...] = setting(
        (10,),
        Tuple(
            Integer(1, MOST_UNITS),
            f"must be whole numbers from 1 to {MOST_UNITS}, one per hidden layer, as in 10 or (128, 64)",
            empty=True,
        ),
        "Widths of the hidden layers. () makes the model linear.",
        option=True,
    )
    activation: str = setting("tanh", Choice(*ACTIVATIONS), "Activation function of the hidden layers.")
    output: str = setting(
        "identity",
        Choice(*TRANSFERS),
        "Transfer function of the output: scores are any number with 'identity', in (−1, 1) with 'tanh', in (0, 1) with 'sigmoid'.",
    )
    init: str = setting(
        "uniform",
        Choice(*STARTS),
        "Initial weights: 'uniform' draws them from ±1/√inputs; 'zero_first' sets the first layer to 0 and draws the second from ±0.1.",
    )


class DenseSpec(GradientSpec):
    """A net of dense layers over the features."""

    hidden: tuple[int, ...]
    activation: str
    output: str
    init: str
    standardize: bool | None

    model = Net
    distributes = True

    def resolve(self, data: RankingData) -> Self:
        """Choose whether to standardize."""
        assert isinstance(self, InputSettings)
        return self.resolved_inputs(data)

    def survey(self, data: RankingData, *, seed: int, num_threads: int) -> InputMap:
        """Return the map of the inputs."""
        return InputMap.of(data, standardize=bool(self.standardize), num_threads=num_threads)

    def start(
        self,
        data: RankingData,
        *,
        n_outputs: int,
        seed: int,
        restart: int = 0,
        num_threads: int = 1,
        survey: InputMap | None = None,
    ) -> Net:
        """Return a net with weights uniform in ±1/√inputs and bias 0.

        With `zero_first` the first layer is 0 and the second uniform in ±0.1. [RankNet §5.1]
        """
        widths = (data.n_features, *self.hidden, n_outputs)
        parts: list[Floats] = []
        for layer, (inputs, outputs) in enumerate(itertools.pairwise(widths)):
            drawn = 2 * counter_uniform(seed, 1000 * restart + layer, inputs * outputs) - 1
            bound = 1 / math.sqrt(max(inputs, 1))
            if self.init == "zero_first":
                bound = 0.0 if layer == 0 else 0.1
            if not self.hidden and restart == 0:
                bound = 0.0  # a linear model has no symmetry to break
            parts += [bound * drawn, np.zeros(outputs)]
        return Net(
            widths,
            self.activation,
            self.survey(data, seed=seed, num_threads=num_threads) if survey is None else survey,
            np.concatenate(parts) + 0.0,
            self.output,
        )


@dataclass(kw_only=True, eq=False, repr=False)
class NetSpec(NetSettings, DenseSpec):
    """Dense layers of any depth and width."""

    name = "net"
    leading = "hidden"
    summary = "Dense layers of any depth and width: net(10), net(128, 64, activation='relu')."
    formula = "s = g(W_L a(… a(W_1 x̂ + b_1) …) + b_L)"

    def check_together(self) -> None:
        """Check that there is at least one hidden layer."""
        if not self.hidden:
            raise ParameterError(
                "hidden",
                (),
                "has no layer, and a net needs at least one",
                "use linear for a model without hidden layers",
            )


@dataclass(kw_only=True, eq=False, repr=False)
class LinearSpec(InputSettings, DenseSpec):
    """One weight per feature."""

    name = "linear"
    summary = "One weight per feature."
    formula = "s = w · x̂ + b"

    hidden = ()
    activation = "tanh"
    output = "identity"
    init = "uniform"

    @property
    def perceptron(self) -> PerceptronForm:
        """One weight per feature."""
        from podium.models.perceptrons import LinearPerceptrons

        def make(map: InputMap, thresholds: int, supports: int) -> LinearPerceptrons:
            return LinearPerceptrons(map, thresholds, (1.0,), (1,))

        return PerceptronForm(make, frozenset({"standardize"}), averages=True)

    @property
    def weak_rankers(self) -> WeakRankerForm:
        """The weak rankers are single features."""
        from podium.models.weak_rankers import FeatureRankers

        def make(data: RankingData, num_threads: int) -> FeatureRankers:
            return FeatureRankers(InputMap.of(data, standardize=bool(self.standardize), num_threads=num_threads))

        return WeakRankerForm(make, frozenset({"standardize"}))
