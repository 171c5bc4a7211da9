"""The contract of models, which turn features into scores and pass forces on scores back to their parameters."""

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
    """A function class that is fitted by following gradients.

    Attributes:
        distributes: whether workers can fit it that each hold some of the queries: the core trains it, and `start` takes a survey.
    """

    distributes: ClassVar[bool] = False

    def survey(self, data: RankingData, *, seed: int, num_threads: int) -> Any:
        """Return what `start` needs to know of all training documents."""
        raise NotImplementedError

    @abstractmethod
    def start(
        self, data: RankingData, *, n_outputs: int, seed: int, restart: int = 0, num_threads: int = 1
    ) -> GradientModel:
        """Return a model for this data, with initial values that depend on the seed and the number of restarts only."""


@dataclass(frozen=True)
class FeatureWeights:
    """The weights of a linear model.

    Attributes:
        raw: by how much the score changes if a feature rises by 1, one number per feature.
        standardized: the same for a feature as the model sees it: after it was scaled to variance 1, if it was.
    """

    raw: Floats
    standardized: Floats


class Model(ABC):
    """A model: turns features into scores, and can be saved.

    Attributes:
        n_features: number of features that a document must have.
        n_outputs: number of scores per document; forces over pairs and lists need one.
        reads_any_floats: whether `scores` takes float32 and float64 in any memory order, without a copy.
        has_splits: whether it is made of trees, whose splits attributions and importances are computed from.
    """

    n_features: int
    n_outputs: int
    reads_any_floats: ClassVar[bool] = False
    has_splits: ClassVar[bool] = False

    @property
    def n_trees(self) -> int:
        """Number of trees; 0 if it is not made of trees."""
        return 0

    @property
    def is_linear_in_features(self) -> bool:
        """Whether each feature adds to the score on its own, in proportion to its value."""
        return self.feature_weights is not None

    @property
    def feature_weights(self) -> FeatureWeights | None:
        """The weights of the features if the score is a weighted sum of them, or None."""
        return None

    @property
    def used_features(self) -> npt.NDArray[np.int64]:
        """The columns of the features that scores can depend on."""
        return np.arange(self.n_features)

    @property
    def category_features(self) -> npt.NDArray[np.int64]:
        """The columns of the features whose values are looked up as categories, and not compared as numbers."""
        return np.empty(0, np.int64)

    @abstractmethod
    def scores(self, features: Features, *, num_threads: int = 1) -> Floats:
        """Return the scores of every row: [documents], or [documents × outputs] if there are several."""

    @abstractmethod
    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything that makes up the model, as named arrays."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return what else is needed to restore the arrays, as JSON takes it."""

    @classmethod
    @abstractmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Model:
        """Return the model of saved settings and arrays."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).restore, (self.settings(), self.arrays())

    def check_features(self, features: Features) -> None:
        """Raise DataError unless the rows have as many features as the model."""
        if features.shape[1] != self.n_features:
            raise DataError(
                f"the documents have {features.shape[1]} features, the model was trained on {self.n_features}; "
                "give the same features in the same order"
            )


class GradientModel(Model):
    """A model with parameters that are fitted by following gradients: `backward`.

    Attributes:
        trains_in_core: whether `make_descent` trains it in the core; otherwise Python does, by `scores` and `backward`.
    """

    trains_in_core: ClassVar[bool] = False

    def make_descent(
        self, force: _core.ForceSpec, inputs: _core.ForceInputs, features: Features, *, num_threads: int
    ) -> _core.Descent:
        """Return what makes gradient steps in the core, for a force on training documents with these features."""
        raise NotImplementedError

    def prepare(self, features: Features, *, num_threads: int = 1) -> Any:
        """Return rows in a form that `scores_of` takes again and again."""
        return features

    def scores_of(self, inputs: Any, *, num_threads: int = 1) -> Floats:
        """Return the scores of rows that `prepare` made."""
        return self.scores(inputs, num_threads=num_threads)

    @property
    def is_linear(self) -> bool:
        """Whether scores are known to be linear in the parameters."""
        return False

    @property
    @abstractmethod
    def vector(self) -> Floats:
        """All learned parameters, in one vector."""

    @vector.setter
    @abstractmethod
    def vector(self, values: Floats) -> None: ...

    @abstractmethod
    def backward(self, features: Features, force: Floats, *, num_threads: int = 1) -> Floats:
        """Return Σ_i λ_i · ∂s_i/∂parameter, the force on each parameter, in the order of `vector`."""

    def scores_in_training(self, part: RankingData, *, num_threads: int = 1) -> Floats:
        """Return the scores of whole queries in training: those of `scores`, unless a document would be scored by itself."""
        return self.scores(part.features, num_threads=num_threads)

    def backward_in_training(self, part: RankingData, force: Floats, *, num_threads: int = 1) -> Floats:
        """Return `backward` for the scores of `scores_in_training`."""
        return self.backward(part.features, force, num_threads=num_threads)

    @property
    def penalized(self) -> Floats:
        """1 for parameters that are regularized and 0 for the others, in the order of `vector`."""
        return np.ones(len(self.vector))

    def finished(self) -> Model:
        """Return the model as it is stored after training."""
        return self


@dataclass(frozen=True)
class CoreInputs:
    """Rows as the core's nets take them."""

    features: Features
    map: InputMap


class CoreModel(GradientModel):
    """A model that the core can train: a net of dense layers over inputs computed from the features.

    `net` and `vector` are those of the core; `prepare` computes the inputs, once per data set.
    """

    trains_in_core = True
    net: _core.DenseNet

    @property
    @abstractmethod
    def is_linear(self) -> bool:
        """Whether scores are linear in the parameters."""

    @abstractmethod
    def prepare(self, features: Features, *, num_threads: int = 1) -> CoreInputs:
        """Return the rows as the net takes them."""

    @property
    def penalized(self) -> Floats:
        """1 for weights and 0 for the biases of layers."""
        return self.net.weight_mask()

    def make_descent(
        self, force: _core.ForceSpec, inputs: _core.ForceInputs, features: Features, *, num_threads: int
    ) -> _core.Descent:
        """Return the core's descent."""
        rows = self.prepare(features, num_threads=num_threads)
        map = rows.map
        return _core.Descent(self.net, force, inputs, rows.features, map.center, map.scale, map.filled, num_threads)

    def scores_of(self, inputs: CoreInputs, *, num_threads: int = 1) -> Floats:
        """Return the scores of prepared rows."""
        out = _core.net_scores(
            self.net, self.vector, inputs.features, inputs.map.center, inputs.map.scale, inputs.map.filled, num_threads
        )
        return out if self.n_outputs == 1 else out.reshape(-1, self.n_outputs)

    def scores(self, features: Features, *, num_threads: int = 1) -> Floats:
        """Return the scores of every row."""
        self.check_features(features)
        return self.scores_of(self.prepare(features, num_threads=num_threads), num_threads=num_threads)

    def backward(self, features: Features, force: Floats, *, num_threads: int = 1) -> Floats:
        """Return Σ_i λ_i · ∂s_i/∂parameter."""
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
