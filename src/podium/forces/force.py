"""A force as a value: hashable, with a name that prints and reads back. It acts on the scores of many queries.

λ_i = −∂C/∂s_i: positive lifts the document. w_i = ∂²C/∂s_i² ≥ 0 is its curvature, for Newton steps.
"""

from __future__ import annotations

import functools
import importlib.util
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data import RankingData
from podium.data.conversion import as_numbers
from podium.errors import DataError, ParameterError, UnknownNameError, short_repr
from podium.exchange import ALONE, Exchange
from podium.forces.custom_function import CustomFunction
from podium.forces.definition import ForceDefinition
from podium.forces.force_data import Floats, ForceData, ForceOutcome
from podium.forces.force_labels import check_labels
from podium.forces.network_inputs import NamedFunction
from podium.metrics import Metric, metric
from podium.metrics.compute import core_spec
from podium.threads import resolve_threads

Value = str | float | int | tuple[Any, ...] | NamedFunction | None
NO_METRIC = metric("dcg")
MOST_AVERAGED_POSITIONS = 32  # `deepest_top` of the core
CORE_DEFAULTS: dict[str, Any] = {
    "neighbors": False,
    "step": 0.5,
    "lower_is_better": False,
    "alpha": 0.0,
    "cdn": None,
}
# What values of a force's own parameters must be, by kind.
KINDS: dict[str, tuple[Callable[[float], bool], str]] = {
    "positive": (lambda value: 0 <= value < math.inf, "≥ 0"),
    "correlation": (lambda value: 0 <= value < 1, "from 0 to below 1"),
    "real": (math.isfinite, "finite"),
}


