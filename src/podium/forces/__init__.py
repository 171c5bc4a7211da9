"""Forces: how the documents of a query want to move. One table."""

from __future__ import annotations

from collections.abc import Iterable

import numpy.typing as npt

from podium.errors import ParameterError, UnknownNameError
from podium.forces import lists, networks, pairs, points, wrappers
from podium.forces.custom import custom_force, named_custom_force
from podium.forces.definition import ForceDefinition
from podium.forces.force import Force
from podium.forces.force_data import ForceData
from podium.forces.laws.judge import judge
from podium.forces.laws.verdict import Verdict
from podium.forces.network_inputs import Preferences
from podium.functions import Function
from podium.metrics import Metric
from podium.names import split_name

__all__ = [
    "FORCES",
    "Force",
    "ForceData",
    "ForceDefinition",
    "Preferences",
    "Verdict",
    "custom_force",
    "force",
    "laws",
    "regularized",
]

FORCES: dict[str, ForceDefinition] = {
    definition.name: definition for family in (pairs, lists, networks, points, wrappers) for definition in family.FORCES
}
EXAMPLES = "ranknet, ranknet(sigma=2), lambdarank(ndcg@10) or regularized(lambdarank(ndcg@10), alpha=0.1)"


def force(name: str | Force | Function) -> Force:
    """Return the force of a name such as `ranknet(sigma=1)`, `lambdarank(ndcg@10)` or `module:function`, or of a function.

    A function handles one query, `(scores, labels) -> (force, curvature)`; `custom_force` accepts options as well. A force
    is returned as it is.

    Args:
        name: the printable name, the function, or a force.
    """
    if isinstance(name, Force):
        return name
    if not isinstance(name, str):
        if callable(name):
            return custom_force(name)
        raise ParameterError(
            "force", name, "must be a name such as 'lambdarank(ndcg@10)' or 'module:function', a function, or a Force"
        )
    parts = split_name(name, "force", EXAMPLES)
    if parts.is_path:
        return named_custom_force(parts)
    definition = FORCES.get(parts.base.lower())
    if definition is None:
        raise UnknownNameError("force", parts.base, FORCES)
    if len(parts.first) > 1:
        raise ParameterError("force", name, "cannot be read", f"write it as {EXAMPLES}")
    inner = parts.first[0] if parts.first else None
    if definition.takes == "force" and inner is not None:
        return Force.of(definition, force(inner), **parts.settings)
    return Force.of(definition, inner, **parts.settings)


def regularized(force: str | Force | Function, alpha: float = 0.1) -> Force:
    """Return the force with −α·s_i added: its cost, if it has one, grows by ½α Σ s².

    The name of the result reads back, as in `regularized(lambdarank(ndcg@10), alpha=0.2)`. `podium.laws` reports the smallest
    α that makes a force convex.

    Args:
        force: a name, a force, or a function of yours.
        alpha: the strength α of the regularizer.
    """
    return Force.of(FORCES["regularized"], _force(force), alpha=alpha)


def restore_force(name: str, first: Metric | Force, parameters: dict[str, object]) -> Force:
    """Return a force over a metric that no name leads to; pickles of such a force call this."""
    return Force.of(FORCES[name], first, **parameters)


def laws(
    force: str | Force | Function,
    *,
    metric: str | Metric | None = None,
    points: Iterable[tuple[npt.ArrayLike, npt.ArrayLike]] = (),
    draws: int = 100,
    seed: int = 0,
) -> Verdict:
    """Test which laws a force obeys, and return the findings in words, with a counterexample for each law that it breaks.

    The laws are momentum, action = reaction, conservative (a cost exists), convex (with the smallest regularizer that makes it
    so), consistent with its metric, and that a declared cost is the right one. A law that holds was not broken at any point tried.

    Args:
        force: a name, a force, or a function of yours.
        metric: the metric that the force should not worsen; by default its own, as in lambdarank(ndcg@10), or else ndcg.
        points: further points to test, each (scores, labels) of one query.
        draws: number of random lists to test; 0 tests the given points alone.
        seed: the same seed gives the same lists.
    """
    return judge(_force(force), metric_name=metric, points=points, draws=draws, seed=seed)


_force = force
