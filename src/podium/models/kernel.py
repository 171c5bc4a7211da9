"""Kernel expansions: f = Σ_i α_i k(x̂, x̂_i) + b, learned with ½·l2·‖f‖² of the kernel's own space. [RankNet §7, eq 17–18]

With K the kernel matrix of the landmarks and K = L Lᵀ, the features φ(x) = L⁻¹ k(x) make the expansion a linear model whose
‖w‖² is ‖f‖²; the trained model stores α = L⁻ᵀ w. If every training document is a landmark, this is the whole expansion;
otherwise it is Nyström's approximation of it. Landmarks that depend linearly on the others are left out.

Sums, the factorization and exponentials are computed by the core, whose results do not depend on the BLAS and the vector
instructions that NumPy uses.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data import RankingData
from podium.data.canonical import canonical_order
from podium.data.hashing import counter_uniform, query_hashes, splitmix64
from podium.errors import DataError, UnknownNameError
from podium.models.inputs import InputMap, InputSettings, saved
from podium.models.model import (
    CoreInputs,
    CoreModel,
    Features,
    Floats,
    GradientModel,
    GradientSpec,
    Model,
    PerceptronForm,
)
from podium.parameters import Search, setting
from podium.rules import Choice, Integer, Real

KERNELS = ("rbf", "poly", "linear")
KEPT = 1e-10  # landmarks that the others explain up to this share are left out
ROWS = 2048  # kernel values are computed for this many documents at a time


@dataclass(frozen=True)
class Kernel:
    """k(a, b): for rbf e^{−‖a − b‖² / (2·width²)}, for poly (a·b / width² + offset)^degree, for linear a·b."""

    kind: str
    width: float
    degree: int
    offset: float

    def __call__(self, features: Features, map: InputMap, landmarks: Floats, num_threads: int) -> Floats:
        """Return k of every row with every landmark (rows of inputs), [rows × landmarks]."""
        count, n_features = landmarks.shape
        net = _core.DenseNet(
            [n_features, count], _core.Activation.tanh
        )  # used for its matrix product, whose sums have a fixed order
        weights = np.concatenate([landmarks.T.reshape(-1), np.zeros(count)])
        dots = _core.net_scores(net, weights, features, map.center, map.scale, map.filled, num_threads)
        dots = dots.reshape(len(features), count)
        with np.errstate(over="ignore", invalid="ignore"):
            values = self._of_dots(dots, features, map, landmarks, num_threads)
        if not np.isfinite(values).all():
            raise too_large()
        return values

    def _of_dots(self, dots: Floats, features: Features, map: InputMap, landmarks: Floats, num_threads: int) -> Floats:
        if self.kind == "linear":
            return dots
        if self.kind == "poly":
            base = dots / self.width**2 + self.offset
            return functools.reduce(np.multiply, [base] * self.degree)  # np.power's last bit depends on the processor
        own, theirs = (map(features) ** 2).sum(axis=1), (landmarks**2).sum(axis=1)
        values = np.maximum(own[:, None] + theirs - 2 * dots, 0.0) / (-2 * self.width**2)
        _core.exponentiate(values.reshape(-1), num_threads)
        return np.asarray(values)


def too_large() -> DataError:
    """Return the error for documents whose kernel values no number can hold."""
    return DataError(
        "the kernel is too large on these documents to be computed; standardize the features, or use a larger width or a "
        "lower degree"
    )


class KernelModel(GradientModel):
    """A trained expansion: landmarks and their α."""

    def __init__(self, kernel: Kernel, map: InputMap, landmarks: Floats, alpha: Floats, bias: Floats) -> None:
        self.kernel, self.map, self.landmarks, self.alpha, self.bias = kernel, map, landmarks, alpha, bias
        self.n_features, self.n_outputs = landmarks.shape[1], alpha.shape[1]

    @property
    def vector(self) -> Floats:
        """α of every landmark, then b."""
        return np.concatenate([self.alpha.reshape(-1), self.bias])

    @vector.setter
    def vector(self, values: Floats) -> None:
        self.alpha = values[: self.alpha.size].reshape(self.alpha.shape)
        self.bias = values[self.alpha.size :]

    def scores(self, features: Features, *, num_threads: int = 1) -> Floats:
        """Return Σ_i α_i k(x̂, x̂_i) + b of every row."""
        self.check_features(features)
        out = np.empty((len(features), self.n_outputs))
        for begin in range(0, len(features), ROWS):
            values = self.kernel(features[begin : begin + ROWS], self.map, self.landmarks, num_threads)
            products = _core.matrix_product(values, self.alpha, num_threads)
            out[begin : begin + ROWS] = products.reshape(-1, self.n_outputs) + self.bias
        return out[:, 0] if self.n_outputs == 1 else out

    def backward(self, features: Features, force: Floats, *, num_threads: int = 1) -> Floats:
        """Return Σ_i λ_i k(x̂_i, landmark) of every landmark, then Σ_i λ_i."""
        self.check_features(features)
        values = self.kernel(features, self.map, self.landmarks, num_threads)
        force = force.reshape(len(features), -1)
        pulled = _core.matrix_product(np.ascontiguousarray(values.T), np.ascontiguousarray(force), num_threads)
        return np.concatenate([pulled, force.sum(axis=0)])

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return landmarks, α, b and the map of inputs."""
        return {**self.map.arrays, "landmarks": self.landmarks, "alpha": self.alpha, "bias": self.bias}

    def settings(self) -> dict[str, Any]:
        """Return the kernel and its settings."""
        kernel = self.kernel
        return {"kernel": kernel.kind, "width": kernel.width, "degree": kernel.degree, "offset": kernel.offset}

    @classmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> KernelModel:
        """Return the expansion of saved settings and arrays."""
        if settings["kernel"] not in KERNELS:
            raise UnknownNameError("kernel", settings["kernel"], KERNELS)
        kernel = Kernel(
            settings["kernel"], float(settings["width"]), int(settings["degree"]), float(settings["offset"])
        )
        landmarks = saved(arrays, "landmarks", None, None)
        alpha = saved(arrays, "alpha", len(landmarks), None)
        map = InputMap.from_arrays(arrays, landmarks.shape[1])
        return cls(kernel, map, landmarks, alpha, saved(arrays, "bias", alpha.shape[1]))