@dataclass(frozen=True)
class Force:
    """A definition with its metric or inner force and the parameters that differ from its defaults, or a function.

    `podium.force` makes a force from its name, and `podium.custom_force` from a function.

    Attributes:
        definition: the row of the table of forces.
        metric: the metric that it takes, as in lambdarank(ndcg), or None.
        inner: the force that it changes, as in regularized(ranknet), or None.
        given: the parameters that differ from their defaults, by name.
        custom: the function of a force of your own, or None.
    """

    definition: ForceDefinition
    metric: Metric | None = None
    inner: Force | None = None
    given: tuple[tuple[str, Value], ...] = ()
    custom: CustomFunction | None = None

    @classmethod
    def of(cls, definition: ForceDefinition, first: str | Metric | Force | None = None, **parameters: object) -> Force:
        """Return a force of this definition; `first` is the metric or force that it takes, or its leading parameter."""
        known = {parameter.name: parameter for parameter in definition.parameters}
        if first is not None and definition.leading is not None:
            if definition.leading in parameters:
                rule = f"is given twice, as {str(first)!r} and as {short_repr(parameters[definition.leading])}"
                raise ParameterError(definition.leading, rule=rule, remedy="give it once")
            parameters, first = {definition.leading: str(first).strip("'\""), **parameters}, None
        for name in parameters:
            if name not in known:
                raise UnknownNameError(f"parameter of {definition.name}", name, known)
        given = {name: known[name].check(value) for name, value in parameters.items()}
        kept = tuple((name, given[name]) for name in known if name in given and given[name] != known[name].default)
        if definition.takes == "metric":
            return cls(definition, metric=_metric_for(definition, first), given=kept)
        if definition.takes == "force":
            inner = _force_for(definition, first)
            return cls(definition.over_force(inner.definition), inner=inner, given=kept)
        if first is not None:
            raise ParameterError(definition.name, str(first), "cannot be read: this force takes no metric or force")
        made = cls(definition, given=kept)
        definition.check(made)
        return made

    @property
    def name(self) -> str:
        """The name in the table of forces."""
        return self.definition.name

    @property
    def acting(self) -> Force:
        """The innermost force: itself, unless it changes another one."""
        return self if self.inner is None else self.inner.acting

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The names of its settings and, if it changes another force, of the settings of that one."""
        own = tuple(parameter.name for parameter in self.definition.parameters)
        return own if self.inner is None else own + self.inner.parameter_names

    @property
    def is_custom(self) -> bool:
        """Whether it is a function of the user's or computed from one, which may be compiled later."""
        return self.custom is not None or (self.metric is not None and self.metric.custom is not None)

    @property
    def has_cost(self) -> bool:
        """Whether the force is the negative gradient of a cost that can be computed."""
        if self.inner is not None and "has_cost" in self.definition.inherits:
            return self.inner.has_cost
        return self.definition.has_cost if self.custom is None else self.custom.cost is not None

    @property
    def draws(self) -> bool:
        """Whether it draws new random numbers in each round."""
        return self.definition.draws(self.acting)

    @property
    def averages_draws(self) -> bool:
        """Whether the core averages draws of the noise at once, so that each costs little; otherwise it computes the force on each."""
        depth = None if self.metric is None else self.metric.additive_depth
        if depth is None or depth > MOST_AVERAGED_POSITIONS:
            return False
        return not self.parameter("normalize", 0) and not self.parameter("damping", 0)

    @property
    def convex(self) -> bool:
        """Whether it has a cost that is convex in the scores."""
        able = self.definition.convex
        return self.has_cost and (able(self.acting) if callable(able) else able)

    @property
    def balanced(self) -> bool:
        """Whether the forces of a query sum to 0, so that a constant added to all scores changes nothing."""
        return self.compares and self.definition.balanced

    @property
    def has_curvature(self) -> bool:
        """Whether it has a second derivative for Newton steps."""
        return self.definition.has_curvature

    @property
    def compares(self) -> bool:
        """Whether it needs two documents with different labels in a query to do anything."""
        return self.acting.custom is None and self.definition.over != "points"

    @property
    def has_pair_cost(self) -> bool:
        """Whether its cost is a plain sum over pairs, so that single pairs can be trained on."""
        return self.definition.over == "pairs" and self.definition.takes is None and self.has_cost

    def starting_score(self, data: RankingData, exchange: Exchange = ALONE) -> float:
        """Return the score that boosting starts from."""
        return self.definition.starting_score(data, exchange)

    @property
    def unmoved(self) -> str | None:
        """Why the force does nothing to equal scores, where boosting starts; None if it does something."""
        return self.definition.unmoved(self.acting)

    @property
    def is_importable(self) -> bool:
        """Whether the name leads to the force again; that of a lambda or of a function defined inside another does not."""
        functions = [value for _, value in self.given if isinstance(value, NamedFunction)]
        parts = (self.custom, self.metric, self.inner, *functions)
        return all(part is None or part.is_importable for part in parts)

    @property
    def runs_in_python(self) -> bool:
        """Whether it is a Python function that is not compiled, so that only one thread can run it at a time."""
        if self.custom is not None:
            return self.custom.compiled()[0] is None
        return any(part is not None and part.runs_in_python for part in (self.metric, self.inner))

    def __str__(self) -> str:
        if self.custom is not None:
            return self.custom.name
        first = [str(part) for part in (self.metric, self.inner) if part is not None]
        given = [str(value) if name == self.definition.leading else f"{name}={value!r}" for name, value in self.given]
        inside = ", ".join([*first, *given])
        return f"{self.name}({inside})" if inside else self.name

    def __repr__(self) -> str:
        return f"force({str(self)!r})"

    def parameter(self, name: str, default: float = 1) -> float:
        """Return the value of a parameter that is a number or a flag, or its default."""
        value = self._values().get(name, default)
        assert isinstance(value, int | float)
        return value

    def choice(self, name: str) -> str:
        """Return the value of a parameter that is one of several words, or its default."""
        value = self._values()[name]
        assert isinstance(value, str)
        return value

    def setting(self, name: str) -> Value:
        """Return the value of a parameter, or its default."""
        return self._values()[name]

    def replace(self, **parameters: object) -> Force:
        """Return the same force with some parameters changed."""
        return Force.of(self.definition, self.metric or self.inner, **{**dict(self.given), **parameters})

    def _values(self) -> dict[str, Value]:
        known = {parameter.name: parameter.default for parameter in self.definition.parameters}
        return known | dict(self.given)

    def core_spec(self, classes: int = 2) -> _core.ForceSpec:
        """Return the force in the form that the core takes; it is kept, because training asks for it in every round."""
        acting = self.acting
        if acting.is_custom:
            return self._make_core_spec(classes)
        if classes not in self._core_specs:
            self._core_specs[classes] = self._make_core_spec(classes)
        return self._core_specs[classes]

    def __hash__(self) -> int:  # without the definition, which has a long hash and a name of its own
        return hash((self.name, self.metric, self.inner, self.given, self.custom))

    @functools.cached_property
    def _core_specs(self) -> dict[int, _core.ForceSpec]:
        return {}

    def _make_core_spec(self, classes: int) -> _core.ForceSpec:
        acting, options = self.acting, dict[str, Any]()
        layer: Force | None = self
        while layer is not None:
            options |= layer.definition.core_options(layer)
            layer = layer.inner
        return _core.ForceSpec(
            acting.name,
            sigma=float(acting.parameter("sigma")),
            margin=float(acting.parameter("margin")),
            ties=bool(acting.parameter("ties", False)),
            truncation=int(acting.parameter("truncation", 0)),
            normalize=bool(acting.parameter("normalize", False)),
            damping=bool(acting.parameter("damping", False)),
            noise=float(acting.parameter("noise", 0)),
            draws=int(acting.parameter("draws", 1)),
            metric=core_spec(acting.metric or NO_METRIC),
            classes=classes,
            custom=None if acting.custom is None else acting.custom.core(),
            **CORE_DEFAULTS | options,
        )

    def n_classes(self, data: ForceData | RankingData | None) -> int:
        """Return how many levels the labels have, for forces over levels."""
        if self.definition.labels != "levels":
            return 2
        assert data is not None
        return data.levels if isinstance(data, ForceData) else int(data.labels.max()) + 1

    def n_outputs(self, data: ForceData | RankingData) -> int:
        """Return how many scores per document the force needs."""
        return self.n_classes(data) if self.definition.outputs == "levels" else 1

    def n_parameters(self, data: ForceData | RankingData) -> int:
        """Return how many numbers the force itself learns, with any model."""
        return len(self.own_parameters(data)) if self.learns else 0

    @property
    def learns(self) -> bool:
        """Whether gradient steps move the force's own parameters."""
        return self.acting.definition.learns(self.acting)

    def own_parameters(self, data: ForceData | RankingData | None) -> _core.ForceParameters:
        """Return the force's own parameters, learned or not: their names, and the free numbers that stand for their values.

        Only a force over levels needs the data, whose labels say how many levels there are.
        """
        return _core.ForceParameters(self.core_spec(self.n_classes(data)))

    def own_values(self, data: RankingData | None, *, levels: int | None = None, exchange: Exchange = ALONE) -> Floats:
        """Return the values of its own parameters that training starts from.

        `levels` is how many levels labels have where these are only some of the queries; the others are the other workers'.
        """
        levels = self.n_classes(data) if levels is None else levels
        return self.acting.definition.own_values(self.acting, data, levels, exchange)

    def named_values(self, data: ForceData | RankingData, values: Floats) -> dict[str, float | tuple[float, ...]]:
        """Return the values of its own parameters by name; several of one name make a tuple."""
        found: dict[str, list[float]] = {}
        for name, value in zip(self.own_parameters(data).names, values.tolist(), strict=True):
            found.setdefault(name, []).append(value)
        return {name: several[0] if len(several) == 1 else tuple(several) for name, several in found.items()}

    def check_labels(self, data: RankingData | ForceData) -> None:
        """Raise a DataError unless the force is defined on the labels, weights and pairs of the data."""
        if not isinstance(data, ForceData):
            check_labels(self, data)
        elif self not in data.checked:
            check_labels(self, data)
            data.checked.add(self)

    def __call__(self, scores: npt.ArrayLike, data: RankingData, **options: Any) -> tuple[Floats, Floats]:
        """Return (force, curvature) of every document, for scores in the caller's row order."""
        held = data.from_caller_order(as_numbers("scores", scores))
        outcome = self.compute(held, ForceData(data), curvature=True, **options)
        assert outcome.curvature is not None
        return data.to_caller_order(outcome.force), data.to_caller_order(outcome.curvature)

    def cost(self, scores: npt.ArrayLike, data: RankingData, **options: Any) -> Floats:
        """Return the cost of every query; raise a ParameterError if the force has no cost.

        Args:
            scores: one score per document, or one per document and output.
            data: the queries.
        """
        if not self.has_cost:
            raise ParameterError("force", str(self), "has no cost: it is not declared as the gradient of one")
        outcome = self.compute(
            data.from_caller_order(as_numbers("scores", scores)), ForceData(data), cost=True, **options
        )
        assert outcome.cost is not None
        return outcome.cost

    def compute(
        self,
        scores: Floats,
        data: ForceData,
        *,
        curvature: bool = False,
        cost: bool = False,
        parameters: npt.ArrayLike = (),
        seed: int = 0,
        round: int = 0,
        num_threads: int | None = None,
        into: ForceOutcome | None = None,
    ) -> ForceOutcome:
        """Return the force on scores in grouped order: [documents], or [documents × outputs].

        `parameters` are values of the force's own parameters: the thresholds of `ordinal`, which must be given; or (w1, w2)
        of `structrank`, in place of those in its name. The outcome then has the force on them too: −∂C/∂parameter of each
        query.
        `into` is an earlier outcome of the same call, whose arrays are written over.
        """
        self.check_labels(data)
        outputs, held = self.n_outputs(data), np.asarray(parameters, np.float64)
        shape = (data.n_documents,) if outputs == 1 else (data.n_documents, outputs)
        if scores.shape != shape:
            raise DataError(f"{self}: scores have shape {scores.shape}; {shape} is needed")
        if not np.isfinite(scores).all():
            row = int(np.argwhere(~np.isfinite(scores))[0][0])
            raise DataError(f"{self}: the score of document {row} is {scores[row]}; forces need finite scores")
        self._check_parameters(held, data)
        out = into or ForceOutcome(
            force=np.empty(shape),
            curvature=np.empty(shape) if curvature else None,
            cost=np.empty(data.n_queries) if cost else None,
            parameter_force=np.empty((data.n_queries, len(held))) if len(held) else None,
        )
        _core.apply_force(
            data.prepared(self),
            np.ascontiguousarray(scores, np.float64).reshape(-1),
            held,
            seed,
            round,
            resolve_threads(1 if num_threads is None and self.runs_in_python else num_threads),
            out.force.reshape(-1),
            None if out.curvature is None else out.curvature.reshape(-1),
            out.cost,
            None if out.parameter_force is None else out.parameter_force.reshape(-1),
        )
        return out

    def _check_parameters(self, held: Floats, data: ForceData) -> None:
        own = self.own_parameters(data)
        if self.definition.has_thresholds:
            if held.shape != (len(own),) or not np.isfinite(held).all() or (np.diff(held) <= 0).any():
                raise DataError(f"{self}: {len(own)} rising thresholds are needed; found {held.tolist()}")
        elif held.shape != (0,):
            kinds = [kind.name for kind in own.kinds]
            if held.shape != (len(own),) or not all(KINDS[kind][0](x) for kind, x in zip(kinds, held, strict=True)):
                rules = [f"{name} {KINDS[kind][1]}" for name, kind in zip(own.names, kinds, strict=True)]
                wanted = f"must be {', '.join(rules)}; or none" if rules else "must be empty: it has none of its own"
                raise DataError(f"{self}: parameters={held.tolist()} {wanted}")

    def __reduce__(self) -> tuple[Any, ...]:
        from podium.forces import custom_force, force, restore_force

        if self.is_importable:
            return force, (str(self),)
        if self.custom is None:
            return restore_force, (self.name, self.metric or self.inner, dict(self.given))
        return functools.partial(custom_force, cost=self.custom.cost, compile=self.custom.compile), (
            self.custom.function,
        )


