"""Forces over pairs of preferences: whether one pair of documents stands right counts in how another one is pulled."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium import _core
from podium.forces.definition import (
    LEARN,
    METHOD,
    PARTNER_DRAWS,
    PARTNERS,
    SCALE,
    TIE,
    TOPOLOGY,
    W1,
    W2,
    ForceDefinition,
)
from podium.forces.force import Force


def _values(force: Force) -> list[float]:
    """The values of w1 and, if the second preference of a pair has a steepness of its own, of w2."""
    has_w2 = not force.parameter("tie") and force.choice("topology") != "independent"
    return [float(force.parameter(name)) for name in (("w1", "w2") if has_w2 else ("w1",))]


def _network(force: Force) -> dict[str, Any]:
    return {
        "cdn": _core.CdnSpec(
            topology=_core.CdnTopology[force.choice("topology")],
            tied=bool(force.parameter("tie")),
            learns=bool(force.parameter("learn")),
            values=_values(force),
            partners=int(force.parameter("partners")),
            mean=force.choice("scale") == "mean",
            method=_core.CdnMethod[force.choice("method")],
        )
    }


FORCES = (
    ForceDefinition(
        name="structrank",
        summary="Likelihood of all preferences at once under a cumulative distribution network that joins them two by two.",
        formula="C = mean over ordered pairs of preferences e ≠ e′ of log(1 + e^{−w₁r_e} + e^{−w₂r_e′}), r the gap in scores",
        source="StructRank, NIPS 2008",
        parameters=(TOPOLOGY, W1, W2, TIE, LEARN, PARTNERS, PARTNER_DRAWS, SCALE, METHOD),
        leading="topology",
        learns=lambda force: bool(force.parameter("learn")),
        own_values=lambda force, data, levels: np.array(_values(force)),
        over="preferences",
        convex=True,
        draws=lambda force: force.choice("topology") == "random",
        core_options=_network,
    ),
)
