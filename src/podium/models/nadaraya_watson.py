"""The Nadaraya–Watson estimator: the mean label of reference documents, near ones counting most. [StructRank, eq 7]

    s(x) = Σ_t m_t K(x_t, x) y_t / Σ_t m_t K(x_t, x),    K(x_t, x) = exp(−½ Σ_f a_f² (x̂_f − x̂_tf)²)

The references are the training documents with their labels y_t and masses m_t; what is learned is one width a_f a feature.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data import RankingData
from podium.data.hashing import counter_uniform
from podium.errors import DataError, ParameterError, is_integer, short_repr, unknown_name
from podium.models.inputs import InputMap, saved
from podium.models.model import Features, Floats, GradientModel, GradientSpec
from podium.models.references import References, choose_references

CHOICES = ("sample", "kmeans")
MOST_REFERENCES = 1_000_000
ROWS = 4096  # documents whose inputs are made at a time


class NadarayaWatson(GradientModel):
    """References and a width a feature."""

    n_outputs = 1

    def __init__(self, map: InputMap, references: References, widths: Floats, *, leave_out: bool = False) -> None:
        self.map, self.references, self.leave_out = map, references, leave_out
        self.n_features = references.inputs.shape[1]
        self.active = np.empty(0, np.int64)  # features with a width: the others count for nothing and feel no force
        self.votes = references.votes
        self.kept: RankingData | None = None  # the query whose kernel values the core still has
        self.vector = widths

    @property
    def vector(self) -> Floats:
        """a_f by feature; only its square counts."""
        return self._vector

    @vector.setter
    def vector(self, values: Floats) -> None:
        if values.shape != (self.n_features,):
            raise DataError(f"{values.shape} widths for a model of {self.n_features} features; one a feature is needed")
        self._vector, self.kept = np.array(values, np.float64), None
        active = np.flatnonzero(self._vector) if self._vector.any() else np.zeros(1, np.int64)
        if not np.array_equal(active, self.active):
            self.active = active
            self.core = _core.NadarayaWatson(np.ascontiguousarray(self.references.inputs[:, active]))
        self.core.set_widths(self._vector[active])

    def _inputs(self, features: Features) -> Floats:
        """Of the features that count."""
        return np.ascontiguousarray(self.map(features)[:, self.active])

    def scores(self, features: Features, *, num_threads: int = 1) -> Floats:
        """The mean label of the references, each weighed by its kernel."""
        self.check_features(features)
        parts = [
            self.core.scores(self._inputs(features[begin : begin + ROWS]), *self.votes, False, num_threads)
            for begin in range(0, len(features), ROWS)
        ]
        return np.concatenate(parts) if parts else np.empty(0)

    def backward(self, features: Features, force: Floats, *, num_threads: int = 1) -> Floats:
        """Σ_i λ_i ∂s_i/∂a_f, where ∂s/∂a_f = −a_f Σ_t p_t (y_t − s)(x̂_f − x̂_tf)² and p_t = m_t K_t / Σ m K."""
        self.check_features(features)
        force = np.ascontiguousarray(force, np.float64).reshape(-1)
        total = np.zeros(self.n_features)
        for begin in range(0, len(features), ROWS):
            rows = slice(begin, begin + ROWS)
            part = self.core.backward(self._inputs(features[rows]), *self.votes, force[rows], False, num_threads)
            total[self.active] += part
        return total

    def scores_in_training(self, part: RankingData, *, num_threads: int = 1) -> Floats:
        """Scores of training queries, where a query's own documents have no vote."""
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
        """`backward` for those scores; right after them the kernel is not computed again."""
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
        """Rows of each query, and the votes that it is to hear."""
        ends = part.query_offsets.tolist()
        return [
            (slice(ends[q], ends[q + 1]), self.references.votes_without(name))
            for q, name in enumerate(part.query_ids.tolist())
        ]

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Widths, references with their labels and masses, and the map of inputs."""
        kept = self.references
        own = {"widths": self.vector, "references": kept.inputs, "labels": kept.labels, "mass": kept.mass}
        return {**self.map.arrays, **own}

    def settings(self) -> dict[str, Any]:
        """None beside the arrays."""
        return {}

    @classmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> NadarayaWatson:
        """The model of saved arrays."""
        inputs = saved(arrays, "references", None, None)
        labels, mass = (saved(arrays, name, len(inputs)) for name in ("labels", "mass"))
        if not inputs.size or not mass.any() or (mass < 0).any():
            raise DataError("no reference has a mass above 0; one is needed")
        widths = saved(arrays, "widths", inputs.shape[1])
        return cls(InputMap.from_arrays(arrays, inputs.shape[1]), References(inputs, labels, mass, {}), widths)


@dataclass(frozen=True)
class NadarayaWatsonSpec(GradientSpec):
    """How the references are chosen, and whether a query's own documents are among them while it trains.

    Attributes:
        references: at most this many.
        choose: where there are more documents, 'sample' takes some of them and 'kmeans' the centers of all.
        leave_out: whether a training query is scored without its own documents, so that none can vote for itself; with
            one query alone there is nobody else, and it is not.
        standardize: whether features are brought to mean 0 and variance 1 first.
    """

    references: int = 20_000
    choose: str = "sample"
    leave_out: bool = True
    standardize: bool = True

    name = "nadaraya-watson"

    def __post_init__(self) -> None:
        if not is_integer(self.references) or not 1 <= self.references <= MOST_REFERENCES:
            raise ParameterError(
                f"references={short_repr(self.references)} must be a whole number from 1 to {MOST_REFERENCES}"
            )
        object.__setattr__(self, "references", int(self.references))
        if self.choose not in CHOICES:
            raise unknown_name("choose", self.choose, CHOICES)
        for name in ("leave_out", "standardize"):
            if not isinstance(getattr(self, name), bool):
                raise ParameterError(f"{name}={short_repr(getattr(self, name))} must be True or False")

    def __str__(self) -> str:
        defaults = {"references": 20_000, "choose": "sample", "leave_out": True, "standardize": True}
        given = [f"{key}={getattr(self, key)!r}" for key, value in defaults.items() if getattr(self, key) != value]
        return f"{self.name}({', '.join(given)})" if given else self.name

    def start(
        self, data: RankingData, *, n_outputs: int, seed: int, restart: int = 0, num_threads: int = 1
    ) -> NadarayaWatson:
        """Widths uniform in [0, 1]."""
        if n_outputs != 1:
            raise ParameterError(
                f"nadaraya-watson gives a document one score, and this force wants {n_outputs}; use another force, or a net"
            )
        map = InputMap.of(data, standardize=True, num_threads=num_threads)
        if not self.standardize:
            # Distances do not see the center, but their sums round less around it.
            map = InputMap(map.center, np.ones(data.n_features), np.zeros(data.n_features))
        references = choose_references(
            data, map, most=self.references, choose=self.choose, seed=seed, num_threads=num_threads
        )
        widths = counter_uniform(seed, 1000 * restart, data.n_features)
        return NadarayaWatson(map, references, widths, leave_out=self.leave_out and data.n_queries > 1)
