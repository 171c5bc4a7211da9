"""The Nadaraya–Watson estimator: the mean label of reference documents, weighted by how near they are. [StructRank, eq 7]

    s(x) = Σ_t m_t K(x_t, x) y_t / Σ_t m_t K(x_t, x),    K(x_t, x) = exp(−½ Σ_f a_f² (x̂_f − x̂_tf)²)

The references are training documents with their labels y_t and masses m_t. Training learns one width a_f per feature.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data import RankingData
from podium.data.hashing import counter_uniform
from podium.errors import DataError, ParameterError
from podium.models.inputs import InputMap, InputSettings, saved
from podium.models.model import Features, Floats, GradientModel, GradientSpec
from podium.models.references import References, choose_references
from podium.parameters import setting
from podium.rules import Choice, Flag, Integer

CHOICES = ("sample", "kmeans")
MOST_REFERENCES = 1_000_000
ROWS = 4096  # number of documents whose inputs are computed at a time


class NadarayaWatson(GradientModel):
    """References and one width per feature."""

    n_outputs = 1

    def __init__(self, map: InputMap, references: References, widths: Floats, *, leave_out: bool = False) -> None:
        self.map, self.references, self.leave_out = map, references, leave_out
        self.n_features = references.inputs.shape[1]
        self.active = np.empty(0, np.int64)  # features whose width is not 0: the others have no effect and no gradient
        self.votes = references.votes
        self.kept: RankingData | None = None  # the query whose kernel values the core still holds
        self.vector = widths

    @property
    def vector(self) -> Floats:
        """a_f of every feature; only its square has an effect."""
        return self._vector

    @vector.setter
    def vector(self, values: Floats) -> None:
        if values.shape != (self.n_features,):
            raise DataError(
                f"{values.shape} widths for a model of {self.n_features} features; expected one per feature"
            )
        self._vector, self.kept = np.array(values, np.float64), None
        active = np.flatnonzero(self._vector) if self._vector.any() else np.zeros(1, np.int64)
        if not np.array_equal(active, self.active):
            self.active = active
            self.core = _core.NadarayaWatsonKernel(np.ascontiguousarray(self.references.inputs[:, active]))
        self.core.set_widths(self._vector[active])

    def _inputs(self, features: Features) -> Floats:
        """Return the inputs of the features that have an effect."""
        return np.ascontiguousarray(self.map(features)[:, self.active])

    def scores(self, features: Features, *, num_threads: int = 1) -> Floats:
        """Return the mean label of the references, weighted by their kernels."""
        self.check_features(features)
        parts = [
            self.core.scores(self._inputs(features[begin : begin + ROWS]), *self.votes, False, num_threads)
            for begin in range(0, len(features), ROWS)
        ]
        return np.concatenate(parts) if parts else np.empty(0)

    def backward(self, features: Features, force: Floats, *, num_threads: int = 1) -> Floats:
        """Return Σ_i λ_i ∂s_i/∂a_f, where ∂s/∂a_f = −a_f Σ_t p_t (y_t − s)(x̂_f − x̂_tf)² and p_t = m_t K_t / Σ m K."""
        self.check_features(features)
        force = np.ascontiguousarray(force, np.float64).reshape(-1)
        total = np.zeros(self.n_features)
        for begin in range(0, len(features), ROWS):
            rows = slice(begin, begin + ROWS)
            part = self.core.backward(self._inputs(features[rows]), *self.votes, force[rows], False, num_threads)
            total[self.active] += part
        return total

    def scores_in_training(self, part: RankingData, *, num_threads: int = 1) -> Floats:
        """Return scores of training queries, each computed without the query's own documents."""
        self.check_features(part.features)
        if not self.leave_out:
            return self.scores(part.features, num_threads=num_threads)
        alone = part.n_queries == 1
        scores = [
            self.core.scores(self._inputs(part.features[rows]), *votes, alone, num_threads)
            for rows, votes in self._queries(part)
        ]
        self.kept = part if alone else None
        return np.concatenate(scores)

    def backward_in_training(self, part: RankingData, force: Floats, *, num_threads: int = 1) -> Floats:
        """Return `backward` for those scores. Called right after them, it does not compute the kernel again."""
        self.check_features(part.features)
        force = np.ascontiguousarray(force, np.float64).reshape(-1)
        if not self.leave_out:
            return self.backward(part.features, force, num_threads=num_threads)
        kept, self.kept = self.kept is part, None
        total = np.zeros(self.n_features)
        for rows, votes in self._queries(part):
            inputs = self._inputs(part.features[rows])
            total[self.active] += self.core.backward(inputs, *votes, force[rows], kept, num_threads)
        return total

    def _queries(self, part: RankingData) -> list[tuple[slice, tuple[Floats, Floats]]]:
        """Return the rows of each query, and the votes of the references that score it."""
        ends = part.query_offsets.tolist()
        return [
            (slice(ends[q], ends[q + 1]), self.references.votes_without(name))
            for q, name in enumerate(part.query_ids.tolist())
        ]

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return widths, references with their labels and masses, and the map of inputs."""
        kept = self.references
        own = {"widths": self.vector, "references": kept.inputs, "labels": kept.labels, "mass": kept.mass}
        return {**self.map.arrays, **own}

    def settings(self) -> dict[str, Any]:
        """Return nothing: the arrays suffice."""
        return {}

    @classmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> NadarayaWatson:
        """Return the model of saved arrays."""
        inputs = saved(arrays, "references", None, None)
        labels, mass = (saved(arrays, name, len(inputs)) for name in ("labels", "mass"))
        if not inputs.size or not mass.any() or (mass < 0).any():
            raise DataError("no reference has a mass above 0; expected at least one")
        widths = saved(arrays, "widths", inputs.shape[1])
        return cls(InputMap.from_arrays(arrays, inputs.shape[1]), References(inputs, labels, mass, {}), widths)


@dataclass(kw_only=True, eq=False, repr=False)
class ReferenceSettings(InputSettings):
    """Which training documents the estimator averages over."""

    references: int = setting(
        20_000, Integer(1, MOST_REFERENCES), "Maximum number of training documents whose labels are averaged."
    )
    choose: str = setting(
        "sample",
        Choice(*CHOICES),
        "What replaces the training documents if there are more of them: 'sample' takes some of them, 'kmeans' the centers of clusters.",
    )
    leave_out: bool = setting(
        True,
        Flag(),
        "Whether a training query is scored without its own documents, so that no document is scored by its own label. "
        "If there is only one query, its documents are kept.",
    )


@dataclass(kw_only=True, eq=False, repr=False)
class NadarayaWatsonSpec(ReferenceSettings, GradientSpec):
    """The mean label of the training documents, weighted by how near they are, with one learned width per feature."""

    name = "nadaraya-watson"
    summary = "The mean label of the training documents, weighted by nearness, one width per feature: nadaraya-watson."
    formula = "s = Σ_t K(x_t, x) y_t / Σ_t K(x_t, x), K = exp(−½ Σ_f a_f² (x̂_f − x̂_tf)²)"
    model = NadarayaWatson

    def resolve(self, data: RankingData) -> Self:
        """Choose whether to standardize."""
        return self.resolved_inputs(data)

    def start(
        self, data: RankingData, *, n_outputs: int, seed: int, restart: int = 0, num_threads: int = 1
    ) -> NadarayaWatson:
        """Return a model with widths uniform in [0, 1]."""
        if n_outputs != 1:
            raise ParameterError(
                "model",
                str(self),
                f"gives one score per document, but this force needs {n_outputs}",
                "use another {force}, or a net",
            )
        map = InputMap.of(data, standardize=True, num_threads=num_threads)
        if not self.standardize:
            # The center has no effect on distances, but sums of centered values have smaller rounding errors.
            map = InputMap(map.center, np.ones(data.n_features), np.zeros(data.n_features))
        references = choose_references(
            data, map, most=self.references, choose=self.choose, seed=seed, num_threads=num_threads
        )
        widths = counter_uniform(seed, 1000 * restart, data.n_features)
        return NadarayaWatson(map, references, widths, leave_out=self.leave_out and data.n_queries > 1)
