"""A metric as a value: hashable, with a name that prints and reads back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data.conversion import as_number
from podium.errors import ParameterError, UnknownNameError
from podium.metrics import compute
from podium.metrics.custom_function import MetricFunction
from podium.metrics.parameters import CONVENTION_DEFAULTS, ParameterValue
from podium.parameters import Parameter


@dataclass(frozen=True)
class MetricDefinition:
    """One row of the table of metrics. The core has a kernel of the same name.

    Attributes:
        name: the metric's name, as it is printed and read.
        summary: what it measures, in one sentence.
        formula: how it is computed.
        source: who defined it.
        parameters: its parameters, in the order in which they are printed.
        takes_cutoff: whether `@k` may follow the name.
        higher_is_better: whether a better ranking has a higher value.
        bounds: the least and the greatest possible value; None for no bound.
        aliases: other names by which it is read.
        negative_gains: whether linear gains may be negative.
        lacks: what an empty query does not have.
        additive: whether the value is a sum over positions: the gain of the document there times the weight of the position, where
            weights depend on nothing but the labels of the query.
    """

    name: str
    summary: str
    formula: str
    source: str
    parameters: tuple[Parameter, ...]
    takes_cutoff: bool = False
    higher_is_better: bool = True
    bounds: tuple[float | None, float | None] = (0, 1)
    aliases: tuple[str, ...] = ()
    negative_gains: bool = False
    lacks: str = "relevant document"
    additive: bool = False

    def __call__(self, *, cutoff: int | None = None, **parameters: object) -> Metric:
        """Return the metric of this definition with these parameters."""
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in parameters:
            if name not in known:
                raise UnknownNameError(f"parameter of {self.name}", name, [*known, *(["cutoff"] * self.takes_cutoff)])
        given = {name: known[name].check(value) for name, value in parameters.items()}
        convention = given.get("convention")
        defaults = self.defaults(None if convention is None else str(convention))
        kept = tuple(
            (name, given[name])
            for name in known
            if name in given and (name == "convention" or given[name] != defaults[name])
        )
        return Metric(self, self._check_cutoff(cutoff), kept)

    def defaults(self, convention: str | None) -> dict[str, ParameterValue]:
        """Return the default of every parameter under a convention."""
        changed = CONVENTION_DEFAULTS[convention or "textbook"]
        return {parameter.name: changed.get(parameter.name, parameter.default) for parameter in self.parameters}

    def _check_cutoff(self, cutoff: object) -> int | None:
        if cutoff is None:
            return None
        number = as_number(cutoff)
        if not isinstance(number, int):
            raise ParameterError("cutoff", cutoff, "must be a whole number", "leave it out to use the whole list")
        if not 1 <= number < 2**63:
            bound = "at least 1" if number < 1 else "below 2**63"
            raise ParameterError("cutoff", cutoff, f"must be {bound}", "leave it out to use the whole list")
        if not self.takes_cutoff:
            rule = f"cannot be given to {self.name}, which looks at the whole list"
            raise ParameterError("cutoff", cutoff, rule, f"write {self.name!r}")
        return number


@dataclass(frozen=True)
class Metric:
    """A definition with a cutoff and the parameters that differ from their defaults. `str(metric)` reads back as the same metric.

    `podium.metric` makes a metric from its name, and `podium.custom_metric` from a function.

    Attributes:
        definition: the row of the table of metrics.
        cutoff: the number of documents it looks at, as 10 in ndcg@10, or None for the whole list.
        given: the parameters that differ from their defaults, by name.
        custom: the function of a metric of your own, in place of a kernel, or None.
    """

    definition: MetricDefinition
    cutoff: int | None
    given: tuple[tuple[str, ParameterValue], ...]
    custom: MetricFunction | None = None

    @property
    def name(self) -> str:
        """The name in the table of metrics."""
        return self.definition.name

    @property
    def additive_depth(self) -> int | None:
        """The number of first positions with a weight if the value is a sum over positions, or None."""
        averaged = self.parameters.get("ties") == "average"
        return self.cutoff if self.custom is None and self.definition.additive and not averaged else None

    @property
    def label(self) -> str:
        """Its name in results: the printable name, or the one that was chosen for a function."""
        return str(self) if self.custom is None or self.custom.name is None else self.custom.name

    @property
    def is_importable(self) -> bool:
        """Whether `str(metric)` leads to it again; that of a lambda or of a function defined inside another does not."""
        return self.custom is None or self.custom.is_importable

    @property
    def runs_in_python(self) -> bool:
        """Whether it is a Python function that is not compiled, so that only one thread can run it at a time."""
        return self.custom is not None and self.custom.compiled() is None

    @property
    def higher_is_better(self) -> bool:
        """Whether a better ranking has a higher value."""
        return self.definition.higher_is_better if self.custom is None else self.custom.higher_is_better

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """The least and the greatest possible value; None for no bound."""
        return self.definition.bounds if self.custom is None else self.custom.bounds

    @property
    def parameters(self) -> Mapping[str, ParameterValue]:
        """Every parameter, given or at its default."""
        given = dict(self.given)
        convention = given.get("convention")
        return {**self.definition.defaults(None if convention is None else str(convention)), **given}

    def with_parameters(self, **parameters: object) -> Metric:
        """Return the same metric with some parameters changed."""
        changed = self.definition(cutoff=self.cutoff, **{**dict(self.given), **parameters})
        return replace(changed, custom=self.custom)

    def __hash__(self) -> int:  # without the definition, which has a long hash and a name of its own
        return hash((self.name, self.cutoff, self.given, self.custom))

    def __str__(self) -> str:
        if self.custom is not None:
            from podium.metrics.custom import printed_name

            return printed_name(self)
        inside = ", ".join(f"{name}={value!r}" for name, value in self.given)
        cutoff = "" if self.cutoff is None else f"@{self.cutoff}"
        return f"{self.name}{f'({inside})' if inside else ''}{cutoff}"

    def __repr__(self) -> str:
        return f"metric({str(self)!r})"

    def per_query(
        self,
        scores: npt.ArrayLike,
        labels: npt.ArrayLike,
        query_offsets: npt.ArrayLike,
        *,
        judged: npt.ArrayLike | None = None,
        retrieved: npt.ArrayLike | None = None,
        tie_order: npt.ArrayLike | None = None,
        num_threads: int | None = None,
    ) -> npt.NDArray[np.float64]:
        """Return the value of each query; query q owns documents query_offsets[q] to query_offsets[q + 1].

        Args:
            scores: one per document, no NaN; the highest is ranked first.
            labels: one per document, higher is better.
            query_offsets: [queries + 1], rising from 0 to the number of documents.
            judged: False for a document that nobody labeled: it counts as not relevant, and bpref skips it.
            retrieved: False for a document that was not ranked: it counts in ideals and totals only.
            tie_order: among equal scores the greater comes first; `ties='trec_eval'` needs it.
            num_threads: number of threads; all cores by default.
        """
        documents = compute.Documents(scores, labels, query_offsets, judged, retrieved, tie_order)
        values, _ = compute.per_query([self], documents, num_threads=num_threads)
        row: npt.NDArray[np.float64] = values[0]
        return row

    def swap_deltas(
        self,
        scores: npt.ArrayLike,
        labels: npt.ArrayLike,
        *,
        judged: npt.ArrayLike | None = None,
        tie_order: npt.ArrayLike | None = None,
    ) -> npt.NDArray[np.float64]:
        """ΔZ_ij = Z after documents i and j of one query swap places, minus Z before, all else fixed: [n × n].

        Documents with equal scores are in the order given (by `tie_order` under `ties='trec_eval'`), also under
        `ties='average'`. Metrics over pairs of documents depend on scores and not on places, so there i and j swap scores.

        Args:
            scores: one per document of the query.
            labels: one per document, higher is better.
            judged: False for a document that nobody labeled.
            tie_order: among equal scores the greater comes first; `ties='trec_eval'` needs it.
        """
        return compute.swap_deltas(self, scores, labels, judged=judged, tie_order=tie_order)

    def __reduce__(self) -> tuple[Any, ...]:
        from podium.metrics import metric
        from podium.metrics.custom import pickled

        return (metric, (str(self),)) if self.is_importable else pickled(self)
