"""The choice among the schedules that follow gradients, for rankers that leave it to their user."""

from __future__ import annotations

from dataclasses import dataclass

from podium.errors import ParameterError
from podium.parameters import Choice, setting
from podium.training.loop import DescentSchedule
from podium.training.schedules.gradient import SGD, Adam, GradientSettings
from podium.training.schedules.solvers import LBFGS, Bundle, SolverSettings

OPTIMIZERS: dict[str, type[DescentSchedule]] = {"adam": Adam, "sgd": SGD, "lbfgs": LBFGS, "bundle": Bundle}


@dataclass(kw_only=True, eq=False, repr=False)
class OptimizerSettings(GradientSettings, SolverSettings):
    """A choice among the schedules that follow gradients, with the settings of all of them."""

    optimizer: str = setting(
        "adam",
        Choice(*OPTIMIZERS),
        "The schedule: 'adam' and 'sgd' make one update per batch; 'lbfgs' uses all queries at once, and needs a force with a cost; "
        "'bundle' does too, and needs a convex force and l2 > 0, but its cost need not be differentiable.",
        option=True,
    )

    def chosen_schedule(self) -> DescentSchedule:
        """Return the schedule of `optimizer`; a setting that it does not have must be left at its default."""
        kind = OPTIMIZERS[self.parameters()["optimizer"].check(self.optimizer)]
        for name, parameter in OptimizerSettings.parameters().items():
            unknown = name not in kind.parameters() and name not in ("optimizer", "learning_rate", "tolerance")
            if unknown and getattr(self, name) != parameter.default:
                raise ParameterError(
                    name,
                    getattr(self, name),
                    f"is not a setting of {self.optimizer}, which looks at all queries at once and finds its own steps",
                    "leave it out, or use {optimizer='adam'}",
                )
        return kind(**self.settings_of(kind))
