"""Schedules: how a model is fitted to the forces, in one table. Each row owns its settings and the runner that executes them."""

from __future__ import annotations

from podium.parameters import read_value
from podium.training.schedule import Schedule
from podium.training.schedules.boosting import Boosting, Stumps
from podium.training.schedules.feasible import FeasibleSteps
from podium.training.schedules.gradient import SGD, Adam
from podium.training.schedules.perceptron import Committee, Perceptron
from podium.training.schedules.phases import Phases
from podium.training.schedules.reweighting import Reweighting
from podium.training.schedules.solvers import LBFGS, Bundle

__all__ = ["SCHEDULES", "schedule"]

SCHEDULES: dict[str, type[Schedule]] = {
    kind.name: kind
    for kind in (
        Adam,
        SGD,
        LBFGS,
        Bundle,
        Boosting,
        Stumps,
        Reweighting,
        FeasibleSteps,
        Perceptron,
        Committee,
        Phases,
    )
}
EXAMPLES = "adam, adam(rate=0.001, batch=16), lbfgs(l2=0.1) or boosting(rounds=1000, rate=0.05)"


def schedule(name: str | Schedule) -> Schedule:
    """Return the schedule of a name such as `adam(rate=0.001)`; a schedule is returned as it is."""
    return read_value(name, "schedule", SCHEDULES, EXAMPLES)
