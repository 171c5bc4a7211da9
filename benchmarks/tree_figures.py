"""Figures from runs of boosted trees: how many trees reach the target, in what time, and which systems to run again."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable

import numpy as np

from tree_peers import STAGE, library

BASE = "lightgbm"  # whose NDCG@10 is the target
SLOW, LONG_SECONDS = 1.5, 150  # settings and peers that are not run again


def tree_ms(one: dict) -> float:
    return 1e3 * statistics.median(one["trees"])


def median(values: Iterable[float]) -> float:
    return statistics.median(list(values))


def trees_to(target: float, one: dict) -> int | None:
    """Trees until the first point of the curve at the target; None if there is none."""
    return next((k * STAGE for k, value in enumerate(one["curve"], 1) if value >= target), None)


def seconds_to(target: float, one: dict) -> float:
    """Binning and all the trees to the target; infinite if it is not reached."""
    reached = trees_to(target, one)
    return math.inf if reached is None else spent(one, reached)


def spent(one: dict, trees: int | None = None) -> float:
    """Binning and the first so many trees, or all."""
    return one["binning"] + sum(one["trees"][:trees])


def at(one: dict, trees: int) -> float:
    """NDCG@10 after so many trees."""
    return one["curve"][trees // STAGE - 1] if len(one["curve"]) >= trees // STAGE else math.nan


def summary(rows: list[dict], target: float, trees: int) -> dict:
    """Medians of a system's rounds; quality, and how many trees reach the target, are the first's."""
    first = rows[0]
    reached = trees_to(target, first)
    enough = reached or len(first["trees"])
    whole = [one for one in rows if len(one["trees"]) >= enough]
    ends = first["binning"] + np.cumsum(first["trees"])
    return {
        "rounds": len(rows),
        "rounds_to_target": len(whole),
        "binning_seconds": median(one["binning"] for one in rows),
        "tree_ms": median(tree_ms(one) for one in rows),
        "reached": reached is not None,
        "trees_to_target": reached,
        "seconds_to_target": median(
            spent(one, enough) for one in whole
        ),  # all that were spent, where it was not reached
        "ndcg": at(first, trees),
        "peak_bytes": median(one["peak"] for one in rows),
        "peak_beyond_data_bytes": median(one["peak_beyond_data"] for one in rows),
        "curve": [[float(ends[STAGE * k - 1]), value] for k, value in enumerate(first["curve"], 1)],
    }


def add_ratios(found: dict[str, dict]) -> None:
    """How many times as long as Podium; None if Podium did not run or did not reach the target."""
    exact, ours = found.get("podium, exact"), found.get("podium")
    for row in found.values():
        row["tree_ratio"] = row["tree_ms"] / exact["tree_ms"] if exact else None
        got_there = ours and ours["reached"]
        row["target_ratio"] = row["seconds_to_target"] / ours["seconds_to_target"] if got_there else None


def repeated(first: dict[str, dict], target: float) -> set[str]:
    """The systems worth another round."""

    def worth(system: str) -> bool:
        peer = library(system)
        if peer == "podium" or system == BASE:
            return True
        if system == peer:
            return spent(first[system]) <= LONG_SECONDS
        own = [seconds_to(target, one) for name, one in first.items() if library(name) == peer]
        return seconds_to(target, first[system]) <= SLOW * min(own) < math.inf

    return {system for system in first if worth(system)}
