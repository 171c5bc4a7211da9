"""Forces: how the documents of a query want to move. One table; any force drives any function class."""

from __future__ import annotations

from podium.errors import ParameterError, unknown_name
from podium.forces import lists, pairs, points
from podium.forces.definition import Definition
from podium.forces.force import Force, ForceData
from podium.forces.names import split_name

__all__ = ["FORCES", "Definition", "Force", "ForceData", "force"]

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


def force(name: str | Force) -> Force:
    """The force of a name such as `ranknet(sigma=1)` or `lambdarank(ndcg@10)`; a force comes back as it is."""
    if isinstance(name, Force):
        return name
    if not isinstance(name, str):
        raise ParameterError(f"force={name!r} must be a name such as 'lambdarank(ndcg@10)', or a Force")
    base, inner, parameters = split_name(name)
    definition = FORCES.get(base.lower())
    if definition is None:
        raise unknown_name("force", base, FORCES)
    if definition.takes == "force" and inner is not None:
        return Force.of(definition, force(inner), **parameters)
    return Force.of(definition, inner, **parameters)
