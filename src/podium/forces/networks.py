"""Forces over pairs of preferences: how hard a preference pulls depends on how others stand."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium import _core
from podium.data import RankingData
from podium.errors import DataError, ParameterError
from podium.forces.definition import Floats, ForceDefinition
from podium.forces.force import Force
from podium.forces.network_inputs import DocumentInputs, NamedFunction, find_joins, noise_inputs, noise_scales
from podium.forces.network_settings import (
    COMPONENTS,
    FUNCTION,
    LEARN,
    METHOD,
    NOISE_FEATURES,
    NOISE_SCALE,
    PARTNER_DRAWS,
    PARTNERS,
    RHO,
    SCALE,
    TIE,
    TOPOLOGY,
    W1,
    W2,
)

LEAST_CORRELATION = 0.01  # that training starts from
MAX_PREFERENCES = 100_000_000  # of one query; each takes about 200 bytes


def _numbers(force: Force, spread: float = 1.0) -> list[float]:
    """The numbers of the network as the core lays them out: w1, w2 and rho of each component, as far as it has them.

    A steepness that is given once for several components is multiplied by powers of `spread` around 1.
    """
    count = int(force.parameter("components"))
    # Python's powers: the last bit of np.power depends on the processor.
    powers = np.array([spread ** (k - (count - 1) / 2) for k in range(count)])
    alone = topology(force) in ("independent", "winner")
    names = ["w1"]
    if not alone and not force.parameter("tie"):
        names.append("w2")
    if not alone and force.choice("function") == "gaussian":
        names.append("rho")
    columns = []
    for name in names:
        value = force.setting(name)
        each = value if isinstance(value, tuple) else np.full(count, value) * (1.0 if name == "rho" else powers)
        columns.append(np.asarray(each, np.float64))
    weights = [0.0] * len(_noise_features(force))
    return [*(float(value) for value in np.column_stack(columns).reshape(-1)), *weights]


def topology(force: Force) -> str:
    """Return the topology as the core calls it; a function of the user's gives pairs of preferences."""
    value = force.setting("topology")
    return "given" if isinstance(value, NamedFunction) else str(value)


def _noise_features(force: Force) -> tuple[Any, ...]:
    features = force.setting("noise_features")
    assert isinstance(features, tuple)
    return features


def _needs_documents(force: Force) -> bool:
    return topology(force) == "given" or force.setting("noise_scale") is not None or bool(_noise_features(force))


def _document_inputs(force: Force, data: RankingData, core: _core.ForceInputs) -> DocumentInputs:
    function = force.setting("topology")
    joins, ends = find_joins(function if isinstance(function, NamedFunction) else None, data, core)
    scales = noise_scales(force.setting("noise_scale"), data)
    return DocumentInputs(joins, ends, scales, noise_inputs(_noise_features(force), data))


def _start(force: Force, data: object, levels: int, exchange: object) -> Floats:
    """Where training starts: components that are equal would stay equal, and a correlation of 0 would stay 0."""
    numbers = np.array(_numbers(force, spread=2.0))
    correlations = [kind.name == "correlation" for kind in force.own_parameters(None).kinds]
    return np.where(correlations, np.maximum(numbers, LEAST_CORRELATION), numbers)


def _check(force: Force) -> None:
    count = int(force.parameter("components"))
    for name in ("w1", "w2", "rho"):
        value = force.setting(name)
        if isinstance(value, tuple) and len(value) != count:
            rule = f"has {len(value)} numbers for {count} component{'s' if count > 1 else ''}"
            raise ParameterError(name, value, rule, f"use {{components={len(value)}}}, or give one number")
    if force.choice("function") == "gaussian" and topology(force) == "winner":
        raise ParameterError(
            "function",
            "gaussian",
            "is a function of two preferences, and topology 'winner' joins any number of them",
            "use {function='sigmoid'}",
        )


def _lists_preferences(force: Force) -> bool:
    """Return whether the core makes a list of the preferences of a query."""
    alone = topology(force) == "independent" and force.choice("function") == "sigmoid"
    noisy = force.setting("noise_scale") is not None or bool(_noise_features(force))
    return noisy or not (alone or topology(force) == "winner")


def _check_sizes(force: Force, data: RankingData) -> None:
    sizes = np.diff(data.query_offsets)
    if data.pairs is not None or not _lists_preferences(force):
        return
    for query in np.flatnonzero(sizes * (sizes - 1) // 2 > MAX_PREFERENCES):
        labels = data.labels[data.query_offsets[query] : data.query_offsets[query + 1]]
        equal = np.unique(labels, return_counts=True)[1].astype(np.int64)
        count = (int(sizes[query]) ** 2 - int((equal**2).sum())) // 2
        if count > MAX_PREFERENCES:
            raise DataError(
                f"{force}: query {data.query_ids[query].item()!r} has {count:,} preferences, and at most {MAX_PREFERENCES:,} can be "
                "listed; use the topology 'winner', which lists none, or take a sample of the documents"
            )


def _network(force: Force) -> dict[str, Any]:
    return {
        "cdn": _core.CdnSpec(
            topology=_core.CdnTopology[topology(force)],
            function=_core.CdnFunction[force.choice("function")],
            components=int(force.parameter("components")),
            tied=bool(force.parameter("tie")),
            learns=bool(force.parameter("learn")),
            values=_numbers(force),
            partners=int(force.parameter("partners")),
            mean=force.choice("scale") == "mean",
            method=_core.CdnMethod[force.choice("method")],
            noise_inputs=len(_noise_features(force)),
        )
    }


FORCES = (
    ForceDefinition(
        name="structrank",
        summary="Likelihood of all preferences at once under a cumulative distribution network that joins them, mostly two by two.",
        formula="C = mean over ordered pairs of preferences e ≠ e′ that meet of −log φ(w₁r_e, w₂r_e′), r the gap in scores; "
        "φ(x, y) = 1/(1 + e^{−x} + e^{−y}) or Φ₂(x, y; ρ); winner: Σ_i log(1 + Σ_{j: i above j} e^{−w₁(s_i − s_j)})",
        source="StructRank, NIPS 2008",
        parameters=(
            TOPOLOGY,
            FUNCTION,
            COMPONENTS,
            W1,
            W2,
            RHO,
            TIE,
            LEARN,
            NOISE_SCALE,
            NOISE_FEATURES,
            PARTNERS,
            PARTNER_DRAWS,
            SCALE,
            METHOD,
        ),
        leading="topology",
        check=_check,
        check_data=_check_sizes,
        learns=lambda force: bool(force.parameter("learn")),
        own_values=_start,
        over="preferences",
        convex=True,
        draws=lambda force: topology(force) == "random",
        core_options=_network,
        needs_documents=_needs_documents,
        document_inputs=_document_inputs,
    ),
)