class KernelInTraining(CoreModel):
    """An expansion in training: a linear model over the features φ."""

    def __init__(self, kernel: Kernel, map: InputMap, landmarks: Floats, basis: Floats, n_outputs: int) -> None:
        self.kernel, self.map, self.landmarks, self.basis = kernel, map, landmarks, basis
        self.n_features, self.n_outputs = landmarks.shape[1], n_outputs
        self.net = _core.DenseNet([basis.shape[1], n_outputs], _core.Activation.tanh)
        self._vector = np.zeros(self.net.size)

    @property
    def vector(self) -> Floats:
        """w of every feature of φ, then b."""
        return self._vector

    @vector.setter
    def vector(self, values: Floats) -> None:
        self._vector = np.ascontiguousarray(values, np.float64)

    @property
    def is_linear(self) -> bool:
        """Whether scores are linear in the parameters: they are, in α."""
        return True

    def prepare(self, features: Features, *, num_threads: int = 1) -> CoreInputs:
        """Return φ of every row."""
        self.check_features(features)
        out = np.empty((len(features), self.basis.shape[1]), np.float32)
        for begin in range(0, len(features), ROWS):
            rows = np.ascontiguousarray(features[begin : begin + ROWS])
            values = self.kernel(rows, self.map, self.landmarks, num_threads)
            with np.errstate(over="ignore"):
                out[begin : begin + ROWS] = _core.matrix_product(values, self.basis, num_threads).reshape(len(rows), -1)
        if not np.isfinite(out).all():
            raise too_large()
        return CoreInputs(out, InputMap.identity(self.basis.shape[1]))

    def finished(self) -> KernelModel:
        """Return the expansion, with α = L⁻ᵀ w."""
        size = self.basis.shape[1] * self.n_outputs
        weights = np.ascontiguousarray(self.vector[:size].reshape(-1, self.n_outputs))
        alpha = _core.matrix_product(self.basis, weights, 1).reshape(weights.shape)
        return KernelModel(self.kernel, self.map, self.landmarks, alpha, self.vector[size:])

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return those of the trained expansion."""
        return self.finished().arrays()

    def settings(self) -> dict[str, Any]:
        """Return those of the trained expansion."""
        return self.finished().settings()

    @classmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Model:
        """Return the trained expansion."""
        return KernelModel.restore(settings, arrays)


@dataclass(kw_only=True, eq=False, repr=False)
class KernelSettings(InputSettings):
    """The settings of a kernel expansion."""

    kernel: str = setting("rbf", Choice(*KERNELS), "The kernel: 'rbf', 'poly' or 'linear'.")
    width: float | None = setting(
        None,
        Real(above=0),
        "Width of the rbf and poly kernels, in units of the (standardized) features.",
        none="√features",
        search=Search(0.1, 100.0, log=True),
    )
    degree: int = setting(2, Integer(1, 10), "Degree of the poly kernel.")
    offset: float = setting(1.0, Real(least=0), "Offset of the poly kernel.")
    landmarks: int = setting(
        2000,
        Integer(1, 20_000),
        "Maximum number of documents that the kernel is expanded over. More documents are approximated by a sample of this size. [Nyström]",
    )


@dataclass(kw_only=True, eq=False, repr=False)
class KernelSpec(KernelSettings, GradientSpec):
    """A kernel expansion over the training documents, or over a sample of them."""

    name = "kernel"
    leading = "kernel"
    summary = "A kernel expansion over the training documents, or over landmarks if there are many: kernel(rbf)."
    formula = "s = Σ_i α_i k(x̂, x̂_i) + b"
    model = KernelModel
    distributes = True

    @property
    def perceptron(self) -> PerceptronForm | None:
        """Support documents, for the quadratic function (1 + x·x′)²."""
        if (self.kernel, self.degree, self.offset) != ("poly", 2, 1.0):
            return None
        from podium.models.perceptrons import SupportQuadratic

        return PerceptronForm(SupportQuadratic, frozenset({"kernel", "standardize", "width"}))

    def resolve(self, data: RankingData) -> Self:
        """Choose the width, and whether to standardize."""
        chosen = self.resolved_inputs(data)
        return chosen if self.width is not None else replace(chosen, width=math.sqrt(data.n_features))

    def survey(self, data: RankingData, *, seed: int, num_threads: int) -> tuple[InputMap, Features]:
        """Return the map of the inputs, and the features of the landmarks."""
        map = InputMap.of(data, standardize=bool(self.standardize), num_threads=num_threads)
        return map, np.ascontiguousarray(data.features[landmark_rows(data, self.landmarks, seed)])

    def start(
        self,
        data: RankingData,
        *,
        n_outputs: int,
        seed: int,
        restart: int = 0,
        num_threads: int = 1,
        survey: tuple[InputMap, Features] | None = None,
    ) -> KernelInTraining:
        """Return f = 0 over sampled landmarks, or over all documents if they are few. After a restart f is random too."""
        map, rows = self.survey(data, seed=seed, num_threads=num_threads) if survey is None else survey
        width = math.sqrt(data.n_features) if self.width is None else self.width
        kernel = Kernel(self.kernel, width, self.degree, self.offset)
        landmarks = map(rows)
        kept, basis = _core.kernel_basis(kernel(rows, map, landmarks, num_threads), KEPT, num_threads)
        model = KernelInTraining(kernel, map, landmarks[kept], basis.reshape(len(kept), len(kept)), n_outputs)
        if restart:
            drawn = 2 * counter_uniform(seed, 1000 * restart, len(model.vector)) - 1
            model.vector = model.penalized * drawn / math.sqrt(max(len(kept), 1))
        return model


def landmark_rows(data: RankingData, count: int, seed: int) -> npt.NDArray[np.int64]:
    """Return rows drawn by a hash of seed, query and place in the query, in canonical order; the order of queries has no effect."""
    order = canonical_order(data)
    sizes = data.query_sizes[order]
    place = np.arange(data.n_documents) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    rows = np.repeat(data.query_offsets[:-1][order], sizes) + place
    if data.n_documents <= count:
        return rows
    keys = np.repeat(query_hashes(data.query_ids, seed)[order], sizes)
    drawn = splitmix64(splitmix64(keys) ^ place.astype(np.uint64))
    return rows[np.sort(np.argsort(drawn, kind="stable")[:count])]
