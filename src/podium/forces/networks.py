"""Forces over pairs of preferences: whether one pair of documents stands right counts in how another one is pulled."""

from __future__ import annotations

from typing import Any

from podium import _core
from podium.forces.definition import METHOD, PARTNER_DRAWS, PARTNERS, SCALE, TOPOLOGY, W1, W2, ForceDefinition
from podium.forces.force import Force


def _network(force: Force) -> dict[str, Any]:
    return {
        "cdn": _core.CdnSpec(
            topology=_core.CdnTopology[force.choice("topology")],
            w1=float(force.parameter("w1")),
            w2=float(force.parameter("w2")),
            partners=int(force.parameter("partners")),
            mean=force.choice("scale") == "mean",
            method=_core.CdnMethod[force.choice("method")],
        )
    }


STRUCTRANK = ForceDefinition(
    name="structrank",
    summary="Likelihood of all preferences at once under a cumulative distribution network that joins them two by two.",
    formula="C = mean over ordered pairs of preferences e ≠ e′ of log(1 + e^{−w₁r_e} + e^{−w₂r_e′}), r the gap in scores",
    source="StructRank, NIPS 2008",
    parameters=(TOPOLOGY, W1, W2, PARTNERS, PARTNER_DRAWS, SCALE, METHOD),
    leading="topology",
    learnable=("w1", "w2"),
    over="preferences",
    draws=lambda force: force.choice("topology") == "random",
    core_options=_network,
)
