"""The contract of function classes: what turns features into scores, and passes forces on scores back to parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data import RankingData
from podium.errors import DataError
from podium.models.inputs import InputMap
from podium.parameters import Value

if TYPE_CHECKING:
    from podium.models.perceptrons import Learner
    from podium.models.weak_rankers import WeakRankers

Floats = npt.NDArray[np.float64]
Features = npt.NDArray[np.float32]


@dataclass(frozen=True)
class PerceptronForm:
    """How a perceptron holds a function class.

    Attributes:
        make: returns what learns, given the map of the inputs, the number of thresholds, and the maximum number of support
            documents.
        reads: names of the model's settings that it depends on.
        averages: whether many perceptrons can be held side by side, and their mean kept.
    """

    make: Callable[[InputMap, int, int], Learner]
    reads: frozenset[str]
    averages: bool = False


@dataclass(frozen=True)
class WeakRankerForm:
    """The weak rankers of a function class.

    Attributes:
        make: returns the weak rankers, given the training data and the number of threads.
        reads: names of the model's settings that they depend on.
    """

    make: Callable[[RankingData, int], WeakRankers]
    reads: frozenset[str]


class Spec(Value, ABC):
    """A function class with its settings, before it has seen data.

    Attributes:
        summary: one sentence for lists of models, with an example of its name.
        formula: how a score follows from the features x̂.
        model: the class of the trained model, which can restore itself from a file.
        grows: whether it is fitted by adding trees (`boosting`) and not by following gradients.
    """

    summary: ClassVar[str]
    formula: ClassVar[str]
    model: ClassVar[type[Model]]
    grows: ClassVar[bool] = False

    @property
    def perceptron(self) -> PerceptronForm | None:
        """How a perceptron holds this function class; None if it cannot."""
        return None

    @property
    def weak_rankers(self) -> WeakRankerForm | None:
        """The weak rankers whose weighted sums are of this function class; None if there are none."""
        return None

    @property
    def is_stumps(self) -> bool:
        """Whether it is a sum of trees with two leaves each."""
        return False

    def resolve(self, data: RankingData) -> Self:
        """Return the same settings with every default that depends on the data chosen."""
        return self


class GradientSpec(Spec):
    """A function class that is fitted by following gradients."""

    @abstractmethod
    def start(
        self, data: RankingData, *, n_outputs: int, seed: int, restart: int = 0, num_threads: int = 1
    ) -> GradientModel:
        """A model for this data, with starting values that are a function of the seed and of how often it restarted."""


class Model(ABC):
    """A function class at work: what turns features into scores, and how it is kept.

    Attributes:
        n_features: how many features a document must have.
        n_outputs: how many scores a document gets; forces over pairs and lists want one.
        reads_any_floats: Whether `scores` takes float32 and float64 in any memory order, without a copy.
        has_splits: whether it is made of trees, whose splits attributions and importances are computed from.
    """

    n_features: int
    n_outputs: int
    reads_any_floats: ClassVar[bool] = False
    has_splits: ClassVar[bool] = False

    @property
    def is_linear_in_features(self) -> bool:
        """Whether each feature adds to the score on its own, in proportion to its value."""
        return False

    @property
    def used_features(self) -> npt.NDArray[np.int64]:
        """The columns of the features that scores can depend on."""
        return np.arange(self.n_features)

    @abstractmethod
    def scores(self, features: Features, *, num_threads: int = 1) -> Floats:
        """Scores of every row: [documents], or [documents × outputs] where there are several."""

    @abstractmethod
    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Everything the model is, as named arrays."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """What else must be known to read the arrays again; JSON."""

    @classmethod
    @abstractmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Model:
        """The model of saved settings and arrays."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).restore, (self.settings(), self.arrays())

    def check_features(self, features: Features) -> None:
        """That the rows have as many features as the model knows."""
        if features.shape[1] != self.n_features:
            raise DataError(
                f"the documents have {features.shape[1]} features, the model was trained on {self.n_features}; "
                "give the same features in the same order"
            )


class GradientModel(Model):
    """A model with parameters, which absorbs forces by following them: `backward`."""

    @property
    def is_linear(self) -> bool:
        """Whether scores are known to be linear in the parameters."""
        return False

    @property
    @abstractmethod
    def vector(self) -> Floats:
        """Everything that is learned, in one vector."""

    @vector.setter
    @abstractmethod
    def vector(self, values: Floats) -> None: ...

    @abstractmethod
    def backward(self, features: Features, force: Floats, *, num_threads: int = 1) -> Floats:
        """Σ_i λ_i · ∂s_i/∂parameter, in the order of `vector`: where the forces on the scores push the parameters."""

    def scores_in_training(self, part: RankingData, *, num_threads: int = 1) -> Floats:
        """Scores of some whole training queries as learning sees them: as `scores` does, unless a document would know itself."""
        return self.scores(part.features, num_threads=num_threads)

    def backward_in_training(self, part: RankingData, force: Floats, *, num_threads: int = 1) -> Floats:
        """`backward` for the scores that `scores_in_training` gives."""
        return self.backward(part.features, force, num_threads=num_threads)

    @property
    def penalized(self) -> Floats:
        """1 for the parameters that a regularizer holds small, 0 for those it leaves alone, in the order of `vector`."""
        return np.ones(len(self.vector))

    def finished(self) -> Model:
        """The model as it is kept once it is trained."""
        return self


@dataclass(frozen=True)
class CoreInputs:
    """Rows as the core's nets take them."""

    features: Features
    map: InputMap


class CoreModel(GradientModel):
    """A model that the core can train: a net of dense layers over inputs made from the features.

    `net` and `vector` are the core's; `prepare` makes the inputs, once for a data set.
    """

    net: _core.DenseNet

    @property
    @abstractmethod
    def is_linear(self) -> bool:
        """Whether scores are linear in the parameters."""

    @abstractmethod
    def prepare(self, features: Features, *, num_threads: int = 1) -> CoreInputs:
        """The rows as the net takes them."""

    @property
    def penalized(self) -> Floats:
        """Weights, not the bias of a layer."""
        return self.net.weight_mask()

    def scores_of(self, inputs: CoreInputs, *, num_threads: int = 1) -> Floats:
        """Scores of rows already prepared."""
        out = _core.net_scores(
            self.net, self.vector, inputs.features, inputs.map.center, inputs.map.scale, inputs.map.filled, num_threads
        )
        return out if self.n_outputs == 1 else out.reshape(-1, self.n_outputs)

    def scores(self, features: Features, *, num_threads: int = 1) -> Floats:
        """Scores of every row."""
        self.check_features(features)
        return self.scores_of(self.prepare(features, num_threads=num_threads), num_threads=num_threads)

    def backward(self, features: Features, force: Floats, *, num_threads: int = 1) -> Floats:
        """Σ_i λ_i · ∂s_i/∂parameter."""
        self.check_features(features)
        inputs = self.prepare(features, num_threads=num_threads)
        return _core.net_backward(
            self.net,
            self.vector,
            inputs.features,
            inputs.map.center,
            inputs.map.scale,
            inputs.map.filled,
            np.ascontiguousarray(force, np.float64).reshape(-1),
            num_threads,
        )
