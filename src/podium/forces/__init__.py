"""Forces: how the documents of a query want to move. One table; any force drives any function class."""

from __future__ import annotations

from podium.errors import ParameterError, shown, unknown_name
from podium.forces import lists, pairs, points
from podium.forces.definition import Definition
from podium.forces.force import Force, ForceData
from podium.forces.names import split_name
from podium.forces.own import named_own_force, own_force
from podium.forces.own_function import Function

__all__ = ["FORCES", "Definition", "Force", "ForceData", "force", "own_force"]

FORCES: dict[str, Definition] = {
    definition.name: definition
    for definition in (
        pairs.RANKNET,
        pairs.LAMBDARANK,
        pairs.SPRING,
        pairs.STEP,
        pairs.HINGE,
        pairs.SQUARED_HINGE,
        pairs.EXPONENTIAL,
        pairs.NEIGHBOURS,
        lists.LISTNET,
        lists.LISTMLE,
        lists.XENDCG,
        points.SQUARED,
        points.ORDINAL,
        points.MULTICLASS,
    )
}


def force(name: str | Force | Function) -> Force:
    """The force of a name such as `ranknet(sigma=1)`, `lambdarank(ndcg@10)` or `module:function`, or of a function.

    A function is one of one query, `(scores, labels) -> (force, curvature)`; `own_force` takes it with options. A force
    comes back as it is.
    """
    if isinstance(name, Force):
        return name
    if not isinstance(name, str):
        if callable(name):
            return own_force(name)
        raise ParameterError(
            f"force={shown(name)} must be a name such as 'lambdarank(ndcg@10)' or 'module:function', a function, or a Force"
        )
    own = named_own_force(name)
    if own is not None:
        return own
    base, inner, parameters = split_name(name)
    definition = FORCES.get(base.lower())
    if definition is None:
        raise unknown_name("force", base, FORCES)
    if definition.takes == "force" and inner is not None:
        return Force.of(definition, force(inner), **parameters)
    return Force.of(definition, inner, **parameters)