def _metric_for(definition: ForceDefinition, first: str | Metric | Force | None) -> Metric:
    """Return the metric in the parentheses of a force that takes one."""
    if first is None or isinstance(first, Force):
        found = "nothing" if first is None else f"the force {first}"
        rule = f"needs a metric in its parentheses; found {found}"
        raise ParameterError(definition.name, rule=rule, remedy=f"write it as {definition.name}(ndcg@10)")
    meant = metric(first)
    if meant.custom is not None:
        warn_slow(f"{definition.name}({meant})", definition.metric_calls)
    return meant


def _force_for(definition: ForceDefinition, first: str | Metric | Force | None) -> Force:
    """Return the force in the parentheses of a force that takes one."""
    if isinstance(first, Force) and definition.accepts(first):
        return first
    rule = f"needs {definition.accepts_text} in its parentheses; found {'nothing' if first is None else first}"
    raise ParameterError(definition.name, rule=rule, remedy=f"write it as {definition.name}(ranknet)")


@functools.lru_cache(maxsize=64)
def warn_slow(name: str, calls: str) -> None:
    """Warn once of each force that is computed by calling a user's metric again and again."""
    without = (
        ""
        if importlib.util.find_spec("numba")
        else " Compiled by Numba it is much faster: pip install 'podium[numba]'."
    )
    warnings.warn(
        f"{name}: the force is found by calling your function {calls}, in every round, which is slow for long queries. To train for "
        "a built-in metric instead and choose the best round by yours, name that metric as `target`, as in target='ndcg@10' "
        f"(--set target=ndcg@10).{without}",
        stacklevel=4,
    )
